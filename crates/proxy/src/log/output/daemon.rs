//! Logs that a program writes (`logfile_daemon`). It reads orders from its standard input, each a letter, the rest of
//! the line, and the line's end:
//!
//! | order | means |
//! | --- | --- |
//! | `L`line | write this line |
//! | `R`, `O`, `T`, `F` | rotate, open anew, empty, flush |
//! | `r`number | keep so many old files |
//! | `b`0 or 1 | gather lines, or don't |
//!
//! One that ends is started again. What lay unread in its pipe goes to the next; what it had read is its own.

use std::borrow::Cow;
use std::io::{self, BufRead as _, BufReader, PipeReader, PipeWriter, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::pour::{Backoff, MayWait, Outcome, PIPE_BYTES, from_whole_line, pause, pour};

/// A program that takes nothing for so long is killed.
const HUNG_WAIT: Duration = Duration::from_secs(30);
/// How long it has to write what it was given, when it is told to end.
const END_WAIT: Duration = Duration::from_millis(1500);
/// What it says is cut into lines of this size for the cache log.
const SAID_BYTES_MAX: u64 = 512;
/// Lines of what it says that are shown, in the life of one process.
const SAID_LINES_MAX: usize = 100;
/// A life that lasted so long ends the waits before new starts.
const HEALTHY: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug)]
pub(crate) struct DaemonLog {
    program: PathBuf,
    argument: String,
    /// Old files kept on rotation, for the program to know.
    kept: u32,
    running: Option<Running>,
    backoff: Backoff,
    /// Orders for a process that isn't there: what it left unread.
    left: Vec<u8>,
    /// Lines with their letters.
    orders: Vec<u8>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    orders: PipeWriter,
    /// The other end, so that what a dead process left can be read back.
    unread: PipeReader,
    since: Instant,
}

impl DaemonLog {
    /// Starts the program.
    pub(super) fn start(program: &Path, argument: &str, kept: u32) -> io::Result<Self> {
        Ok(Self {
            program: program.into(),
            argument: argument.into(),
            kept,
            running: Some(spawn(program, argument, kept)?),
            backoff: Backoff::new(),
            left: Vec::new(),
            orders: Vec::new(),
        })
    }

    pub(super) fn write(&mut self, lines: &[u8], may_wait: MayWait<'_>) -> Outcome {
        let mut orders = std::mem::take(&mut self.orders);
        orders.clear();
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            orders.push(b'L');
            orders.extend_from_slice(line);
        }
        let outcome = self.give(&orders, may_wait);
        self.orders = orders;
        outcome
    }

    /// Gives an order that is no line.
    pub(super) fn order(&mut self, letter: u8, may_wait: MayWait<'_>) -> io::Result<()> {
        let outcome = self.give(&[letter, b'\n'], may_wait);
        outcome.error.map_or(Ok(()), Err)
    }

    fn give(&mut self, orders: &[u8], may_wait: MayWait<'_>) -> Outcome {
        let mut rest = Cow::Borrowed(orders);
        let mut lost = Outcome::DONE;
        loop {
            let (given, error) = match self.give_once(&mut rest, may_wait) {
                Ok(()) => return lost,
                Err(failed) => failed,
            };
            rest = from_whole_line(&rest, given).to_vec().into();
            lost.lost += u64::from(self.end_badly());
            lost.error = Some(error);
            if !pause(self.backoff.step(), may_wait) {
                lost.lost += lines_in(&rest) + lines_in(&std::mem::take(&mut self.left));
                return lost;
            }
        }
    }

    /// Gives orders to the process, which is started if there is none: then what the last one left comes first.
    fn give_once(
        &mut self,
        orders: &mut Cow<'_, [u8]>,
        may_wait: MayWait<'_>,
    ) -> Result<(), (usize, io::Error)> {
        let running = match &mut self.running {
            Some(running) => running,
            none => {
                let spawned = spawn(&self.program, &self.argument, self.kept);
                if !self.left.is_empty() {
                    *orders = [&std::mem::take(&mut self.left), &**orders].concat().into();
                }
                none.insert(spawned.map_err(|error| (0, error))?)
            }
        };
        let child = &mut running.child;
        let mut lives = || matches!(child.try_wait(), Ok(None));
        if !lives() {
            return Err((0, io::ErrorKind::BrokenPipe.into()));
        }
        let to = &mut running.orders;
        let mut may_wait = || lives() && may_wait();
        match pour(to, orders, PIPE_BYTES, HUNG_WAIT, &mut may_wait) {
            (_, Ok(())) => Ok(()),
            (given, Err(error)) => Err((given, error)),
        }
    }

    /// The process is gone, or must go. Did it take a line with it that we know of?
    fn end_badly(&mut self) -> bool {
        let Some(mut running) = self.running.take() else {
            return false;
        };
        let status = match running.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => {
                kill(&mut running.child);
                "it took nothing any more, and was killed".to_owned()
            }
        };
        tracing::error!("log daemon {} ended: {status}", self.program.display());
        if running.since.elapsed() > HEALTHY {
            self.backoff = Backoff::new();
        }
        drop(running.orders);
        let mut unread = Vec::new();
        // Nothing else writes there: it ends.
        if running.unread.read_to_end(&mut unread).is_err() {
            return false;
        }
        let (left, torn) = match unread.strip_prefix(&*greeting(self.kept)) {
            Some(all) => (all, false), // it has read nothing
            None => (whole_orders(&unread), !unread.is_empty()),
        };
        self.left = left.to_vec();
        torn
    }
}

