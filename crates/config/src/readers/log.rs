//! Access logs and their formats.

use std::path::PathBuf;

use crate::model::log::{AccessLog, Facility, LogAddr, LogFormat, LogModule, Priority};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};
use crate::text::value::parse_bytes;

/// The format of a log that names none.
const NATIVE: &str = "squid";
/// Squid's formats that need no `logformat` line.
const BUILT_IN: [&str; 6] = [
    NATIVE,
    "common",
    "combined",
    "referrer",
    "useragent",
    "icap_squid",
];
/// Ours; a line of that name, written for Squid, comes before it.
const JSON: &str = "json";
/// The log daemon that Squid brings along, by its names: a thread of ours does what it does.
const USUAL_DAEMONS: [&str; 3] = ["log_file_daemon", "logfile-daemon", "none"];

/// `NAME SPECIFICATION`
pub(crate) fn logformat(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let name = line.required("format name")?.into_owned();
    if BUILT_IN.contains(&&*name) && name != NATIVE {
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
        module: module(line, &target)?,
        format: String::new(),
        acls: Vec::new(),
        rotate: None,
        buffer_size: None,
        dies_on_error: false,
        place: line.place.clone(),
    };
    if log.module != LogModule::None {
        options(draft, line, &mut log)?;
    }
    log.acls.extend(draft.acls.refs(line)?);
    draft.config.access_logs.push(log);
    Ok(())
}

/// What the first word of a log says.
pub(crate) fn module(line: &Line<'_>, target: &str) -> Outcome<LogModule> {
    let (kind, place) = target.split_once(':').unwrap_or((target, ""));
    Ok(match kind {
        "none" => LogModule::None,
        "stdio" => LogModule::File(place.into()),
        "daemon" => LogModule::Daemon(place.to_owned()),
        "syslog" => syslog(line, place)?,
        "udp" => LogModule::Udp(address(line, place)?),
        "tcp" => LogModule::Tcp(address(line, place)?),
        _ => LogModule::File(target.into()),
    })
}

/// `FACILITY.PRIORITY`, both of which may be missing.
fn syslog(line: &Line<'_>, place: &str) -> Outcome<LogModule> {
    let (facility, priority) = place.split_once('.').unwrap_or((place, ""));
    let facility = match facility {
        "" => Facility::User,
        name => Facility::of(name).map_err(|message| line.fatal(message))?,
    };
    let priority = match priority {
        "" => Priority::Info,
        name => Priority::of(name)
            .ok_or_else(|| line.fatal(format!("unknown syslog priority '{name}'")))?,
    };
    Ok(LogModule::Syslog(facility, priority))
}

fn address(line: &Line<'_>, place: &str) -> Outcome<LogAddr> {
    LogAddr::of(place).ok_or_else(|| {
        let problem = line.fatal(format!("'{place}' is not an address to send a log to"));
        Box::new(problem.hint("Write //HOST:PORT, and an IPv6 address in brackets."))
    })
}

/// The program that logs of `daemon:` are given to.
pub(crate) fn logfile_daemon(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let path = line.text_word()?;
    let program = path.rsplit('/').next().unwrap_or_default();
    let usual = USUAL_DAEMONS.contains(&program);
    draft.config.logfile_daemon = (!usual).then(|| PathBuf::from(path));
    Ok(())
}

/// An address whose bits say which of a client's are shown.
pub(crate) fn client_netmask(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let word = line.required("mask")?;
    let mask = word.parse().map_err(|_| {
        let problem = line.fatal(format!("'{word}' is not a mask"));
        Box::new(problem.hint("Write it as an address: 255.255.255.0 or ffff:ffff:ffff::."))
    })?;
    draft.config.client_netmask = Some(mask);
    Ok(())
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
            "on-error" if value == "drop" => log.dies_on_error = false,
            "on-error" if value == "die" => log.dies_on_error = true,
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
        BUILT_IN.contains(&name) || name == JSON || self.formats.contains(name)
    }

    /// What `daemon:` means, which a later line may say.
    pub(crate) fn apply_log_daemon(&mut self) {
        if self.config.logfile_daemon.is_some() {
            return;
        }
        for log in &mut self.config.access_logs {
            if let LogModule::Daemon(place) = &log.module {
                log.module = LogModule::File(place.into());
            }
        }
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
        let syslog = |facility, priority| LogModule::Syslog(facility, priority);
        check(
            "syslog:daemon.err squid a",
            syslog(Facility::Daemon, Priority::Error),
            "squid",
            1,
        );
        check(
            "syslog:local3",
            syslog(Facility::Local(3), Priority::Info),
            "squid",
            0,
        );
        check("syslog", syslog(Facility::User, Priority::Info), "squid", 0);
        let addr = || LogAddr::of("log.example:514").unwrap();
        check(
            "udp://log.example:514 json",
            LogModule::Udp(addr()),
            "json",
            0,
        );
        check("tcp:log.example:514", LogModule::Tcp(addr()), "squid", 0);
    }

    #[test]
    fn a_log_goes_to_a_daemon_that_is_not_the_usual_one() {
        let module = |daemon: &str| {
            let text = format!("access_log daemon:/x/y\nlogfile_daemon {daemon}");
            let config = parse(&text, "test").unwrap();
            assert_eq!(config.warnings, []);
            config.access_logs[0].module.clone()
        };
        assert_eq!(
            module("/usr/lib/squid/log_file_daemon"),
            LogModule::File("/x/y".into())
        );
        assert_eq!(
            module("/usr/lib/squid/log_db_daemon"),
            LogModule::Daemon("/x/y".into())
        );
    }

    #[test]
    fn a_mask_is_an_address() {
        let mask = |text: &str| parse(&format!("client_netmask {text}"), "test");
        let config = mask("255.255.255.0").unwrap();
        assert_eq!(config.client_netmask, Some([255, 255, 255, 0].into()));
        mask("/24").unwrap_err();
    }

    #[test]
    fn options_come_before_acls() {
        let log = log("stdio:/x logformat=common rotate=3 buffer-size=32KB on-error=die a");
        assert_eq!(
            (&*log.format, log.rotate, log.buffer_size),
            ("common", Some(3), Some(32 << 10))
        );
        assert!(log.dies_on_error);
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
    fn formats_that_are_built_in_need_no_line() {
        for format in BUILT_IN.into_iter().chain([JSON]) {
            let text = format!("access_log stdio:/x {format}");
            assert_eq!(parse(&text, "test").unwrap().warnings, [], "{format}");
        }
    }

    /// Configurations for Squid have such a line.
    #[test]
    fn a_json_format_of_ones_own_comes_before_ours() {
        let text = "logformat json {\"a\":\"%>a\"}\naccess_log /x json";
        let config = parse(text, "test").unwrap();
        assert_eq!((config.logformats.len(), config.warnings.len()), (1, 0));
    }

    #[test]
    fn an_unknown_format_or_option_is_fatal() {
        for text in [
            "/x nosuch",
            "/x logformat=nosuch",
            "/x frob=1",
            "/x rotate=y",
            "/x on-error=hide",
            "syslog:kernel",
            "syslog:user.loud",
            "udp://host",
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
