//! What several pages write.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// So many of so many, in whole per cent, rounded as C rounds. 0 of nothing.
pub(super) fn percent(part: u64, whole: u64) -> u64 {
    let half = whole / 2;
    let hundred = part.saturating_mul(100).saturating_add(half);
    hundred.checked_div(whole).unwrap_or(0)
}

/// The same with its fraction.
pub(super) fn percent_exact(part: u64, whole: u64) -> f64 {
    ratio(part, whole).map_or(0.0, |ratio| 100.0 * ratio)
}

/// `None` of nothing.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What a list says of its end, if that isn't there.
pub(super) fn left_out(count: usize, what: &str) -> String {
    if count == 0 {
        return String::new();
    }
    format!("({count} more {what} are not listed)\n")
}

/// `20/Nov/2026:22:45:41 +0000`
pub(super) fn common_log_time(unix_secs: i64) -> String {
    let time = Timestamp::from_second(unix_secs).unwrap_or_default();
    let time = time.to_zoned(TimeZone::system());
    time.strftime("%d/%b/%Y:%H:%M:%S %z").to_string()
}

/// Bytes from outside, as visible ASCII in one word.
pub(super) fn visible(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_graphic() {
            text.push(char::from(*byte));
        } else {
            // A String takes all that is written.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded() {
        assert_eq!(percent(15, 29), 52);
        assert_eq!(percent(1, 29), 3);
        assert_eq!(percent(1, 1), 100);
        assert_eq!(percent(0, 0), 0);
    }

    #[test]
    fn bytes_from_outside_stay_in_their_line() {
        assert_eq!(visible(b"a b\r\n\xff"), "a%20b%0D%0A%FF");
    }
}
