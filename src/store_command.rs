//! `store ls`, `store grep`, `store dump`, `store verify`, `store stats`, `store purge`: what is stored on disk, for people
//! and for their scripts. All but `purge` only look, also while a proxy serves from there.

mod dump;
mod listed;
mod ls;
mod purge;
mod stats;
mod verify;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use config::Config;
use store::{Survey, VolumeOptions};

use crate::{cache_dirs, cli, configuration, console};

/// What is stored on disk.
#[derive(Parser, Debug)]
#[command(
    name = "store",
    bin_name = "squall store",
    disable_help_subcommand = true
)]
struct Words {
    /// Configuration file that names the directories; without one, the usual
    #[arg(short = 'f', value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Name of the service
    #[arg(short = 'n', value_name = "NAME", global = true)]
    service: Option<OsString>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Write the URL of each stored response
    Ls {
        /// Status, bytes, date, until when it is fresh, type, and what selects it
        #[arg(long, short)]
        long: bool,
    },
    /// The same, of URLs that match
    Grep {
        /// An extended regular expression
        regex: String,
        /// Status, bytes, date, until when it is fresh, type, and what selects it
        #[arg(long, short)]
        long: bool,
    },
    /// Write head and body of a stored response
    Dump {
        /// Its URL, as `ls` writes it
        url: String,
        /// Which of its variants
        #[arg(long, value_name = "N")]
        variant: Option<usize>,
    },
    /// Compare all that is stored with its checksums
    Verify,
    /// Say how full each directory is, and what the next start finds
    Stats {
        /// For programs
        #[arg(long)]
        json: bool,
    },
    /// Remove a response with all its variants, while no proxy runs
    Purge {
        /// Its URL, as `ls` writes it
        url: String,
    },
}

const COMMANDS: [&str; 6] = ["ls", "grep", "dump", "verify", "stats", "purge"];

/// Do the arguments ask for one of these, and not for a proxy?
pub(crate) fn is_asked(called: &str, words: &[OsString]) -> bool {
    let word = |place: usize| words.get(place).and_then(|word| word.to_str());
    let known = word(2).is_some_and(|word| COMMANDS.contains(&word));
    word(1) == Some("store") && (known || called != "squid")
}

/// Does it.
pub(crate) fn run(args: &[OsString]) -> ExitCode {
    let words = match Words::try_parse_from(args.iter().skip(1)) {
        Ok(words) => words,
        Err(error) => {
            console::plain(error.render());
            return ExitCode::FAILURE;
        }
    };
    let config = match read(&words) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let done = match words.command {
        Command::Ls { long } => ls::run(&config, None, long),
        Command::Grep { regex, long } => ls::run(&config, Some(&regex), long),
        Command::Dump { url, variant } => dump::run(&config, &url, variant),
        Command::Verify => verify::run(&config),
        Command::Stats { json } => stats::run(&config, json),
        Command::Purge { url } => purge::run(&config, &url),
    };
    match done {
        Ok(code) => code,
        // Whoever reads it may have read enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            console::plain(format_args!("squall store: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The configuration, as the proxy would read it.
fn read(words: &Words) -> Result<Config, ExitCode> {
    let mut line = vec![OsString::from("squall")];
    let file = words.config.as_ref().map(|path| path.clone().into());
    for (option, value) in [("-f", file), ("-n", words.service.clone())] {
        if let Some(value) = value {
            line.extend([option.into(), value]);
        }
    }
    let args = cli::read(&line).map_err(|misuse| misuse.tell("squall"))?;
    configuration::check(&args)
}

/// What one `cache_dir` holds; one that can't be looked at is told, and counted by the caller.
fn surveys(config: &Config) -> Vec<Option<Survey>> {
    let volumes = cache_dirs::volumes(config);
    if volumes.is_empty() {
        console::plain("squall store: no cache_dir is configured");
    }
    volumes.into_iter().map(survey).collect()
}

fn survey(options: VolumeOptions) -> Option<Survey> {
    let path = options.path.clone();
    match Survey::open(options) {
        Ok(survey) => Some(survey),
        Err(error) => {
            console::plain(format_args!("squall store: {}: {error}", path.display()));
            None
        }
    }
}

/// Success, if that was true.
fn code(good: bool) -> ExitCode {
    match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Standard output, for much of it.
fn output() -> impl Write {
    io::BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn under_squids_name_a_stray_word_stays_one() {
        let check = |line: &str, asked: bool| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(is_asked(&cli::called(&words), &words), asked, "{line}");
        };
        check("squall store", true);
        check("squid store", false);
        check("squid store ls", true);
        check("squid -N store ls", false);
    }

    #[test]
    fn all_commands_are_known() {
        Words::command().debug_assert();
        let command = Words::command();
        let names: Vec<&str> = command
            .get_subcommands()
            .map(|one| one.get_name())
            .collect();
        assert_eq!(names, COMMANDS);
    }
}
