//! The command line: Squid's options, in Squid's clusters (`-NYCd1`), with the stray words that
//! start scripts leave behind.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

use crate::console;

/// A caching web proxy that reads squid.conf.
#[derive(Parser, Clone, Debug, Default)]
#[command(
    name = "squall",
    disable_help_flag = true,
    disable_version_flag = true,
    args_override_self = true
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

    /// Accepted without effect: what they ask for is always so, or has no meaning here
    #[arg(short = 'C', hide = true)]
    _no_catch: bool,
    #[arg(short = 'D', hide = true)]
    _no_dns_test: bool,
    #[arg(short = 'F', hide = true)]
    _foreground_rebuild: bool,
    #[arg(short = 'R', hide = true)]
    _no_reuse: bool,
    #[arg(short = 'S', hide = true)]
    _double_check: bool,
    #[arg(short = 'Y', hide = true)]
    _hit_only: bool,
    #[arg(short = 's', hide = true)]
    _syslog: bool,
    #[arg(short = 'i', hide = true)]
    _install: bool,
    #[arg(short = 'r', hide = true)]
    _remove: bool,
    #[arg(short = 'l', hide = true)]
    _facility: Option<String>,
    #[arg(short = 'm', hide = true, num_args = 0..=1, default_missing_value = "")]
    _malloc_trace: Option<String>,
    #[arg(short = 'n', hide = true)]
    _service_name: Option<String>,
    #[arg(short = 'u', hide = true)]
    _icp_port: Option<u16>,
    #[arg(short = 'O', hide = true)]
    _service_options: Option<String>,
    #[arg(long, hide = true)]
    _kid: Option<String>,
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

/// What `-k` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Read the configuration anew.
    Reconfigure,
    /// Begin new log files.
    Rotate,
    /// Toggle debugging.
    Debug,
    /// Let clients finish, then end.
    Shutdown,
    /// End at once.
    Interrupt,
    /// Kill.
    Kill,
    /// Restart.
    Restart,
    /// Is it running?
    Check,
    /// Is the configuration good?
    Parse,
}

impl Order {
    /// In the order in which Squid tries prefixes: `r` is reconfigure.
    const NAMES: [(&'static str, Self); 9] = [
        ("reconfigure", Self::Reconfigure),
        ("rotate", Self::Rotate),
        ("debug", Self::Debug),
        ("shutdown", Self::Shutdown),
        ("interrupt", Self::Interrupt),
        ("kill", Self::Kill),
        ("restart", Self::Restart),
        ("check", Self::Check),
        ("parse", Self::Parse),
    ];

    fn of(text: &str) -> Result<Self, String> {
        Self::NAMES
            .iter()
            .find(|(name, _)| !text.is_empty() && name.starts_with(text))
            .map(|(_, order)| *order)
            .ok_or_else(|| "not one of Squid's orders".to_owned())
    }
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

    /// Does this process stay with the terminal that started it?
    pub(crate) const fn stays(&self) -> bool {
        self.no_daemon || self.foreground
    }
}

/// Reads the arguments; gives the name that we were called by too.
pub(crate) fn read(args: impl Iterator<Item = OsString>) -> Result<(String, Args), Misuse> {
    let args: Vec<OsString> = args.collect();
    let called = args.first().map(Path::new).and_then(Path::file_name);
    let called = called.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let read = Args::try_parse_from(&args).map_err(Misuse)?;
    Ok((called, read))
}

/// Prints the help.
pub(crate) fn help() -> anyhow::Result<ExitCode> {
    Args::command().print_help()?;
    Ok(ExitCode::SUCCESS)
}

/// Arguments that can't be understood.
#[derive(Debug)]
pub(crate) struct Misuse(clap::Error);

impl Misuse {
    /// Says so; the exit status is Squid's.
    pub(crate) fn tell(&self) -> ExitCode {
        console::plain(&self.0);
        ExitCode::FAILURE
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn args(line: &str) -> Args {
        let words = line.split_whitespace().map(OsString::from);
        read(words)
            .unwrap_or_else(|misuse| panic!("{line}: {}", misuse.0))
            .1
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
        args("squid -N -N -d 1 -d 2 -m -D -l local4 -n squid2 -u 3130");
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
    fn what_cannot_be_understood_is_a_misuse() {
        for line in [
            "squid -k dance",
            "squid --dance",
            "squid -a http",
            "squid -f",
        ] {
            read(line.split_whitespace().map(OsString::from)).unwrap_err();
        }
    }

    #[test]
    fn the_name_we_are_called_by_has_no_path() {
        let words = ["/usr/sbin/squid", "-v"].map(OsString::from);
        let (name, args) = read(words.into_iter()).unwrap();
        assert_eq!((name.as_str(), args.task()), ("squid", Task::Version));
    }
}
