//! Values with Squid's own grammar: switches, numbers, sizes and times.

use std::net::IpAddr;
use std::time::Duration;

use super::line::{Line, Outcome};

const KB: u64 = 1024;
/// Unit words of sizes; a word that begins with one of them is that unit.
const SIZE_UNITS: [(&str, u64); 4] = [
    ("bytes", 1),
    ("KB", KB),
    ("MB", KB * KB),
    ("GB", KB * KB * KB),
];
/// Unit words of times, in seconds; likewise.
const TIME_UNITS: [(&str, f64); 12] = [
    ("nanosecond", 1e-9),
    ("microsecond", 1e-6),
    ("millisecond", 1e-3),
    ("second", 1.0),
    ("minute", 60.0),
    ("hour", 3_600.0),
    ("day", 86_400.0),
    ("week", 604_800.0),
    ("fortnight", 1_209_600.0),
    ("month", 2_592_000.0),
    ("year", 31_557_790.08),
    ("decade", 315_577_900.8),
];
/// Longest time that Squid takes: its nanoseconds end there.
const TIME_MAX_SECS: f64 = 9_223_372_036.0;
/// Longest time that is waited for; longer ones are as good as it.
const TIMER_MAX_SECS: f64 = 2_147_483_647.0;

impl Line<'_> {
    /// `on` or `off`.
    pub(crate) fn on_off(&mut self) -> Outcome<bool> {
        let word = self.required("on or off")?;
        match &*word {
            "on" => Ok(true),
            "off" => Ok(false),
            "enable" | "disable" => {
                let on = word == "enable";
                let modern = if on { "on" } else { "off" };
                let message = format!("'{word}' is deprecated. Please update to use '{modern}'.");
                self.warn(message, "");
                Ok(on)
            }
            _ => Err(self.fatal("Invalid option: Boolean options can only be 'on' or 'off'.")),
        }
    }

    /// A whole number, decimal, `0x…` or `0…` octal.
    pub(crate) fn integer(&mut self) -> Outcome<i64> {
        let word = self.required("number")?;
        parse_integer(&word).ok_or_else(|| self.fatal(no_number(&word)))
    }

    /// A whole number from 0 up.
    pub(crate) fn count(&mut self) -> Outcome<u32> {
        let number = self.integer()?;
        u32::try_from(number).map_err(|_| {
            self.fatal(if number < 0 {
                format!("The value '{number}' is less than 0.")
            } else {
                out_of_range(&number.to_string())
            })
        })
    }

    /// A number of 16 bits, such as a port.
    pub(crate) fn short(&mut self) -> Outcome<u16> {
        let number = self.integer()?;
        let short = u16::try_from(number);
        short.map_err(|_| self.fatal(format!("{number} is not from 0 to 65535")))
    }

    /// An address, without brackets, or a name, which is looked up when its address is needed.
    pub(crate) fn host(&mut self) -> Outcome<Option<String>> {
        let word = self.required("address")?;
        self.check_host(&word)?;
        Ok(Some(word.trim_matches(['[', ']']).to_owned()))
    }

    /// Is it one?
    pub(crate) fn check_host(&self, word: &str) -> Outcome {
        let bare = word.trim_matches(['[', ']']);
        let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let host = bare.split(':').next().unwrap_or_default();
        if bare.parse::<IpAddr>().is_ok() || (!host.is_empty() && host.chars().all(name)) {
            return Ok(());
        }
        Err(self.fatal(format!("'{word}' is not an address")))
    }

    /// A percentage, with or without its sign; it may exceed 100.
    pub(crate) fn percent(&mut self) -> Outcome<u32> {
        let word = self.required("percentage")?;
        let digits = word.strip_suffix('%').unwrap_or(&word);
        digits
            .parse()
            .map_err(|_| self.fatal(format!("'{word}' is not a percentage")))
    }

    /// A size that must be given, in bytes when it has no unit.
    pub(crate) fn size(&mut self) -> Outcome<u64> {
        self.size_in("bytes", 1)?
            .ok_or_else(|| self.fatal("a size is needed here"))
    }

    /// A size, or `none` or -1.
    pub(crate) fn size_or_none(&mut self) -> Outcome<Option<u64>> {
        self.size_in("bytes", 1)
    }

    /// A size in kilobytes when it has no unit, or -1.
    pub(crate) fn kilobytes_or_none(&mut self) -> Outcome<Option<u64>> {
        self.size_in("KB", KB)
    }

    fn size_in(&mut self, unit: &str, default: u64) -> Outcome<Option<u64>> {
        let word = self.required("size")?;
        if word == "none" || word == "-1" {
            if self.peek().is_some_and(|word| size_unit(&word).is_some()) {
                let _unit = self.word();
            }
            return Ok(None);
        }
        let Some(number) = decimal(&word) else {
            let hint = "Write a number, a blank and bytes, KB, MB or GB.";
            return Err(Box::new(self.fatal(no_number(&word)).hint(hint)));
        };
        let factor = match self.peek().map(|word| (size_unit(&word), word)) {
            Some((Some(factor), _)) => {
                let _unit = self.word();
                factor
            }
            // Zero needs no unit; what follows is something else.
            _ if number == 0.0 => 1,
            Some((None, word)) => {
                let problem = self.fatal(format!("Unknown bytes unit '{word}'"));
                return Err(Box::new(problem.hint("Units are bytes, KB, MB and GB.")));
            }
            None => {
                self.assumed(number, unit);
                default
            }
        };
        whole_bytes(number, factor)
            .map(Some)
            .ok_or_else(|| self.fatal(format!("Invalid value '{word}': integer overflow")))
    }

    fn assumed(&mut self, number: f64, unit: &str) {
        let message = format!("No units on '{}', assuming {number:.2} {unit}", self.text());
        self.warn(message, "");
    }

    /// A time, in seconds when it has no unit.
    pub(crate) fn time(&mut self) -> Outcome<Duration> {
        let word = self
            .word()
            .ok_or_else(|| self.fatal("cannot read a time value"))?;
        if word.starts_with('-') {
            return Err(self.fatal("time must have a positive value"));
        }
        let Some(number) = decimal(&word) else {
            let hint = "Write a number, a blank and a unit such as seconds.";
            return Err(Box::new(self.fatal(no_number(&word)).hint(hint)));
        };
        let factor = match self.peek().map(|word| (time_unit(&word), word)) {
            Some((Some(factor), _)) => {
                let _unit = self.word();
                factor
            }
            _ if number == 0.0 => 1.0,
            Some((None, word)) => {
                let problem = self.fatal(format!("unknown time unit '{word}'"));
                let hint = "Units are seconds, minutes, hours, days and so on, in full.";
                return Err(Box::new(problem.hint(hint)));
            }
            None => {
                self.assumed(number, "seconds");
                1.0
            }
        };
        let secs = number * factor;
        if secs > TIME_MAX_SECS {
            return Err(self.fatal("time values cannot exceed 292.269 years"));
        }
        Ok(Duration::from_secs_f64(secs.min(TIMER_MAX_SECS)))
    }
}

