//! Writing to what may not take it at once: pipes and connections. A thread that waits here looks up every
//! [`SLICE`], so that it can be told to give up.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long is waited between two looks up.
pub(super) const SLICE: Duration = Duration::from_millis(100);
/// What a pipe takes without making a writer wait, if it takes anything.
pub(super) const PIPE_BYTES: usize = 4096;

/// Asked while a log waits: may it wait on?
pub(crate) type MayWait<'a> = &'a mut dyn FnMut() -> bool;

/// How a write went.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Lines that are lost.
    pub(crate) lost: u64,
    /// Why.
    pub(crate) error: Option<io::Error>,
}

impl Outcome {
    pub(super) const DONE: Self = Self {
        lost: 0,
        error: None,
    };

    /// What begins here is lost.
    pub(super) fn lost(rest: &[u8], error: io::Error) -> Self {
        Self {
            lost: lines_in(rest),
            error: Some(error),
        }
    }
}

/// How many lines end here.
pub(super) fn lines_in(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// What is left to be written after `written` bytes, from the beginning of the line that was torn.
pub(super) fn from_whole_line(lines: &[u8], written: usize) -> &[u8] {
    let before = lines.get(..written).unwrap_or(lines);
    let begin = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    lines.get(begin..).unwrap_or_default()
}

/// Writes until all is written, `patience` passes without a byte, or it may wait no longer. How much was written?
pub(super) fn pour(
    to: &mut (impl Write + AsFd),
    bytes: &[u8],
    piece_bytes_max: usize,
    patience: Duration,
    may_wait: MayWait<'_>,
) -> (usize, io::Result<()>) {
    let mut written = 0;
    let mut progress = Instant::now();
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        let piece = rest.get(..piece_bytes_max).unwrap_or(rest);
        let outcome = match is_writable(to) {
            Ok(true) => to.write(piece),
            Ok(false) => Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => Err(error),
        };
        match outcome {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => {
                written += count;
                progress = Instant::now();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if !may_wait() || progress.elapsed() > patience {
                    return (written, Err(io::ErrorKind::TimedOut.into()));
                }
            }
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

/// Waits for room, a slice at most.
pub(super) fn is_writable(to: &impl AsFd) -> io::Result<bool> {
    let slice = Timespec {
        tv_sec: 0,
        tv_nsec: SLICE.subsec_nanos().into(),
    };
    let mut fds = [PollFd::new(to, PollFlags::OUT)];
    match poll(&mut fds, Some(&slice)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Waits `span`, or shorter when it may not.
pub(super) fn pause(span: Duration, may_wait: MayWait<'_>) -> bool {
    let until = Instant::now() + span;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        if !may_wait() {
            return false;
        }
        std::thread::sleep(left.min(SLICE));
    }
}

/// How long to wait before the next try: longer each time.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(100);
    const MAX: Duration = Duration::from_secs(30);

    pub(super) const fn new() -> Self {
        Self { next: Self::FIRST }
    }

    pub(super) fn step(&mut self) -> Duration {
        let now = self.next;
        self.next = (now * 2).min(Self::MAX);
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_begins_anew() {
        let check = |written, left: &str| {
            assert_eq!(from_whole_line(b"one\ntwo\n", written), left.as_bytes());
        };
        check(0, "one\ntwo\n");
        check(3, "one\ntwo\n");
        check(4, "two\n");
        check(6, "two\n");
        check(8, "");
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_given_up() {
        let (_reader, mut writer) = io::pipe().unwrap();
        let lines = vec![b'\n'; 1 << 20];
        let mut asked = 0;
        let mut may_wait = || {
            asked += 1;
            asked < 2
        };
        let patience = Duration::from_secs(60);
        let (written, outcome) = pour(&mut writer, &lines, PIPE_BYTES, patience, &mut may_wait);
        assert!(written > 0 && written < lines.len());
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_wait_doubles_up_to_its_limit() {
        let mut backoff = Backoff::new();
        let waits: Vec<_> = std::iter::repeat_with(|| backoff.step()).take(20).collect();
        assert_eq!(
            waits[..3],
            [1, 2, 4].map(|n| Duration::from_millis(n * 100))
        );
        assert_eq!(waits[19], Backoff::MAX);
    }
}
