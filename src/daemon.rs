//! Leaves the terminal. A process that has threads can't fork safely, so the program starts itself
//! anew instead, twice: the first one opens a session, the second one is the proxy and can never
//! get a terminal.
//!
//! | process | does |
//! | --- | --- |
//! | the one that was called | starts `--stage session`; waits for its end and for the word `ready` |
//! | `--stage session` | becomes leader of a new session; starts `--stage proxy`; ends |
//! | `--stage proxy` | starts as in the foreground; says `ready`; lets go of the terminal |

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use rustix::process::setsid;

use crate::cli::Stage;

const READY: &str = "ready\n";

/// Starts the daemon and waits until it serves, or has said why it doesn't.
pub(crate) fn start() -> anyhow::Result<ExitCode> {
    let mut child = again(Stage::Session)?
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the daemon")?;
    let mut said = String::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut said)?;
    }
    child.wait()?;
    Ok(if said == READY {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Opens a session and starts the proxy in it.
pub(crate) fn open_session() -> anyhow::Result<ExitCode> {
    setsid().context("cannot open a session")?;
    let proxy = again(Stage::Proxy)?.spawn();
    drop(proxy.context("cannot start the daemon")?);
    Ok(ExitCode::SUCCESS)
}

/// Tells the caller that we serve, and lets go of its terminal.
pub(crate) fn tell_ready() -> io::Result<()> {
    let mut out = io::stdout();
    // The caller may be gone.
    drop(out.write_all(READY.as_bytes()).and_then(|()| out.flush()));
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// This program with its arguments, as another stage.
fn again(stage: Stage) -> anyhow::Result<Command> {
    let program = env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    let mut args = env::args_os();
    if let Some(name) = args.next() {
        command.arg0(name);
    }
    command.args(args_of(stage, args));
    Ok(command)
}

/// The same arguments for another stage. Its own stage must go: with two of them a process might
/// take itself for the one before, and start the next without end.
fn args_of(stage: Stage, args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let stage = match stage {
        Stage::Session => "--stage=session",
        Stage::Proxy => "--stage=proxy",
    };
    let others = args.filter(|arg| !arg.to_string_lossy().starts_with("--stage"));
    std::iter::once(stage.into()).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    #[test]
    fn each_stage_knows_itself_whatever_the_one_before_was() {
        let called = ["-f", "x.conf", "-d1"].map(OsString::from);
        let session = args_of(Stage::Session, called.into_iter());
        let proxy = args_of(Stage::Proxy, session.clone().into_iter());
        assert_eq!(proxy, ["--stage=proxy", "-f", "x.conf", "-d1"]);
        for (args, stage) in [(session, Stage::Session), (proxy, Stage::Proxy)] {
            let words: Vec<OsString> = std::iter::once("squall".into()).chain(args).collect();
            assert_eq!(cli::read(&words).unwrap().stage, Some(stage));
        }
    }
}
