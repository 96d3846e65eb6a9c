//! Where texts come from: files, and commands that print one (`-f !command`).

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Longest file or output of a command; a pipe may never end.
const BYTES_MAX: u64 = 256 << 20;

/// May the text name files? Only a fuzzer says no.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// Read them.
    Disk,
    /// Treat all as missing.
    Missing,
}

/// A file's text. A directory has none: `conf.d/*` may match some.
pub(crate) fn read(path: &Path, files: Files) -> io::Result<String> {
    if files == Files::Missing {
        return Err(io::ErrorKind::NotFound.into());
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Ok(String::new());
    }
    text(file, BYTES_MAX)
}

/// What a shell's command prints, with the reason why it doesn't count as a success.
pub(super) fn output(command: &str) -> (String, Option<String>) {
    match run(command, BYTES_MAX) {
        Ok((text, 0)) => (text, None),
        Ok((text, status)) => (text, Some(format!("failed with exit code {status}"))),
        Err(error) => (String::new(), Some(format!("failed: {}", reason(&error)))),
    }
}

/// The text and the wait status, as Squid prints it: the exit code times 256.
fn run(command: &str, bytes_max: u64) -> io::Result<(String, i32)> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdout(Stdio::piped())
        .spawn()?;
    // The pipe is closed before the wait: a command that prints too much ends by that.
    let text = match child.stdout.take() {
        Some(pipe) => text(pipe, bytes_max),
        None => Ok(String::new()),
    };
    let status = child.wait()?;
    Ok((text?, status.into_raw()))
}

fn text(from: impl Read, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    let count = from.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if u64::try_from(count).is_ok_and(|count| count > bytes_max) {
        return Err(io::Error::other("it is longer than 256 MB"));
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// An error as Squid writes it: number, then text.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(code) => {
            let text = text
                .strip_suffix(&format!(" (os error {code})"))
                .unwrap_or(&text);
            format!("({code}) {text}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_what_it_prints_and_how_it_ends() {
        assert_eq!(output("echo via on"), ("via on\n".to_owned(), None));
        let (text, failure) = output("echo a; exit 3");
        assert_eq!(text, "a\n");
        assert_eq!(failure.as_deref(), Some("failed with exit code 768"));
    }

    #[test]
    fn a_command_that_never_stops_printing_is_stopped() {
        let error = run("exec yes", 1_000).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 256 MB");
        assert_eq!(run("echo 345", 4).unwrap().0, "345\n");
    }

    #[test]
    fn a_directory_has_no_text_and_a_device_may() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path(), Files::Disk).unwrap(), "");
        assert_eq!(read(Path::new("/dev/null"), Files::Disk).unwrap(), "");
        assert!(read(dir.path(), Files::Missing).is_err());
    }
}
