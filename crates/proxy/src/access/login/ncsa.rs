//! The password file of `basic_ncsa_auth`, read here: Squid needs a process and a pipe for each question.
//! The file is read anew when it changes. Hashing has a thread of its own, so that no worker waits; what
//! it can't do is left to the program.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tokio::sync::{mpsc, oneshot};

use super::crypt::{self, Verdict};

/// Questions that may wait for the thread; more wait outside.
const WAITING_MAX: usize = 256;

/// The largest file that is read; a larger one is left to the program.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What the file says of a name and a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Right,
    Wrong,
    /// The program must be asked.
    Unknown,
}

/// The thread with the file, from outside. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Ncsa {
    questions: mpsc::Sender<Question>,
}

#[derive(Debug)]
struct Question {
    user: Box<[u8]>,
    password: Box<[u8]>,
    reply: oneshot::Sender<Found>,
}

impl Ncsa {
    /// `None` unless the program is `basic_ncsa_auth` (or `ncsa_auth`, as it was called) with nothing but
    /// a file that can be read.
    pub(super) fn of(program: &[String]) -> Option<Self> {
        let [program, file] = program else {
            return None;
        };
        let name = Path::new(program).file_name()?;
        if name != "basic_ncsa_auth" && name != "ncsa_auth" {
            return None;
        }
        let mut file = File::new(file.into());
        file.refresh()?;
        let (questions, mut waiting) = mpsc::channel::<Question>(WAITING_MAX);
        let thread = std::thread::Builder::new().name("passwords".into());
        let started = thread.spawn(move || {
            while let Some(question) = waiting.blocking_recv() {
                if question.reply.is_closed() {
                    continue;
                }
                let found = file.check(&question.user, &question.password);
                // Who no longer waits needs no answer.
                let _unheard = question.reply.send(found);
            }
        });
        started.is_ok().then_some(Self { questions })
    }

    /// Are these in the file?
    pub(super) async fn check(&self, user: &[u8], password: &[u8]) -> Found {
        let (reply, found) = oneshot::channel();
        let question = Question {
            user: user.into(),
            password: password.into(),
            reply,
        };
        if self.questions.send(question).await.is_err() {
            return Found::Unknown;
        }
        found.await.unwrap_or(Found::Unknown)
    }
}

/// The file as it was read last.
#[derive(Debug)]
struct File {
    path: PathBuf,
    read: Option<(SystemTime, u64)>,
    hashes: HashMap<Box<[u8]>, String>,
}

impl File {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            read: None,
            hashes: HashMap::new(),
        }
    }

    fn check(&mut self, user: &[u8], password: &[u8]) -> Found {
        if self.refresh().is_none() {
            return Found::Unknown;
        }
        let Some(hash) = self.hashes.get(user) else {
            return Found::Wrong;
        };
        match crypt::verify(password, hash) {
            Verdict::Right => Found::Right,
            Verdict::Wrong => Found::Wrong,
            Verdict::Unknown => Found::Unknown,
        }
    }

    /// Reads it if it has changed; `None` when it can't be read.
    fn refresh(&mut self) -> Option<()> {
        let about = fs::metadata(&self.path).ok()?;
        let now = (about.modified().ok()?, about.len());
        if self.read == Some(now) {
            return Some(());
        }
        if about.len() > FILE_BYTES_MAX || !about.is_file() {
            return None;
        }
        let text = fs::read(&self.path).ok()?;
        self.hashes = text
            .split(|byte| *byte == b'\n')
            .filter_map(entry)
            .collect();
        self.read = Some(now);
        Some(())
    }
}

/// `user:hash`, with more fields behind it perhaps. Lines that begin with `#` are for people.
fn entry(line: &[u8]) -> Option<(Box<[u8]>, String)> {
    let line = line.trim_ascii_end();
    if line.starts_with(b"#") {
        return None;
    }
    let mut fields = line.split(|byte| *byte == b':');
    let user = fields.next().filter(|user| !user.is_empty())?;
    let hash = str::from_utf8(fields.next()?).ok()?;
    Some((user.into(), hash.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_anew_when_it_changes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("passwd");
        // The password is "pw".
        let line = "joe:$1$ab$b2XAKzcGJvTR.javvk3280";
        fs::write(
            &path,
            format!("# people\n{line}:Joe:x\r\nold:rqXexS6ZhobKA\n:x\nnone\n"),
        )
        .unwrap();
        let mut file = File::new(path.clone());
        assert_eq!(file.check(b"joe", b"pw"), Found::Right);
        assert_eq!(file.check(b"joe", b"no"), Found::Wrong);
        assert_eq!(file.check(b"old", b"pw"), Found::Unknown);
        for nobody in [&b"none"[..], b"", b"# people", b"JOE"] {
            assert_eq!(file.check(nobody, b"pw"), Found::Wrong);
        }
        fs::write(&path, line.replace("joe", "jim")).unwrap();
        assert_eq!(file.check(b"joe", b"pw"), Found::Wrong);
        assert_eq!(file.check(b"jim", b"pw"), Found::Right);
        fs::remove_file(&path).unwrap();
        assert_eq!(file.check(b"jim", b"pw"), Found::Unknown);
    }

    #[test]
    fn only_the_program_with_a_file_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("passwd");
        fs::write(&path, "x:y").unwrap();
        let file = path.to_str().unwrap().to_owned();
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            Ncsa::of(&words).is_some()
        };
        assert!(of(&["/usr/lib/squid/basic_ncsa_auth", &file]));
        assert!(of(&["/usr/lib/squid/ncsa_auth", &file]));
        assert!(!of(&["/usr/lib/squid/basic_ncsa_auth", "/nowhere"]));
        assert!(!of(&["/usr/lib/squid/basic_ncsa_auth"]));
        assert!(!of(&["/usr/lib/squid/basic_ncsa_auth", &file, "-x"]));
        assert!(!of(&["/usr/lib/squid/basic_getpwnam_auth", &file]));
    }
}
