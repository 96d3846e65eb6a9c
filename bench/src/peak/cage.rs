//! Memory that a server and its page cache may have: a control group, where this machine lets us make one.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

/// Where memory is limited: the second version of control groups, or the first.
const PLACES: [(&str, &str); 2] = [
    ("/sys/fs/cgroup", "memory.max"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
];

/// A group. Dropping it removes it, once its processes have ended.
#[derive(Debug)]
pub(crate) struct Cage {
    dir: PathBuf,
}

impl Cage {
    /// `None`: this machine doesn't let us.
    pub(crate) fn new(bytes: u64) -> Option<Self> {
        PLACES.iter().find_map(|(place, limit)| {
            let dir = PathBuf::from(place).join(format!("squall-bench-{}", std::process::id()));
            fs::create_dir(&dir).ok()?;
            let cage = Self { dir };
            // Where there is no such limit it isn't what was asked for, and goes again.
            let mut limit = File::options()
                .write(true)
                .open(cage.dir.join(limit))
                .ok()?;
            limit.write_all(bytes.to_string().as_bytes()).ok()?;
            Some(cage)
        })
    }

    /// The command that runs `command` in it.
    pub(crate) fn around(&self, command: Vec<String>) -> Vec<String> {
        let enter = format!(
            "echo $$ > '{}' && exec \"$@\"",
            self.dir.join("cgroup.procs").display()
        );
        let shell = ["sh".to_owned(), "-c".to_owned(), enter, "sh".to_owned()];
        shell.into_iter().chain(command).collect()
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        // The kernel takes a moment to see that all have ended.
        let gone = testkit::until_within(std::time::Duration::from_secs(5), || {
            fs::remove_dir(&self.dir).ok()
        });
        if gone.is_none() {
            eprintln!("{} is left behind", self.dir.display());
        }
    }
}
