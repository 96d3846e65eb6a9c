//! The cache log: what the program says to its operator, in Squid's form
//! (`2026/11/20 10:00:00 kid1| WARNING: …`), to a file, to standard error, or to both.

use std::fmt::{self, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use config::{Config, FilePlace};
use jiff::tz::TimeZone;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::cli::Args;
use crate::console;

/// Where the log is when the configuration doesn't say.
const USUAL_PATH: &str = "/var/log/squid/cache.log";

/// Our crates; others are heard only when something is wrong.
const OURS: [&str; 7] = [
    "squall", "proxy", "net", "store", "rules", "config", "admin",
];

/// The open log.
#[derive(Clone, Debug)]
pub(crate) struct CacheLog(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: Option<PathBuf>,
    file: Mutex<Option<File>>,
    /// Standard error hears events up to this level.
    stderr: Option<Level>,
    level: Level,
    rotate: u32,
    zone: TimeZone,
}

impl CacheLog {
    /// Opens the log. A log that can't be opened goes to standard error: it must be heard.
    pub(crate) fn open(config: &Config, args: &Args, built_in: bool) -> Self {
        let levels = Levels::read(&config.debug_options, args.debug_all);
        let asked = args.debug.filter(|&level| level >= 0).map(level_of);
        let (path, aloud) = match &config.cache_log {
            FilePlace::None => (None, false),
            FilePlace::File(path) => match spelled(path) {
                Spelled::Stderr => (None, true),
                Spelled::Path(path) => (Some(path), false),
            },
            FilePlace::Unset => (Some(PathBuf::from(USUAL_PATH)), false),
        };
        let opened = path.as_deref().map(open);
        let (file, failed) = match opened {
            Some(Ok(file)) => (Some(file), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        let unheard = failed.is_some() && !built_in;
        if let (true, Some(path), Some(error)) = (unheard, &path, &failed) {
            let path = path.display();
            console::say(format_args!(
                "WARNING: Cannot write log file: {path}: {error}"
            ));
            console::say("         messages will be sent to 'stderr'.");
        }
        let aloud = (aloud || unheard).then_some(levels.level);
        Self(Arc::new(Inner {
            path: failed.is_none().then_some(path).flatten(),
            file: Mutex::new(file),
            stderr: asked.max(aloud),
            level: levels.level.max(asked.unwrap_or(levels.level)),
            rotate: levels.rotate.unwrap_or(config.logfile_rotate),
            zone: TimeZone::system(),
        }))
    }

    /// Sends all events of the process here from now on.
    pub(crate) fn install(&self) -> anyhow::Result<()> {
        let subscriber = tracing_subscriber::registry().with(self.clone());
        Ok(tracing::subscriber::set_global_default(subscriber)?)
    }

    /// Begins a new file.
    pub(crate) fn rotate(&self) {
        let Some(path) = &self.0.path else { return };
        proxy::log::rename_away(path, self.0.rotate);
        match open(path) {
            Ok(file) => *self.0.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(file),
            Err(error) => tracing::error!("cannot open {}: {error}", path.display()),
        }
    }

    fn write(&self, level: Level, line: &str) {
        let mut file = self.0.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = file.as_mut() {
            // A full disk can't be complained of in the log that lies on it.
            drop(file.write_all(line.as_bytes()));
        }
        if self.0.stderr.is_some_and(|heard| level <= heard) {
            drop(io::stderr().write_all(line.as_bytes()));
        }
    }
}

impl<S: Subscriber> Layer<S> for CacheLog {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let target = metadata.target().split("::").next().unwrap_or_default();
        let heard = if OURS.contains(&target) {
            self.0.level
        } else {
            Level::ERROR
        };
        metadata.is_event() && *metadata.level() <= heard
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        let level = *event.metadata().level();
        let line = format!(
            "{} kid1| {}\n",
            console::stamp(&self.0.zone),
            text.shown(level)
        );
        self.write(level, &line);
    }
}

/// The words of an event.
#[derive(Debug, Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn shown(&self, level: Level) -> String {
        let words = ["FATAL: ", "ERROR: ", "WARNING: "];
        let word = match level {
            _ if words.iter().any(|word| self.message.starts_with(word)) => "",
            Level::ERROR => "ERROR: ",
            Level::WARN => "WARNING: ",
            _ => "",
        };
        // One event is one line, whatever a peer sent into it.
        format!("{word}{}{}", self.message, self.fields)
            .replace(|char: char| char.is_control(), " ")
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = if field.name() == "message" {
            write!(self.message, "{value:?}")
        } else {
            write!(self.fields, " {}={value:?}", field.name())
        };
        written.expect("a String takes all that is written");
    }
}

