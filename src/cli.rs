//! The command line: Squid's options, in Squid's clusters (`-NYCd1`), with the stray words that
//! start scripts leave behind.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};
use proxy::log::Facility;

use crate::console;

mod misuse;
mod order;
mod service;

pub(crate) use misuse::Misuse;
pub(crate) use order::Order;
pub(crate) use service::ServiceName;

/// A caching web proxy that reads squid.conf.
#[derive(Parser, Clone, Debug, Default)]
#[command(
    name = "squall",
    disable_help_flag = true,
    disable_version_flag = true,
    args_override_self = true,
    after_help = "What a configuration means here: config check, config dump, config explain.
What is stored on disk: store ls, store grep, store dump, store verify, store stats, store purge.
How a running proxy goes: top; its manager's pages: client mgr:info."
)]
#[expect(clippy::struct_excessive_bools, reason = "a field per flag")]
pub(crate) struct Args {
    /// Configuration file
    #[arg(short = 'f', value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Stay in the foreground, as one process
    #[arg(short = 'N')]
    pub(crate) no_daemon: bool,
    /// Stay in the foreground
    #[arg(long)]
    pub(crate) foreground: bool,
    /// Check the configuration (parse, check), or tell the running proxy: reconfigure, rotate,
    /// shutdown, interrupt, kill, debug, restart
    #[arg(short = 'k', value_name = "ORDER", value_parser = Order::of)]
    order: Option<Order>,
    /// Create missing cache directories, then end
    #[arg(short = 'z')]
    make_directories: bool,
    /// Log to standard error too, up to this level
    #[arg(short = 'd', value_name = "LEVEL", allow_negative_numbers = true)]
    pub(crate) debug: Option<i32>,
    /// Full debugging
    #[arg(short = 'X')]
    pub(crate) debug_all: bool,
    /// Listen on this port in place of the first `http_port`'s
    #[arg(short = 'a', value_name = "PORT")]
    pub(crate) http_port: Option<u16>,
    /// Show the version
    #[arg(short = 'v', long = "version")]
    version: bool,
    /// Show this help
    #[arg(short = 'h', long = "help", short_alias = '?')]
    help: bool,
    /// Which part of the daemon this process is
    #[arg(long, hide = true)]
    pub(crate) stage: Option<Stage>,

    /// Log what an operator should read to syslog too
    #[arg(short = 's')]
    syslog: bool,
    /// The same, as this facility: authpriv, daemon, user, local0 to local7 (without -l, local4)
    #[arg(short = 'l', value_name = "FACILITY", value_parser = Facility::of)]
    facility: Option<Facility>,
    /// Name of the service: in the usual PID file's name, and as ${service_name} in the
    /// configuration
    #[arg(short = 'n', value_name = "NAME", value_parser = ServiceName::of)]
    service_name: Option<ServiceName>,
    /// Accepted: there is no ICP to use another port for yet
    #[arg(short = 'u', value_name = "PORT")]
    pub(crate) icp_port: Option<u16>,
    /// Accepted: no signal of a crash is caught
    #[arg(short = 'C')]
    _no_catch: bool,
    /// Accepted: DNS isn't tested at the start
    #[arg(short = 'D')]
    _no_dns_test: bool,
    /// Accepted: there is no disk cache to rebuild first
    #[arg(short = 'F')]
    _foreground_rebuild: bool,
    /// Accepted: a restart must not wait for old connections to time out
    #[arg(short = 'R')]
    _no_reuse: bool,
    /// Accepted: there is no disk cache to check
    #[arg(short = 'S')]
    _double_check: bool,
    /// Accepted: there is no ICP to answer while a cache is rebuilt
    #[arg(short = 'Y')]
    _hit_only: bool,
    /// Accepted: memory isn't traced
    #[arg(short = 'm', num_args = 0..=1, default_missing_value = "")]
    _malloc_trace: Option<String>,

    /// Of Squid for Windows, or between its own processes
    #[arg(short = 'i', hide = true)]
    _install: bool,
    #[arg(short = 'r', hide = true)]
    _remove: bool,
    #[arg(short = 'O', hide = true)]
    _service_options: Option<String>,
    #[arg(long, hide = true)]
    _kid: Option<String>,
    /// Words that start scripts leave behind
    #[arg(hide = true)]
    _stray: Vec<OsString>,
}

/// Which part of the daemon a process is; the first one has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Stage {
    /// Opens a session of its own and starts the next.
    Session,
    /// The proxy.
    Proxy,
}

/// What the program is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Show the help.
    Help,
    /// Show the version.
    Version,
    /// `-k`
    Signal(Order),
    /// `-z`
    MakeDirectories,
    /// Be a proxy.
    Serve,
}

