//! Times of the week (`time`): days as letters, minutes as `h1:m1-h2:m2`, both ends included, local time.

use jiff::{Timestamp, tz::TimeZone};

const SUNDAY: u8 = 1;
const MONDAY: u8 = 1 << 1;
const TUESDAY: u8 = 1 << 2;
const WEDNESDAY: u8 = 1 << 3;
const THURSDAY: u8 = 1 << 4;
const FRIDAY: u8 = 1 << 5;
const SATURDAY: u8 = 1 << 6;
const WEEKDAYS: u8 = MONDAY | TUESDAY | WEDNESDAY | THURSDAY | FRIDAY;
const ALL_WEEK: u8 = 0x7f;
/// Last minute of a day.
const LAST_MINUTE: u16 = 23 * 60 + 59;

/// What is wrong with a value of a `time` ACL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTime {
    /// A letter that is no day.
    #[error("Bad Day")]
    Day,
    /// Not `h:m-h:m`.
    #[error("Bad time range")]
    Range,
    /// The end lies before the start.
    #[error("Reversed time range")]
    Reversed,
}

/// Times of the week.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeSet(Vec<Span>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    days: u8,
    first: u16,
    last: u16,
}

impl TimeSet {
    /// Adds the values of one `acl` line: days apply to the range that follows them.
    ///
    /// # Errors
    /// The first value that is neither days nor a range.
    pub fn insert_line<'a>(
        &mut self,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), BadTime> {
        let mut days = 0;
        for value in values {
            if value.starts_with(|first: char| first.is_ascii_digit()) {
                let (first, last) = range(value).ok_or(BadTime::Range)?;
                if first > last {
                    return Err(BadTime::Reversed);
                }
                self.0.push(Span {
                    days: if days == 0 { ALL_WEEK } else { days },
                    first,
                    last,
                });
                days = 0;
            } else {
                for letter in value.chars() {
                    days |= day(letter).ok_or(BadTime::Day)?;
                }
            }
        }
        if days != 0 {
            self.0.push(Span {
                days,
                first: 0,
                last: LAST_MINUTE,
            });
        }
        Ok(())
    }

    /// Is this moment in the set, in this zone?
    pub fn contains(&self, now: i64, zone: &TimeZone) -> bool {
        let Ok(stamp) = Timestamp::from_second(now) else {
            return false;
        };
        let local = zone.to_datetime(stamp);
        let day = 1u8 << local.weekday().to_sunday_zero_offset();
        let minute =
            u16::from(local.hour().unsigned_abs()) * 60 + u16::from(local.minute().unsigned_abs());
        self.0
            .iter()
            .any(|span| span.days & day != 0 && span.first <= minute && minute <= span.last)
    }
}

fn day(letter: char) -> Option<u8> {
    Some(match letter {
        'S' => SUNDAY,
        'M' => MONDAY,
        'T' => TUESDAY,
        'W' => WEDNESDAY,
        'H' => THURSDAY,
        'F' => FRIDAY,
        'A' => SATURDAY,
        'D' => WEEKDAYS,
        '-' => 0,
        _ => return None,
    })
}

fn range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (minute(first)?, minute(last)?);
    (first <= LAST_MINUTE).then_some((first, last))
}

/// Minutes since midnight; 24:00 is the end of the day.
fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute) = (hour.parse::<u16>().ok()?, minute.parse::<u16>().ok()?);
    (minute < 60 && (hour < 24 || hour == 24 && minute == 0)).then_some(hour * 60 + minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_second()
    }

    fn check(values: &[&str], moment: &str, expected: bool) {
        let mut set = TimeSet::default();
        set.insert_line(values.iter().copied()).unwrap();
        assert_eq!(
            set.contains(at(moment), &TimeZone::UTC),
            expected,
            "{values:?} at {moment}"
        );
    }

    #[test]
    fn days_and_minutes_are_compared_with_both_ends_in() {
        // 2026-11-20 is a Friday.
        check(&["MTWHF", "9:00-17:00"], "2026-11-20T09:00:00Z", true);
        check(&["MTWHF", "9:00-17:00"], "2026-11-20T17:00:59Z", true);
        check(&["MTWHF", "9:00-17:00"], "2026-11-20T17:01:00Z", false);
        check(&["D"], "2026-11-20T23:59:59Z", true);
        check(&["D"], "2026-11-21T12:00:00Z", false);
        check(&["AS"], "2026-11-21T12:00:00Z", true);
        check(&["00:00-24:00"], "2026-11-22T23:59:59Z", true);
        check(
            &["M", "8:00-9:00", "F", "10:00-11:00"],
            "2026-11-20T10:30:00Z",
            true,
        );
        check(
            &["M", "8:00-9:00", "F", "10:00-11:00"],
            "2026-11-20T08:30:00Z",
            false,
        );
    }

    #[test]
    fn the_zone_decides_the_day() {
        let mut set = TimeSet::default();
        set.insert_line(["A"]).unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert!(set.contains(at("2026-11-20T22:30:00Z"), &zone));
        assert!(!set.contains(at("2026-11-20T22:30:00Z"), &TimeZone::UTC));
    }

    #[test]
    fn rubbish_is_named() {
        let bad = |value| TimeSet::default().insert_line([value]).unwrap_err();
        assert_eq!(bad("MX"), BadTime::Day);
        assert_eq!(bad("9-17"), BadTime::Range);
        assert_eq!(bad("25:00-26:00"), BadTime::Range);
        assert_eq!(bad("17:00-9:00"), BadTime::Reversed);
    }
}
