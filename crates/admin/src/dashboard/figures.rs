//! Numbers as people read them. `static/app.js` writes the same texts; `tests/dashboard.rs` compares both in a browser.

/// How a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As it is.
    Text,
    /// A number of things.
    Count,
    /// A number of things per second.
    Rate,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    ByteRate,
    /// A share from 0 to 1.
    Share,
    /// The same, with a bar.
    Bar,
    /// Microseconds.
    Time,
    /// Milliseconds since 1970: the time of the day.
    Clock,
    /// Seconds.
    Age,
    /// A status of HTTP.
    Status,
    /// The name of a transaction.
    Id,
}

impl Kind {
    /// Its word in `data-as`.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Count => "count",
            Self::Rate => "rate",
            Self::Bytes => "bytes",
            Self::ByteRate => "byterate",
            Self::Share => "share",
            Self::Bar => "bar",
            Self::Time => "time",
            Self::Clock => "clock",
            Self::Age => "age",
            Self::Status => "status",
            Self::Id => "id",
        }
    }

    /// Is it a number, in a column of such?
    pub(super) const fn is_number(self) -> bool {
        !matches!(self, Self::Text | Self::Id)
    }

    /// A number as it is shown.
    #[must_use]
    pub fn number(self, value: f64) -> String {
        match self {
            Self::Text | Self::Count | Self::Id => count(value),
            Self::Status => format!("{value}"),
            Self::Rate => rate(value),
            Self::Bytes => bytes(value),
            Self::ByteRate => bytes(value) + "/s",
            Self::Share | Self::Bar => format!("{:.1} %", value * 100.0),
            Self::Time => time(value),
            Self::Clock => clock(value),
            Self::Age => age(value),
        }
    }
}

/// What stands for a value that isn't known.
pub(super) const UNKNOWN: &str = "–";

/// `1,234,567`
fn count(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn rate(value: f64) -> String {
    if value < 99.95 && value > 0.0 {
        format!("{value:.1}")
    } else {
        count(value)
    }
}

/// Three digits that matter.
fn three(value: f64) -> String {
    let places = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.places$}")
}

fn bytes(value: f64) -> String {
    let mut value = value.max(0.0);
    if value < 1023.5 {
        return format!("{value:.0} B");
    }
    for unit in ["KB", "MB", "GB", "TB"] {
        value /= 1024.0;
        if value < 999.5 {
            return format!("{} {unit}", three(value));
        }
    }
    format!("{} PB", three(value / 1024.0))
}

fn time(us: f64) -> String {
    if us < 999.5 {
        format!("{us:.0} µs")
    } else if us < 999_500.0 {
        format!("{} ms", three(us / 1e3))
    } else if us < 99.95e6 {
        format!("{} s", three(us / 1e6))
    } else {
        age(us / 1e6)
    }
}

/// Time of the day, UTC.
fn clock(unix_ms: f64) -> String {
    let secs = (unix_ms / 1000.0).rem_euclid(86_400.0).floor();
    let (hours, minutes) = ((secs / 3600.0).floor(), (secs / 60.0).floor() % 60.0);
    format!("{hours:02}:{minutes:02}:{:02}", secs % 60.0)
}

fn age(secs: f64) -> String {
    let secs = secs.max(0.0).floor();
    let (minutes, hours, days) = (
        (secs / 60.0).floor(),
        (secs / 3600.0).floor(),
        (secs / 86_400.0).floor(),
    );
    if days > 0.0 {
        format!("{days} d {} h", hours % 24.0)
    } else if hours > 0.0 {
        format!("{hours} h {} min", minutes % 60.0)
    } else if minutes > 0.0 {
        format!("{minutes} min {} s", secs % 60.0)
    } else {
        format!("{secs} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, value: f64, expected: &str) {
        assert_eq!(kind.number(value), expected, "{kind:?} {value}");
    }

    #[test]
    fn figures_are_short_and_have_a_unit() {
        check(Kind::Count, 1_234_567.0, "1,234,567");
        check(Kind::Count, 999.0, "999");
        check(Kind::Rate, 3.04, "3.0");
        check(Kind::Rate, 0.0, "0");
        check(Kind::Rate, 99.96, "100");
        check(Kind::Bytes, 1000.0, "1000 B");
        check(Kind::Bytes, 1024.0, "1.00 KB");
        check(Kind::Bytes, 1_048_576.0 * 12.34, "12.3 MB");
        check(Kind::ByteRate, 1_073_741_824.0, "1.00 GB/s");
        check(Kind::Share, 0.8731, "87.3 %");
        check(Kind::Time, 84.0, "84 µs");
        check(Kind::Time, 3210.0, "3.21 ms");
        check(Kind::Time, 321_000.0, "321 ms");
        check(Kind::Time, 1_500_000.0, "1.50 s");
        check(Kind::Time, 600_000_000.0, "10 min 0 s");
        check(Kind::Clock, 45_296_789.0, "12:34:56");
        check(Kind::Age, 59.9, "59 s");
        check(Kind::Age, 90_061.0, "1 d 1 h");
    }
}
