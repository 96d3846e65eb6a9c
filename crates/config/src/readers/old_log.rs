//! Logs that older Squids had directives of their own for: they become `access_log` lines.

use crate::directives::acl::Acls;
use crate::model::access::{AccessRule, AclLine, AclRef};
use crate::model::log::{AccessLog, LogModule, USUAL_PATH};
use crate::problem::Place;
use crate::read::Draft;
use crate::readers::log;
use crate::text::line::{Line, Outcome};

/// Lines of `log_access`: each makes the test of the whole one step deeper.
const RULES_MAX: usize = 64;

/// What the lines have said so far.
#[derive(Default)]
pub(crate) struct OldLogs {
    /// `referer_log` and `useragent_log`.
    logs: Vec<AccessLog>,
    /// `log_access`.
    access: Vec<AccessRule>,
}

/// `FILE` or `none`.
pub(crate) fn referrer_log(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    field_log(draft, line, "referrer")
}

/// `FILE` or `none`.
pub(crate) fn useragent_log(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    field_log(draft, line, "useragent")
}

fn field_log(draft: &mut Draft, line: &mut Line<'_>, format: &str) -> Outcome {
    let place = line.required("file name")?;
    if place != "none" {
        let log = plain(log::module(line, &place)?, format, line.place);
        draft.old_logs.logs.push(log);
    }
    Ok(())
}

/// `allow|deny acl…`: which requests are logged, whatever the log.
pub(crate) fn log_access(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let rule = draft.acls.rule(line)?;
    if draft.old_logs.access.len() == RULES_MAX {
        line.note_error(
            format!("more than {RULES_MAX} lines of log_access"),
            "Write ACLs on the access_log lines; this line is ignored.",
        );
        return Ok(());
    }
    draft.old_logs.access.push(rule);
    Ok(())
}

fn plain(module: LogModule, format: &str, place: &Place) -> AccessLog {
    AccessLog {
        module,
        format: format.to_owned(),
        acls: Vec::new(),
        rotate: None,
        buffer_size: None,
        dies_on_error: false,
        place: place.clone(),
    }
}

impl Draft {
    /// Adds the logs, and to every log the test of `log_access`.
    pub(crate) fn apply_old_logs(&mut self) {
        let OldLogs { logs, access } = std::mem::take(&mut self.old_logs);
        let place = logs.first().map(|log| &log.place);
        let Some(place) = place.or(access.first().map(|rule| &rule.place)) else {
            return;
        };
        if self.config.access_logs.is_empty() {
            let usual = LogModule::File(USUAL_PATH.into());
            self.config.access_logs.push(plain(usual, "", place));
        }
        self.config.access_logs.extend(logs);
        if let Some(logged) = self.first_match("log_access", &access) {
            for log in &mut self.config.access_logs {
                log.acls.push(logged.clone());
            }
        }
    }

    /// One ACL that says what a list of rules says: the first that applies decides, or else the
    /// opposite of the last.
    fn first_match(&mut self, origin: &str, rules: &[AccessRule]) -> Option<AclRef> {
        rules.iter().rev().fold(None, |below, rule| {
            let mut applies = self.private(origin, "all-of", &rule.acls, &rule.place);
            applies.negated = !rule.allow;
            Some(match below {
                None => applies,
                Some(below) => {
                    let kind = if rule.allow { "any-of" } else { "all-of" };
                    self.private(origin, kind, &[applies, below], &rule.place)
                }
            })
        })
    }

    /// An ACL over others, which no line can name.
    pub(crate) fn private(
        &mut self,
        origin: &str,
        kind: &str,
        acls: &[AclRef],
        place: &Place,
    ) -> AclRef {
        let name = Acls::private_name(origin, self.config.acls.len());
        let value = |acl: &AclRef| format!("{}{}", if acl.negated { "!" } else { "" }, acl.name);
        self.config.acls.push(AclLine {
            name: name.clone(),
            kind: kind.to_owned(),
            flags: Vec::new(),
            values: acls.iter().map(value).collect(),
            predefined: false,
            place: place.clone(),
        });
        AclRef {
            name,
            negated: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, parse};

    fn config(text: &str) -> Config {
        parse(text, "test").unwrap()
    }

    fn values<'c>(config: &'c Config, acl: &AclRef) -> (&'c str, Vec<String>) {
        let line = config.acls.iter().find(|line| line.name == acl.name);
        let line = line.unwrap();
        (&line.kind, line.values.texts())
    }

    #[test]
    fn logs_of_one_field_have_its_format() {
        let config = config("access_log /a\nreferer_log /r\nuseragent_log /u\nreferrer_log none");
        let logs = config.access_logs.iter();
        let logs: Vec<_> = logs.map(|log| (log.module.clone(), &*log.format)).collect();
        let file = |path: &str| LogModule::File(path.into());
        assert_eq!(
            logs,
            [
                (file("/a"), "squid"),
                (file("/r"), "referrer"),
                (file("/u"), "useragent")
            ]
        );
    }

    #[test]
    fn they_do_not_take_the_place_of_the_usual_log() {
        let config = config("useragent_log /u\nemulate_httpd_log on");
        assert_eq!(config.access_logs.len(), 2);
        assert_eq!(
            config.access_logs[0].module,
            LogModule::File(USUAL_PATH.into())
        );
        assert_eq!(config.access_logs[0].format, "common");
    }

    #[test]
    fn one_rule_on_logging_is_a_test_of_every_log() {
        let config = config("log_access deny localhost\naccess_log /a\naccess_log /b");
        for log in &config.access_logs {
            assert!(log.acls[0].negated);
            assert_eq!(
                values(&config, &log.acls[0]),
                ("all-of", vec!["localhost".to_owned()])
            );
        }
    }

    /// `allow a; deny b; allow all` is `a or (not b and all)`.
    #[test]
    fn of_several_rules_on_logging_the_first_that_applies_decides() {
        let config = config(
            "acl a port 1\nacl b port 2\nlog_access allow a !b\nlog_access deny b\n\
             log_access allow all\naccess_log /a",
        );
        let (kind, whole) = values(&config, &config.access_logs[0].acls[0]);
        assert_eq!((kind, whole.len()), ("any-of", 2));
        let named = |name: &str| AclRef {
            name: name.trim_start_matches('!').to_owned(),
            negated: false,
        };
        assert_eq!(
            values(&config, &named(&whole[0])),
            ("all-of", vec!["a".to_owned(), "!b".to_owned()])
        );
        let (kind, below) = values(&config, &named(&whole[1]));
        assert_eq!(kind, "all-of");
        assert!(below[0].starts_with('!'), "{below:?}");
        assert_eq!(
            values(&config, &named(&below[0])),
            ("all-of", vec!["b".to_owned()])
        );
        assert_eq!(
            values(&config, &named(&below[1])),
            ("all-of", vec!["all".to_owned()])
        );
    }

    #[test]
    fn rules_on_logging_are_bounded() {
        let config = config(&"log_access allow all\n".repeat(RULES_MAX + 1));
        let said = config.warnings.last().unwrap();
        assert_eq!(said.message, "more than 64 lines of log_access");
    }
}