impl Args {
    /// What the program is to do: the first that is asked for.
    pub(crate) const fn task(&self) -> Task {
        if self.help {
            Task::Help
        } else if self.version {
            Task::Version
        } else if let Some(order) = self.order {
            Task::Signal(order)
        } else if self.make_directories {
            Task::MakeDirectories
        } else {
            Task::Serve
        }
    }

    /// Where syslog lines go, if there are to be any.
    pub(crate) fn syslog(&self) -> Option<Facility> {
        let usual = self.syslog.then_some(Facility::Local(4));
        self.facility.or(usual)
    }

    /// The name of this service.
    pub(crate) fn service_name(&self) -> ServiceName {
        self.service_name.clone().unwrap_or_default()
    }

    /// Does this process stay with the terminal that started it?
    pub(crate) const fn stays(&self) -> bool {
        self.no_daemon || self.foreground
    }
}

/// The name that the program was called by, without its path.
pub(crate) fn called(words: &[OsString]) -> String {
    let name = words.first().map(Path::new).and_then(Path::file_name);
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Do the arguments ask for one of our own commands? Under Squid's name a stray word stays one.
pub(crate) fn asks_for(called: &str, words: &[OsString], command: &str) -> bool {
    called != "squid" && words.get(1).is_some_and(|word| word == command)
}

/// Reads the arguments; the first is the program's name.
pub(crate) fn read(words: &[OsString]) -> Result<Args, Misuse> {
    Args::try_parse_from(words).map_err(Misuse::new)
}

/// Prints the help, where and with the exit status that Squid has for it.
pub(crate) fn help(called: &str) -> ExitCode {
    let mut command = Args::command().bin_name(called);
    console::plain(command.render_help());
    ExitCode::FAILURE
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    pub(crate) fn args(line: &str) -> Args {
        read(&words(line)).unwrap_or_else(|misuse| panic!("{line}: {}", misuse.words()))
    }

    #[test]
    fn the_options_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_lines_of_start_scripts_are_understood() {
        let debian = args("/usr/sbin/squid --foreground -sYC");
        assert!(debian.foreground && debian.stays());
        let dify = args("squid -f /etc/squid/squid.conf -NYC 1");
        assert!(dify.no_daemon);
        assert_eq!(
            dify.config.as_deref(),
            Some(Path::new("/etc/squid/squid.conf"))
        );
        let cluster = args("squid -NYCd1");
        assert!(cluster.no_daemon && cluster.debug == Some(1));
        assert_eq!(args("squid -Nz").task(), Task::MakeDirectories);
        assert_eq!(args("squid").task(), Task::Serve);
        assert!(!args("squid").stays());
        args("squid -N -N -d 1 -d 2 -m -D -l local4 -u 3130 --kid squid-1");
        let named = args("squid -N -n squid2");
        assert_eq!(named.service_name().as_str(), "squid2");
        assert_eq!(debian.service_name().as_str(), "squid");
    }

    #[test]
    fn orders_may_be_cut_short() {
        let check = |line: &str, order: Order| {
            assert_eq!(args(line).task(), Task::Signal(order), "{line}");
        };
        check("squid -k parse", Order::Parse);
        check("squid -kparse", Order::Parse);
        check("squid -k reconf", Order::Reconfigure);
        check("squid -k r", Order::Reconfigure);
        check("squid -k rot", Order::Rotate);
        check("squid -k res", Order::Restart);
        check("squid -k s", Order::Shutdown);
        check("squid -k int -f x", Order::Interrupt);
    }

    #[test]
    fn what_cannot_be_understood_is_told_in_squids_words() {
        let check = |line: &str, said: &str| {
            let misuse = read(&words(line)).unwrap_err();
            assert!(misuse.words().starts_with(said), "{}", misuse.words());
        };
        let wrong = "unrecognized option or missing required argument";
        check("squid -Q", &format!("'-Q': {wrong}"));
        check("squid -NYQ", &format!("'-Q': {wrong}"));
        check("squid --dance", &format!("'--dance': {wrong}"));
        check("squid -f", &format!("'-f': {wrong}"));
        check("squid -k", &format!("'-k': {wrong}"));
        check("squid -k dance", "'-k dance': not one of reconfigure, ");
        check("squid -a http", "'-a http': invalid digit");
        check("squid -l local9", "'-l local9': unknown syslog facility");
        check("squid -n a/b", "Garbage after alphanumeric service name");
    }

    #[test]
    fn syslog_is_as_local4_unless_named() {
        assert_eq!(args("squid").syslog(), None);
        assert_eq!(args("squid -s").syslog(), Some(Facility::Local(4)));
        assert_eq!(
            args("squid -sYC -l daemon").syslog(),
            Some(Facility::Daemon)
        );
    }

    #[test]
    fn the_name_we_are_called_by_has_no_path() {
        let words = words("/usr/sbin/squid -v");
        assert_eq!(called(&words), "squid");
        assert_eq!(read(&words).unwrap().task(), Task::Version);
    }
}
