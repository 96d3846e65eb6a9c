//! Times as text.

use jiff::{Timestamp, fmt::strtime::BrokenDownTime, tz::TimeZone};

/// `%tl` without an argument, as web servers log it.
const LOCAL: &str = "%d/%b/%Y:%H:%M:%S %z";
/// `%tg` without an argument.
const UTC: &str = "%d/%b/%Y:%H:%M:%S";

/// A time in a form, usually that of web servers' logs, kept for the second it is good for.
#[derive(Debug)]
pub(crate) struct LocalTime {
    zone: TimeZone,
    form: &'static str,
    second: i64,
    shown: String,
}

impl LocalTime {
    pub(crate) const fn new(zone: TimeZone) -> Self {
        Self::in_form(zone, LOCAL)
    }

    pub(crate) const fn in_form(zone: TimeZone, form: &'static str) -> Self {
        Self {
            zone,
            form,
            second: i64::MIN,
            shown: String::new(),
        }
    }

    /// `20/Nov/2026:10:00:00 +0000`.
    pub(crate) fn show(&mut self, unix_ms: i64) -> &[u8] {
        let second = unix_ms.div_euclid(1000);
        if second != self.second {
            self.second = second;
            self.shown.clear();
            let zone = self.zone.clone();
            push(unix_ms, zone, self.form, &mut self.shown);
        }
        self.shown.as_bytes()
    }

    /// The time in a form of `strftime`.
    pub(super) fn push_local(&mut self, unix_ms: i64, form: Option<&str>, out: &mut Vec<u8>) {
        match form {
            None => out.extend_from_slice(self.show(unix_ms)),
            Some(form) => push_bytes(unix_ms, self.zone.clone(), form, out),
        }
    }
}

/// The time in UTC.
pub(super) fn push_utc(unix_ms: i64, form: Option<&str>, out: &mut Vec<u8>) {
    push_bytes(unix_ms, TimeZone::UTC, form.unwrap_or(UTC), out);
}

/// Can this form be shown?
pub(super) fn is_form(form: &str) -> bool {
    let time = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    let shown = BrokenDownTime::from(&time).format(form, &mut String::new());
    shown.is_ok()
}

fn push_bytes(unix_ms: i64, zone: TimeZone, form: &str, out: &mut Vec<u8>) {
    let mut shown = String::new();
    push(unix_ms, zone, form, &mut shown);
    out.extend_from_slice(shown.as_bytes());
}

fn push(unix_ms: i64, zone: TimeZone, form: &str, out: &mut String) {
    let time = Timestamp::from_millisecond(unix_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    let shown = BrokenDownTime::from(&time.to_zoned(zone)).format(form, &mut *out);
    // The form was tried when it was read.
    if shown.is_err() {
        out.clear();
    }
}
