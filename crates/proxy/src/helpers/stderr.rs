//! What helpers write to their standard error goes to the diagnostics log, line by line.

use std::time::Duration;

use stats::{Cells, Counter};
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;
use tokio::time::Instant;

/// Longer lines are cut into lines of this size.
const LINE_BYTES_MAX: usize = 1024;

/// Lines of one child that go to the log per [`SPAN`]; a helper must not fill the disk.
const LINES_MAX: u32 = 100;
const SPAN: Duration = Duration::from_secs(1);

/// Logs what comes until the stream ends.
pub(super) async fn log(mut stderr: ChildStderr, source: &str, cells: &Cells) {
    let mut line = Vec::with_capacity(LINE_BYTES_MAX);
    let mut budget = Budget::new(Instant::now());
    let mut bytes = [0; LINE_BYTES_MAX];
    while let Ok(count @ 1..) = stderr.read(&mut bytes).await {
        for &byte in bytes.iter().take(count) {
            if byte != b'\n' {
                line.push(byte);
            }
            if byte == b'\n' || line.len() == LINE_BYTES_MAX {
                budget.write(source, &mut line, cells);
            }
        }
    }
    budget.write(source, &mut line, cells);
}

/// How many lines may still be written in this span.
struct Budget {
    since: Instant,
    left: u32,
    lost: u64,
}

impl Budget {
    const fn new(since: Instant) -> Self {
        Self {
            since,
            left: LINES_MAX,
            lost: 0,
        }
    }

    fn write(&mut self, source: &str, line: &mut Vec<u8>, cells: &Cells) {
        if self.since.elapsed() >= SPAN {
            if self.lost > 0 {
                tracing::warn!("{source}: {} more lines, not shown", self.lost);
            }
            *self = Self::new(Instant::now());
        }
        if self.left == 0 {
            self.lost += 1;
            cells.count(Counter::HelperLogLinesLost);
        } else if !line.is_empty() {
            self.left -= 1;
            tracing::info!("{source}: {}", printable(line));
        }
        line.clear();
    }
}

/// Text without control characters: a helper must not forge log lines or steer a terminal.
pub(super) fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.trim_ascii_end());
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_control() {
            shown.extend(char.escape_default());
        } else {
            shown.push(char);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            printable(b"a\x1b[31m\tb\xff \r\n"),
            "a\\u{1b}[31m\\tb\u{fffd}"
        );
    }

    #[test]
    fn lines_beyond_the_budget_are_counted() {
        let cells = Cells::new();
        let mut budget = Budget::new(Instant::now());
        for _ in 0..LINES_MAX + 7 {
            budget.write("test", &mut b"x".to_vec(), &cells);
        }
        assert_eq!(cells.get(Counter::HelperLogLinesLost), 7);
        assert_eq!(budget.lost, 7);
    }
}