/// Why a word is no number, in Squid's words.
fn no_number(word: &str) -> String {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        format!("No digits were found in the input value '{word}'.")
    } else if digits.chars().all(|c| c.is_ascii_digit()) {
        out_of_range(word)
    } else {
        format!("Invalid value: '{word}' is supposed to be a number.")
    }
}

fn out_of_range(word: &str) -> String {
    format!("The value '{word}' is larger than the type 'int'.")
}

/// A number as `strtoll` with base 0 reads it.
pub(crate) fn parse_integer(word: &str) -> Option<i64> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, word.strip_prefix('+').unwrap_or(word)),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = if let Some(hex) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        i64::from_str_radix(hex, 16).ok()?
    } else if digits.len() > 1 && digits.starts_with('0') {
        i64::from_str_radix(digits, 8)
            .or_else(|_| digits.parse())
            .ok()?
    } else {
        digits.parse().ok()?
    };
    Some(sign * value)
}

/// A number from 0 up, decimals allowed.
fn decimal(word: &str) -> Option<f64> {
    let plain = word.chars().all(|c| c.is_ascii_digit() || c == '.');
    word.parse().ok().filter(|_| plain)
}

/// A size glued to its unit, as options have it: `32KB`; bytes without one.
pub(crate) fn parse_bytes(word: &str) -> Option<u64> {
    let end = word
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(word.len());
    let (number, unit) = word.split_at_checked(end)?;
    let factor = if unit.is_empty() { 1 } else { size_unit(unit)? };
    whole_bytes(decimal(number)?, factor)
}

