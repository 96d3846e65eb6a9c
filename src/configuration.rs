//! The configuration: which file, what is wrong with it, and what follows from that.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use config::{Config, Problems};

use crate::cli::Args;
use crate::{console, supports};

/// Where the configuration is when no `-f` names it.
pub(crate) const USUAL_PATH: &str = "/etc/squid/squid.conf";

/// Where a configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file.
    File(PathBuf),
    /// Squid's stock rules, built in.
    BuiltIn,
}

impl Source {
    /// The file that was named, or else the usual one if it exists, or else none.
    pub(crate) fn of(args: &Args) -> Self {
        match &args.config {
            Some(path) => Self::File(path.clone()),
            None if Path::new(USUAL_PATH).exists() => Self::File(USUAL_PATH.into()),
            None => Self::BuiltIn,
        }
    }

    /// Reads it.
    pub(crate) fn load(&self, args: &Args) -> Result<Config, Problems> {
        let mut config = match self {
            Self::File(path) => config::load(path)?,
            Self::BuiltIn => config::built_in(),
        };
        if let (Some(number), Some(port)) = (args.http_port, config.ports.first_mut()) {
            port.port = number;
        }
        Ok(config)
    }
}

/// Prints what keeps a configuration from being used; the exit status is Squid's.
pub(crate) fn refuse(problems: &Problems) -> ExitCode {
    for problem in &problems.0 {
        console::say(problem);
    }
    console::say(format_args!(
        "Squall Cache (Version {}): Terminated abnormally.",
        crate::version::OURS
    ));
    ExitCode::from(problems.exit_code().max(1))
}

/// Reads the configuration and prints all findings, as `-k parse` does.
pub(crate) fn check(args: &Args) -> Result<Config, ExitCode> {
    let source = Source::of(args);
    if let Source::File(path) = &source {
        let path = path.display();
        console::say(format_args!(
            "Processing Configuration File: {path} (depth 0)"
        ));
    }
    let config = source.load(args).map_err(|problems| refuse(&problems))?;
    for warning in &config.warnings {
        console::say(warning);
    }
    let warnings = supports::check(&config).map_err(|problems| refuse(&problems))?;
    for warning in &warnings {
        console::say(warning);
    }
    Ok(config)
}

/// `-z`: there is no disk cache yet, so there is nothing to make.
pub(crate) fn make_directories(args: &Args) -> anyhow::Result<ExitCode> {
    let config = match check(args) {
        Ok(config) => config,
        Err(code) => return Ok(code),
    };
    console::say("Creating missing swap directories");
    if config.cache_dirs.is_empty() {
        console::say("No cache_dir stores are configured.");
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_file_wins() {
        let args = crate::cli::tests::args("squid -f /x/squid.conf");
        assert_eq!(Source::of(&args), Source::File("/x/squid.conf".into()));
    }

    #[test]
    fn a_port_on_the_command_line_replaces_the_first() {
        let args = crate::cli::tests::args("squid -a 8080");
        let config = Source::BuiltIn.load(&args).unwrap();
        assert_eq!(config.ports[0].port, 8080);
    }

    #[test]
    fn a_file_that_is_not_there_is_a_problem() {
        let source = Source::File("/nowhere/squid.conf".into());
        let problems = source.load(&Args::default()).unwrap_err();
        assert!(problems.exit_code() > 0);
    }
}
