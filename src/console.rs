//! Lines on standard error, stamped as Squid stamps them: what scripts read before there is a log.

use std::fmt::{Display, Write as _};
use std::io::Write as _;

use jiff::{Timestamp, tz::TimeZone};

/// `2026/11/20 10:00:00`, in local time.
pub(crate) fn stamp(zone: &TimeZone) -> String {
    let now = Timestamp::now().to_zoned(zone.clone());
    now.strftime("%Y/%m/%d %H:%M:%S").to_string()
}

/// Writes a stamped line.
pub(crate) fn say(text: impl Display) {
    plain(format_args!("{}| {text}", stamp(&TimeZone::system())));
}

/// Writes a line as it is, in one go. Nobody may be reading it: that is no reason to stop.
pub(crate) fn plain(text: impl Display) {
    drop(std::io::stderr().write_all(format!("{text}\n").as_bytes()));
}

/// Many lines, written together: a configuration may have a million of them.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    zone: TimeZone,
}

impl Page {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self {
            text: String::new(),
            zone: TimeZone::system(),
        }
    }

    /// Adds a stamped line.
    pub(crate) fn say(&mut self, text: impl Display) {
        let stamp = stamp(&self.zone);
        self.plain(format_args!("{stamp}| {text}"));
    }

    /// Adds a line as it is.
    pub(crate) fn plain(&mut self, text: impl Display) {
        writeln!(self.text, "{text}").expect("a String takes all that is written");
    }

    /// Writes them.
    pub(crate) fn show(self) {
        drop(std::io::stderr().write_all(self.text.as_bytes()));
    }
}

/// An error of the system as Squid writes it: its number, then its text.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let Some(code) = error.raw_os_error() else {
        return text;
    };
    let end = format!(" (os error {code})");
    format!("({code}) {}", text.strip_suffix(&end).unwrap_or(&text))
}

/// Says why the program can't go on, in the words that monitoring looks for.
pub(crate) fn fatal(error: &anyhow::Error) {
    tracing::error!("FATAL: {error:#}");
    say(format_args!("FATAL: {error:#}"));
    say(format_args!(
        "Squall Cache (Version {}): Terminated abnormally.",
        crate::version::OURS
    ));
}
