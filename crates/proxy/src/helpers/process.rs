//! A child process: how it is started, and how it ends for sure.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::timeout;

use super::END_GRACE;

/// A running process and the group it leads. Dropping it kills them all.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pub(super) pid: u32,
}

/// The process's standard streams.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: pipe::Sender,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Process {
    /// Starts a program with its arguments, without a shell. It leads a process group of its own, so
    /// that what a terminal sends to us doesn't reach it; of our descriptors it gets the three pipes.
    pub(super) fn start(command: &[OsString]) -> io::Result<(Self, Pipes)> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ((Some(stdin), Some(stdout), Some(stderr)), Some(pid)) = (streams, child.id()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let pipes = Pipes {
            stdin: pipe::Sender::from_owned_fd(stdin.into_owned_fd()?)?,
            stdout,
            stderr,
        };
        Ok((Self { child, pid }, pipes))
    }

    /// Waits for the process to end by itself, and kills it after `grace`. How it ended; none when it
    /// was killed by us.
    pub(super) async fn end(&mut self, grace: Duration) -> Option<ExitStatus> {
        let ended = timeout(grace, self.child.wait()).await;
        let Ok(status) = ended else {
            self.kill();
            // What was killed is gone soon; if not, the runtime reaps it later.
            drop(timeout(END_GRACE, self.child.wait()).await);
            return None;
        };
        status.ok()
    }

    /// Kills the process and those that it started, unless it was reaped: then its number may be
    /// another's.
    fn kill(&self) {
        let running = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = running.and_then(Pid::from_raw) {
            // It may just have ended: then there is nobody left to kill.
            kill_process_group(pid, Signal::KILL).unwrap_or_default();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