fn size_unit(word: &str) -> Option<u64> {
    SIZE_UNITS
        .iter()
        .find(|(unit, _)| begins_with(word, unit))
        .map(|(_, factor)| *factor)
}

fn time_unit(word: &str) -> Option<f64> {
    TIME_UNITS
        .iter()
        .find(|(unit, _)| begins_with(word, unit))
        .map(|(_, factor)| *factor)
}

fn begins_with(word: &str, unit: &str) -> bool {
    word.get(..unit.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(unit))
}

/// `number × factor` in whole bytes; sizes up to 2^53 are exact.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "checked: from 0 up to 2^62"
)]
fn whole_bytes(number: f64, factor: u64) -> Option<u64> {
    let bytes = number * factor as f64;
    (bytes <= 4.6e18).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::source::Files;
    use super::*;
    use crate::problem::Place;

    fn with<T>(
        text: &str,
        read: impl FnOnce(&mut Line<'_>) -> Outcome<T>,
    ) -> Result<(T, usize), String> {
        let place = Place {
            file: Arc::from("test"),
            line: 1,
        };
        let text = format!("x {text}");
        let mut line = Line::new(&text, &place, false, Files::Disk);
        let value = read(&mut line).map_err(|problem| problem.message)?;
        Ok((value, line.findings.len()))
    }

    #[test]
    fn switches_are_on_and_off() {
        assert_eq!(with("on", |line| line.on_off()), Ok((true, 0)));
        assert_eq!(with("off", |line| line.on_off()), Ok((false, 0)));
        assert_eq!(with("enable", |line| line.on_off()), Ok((true, 1)));
        assert!(with("yes", |line| line.on_off()).is_err());
        assert!(with("", |line| line.on_off()).is_err());
    }

    #[test]
    fn sizes_have_a_blank_and_a_unit() {
        assert_eq!(with("256 MB", |line| line.size()), Ok((256 << 20, 0)));
        assert_eq!(with("1.5 KB", |line| line.size()), Ok((1536, 0)));
        assert_eq!(with("2 gb", |line| line.size()), Ok((2 << 30, 0)));
        assert_eq!(with("10 bytes", |line| line.size()), Ok((10, 0)));
        assert_eq!(with("4096", |line| line.size()), Ok((4096, 1)));
        assert_eq!(with("0", |line| line.size()), Ok((0, 0)));
        assert_eq!(with("0 KB", |line| line.size()), Ok((0, 0)));
        assert_eq!(
            with("16", |line| line.kilobytes_or_none()),
            Ok((Some(16 << 10), 1))
        );
        assert_eq!(
            with("-1 KB", |line| line.kilobytes_or_none()),
            Ok((None, 0))
        );
        assert_eq!(with("none", |line| line.size_or_none()), Ok((None, 0)));
        assert_eq!(with("1 MBytes", |line| line.size()), Ok((1 << 20, 0)));
        // A unit behind -1 is a part of it.
        assert_eq!(
            with("-1 KB", |line| Ok((
                line.size_or_none()?,
                line.leftover().is_none()
            ))),
            Ok(((None, true), 0))
        );
    }

    #[test]
    fn glued_or_strange_sizes_are_fatal() {
        for text in [
            "256MB", "10 K", "ten KB", "-5 KB", "1e99 GB", "inf GB", "none", "",
        ] {
            assert!(with(text, |line| line.size()).is_err(), "{text}");
        }
        assert!(with("9999999999999 GB", |line| line.size()).is_err());
    }

    #[test]
    fn times_have_a_unit_or_are_seconds() {
        let secs = Duration::from_secs;
        assert_eq!(with("2 minutes", |line| line.time()), Ok((secs(120), 0)));
        assert_eq!(with("1 day", |line| line.time()), Ok((secs(86_400), 0)));
        assert_eq!(
            with("250 milliseconds", |line| line.time()),
            Ok((Duration::from_millis(250), 0))
        );
        assert_eq!(with("30", |line| line.time()), Ok((secs(30), 1)));
        assert_eq!(with("1.5 HOURS", |line| line.time()), Ok((secs(5_400), 0)));
        // Longer than any timer.
        assert_eq!(
            with("290 years", |line| line.time()),
            Ok((secs(2_147_483_647), 0))
        );
        assert_eq!(with("0", |line| line.time()), Ok((secs(0), 0)));
        for text in ["30 sec", "30s", "-1 seconds", "", "99999 decades"] {
            assert!(with(text, |line| line.time()).is_err(), "{text}");
        }
    }

    #[test]
    fn whole_numbers_know_their_bases() {
        assert_eq!(parse_integer("027"), Some(0o27));
        assert_eq!(parse_integer("0x10"), Some(16));
        assert_eq!(parse_integer("-3"), Some(-3));
        assert_eq!(parse_integer("089"), Some(89));
        for text in ["", "-", "+-1", "1.5", "10x", "99999999999999999999"] {
            assert_eq!(parse_integer(text), None, "{text}");
        }
        assert!(with("-1", |line| line.count()).is_err());
    }

    /// The words that 5.7 has for them.
    #[test]
    fn what_is_wrong_with_a_value_is_said_in_squids_words() {
        let check = |text: &str, read: fn(&mut Line<'_>) -> Outcome, expected: &str| {
            assert_eq!(with(text, read), Err(expected.into()), "{text}");
        };
        let on_off = |line: &mut Line<'_>| line.on_off().map(drop);
        let boolean = "Invalid option: Boolean options can only be 'on' or 'off'.";
        check("ON", on_off, boolean);
        check("yes", on_off, boolean);
        let size = |line: &mut Line<'_>| line.size().map(drop);
        check(
            "256MB",
            size,
            "Invalid value: '256MB' is supposed to be a number.",
        );
        check("x MB", size, "No digits were found in the input value 'x'.");
        check("256 M", size, "Unknown bytes unit 'M'");
        check("256 TB", size, "Unknown bytes unit 'TB'");
        check(
            "99999999999 GB",
            size,
            "Invalid value '99999999999': integer overflow",
        );
        let time = |line: &mut Line<'_>| line.time().map(drop);
        check("", time, "cannot read a time value");
        check("-5 seconds", time, "time must have a positive value");
        check("5 min", time, "unknown time unit 'min'");
        check(
            "5minutes",
            time,
            "Invalid value: '5minutes' is supposed to be a number.",
        );
        check(
            "500 decades",
            time,
            "time values cannot exceed 292.269 years",
        );
        let count = |line: &mut Line<'_>| line.count().map(drop);
        check(
            "10x",
            count,
            "Invalid value: '10x' is supposed to be a number.",
        );
        let large = "The value '99999999999999999999' is larger than the type 'int'.";
        check("99999999999999999999", count, large);
        check("-1", count, "The value '-1' is less than 0.");
    }

    #[test]
    fn assumed_units_are_said_in_squids_words() {
        let said = |text: &str| {
            let config = crate::parse(text, "f").unwrap();
            config.warnings[0].to_string()
        };
        assert_eq!(
            said("cache_mem 256000000"),
            "WARNING: No units on 'cache_mem 256000000', assuming 256000000.00 bytes [f line 1]"
        );
        assert_eq!(
            said("quick_abort_min 16"),
            "WARNING: No units on 'quick_abort_min 16', assuming 16.00 KB [f line 1]"
        );
        assert_eq!(
            said("via enable"),
            "WARNING: 'enable' is deprecated. Please update to use 'on'. [f line 1]"
        );
    }
}