/// What `debug_options` asks for.
#[derive(Debug, PartialEq, Eq)]
struct Levels {
    level: Level,
    rotate: Option<u32>,
}

impl Levels {
    /// Squid's sections mean nothing here: the level of `ALL` holds for everything.
    fn read(options: &str, all: bool) -> Self {
        let words = || options.split_whitespace();
        let rotate = words().find_map(|word| word.strip_prefix("rotate=")?.parse().ok());
        let level = words().find_map(|word| word.strip_prefix("ALL,")?.parse().ok());
        Self {
            level: level_of(if all { 9 } else { level.unwrap_or(1) }),
            rotate,
        }
    }
}

/// Squid's 0 and 1 are what an operator should read, 2 and more are for us.
const fn level_of(number: i32) -> Level {
    match number {
        ..=1 => Level::INFO,
        2..=4 => Level::DEBUG,
        _ => Level::TRACE,
    }
}

enum Spelled {
    Stderr,
    Path(PathBuf),
}

/// `stdio:` may be before the path; standard error and output are both standard error here.
fn spelled(path: &Path) -> Spelled {
    let text = path.to_string_lossy();
    match text.strip_prefix("stdio:").unwrap_or(&text) {
        "/dev/stderr" | "/dev/stdout" | "-" => Spelled::Stderr,
        path => Spelled::Path(path.into()),
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config_with(log: FilePlace) -> Config {
        Config {
            cache_log: log,
            ..config::built_in()
        }
    }

    #[test]
    fn a_line_has_squids_form() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cache.log");
        let config = config_with(FilePlace::File(path.clone()));
        let log = CacheLog::open(&config, &Args::default(), false);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(log.clone()), || {
            tracing::info!("Starting");
            tracing::warn!(peer = "a\nb", "slow");
            tracing::error!("FATAL: gone");
            tracing::debug!("not heard");
            log.rotate();
            tracing::info!("anew");
        });
        let old = std::fs::read_to_string(dir.path().join("cache.log.0")).unwrap();
        let lines: Vec<&str> = old.lines().map(|line| line.split_at(19).1).collect();
        assert_eq!(
            lines,
            [
                " kid1| Starting",
                " kid1| WARNING: slow peer=\"a\\nb\"",
                " kid1| FATAL: gone"
            ]
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
    }

    #[test]
    fn levels_are_read_from_debug_options() {
        let check = |options: &str, level: Level, rotate: Option<u32>| {
            assert_eq!(Levels::read(options, false), Levels { level, rotate });
        };
        check("", Level::INFO, None);
        check("ALL,1 33,2", Level::INFO, None);
        check("rotate=3 ALL,3", Level::DEBUG, Some(3));
        check("ALL,9", Level::TRACE, None);
        assert_eq!(Levels::read("ALL,1", true).level, Level::TRACE);
    }

    #[test]
    fn a_log_that_cannot_be_opened_is_heard_on_standard_error() {
        let config = config_with(FilePlace::File("/nowhere/cache.log".into()));
        let log = CacheLog::open(&config, &Args::default(), false);
        assert_eq!(log.0.stderr, Some(Level::INFO));
        let config = config_with(FilePlace::File("stdio:/dev/stderr".into()));
        let log = CacheLog::open(&config, &Args::default(), false);
        assert_eq!((log.0.stderr, &log.0.path), (Some(Level::INFO), &None));
    }
}
