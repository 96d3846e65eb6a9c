//! External ACL classes.

use std::time::Duration;

use crate::model::access::AclLine;
use crate::model::external::ExternalAclType;
use crate::model::helper::Pool;
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// Answers kept when the line doesn't say.
const CACHE_USUAL: usize = 262_144;

/// `NAME [option…] FORMAT… program [argument…]`: the words of FORMAT begin with `%`.
pub(crate) fn external_acl_type(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let name = line.required("name")?.into_owned();
    let mut class = ExternalAclType {
        name,
        ttl: Duration::from_secs(3600),
        negative_ttl: None,
        grace_percent: 0,
        cache: CACHE_USUAL,
        pool: Pool {
            children: 5,
            ..Pool::default()
        },
        shell_words: false,
        format: String::new(),
        command: Vec::new(),
        place: line.place.clone(),
    };
    let mut word = line.required("format")?;
    while !word.starts_with('%') {
        option(&mut class, line, &word)?;
        word = line.required("format")?;
    }
    while word.starts_with('%') {
        if !class.format.is_empty() {
            class.format.push(' ');
        }
        class.format.push_str(&word);
        word = line.required("helper program")?;
    }
    class.command.push(word.into_owned());
    class.command.extend(line.words());
    let known = &mut draft.config.external_acl_types;
    if known.iter().any(|other| other.name == class.name) {
        let message = format!("external_acl_type {} is defined twice", class.name);
        line.warn(message, "The first line holds.");
    } else {
        known.push(class);
    }
    Ok(())
}

fn option(class: &mut ExternalAclType, line: &mut Line<'_>, word: &str) -> Outcome {
    let unknown = |line: &Line<'_>| {
        let problem = line.fatal(format!("'{word}' is no option of external_acl_type"));
        let hint = "Options are ttl=, negative_ttl=, grace=, cache=, children-max=, \
                    children-startup=, children-idle=, concurrency=, queue-size=, ipv4, ipv6 and \
                    protocol=.";
        Err(Box::new(problem.hint(hint)))
    };
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    let number = leading_number(value);
    let seconds = Duration::from_secs(number.into());
    match (key, value) {
        ("ttl", _) => class.ttl = seconds,
        ("negative_ttl", _) => class.negative_ttl = Some(seconds),
        ("grace", _) => class.grace_percent = number,
        ("cache", _) => class.cache = usize::try_from(number).unwrap_or(usize::MAX),
        ("children-max", _) => class.pool.children = number.max(1),
        ("children-startup", _) => class.pool.startup = number,
        ("children-idle", _) => class.pool.idle = number.max(1),
        ("children", _) => {
            line.warn(
                "external_acl_type option children=N has been deprecated in favor of \
                 children-max=N and children-startup=N",
                "",
            );
            class.pool.children = number.max(1);
            class.pool.startup = number;
        }
        ("concurrency", _) => class.pool.concurrency = number,
        ("queue-size", _) => class.pool.queue_size = Some(number),
        // We talk by pipes: there is no address.
        ("ipv4" | "ipv6", "") => {}
        ("protocol", "2.5") => class.shell_words = true,
        ("quote", "shell") => {
            line.warn(
                "external_acl_type option quote=shell is deprecated. Use protocol=2.5 if still \
                 needed.",
                "",
            );
            class.shell_words = true;
        }
        ("protocol", "3.0") | ("quote", "url") => {
            line.warn(
                format!(
                    "external_acl_type option {word} is deprecated. Remove this from your config."
                ),
                "",
            );
            class.shell_words = false;
        }
        _ => return unknown(line),
    }
    Ok(())
}

/// The digits that a value begins with, as Squid reads these options; what is below 0 counts as 0.
fn leading_number(value: &str) -> u32 {
    let is_digit = |sign: char| sign.is_ascii_digit();
    let end = value.find(|sign| !is_digit(sign)).unwrap_or(value.len());
    let digits = value.get(..end).unwrap_or_default();
    match digits.is_empty() {
        true => 0,
        false => digits.parse().unwrap_or(u32::MAX),
    }
}

/// The class of an `external` ACL has to be there before it.
pub(crate) fn class_of(draft: &Draft, line: &Line<'_>, acl: &AclLine) -> Outcome {
    let Some(class) = acl.values.first_word() else {
        return Ok(());
    };
    let mut known = draft.config.external_acl_types.iter();
    if known.any(|known| known.name == class) {
        return Ok(());
    }
    let problem = line.fatal(format!("external_acl_type '{class}' is not defined"));
    Err(Box::new(problem.hint("Define it above this line.")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn class(text: &str) -> ExternalAclType {
        let config = parse(&format!("external_acl_type {text}"), "test").unwrap();
        config.external_acl_types.into_iter().next().unwrap()
    }

    #[test]
    fn a_class_has_options_a_format_and_a_program() {
        let class = class(
            "checker ipv4 concurrency=50 children-startup=10 children-max=20 ttl=3 %URI %METHOD %un \
             /usr/bin/sb -http=http://127.0.0.1:8080/",
        );
        assert_eq!(
            (&*class.name, &*class.format),
            ("checker", "%URI %METHOD %un")
        );
        assert_eq!(
            class.command,
            ["/usr/bin/sb", "-http=http://127.0.0.1:8080/"]
        );
        assert_eq!(class.ttl, Duration::from_secs(3));
        let pool = class.pool;
        assert_eq!(
            (pool.children, pool.startup, pool.concurrency),
            (20, 10, 50)
        );
    }

    #[test]
    fn what_is_not_said_is_as_in_squid() {
        let class = class("c %SRC /bin/true");
        assert_eq!(
            (class.ttl, class.negative_ttl),
            (Duration::from_secs(3600), None)
        );
        assert_eq!((class.cache, class.grace_percent), (262_144, 0));
        let pool = class.pool;
        assert_eq!((pool.children, pool.startup, pool.idle), (5, 0, 1));
    }

    #[test]
    fn older_forms_are_read() {
        let old =
            class("c children=7 quote=shell negative_ttl=9x grace=-1 %SRC %LOGIN /bin/true a");
        assert!(old.shell_words);
        assert_eq!((old.pool.children, old.pool.startup), (7, 7));
        assert_eq!(old.negative_ttl, Some(Duration::from_secs(9)));
        assert_eq!(old.grace_percent, 0);
    }

    #[test]
    fn a_line_that_lacks_something_or_has_too_much_is_fatal() {
        assert!(parse("acl a external nosuch", "test").is_err());
        for text in [
            "",
            "c",
            "c %SRC",
            "c /bin/true",
            "c foo=1 %SRC /bin/true",
            "c protocol=3.1 %SRC /x",
        ] {
            assert!(
                parse(&format!("external_acl_type {text}"), "test").is_err(),
                "{text}"
            );
        }
    }
}
