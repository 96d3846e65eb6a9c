//! Access logs and their formats.

use crate::model::log::{AccessLog, LogFormat, LogModule};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};
use crate::text::value::parse_bytes;

/// The format of a log that names none.
const NATIVE: &str = "squid";
/// Formats that need no `logformat` line, and are written.
const WRITTEN: [&str; 5] = [NATIVE, "common", "combined", "referrer", "useragent"];
/// The one that needs no line either, and isn't.
const ICAP: &str = "icap_squid";

/// `NAME SPECIFICATION`
pub(crate) fn logformat(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let name = line.required("format name")?.into_owned();
    if is_built_in(&name) && name != NATIVE {
        line.note_error(
            format!("logformat {name} is built in; the line is ignored"),
            "",
        );
        let _ignored = line.remainder();
        return Ok(());
    }
    let text = line.remainder().to_owned();
    if text.is_empty() {
        return Err(line.fatal("missing format"));
    }
    draft.formats.insert(name.clone());
    draft.config.logformats.push(LogFormat {
        name,
        text,
        place: line.place.clone(),
    });
    Ok(())
}

/// `none [acl…]`, or `[MODULE:]PLACE [option…] [acl…]`, or `[MODULE:]PLACE [format [acl…]]`.
pub(crate) fn access_log(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let target = line.required("place")?;
    let mut log = AccessLog {
        module: module(&target),
        format: String::new(),
        acls: Vec::new(),
        rotate: None,
        buffer_size: None,
        drop_on_error: false,
        place: line.place.clone(),
    };
    if log.module != LogModule::None {
        options(draft, line, &mut log)?;
    }
    log.acls.extend(draft.acls.refs(line)?);
    if let LogModule::Other(_) = log.module {
        let name = target.split(':').next().unwrap_or_default();
        let what = format!("access_log module {name}");
        draft.not_yet(line, &what, "Nothing is written there; use stdio:FILE.");
    }
    if log.format == ICAP {
        let what = format!("logformat {ICAP}");
        draft.not_yet(line, &what, "Lines are written in Squid's native format.");
    }
    draft.config.access_logs.push(log);
    Ok(())
}

fn is_built_in(format: &str) -> bool {
    WRITTEN.contains(&format) || format == ICAP
}

pub(crate) fn module(target: &str) -> LogModule {
    match target.split_once(':') {
        None if target == "none" => LogModule::None,
        Some(("none", _)) => LogModule::None,
        Some(("stdio" | "daemon", path)) => LogModule::File(path.into()),
        Some(("syslog" | "udp" | "tcp", _)) => LogModule::Other(target.to_owned()),
        _ if target == "syslog" => LogModule::Other(target.to_owned()),
        _ => LogModule::File(target.into()),
    }
}

fn options(draft: &mut Draft, line: &mut Line<'_>, log: &mut AccessLog) -> Outcome {
    let mut first = true;
    while let Some(word) = line.peek() {
        let Some((key, value)) = word.split_once('=') else {
            if first {
                legacy_format(draft, line, log, &word)?;
            }
            return Ok(());
        };
        first = false;
        let bad = || line.fatal(format!("'{word}' is not a value of {key}"));
        match key {
            "logformat" if draft.knows_format(value) => value.clone_into(&mut log.format),
            "logformat" => return Err(undefined(line, value)),
            "rotate" => log.rotate = Some(value.parse().map_err(|_| bad())?),
            "buffer-size" => log.buffer_size = Some(parse_bytes(value).ok_or_else(bad)?),
            "on-error" if value == "drop" => log.drop_on_error = true,
            "on-error" if value == "die" => {
                log.drop_on_error = false;
                let meaning = "Lines that can't be written are dropped; the proxy goes on.";
                draft.not_yet(line, "access_log on-error=die", meaning);
            }
            "on-error" => return Err(bad()),
            _ => return Err(line.fatal(format!("Unknown access_log option '{word}'"))),
        }
        let _taken = line.word();
    }
    Ok(())
}

/// A first word without `=` is a format, or else an ACL.
fn legacy_format(draft: &Draft, line: &mut Line<'_>, log: &mut AccessLog, word: &str) -> Outcome {
    if draft.knows_format(word) {
        word.clone_into(&mut log.format);
        let _taken = line.word();
        return Ok(());
    }
    let name = word.strip_prefix('!').unwrap_or(word);
    if draft.acls.knows(name) {
        Ok(())
    } else {
        Err(undefined(line, word))
    }
}

