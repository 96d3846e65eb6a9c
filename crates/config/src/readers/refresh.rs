//! `refresh_pattern`.

use std::time::Duration;

use crate::model::cache::{RefreshOptions, RefreshPattern};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};
use crate::text::value::parse_integer;

/// Longest `min` and `max`: a year.
const MINUTES_MAX: i64 = 365 * 24 * 60;
/// Options that Squid once had.
const OLD_OPTIONS: [&str; 3] = ["ignore-no-cache", "ignore-must-revalidate", "ignore-auth"];

/// `[-i] REGEX MIN PERCENT MAX [option…]`
pub(crate) fn refresh_pattern(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let mut pattern = line.required("pattern")?;
    let mut ignore_case = false;
    while pattern == "-i" || pattern == "+i" {
        ignore_case = pattern == "-i";
        pattern = line.required("pattern")?;
    }
    let min = minutes(line, "minimum age")?;
    let percent = line.percent()?;
    let max = minutes(line, "maximum age")?;
    let mut options = RefreshOptions::default();
    while let Some(word) = line.word() {
        if OLD_OPTIONS.contains(&&*word) {
            if draft.first(&format!("refresh_pattern {word}")) {
                line.warn(
                    format!("refresh_pattern option '{word}' is obsolete"),
                    "Remove it.",
                );
            }
        } else if option(&mut options, &word).is_none() {
            let message = format!("Unknown refresh_pattern option: {word}");
            line.note_error(message, "The option is ignored.");
        }
    }
    draft.config.refresh_patterns.push(RefreshPattern {
        pattern: pattern.into_owned(),
        ignore_case,
        min,
        percent,
        max,
        options,
        place: line.place.clone(),
    });
    Ok(())
}

fn minutes(line: &mut Line<'_>, what: &str) -> Outcome<Duration> {
    let word = line.required(what)?;
    let Some(number) = parse_integer(&word) else {
        let problem = line.fatal(format!("'{word}' is not a {what} in minutes"));
        return Err(Box::new(problem.hint("Write a whole number of minutes.")));
    };
    let bounded = number.clamp(0, MINUTES_MAX);
    if bounded != number {
        let hint = format!("It is taken as {bounded} minutes.");
        line.warn(
            format!("refresh_pattern {what} {number} is out of range"),
            &hint,
        );
    }
    Ok(Duration::from_secs(bounded.unsigned_abs() * 60))
}

/// Sets one option; `None` when there is no such option.
fn option(options: &mut RefreshOptions, word: &str) -> Option<()> {
    let secs = |value: &str| value.parse().ok().map(Duration::from_secs);
    match word.split_once('=') {
        Some(("max-stale", value)) => options.max_stale = Some(secs(value)?),
        Some(("negative-ttl", value)) => options.negative_ttl = Some(secs(value)?),
        Some(("stale-while-revalidate", value)) => {
            options.stale_while_revalidate = Some(secs(value)?);
        }
        Some(_) => return None,
        None => *switch(options, word)? = true,
    }
    Some(())
}

fn switch<'o>(options: &'o mut RefreshOptions, word: &str) -> Option<&'o mut bool> {
    Some(match word {
        "override-expire" => &mut options.override_expire,
        "override-lastmod" => &mut options.override_lastmod,
        "reload-into-ims" => &mut options.reload_into_ims,
        "ignore-reload" => &mut options.ignore_reload,
        "ignore-no-store" => &mut options.ignore_no_store,
        "ignore-private" => &mut options.ignore_private,
        "refresh-ims" => &mut options.refresh_ims,
        "store-stale" => &mut options.store_stale,
        "ignore-stale-while-revalidate" => &mut options.ignore_stale_while_revalidate,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn pattern(text: &str) -> RefreshPattern {
        let config = parse(&format!("refresh_pattern {text}"), "test").unwrap();
        config.refresh_patterns.into_iter().next().unwrap()
    }

    #[test]
    fn ages_are_minutes_and_the_sign_of_percent_may_be_missing() {
        let stock = pattern(r"-i (/cgi-bin/|\?) 0 20% 4320");
        assert_eq!(
            (&*stock.pattern, stock.ignore_case),
            (r"(/cgi-bin/|\?)", true)
        );
        assert_eq!((stock.min, stock.percent), (Duration::ZERO, 20));
        assert_eq!(stock.max, Duration::from_secs(4320 * 60));
        assert_eq!(pattern(". 1 200 2").percent, 200);
    }

    #[test]
    fn options_are_read() {
        let options = pattern(
            ". 0 0% 0 override-expire override-lastmod reload-into-ims ignore-reload ignore-no-store \
             ignore-private refresh-ims store-stale max-stale=60 negative-ttl=5 \
             stale-while-revalidate=7 ignore-stale-while-revalidate",
        )
        .options;
        assert!(options.override_expire && options.override_lastmod && options.reload_into_ims);
        assert!(options.ignore_reload && options.ignore_no_store && options.ignore_private);
        assert!(
            options.refresh_ims && options.store_stale && options.ignore_stale_while_revalidate
        );
        assert_eq!(options.max_stale, Some(Duration::from_secs(60)));
        assert_eq!(options.negative_ttl, Some(Duration::from_secs(5)));
        assert_eq!(options.stale_while_revalidate, Some(Duration::from_secs(7)));
    }

    #[test]
    fn old_and_unknown_options_are_left_out() {
        let text = "refresh_pattern . 0 0% 0 ignore-no-cache ignore-auth x max-stale=y\n\
                    refresh_pattern . 0 0% 0 ignore-no-cache";
        let config = parse(text, "test").unwrap();
        assert_eq!(config.refresh_patterns.len(), 2);
        assert_eq!(config.warnings.len(), 4);
    }

    #[test]
    fn ages_are_bounded_by_a_year() {
        assert_eq!(
            pattern(". -5 0% 9999999").max,
            Duration::from_secs(365 * 86_400)
        );
        for text in [". x 0% 0", ". 0 y 0", ". 0 0%", ". 0 -1% 0", "-i"] {
            assert!(
                parse(&format!("refresh_pattern {text}"), "test").is_err(),
                "{text}"
            );
        }
    }
}
