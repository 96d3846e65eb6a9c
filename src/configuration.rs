//! The configuration: which file, what is wrong with it, and what follows from that.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use config::{Config, Event, Options, Place, Problem, Problems, Severity};

use crate::cli::Args;
use crate::console::{self, Page};
use crate::findings::Form;
use crate::{cache_dirs, supports};

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
    pub(crate) fn of(named: Option<&Path>) -> Self {
        match named {
            Some(path) => Self::File(path.into()),
            None if Path::new(USUAL_PATH).exists() => Self::File(USUAL_PATH.into()),
            None => Self::BuiltIn,
        }
    }

    /// As messages name it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::BuiltIn => "built-in".to_owned(),
        }
    }

    /// Reads it.
    pub(crate) fn load(&self, args: &Args) -> Result<Config, Problems> {
        self.load_telling(args, &mut |_event| {})
    }

    /// Reads it, and tells what happens meanwhile.
    pub(crate) fn load_telling(
        &self,
        args: &Args,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Config, Problems> {
        let service = args.service_name();
        let options = Options {
            service_name: service.as_str(),
        };
        let mut config = match self {
            Self::File(path) => config::load_telling(path, &options, tell)?,
            Self::BuiltIn => config::parse_telling(config::BUILT_IN, &self.name(), &options, tell)?,
        };
        if let (Some(number), Some(port)) = (args.http_port, config.ports.first_mut()) {
            port.port = number;
        }
        Ok(config)
    }
}

/// Prints what keeps a configuration from being used; the exit status is Squid's.
pub(crate) fn refuse(problems: &Problems) -> ExitCode {
    Form::of_stderr().show(&problems.0);
    abnormally(problems)
}

fn abnormally(problems: &Problems) -> ExitCode {
    console::say(format_args!(
        "Squall Cache (Version {}): Terminated abnormally.",
        crate::version::OURS
    ));
    ExitCode::from(problems.exit_code().max(1))
}

/// What `-k parse` prints, in its order.
enum Told {
    File(String),
    Line(Place, String),
    Problem(Problem),
}

/// `-k parse`: prints every file, every line and every finding, each after the line that it is
/// about. Init scripts read settings from these lines.
pub(crate) fn parse(args: &Args) -> Result<Config, ExitCode> {
    let mut told = Vec::new();
    let read = Source::of(args.config.as_deref()).load_telling(args, &mut |event| {
        told.push(match event {
            Event::File { path, depth } => Told::File(format!("{path} (depth {depth})")),
            Event::Line { place, text, .. } => Told::Line(place.clone(), text.to_owned()),
            Event::Problem(problem) => Told::Problem(problem.clone()),
        });
    });
    let mut found = Vec::new();
    let compiled = read.and_then(|config| match supports::check(&config) {
        Ok(warnings) => {
            found = warnings;
            Ok(config)
        }
        Err(problems) => {
            found.clone_from(&problems.0);
            Err(problems)
        }
    });
    let (form, mut page) = (Form::of_stderr(), Page::new());
    for told in in_order(told, found) {
        match told {
            Told::File(name) => page.say(format_args!("Processing Configuration File: {name}")),
            Told::Line(_, text) => page.say(format_args!("Processing: {text}")),
            Told::Problem(problem) => form.add(&problem, &mut page),
        }
    }
    page.show();
    compiled.map_err(|problems| abnormally(&problems))
}

/// Puts what was found when all lines were known behind the lines that it is about.
fn in_order(told: Vec<Told>, found: Vec<Problem>) -> Vec<Told> {
    let mut about: HashMap<Place, usize> = HashMap::new();
    for (at, told) in told.iter().enumerate() {
        match told {
            Told::Line(place, _) => about.insert(place.clone(), at),
            Told::Problem(problem) => about.insert(problem.place.clone(), at),
            Told::File(_) => None,
        };
    }
    let last = told.len();
    let found = found.into_iter().map(|problem| {
        let after = about.get(&problem.place).copied().unwrap_or(last);
        (after, Told::Problem(problem))
    });
    let mut all: Vec<(usize, Told)> = told.into_iter().enumerate().chain(found).collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, told)| told).collect()
}

/// Reads the configuration for another errand: says what is wrong, but doesn't repeat what is
/// only not done yet. `logrotate` would mail that every day.
pub(crate) fn check(args: &Args) -> Result<Config, ExitCode> {
    let source = Source::of(args.config.as_deref());
    let config = source.load(args).map_err(|problems| refuse(&problems))?;
    let warnings = supports::check(&config).map_err(|problems| refuse(&problems))?;
    let all = config.warnings.iter().chain(&warnings);
    Form::of_stderr().show(all.filter(|problem| problem.severity != Severity::Warning));
    Ok(config)
}

/// `-z`: makes what `cache_dir` lines name and isn't there.
pub(crate) fn make_directories(args: &Args) -> ExitCode {
    let config = match check(args) {
        Ok(config) => config,
        Err(code) => return code,
    };
    console::say("Creating missing swap directories");
    if config.cache_dirs.is_empty() {
        console::say("No cache_dir stores are configured.");
    }
    match cache_dirs::make(&config, |line| console::say(line)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::fatal(&error);
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_file_wins() {
        let args = crate::cli::tests::args("squid -f /x/squid.conf");
        let source = Source::of(args.config.as_deref());
        assert_eq!(source, Source::File("/x/squid.conf".into()));
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

    #[test]
    fn the_name_of_the_service_is_known_to_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("squid.conf");
        std::fs::write(&path, "visible_hostname ${service_name}.example\n").unwrap();
        let args = crate::cli::tests::args("squid -n edge2");
        let config = Source::File(path).load(&args).unwrap();
        assert_eq!(config.visible_hostname.as_deref(), Some("edge2.example"));
    }
}
