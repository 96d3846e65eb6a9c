//! `config check`, `config dump`, `config explain`: what a squid.conf means here, for people and for
//! their scripts. Squid has no such words; under its name they are stray ones, unless they are these.

mod check;
mod dump;
mod explain;
mod lines;
mod secrets;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use admin::ConfigText;
use clap::{Parser, Subcommand};
use config::directives::Row;
use config::{Config, Problems};

use crate::cli::Args;
use crate::configuration::Source;
use crate::console;
use lines::Lines;

/// What a squid.conf means here.
#[derive(Parser, Debug)]
#[command(name = "config", disable_help_subcommand = true)]
struct Words {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Say of each line whether it does here what it says, and what is missed where it doesn't
    Check {
        /// Without one, the usual configuration
        file: Option<PathBuf>,
        /// For programs
        #[arg(long)]
        json: bool,
    },
    /// Write the settings that hold, each with its origin, as a configuration
    Dump {
        /// Without one, the usual configuration
        file: Option<PathBuf>,
        /// Passwords too
        #[arg(long)]
        secrets: bool,
    },
    /// Say what is known of a directive
    Explain {
        /// Its name, in any Squid from 2.5 to 8
        directive: String,
    },
}

/// Reads a configuration to use it, and gives what shows it without passwords, as long as it holds.
pub(crate) fn load(source: &Source, args: &Args) -> (Result<Config, Problems>, ConfigText) {
    let Lines { lines, config, .. } = Lines::load(source, args);
    let text = ConfigText::new(move || dump::dump(&lines, false));
    (config, text)
}

/// Do the arguments ask for one of these, and not for a proxy?
pub(crate) fn is_asked(called: &str, words: &[OsString]) -> bool {
    let word = |place: usize| words.get(place).and_then(|word| word.to_str());
    let known = matches!(word(2), Some("check" | "dump" | "explain"));
    word(1) == Some("config") && (known || called != "squid")
}

/// Does it.
pub(crate) fn run(args: &[OsString]) -> ExitCode {
    let words = args.iter().skip(1);
    let command = match Words::try_parse_from(words) {
        Ok(words) => words.command,
        Err(error) => {
            console::plain(error.render());
            return ExitCode::FAILURE;
        }
    };
    match command {
        Command::Check { file, json } => check::run(&Source::of(file.as_deref()), json),
        Command::Dump { file, secrets } => dump::run(&Source::of(file.as_deref()), secrets),
        Command::Explain { directive } => explain::run(&directive),
    }
}

/// What the table of directives leaves open, because each package of Squid has its own: Debian's.
const PLACES: [(&str, &str); 15] = [
    ("@ACCESS_LOG@", "/var/log/squid/access.log"),
    ("@CACHE_EFFECTIVE_USER@", "proxy"),
    ("@CACHE_LOG@", "/var/log/squid/cache.log"),
    ("@CONFIG_DIR@", "/etc/squid"),
    ("@DISKD@", "/usr/lib/squid/diskd"),
    ("@HOSTS@", "/etc/hosts"),
    ("@ICON_DIR@", "/usr/share/squid/icons"),
    ("@LOGFILED@", "/usr/lib/squid/log_file_daemon"),
    ("@MIME_TABLE@", "/usr/share/squid/mime.conf"),
    ("@NETDB_FILE@", "/var/log/squid/netdb.state"),
    ("@PID_FILE@", "/run/squid.pid"),
    ("@PINGER@", "/usr/lib/squid/pinger"),
    ("@SSL_CRTD@", "/usr/lib/squid/security_file_certgen"),
    ("@SSL_DB_DIR@", "/var/cache/squid/ssl_db"),
    ("@UNLINKD@", "/usr/lib/squid/unlinkd"),
];

/// The default of a directive, with the places that hold here.
fn default(row: &Row) -> String {
    let written = row.default.to_owned();
    PLACES
        .iter()
        .fold(written, |text, (name, place)| text.replace(name, place))
}

/// Writes the answer. Whoever reads it may have read enough.
fn answer(text: &str, code: ExitCode) -> ExitCode {
    drop(std::io::stdout().write_all(text.as_bytes()));
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    #[test]
    fn no_default_leaves_its_place_open() {
        for row in config::directives::rows() {
            let mut words = row.default.split([' ', ':', '/']);
            let open = |word: &str| word.len() > 2 && word.starts_with('@') && word.ends_with('@');
            let known = |word: &str| PLACES.iter().any(|(name, _)| *name == word);
            assert!(words.all(|word| !open(word) || known(word)), "{}", row.name);
        }
    }

    #[test]
    fn under_squids_name_a_stray_word_stays_one() {
        let check = |line: &str, asked: bool| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(is_asked(&cli::called(&words), &words), asked, "{line}");
        };
        check("squall config", true);
        check("/usr/bin/squall config frob", true);
        check("/usr/sbin/squid config check x.conf", true);
        check("squid config dump", true);
        check("squid config", false);
        check("squid config 1", false);
        check("squid -N config check", false);
        check("squall -f config check", false);
    }
}