/// What each process is told first.
fn greeting(kept: u32) -> Vec<u8> {
    format!("r{kept}\nb0\n").into_bytes()
}

/// How many lines are ordered here.
fn lines_in(orders: &[u8]) -> u64 {
    let orders = orders.split_inclusive(|&byte| byte == b'\n');
    orders.filter(|order| order.starts_with(b"L")).count() as u64
}

fn spawn(program: &Path, argument: &str, kept: u32) -> io::Result<Running> {
    let (unread, mut orders) = io::pipe()?;
    let mut child = Command::new(program)
        .arg(argument)
        .stdin(unread.try_clone()?)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    if let Some(stderr) = child.stderr.take() {
        let name = format!("log daemon {}", program.display());
        let said = thread::Builder::new().name("log-daemon-said".into());
        said.spawn(move || tell(&name, stderr))?;
    }
    io::Write::write_all(&mut orders, &greeting(kept))?;
    Ok(Running {
        child,
        orders,
        unread,
        since: Instant::now(),
    })
}

impl Drop for DaemonLog {
    /// The end of its input tells it to end.
    fn drop(&mut self) {
        let Some(Running {
            mut child,
            orders,
            unread,
            ..
        }) = self.running.take()
        else {
            return;
        };
        drop((orders, unread));
        let until = Instant::now() + END_WAIT;
        while matches!(child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                return kill(&mut child);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn kill(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // It may just have ended: then there is nobody left to kill. It isn't reaped yet, so its number is its own.
    let killed = pid.map(|pid| kill_process_group(pid, Signal::KILL));
    if let Some(Ok(())) = killed {
        child.wait().map(drop).unwrap_or_default();
    }
}

/// What is sure to be whole: what comes first may be the end of an order that was half read, and a `T` there would
/// be taken for one of ours; what comes last may be cut short.
fn whole_orders(unread: &[u8]) -> &[u8] {
    let begin = memchr::memchr(b'\n', unread).map_or(unread.len(), |end| end + 1);
    let end = memchr::memrchr(b'\n', unread).map_or(begin, |end| end + 1);
    unread.get(begin..end).unwrap_or_default()
}

/// Says in the cache log what the program says on its standard error.
fn tell(name: &str, stderr: impl Read) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    let mut shown = 0;
    loop {
        line.clear();
        let mut part = (&mut stderr).take(SAID_BYTES_MAX);
        match part.read_until(b'\n', &mut line) {
            Ok(1..) if shown < SAID_LINES_MAX => {
                shown += 1;
                tracing::warn!("{name}: {}", line.trim_ascii().escape_ascii());
            }
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A program of a shell's, that writes what it reads to the file it is told.
    fn program(dir: &Path, text: &str) -> PathBuf {
        let path = dir.join("daemon");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_daemon_gets_squids_orders() {
        let dir = tempfile::tempdir().unwrap();
        let told = dir.path().join("told");
        let program = program(dir.path(), "exec cat > \"$1\"");
        let mut log = DaemonLog::start(&program, told.to_str().unwrap(), 7).unwrap();
        assert_eq!(log.write(b"one\ntwo\n", &mut || true).lost, 0);
        log.order(b'R', &mut || true).unwrap();
        drop(log);
        let told = fs::read_to_string(&told).unwrap();
        assert_eq!(told, "r7\nb0\nLone\nLtwo\nR\n");
    }

    #[test]
    fn a_daemon_that_dies_is_followed_by_one_that_gets_what_was_left() {
        let dir = tempfile::tempdir().unwrap();
        let told = dir.path().join("told");
        // Reads three orders, byte by byte, and dies.
        let text = "read a; read b; read c; echo \"$a $b $c\" >> \"$1\"";
        let program = program(dir.path(), text);
        let mut log = DaemonLog::start(&program, told.to_str().unwrap(), 0).unwrap();
        for line in ["one\n", "two\n", "three\n"] {
            assert_eq!(log.write(line.as_bytes(), &mut || true).lost, 0);
            let running = log.running.as_mut().unwrap();
            running.child.wait().unwrap();
        }
        let told = fs::read_to_string(&told).unwrap();
        assert_eq!(told, "r0 b0 Lone\nr0 b0 Ltwo\nr0 b0 Lthree\n");
    }

    #[test]
    fn of_what_was_left_half_an_order_is_none() {
        assert_eq!(
            whole_orders(b"Tis a line\nLone\nLtwo\nLth"),
            b"Lone\nLtwo\n"
        );
        assert_eq!(whole_orders(b"half"), b"");
    }

    #[test]
    fn a_daemon_that_takes_nothing_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let program = program(dir.path(), "exec sleep 1000");
        let mut log = DaemonLog::start(&program, "", 0).unwrap();
        let outcome = log.write(&vec![b'\n'; 1 << 20], &mut || false);
        assert_eq!(outcome.lost, 1 << 20);
        assert!(outcome.error.is_some());
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        DaemonLog::start(Path::new("/nowhere/daemon"), "", 0).unwrap_err();
    }
}