fn undefined(line: &Line<'_>, name: &str) -> Box<crate::problem::Problem> {
    let problem = line.fatal(format!("Log format '{name}' is not defined"));
    Box::new(problem.hint("Define it by logformat above this line."))
}

/// `on`: logs without a format of their own are `common`.
pub(crate) fn emulate_httpd_log(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.common_log = line.on_off()?;
    Ok(())
}

impl Draft {
    fn knows_format(&self, name: &str) -> bool {
        is_built_in(name) || self.formats.contains(name)
    }

    /// Gives logs that name no format theirs.
    pub(crate) fn apply_default_format(&mut self) {
        let format = if self.common_log { "common" } else { NATIVE };
        for log in self
            .config
            .access_logs
            .iter_mut()
            .filter(|log| log.format.is_empty())
        {
            format.clone_into(&mut log.format);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn log(text: &str) -> AccessLog {
        let config = parse(&format!("acl a src all\naccess_log {text}"), "test").unwrap();
        config.access_logs.into_iter().next().unwrap()
    }

    fn check(text: &str, module: LogModule, format: &str, acls: usize) {
        let log = log(text);
        assert_eq!(
            (log.module, &*log.format, log.acls.len()),
            (module, format, acls),
            "{text}"
        );
    }

    #[test]
    fn a_place_may_name_its_module() {
        let file = || LogModule::File("/var/log/access.log".into());
        check("/var/log/access.log", file(), "squid", 0);
        check("stdio:/var/log/access.log squid a", file(), "squid", 1);
        check("daemon:/var/log/access.log !a", file(), "squid", 1);
        check(
            "stdio:/dev/stdout",
            LogModule::File("/dev/stdout".into()),
            "squid",
            0,
        );
        check("-", LogModule::File("-".into()), "squid", 0);
        check("none", LogModule::None, "squid", 0);
        check("none a", LogModule::None, "squid", 1);
        check(
            "syslog:daemon.info squid",
            LogModule::Other("syslog:daemon.info".into()),
            "squid",
            0,
        );
    }

    #[test]
    fn options_come_before_acls() {
        let log = log("stdio:/x logformat=common rotate=3 buffer-size=32KB on-error=drop a");
        assert_eq!(
            (&*log.format, log.rotate, log.buffer_size),
            ("common", Some(3), Some(32 << 10))
        );
        assert!(log.drop_on_error);
        assert_eq!(log.acls.len(), 1);
    }

    #[test]
    fn a_log_may_have_a_format_of_its_own() {
        let text = "logformat mine %ts %>a\naccess_log stdio:/x mine\naccess_log stdio:/y mine";
        let config = parse(text, "test").unwrap();
        assert_eq!(config.logformats[0].text, "%ts %>a");
        assert_eq!(config.access_logs[1].format, "mine");
        assert_eq!(config.warnings, []);
    }

    #[test]
    fn formats_that_are_written_need_no_word() {
        for format in ["squid", "common", "combined", "referrer", "useragent"] {
            let text = format!("access_log stdio:/x {format}\nemulate_httpd_log off");
            let config = parse(&text, "test").unwrap();
            let said = config.warnings.iter().map(|said| &*said.message);
            let expected = ["Directive 'emulate_httpd_log' is obsolete."];
            assert!(said.eq(expected), "{:?}", config.warnings);
        }
        for text in [
            "access_log stdio:/x icap_squid",
            "access_log stdio:/x on-error=die",
        ] {
            assert_eq!(parse(text, "test").unwrap().warnings.len(), 1, "{text}");
        }
    }

    #[test]
    fn an_unknown_format_or_option_is_fatal() {
        for text in [
            "/x nosuch",
            "/x logformat=nosuch",
            "/x frob=1",
            "/x rotate=y",
            "",
        ] {
            assert!(
                parse(&format!("access_log {text}"), "test").is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn emulation_changes_the_format_of_logs_without_one() {
        let config = parse(
            "access_log /x\naccess_log /y squid\nemulate_httpd_log on",
            "test",
        )
        .unwrap();
        let formats: Vec<&str> = config.access_logs.iter().map(|log| &*log.format).collect();
        assert_eq!(formats, ["common", "squid"]);
    }
}
