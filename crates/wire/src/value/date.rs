//! HTTP dates (RFC 9110 §5.6.7): all three formats in, IMF-fixdate out.

use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;

/// The last second that has a four-digit year.
const SECS_MAX: u64 = 253_402_300_799;

const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// Length of a written date.
pub const DATE_BYTES: usize = 29;

/// Seconds since 1970, or `None` when it is no date of 1970 to 9999.
pub fn parse(value: &[u8]) -> Option<i64> {
    // Everything longer is invalid anyway.
    let text = str::from_utf8(value)
        .ok()
        .filter(|text| text.len() <= 64 && text.is_ascii())?;
    let time = httpdate::parse_http_date(text)
        .ok()
        .or_else(|| parse_loosely(text))?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

/// A cache takes names in any case (RFC 9111 §4.2). The day of the week is part of the format, but which one it is
/// follows from the date; where it says another, the date counts.
fn parse_loosely(text: &str) -> Option<SystemTime> {
    let (day, rest) = text.split_at_checked(text.find([',', ' '])?)?;
    let is_short = day.len() == 3;
    let names = DAYS.map(|name| {
        if is_short {
            name.get(..3).unwrap_or(name)
        } else {
            name
        }
    });
    if !names.iter().any(|name| name.eq_ignore_ascii_case(day)) {
        return None;
    }
    let rest = capitalised(rest);
    names
        .iter()
        .find_map(|name| httpdate::parse_http_date(&format!("{name}{rest}")).ok())
}

/// With the letters of month and zone in the case that the formats have.
fn capitalised(text: &str) -> String {
    let mut after_letter = false;
    let mut out: String = text
        .chars()
        .map(|letter| {
            let inside = after_letter;
            after_letter = letter.is_ascii_alphabetic();
            if inside {
                letter.to_ascii_lowercase()
            } else {
                letter.to_ascii_uppercase()
            }
        })
        .collect();
    if let Some(start) = out.strip_suffix("Gmt") {
        out = format!("{start}GMT");
    }
    out
}

/// Appends the date; times outside of 1970 to 9999 are moved to the nearest end.
pub fn write(unix_secs: i64, out: &mut Vec<u8>) {
    let secs = u64::try_from(unix_secs).unwrap_or(0).min(SECS_MAX);
    let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(secs));
    // A Vec takes all that is written to it.
    write!(out, "{date}").ok();
}

/// Any value is no date, or survives being written and parsed again.
///
/// # Panics
/// When that isn't so.
pub fn fuzz(data: &[u8]) {
    if let Some(secs) = parse(data) {
        let mut written = Vec::new();
        write(secs, &mut written);
        assert_eq!(written.len(), DATE_BYTES);
        assert_eq!(parse(&written), Some(secs));
    }
    if let Some(first) = data.first_chunk::<8>() {
        let mut written = Vec::new();
        write(i64::from_le_bytes(*first), &mut written);
        assert!(parse(&written).is_some(), "every time can be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_formats_are_read() {
        for date in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(date.as_bytes()), Some(784_111_777), "{date}");
        }
    }

    #[test]
    fn names_are_read_in_any_case() {
        // RFC 9111 §4.2.
        for date in [
            "SUN, 06 nov 1994 08:49:37 gmt",
            "sunday, 06-NOV-94 08:49:37 gMT",
            "sun nOV  6 08:49:37 1994",
        ] {
            assert_eq!(parse(date.as_bytes()), Some(784_111_777), "{date}");
        }
    }

    #[test]
    fn the_day_of_the_week_is_what_the_date_makes_it() {
        for date in [
            "Wed, 06 Nov 1994 08:49:37 GMT",
            "Wednesday, 06-Nov-94 08:49:37 GMT",
            "Wed Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(date.as_bytes()), Some(784_111_777), "{date}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for bad in [
            "",
            "0",
            "-1",
            "Mon, 01 Ja",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun 06 Nov 1994 08:49:37 GMT",
            "Sun, 06-Nov-1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Foo, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08.49.37 GMT",
            "tomorrow",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn dates_are_written_in_the_preferred_format() {
        let mut out = Vec::new();
        write(784_111_777, &mut out);
        assert_eq!(out, b"Sun, 06 Nov 1994 08:49:37 GMT");
        out.clear();
        write(-5, &mut out);
        assert_eq!(out, b"Thu, 01 Jan 1970 00:00:00 GMT");
        out.clear();
        write(i64::MAX, &mut out);
        assert_eq!(out, b"Fri, 31 Dec 9999 23:59:59 GMT");
    }
}
