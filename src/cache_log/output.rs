//! Where lines of the cache log go: a file or standard error, and to syslog besides.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use config::{Config, FilePlace};
use proxy::log::{Priority, Syslog};
use tracing::Level;

/// Where the log is when the configuration doesn't say.
const USUAL_PATH: &str = "/var/log/squid/cache.log";

/// Where a configuration wants the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `none`
    None,
    /// Standard error; standard output is the same here.
    Stderr,
    /// A file.
    File(PathBuf),
}

impl Place {
    /// Where `cache_log` says; `stdio:` may be before the path.
    pub(super) fn of(config: &Config) -> Self {
        let path = match &config.cache_log {
            FilePlace::None => return Self::None,
            FilePlace::Unset => Path::new(USUAL_PATH),
            FilePlace::File(path) => path,
        };
        let text = path.to_string_lossy();
        match text.strip_prefix("stdio:").unwrap_or(&text) {
            "/dev/stderr" | "/dev/stdout" | "-" => Self::Stderr,
            path => Self::File(path.into()),
        }
    }

    /// Opens it.
    pub(super) fn open(self) -> Result<Target, (PathBuf, io::Error)> {
        match self {
            Self::None => Ok(Target::None),
            Self::Stderr => Ok(Target::Stderr),
            Self::File(path) => match open(&path) {
                Ok(file) => Ok(Target::File { path, file }),
                Err(error) => Err((path, error)),
            },
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Where the log is.
#[derive(Debug)]
pub(super) enum Target {
    /// Nowhere.
    None,
    /// On standard error.
    Stderr,
    /// In a file.
    File {
        /// As the configuration names it.
        path: PathBuf,
        /// Opened for appending.
        file: File,
    },
}

impl Target {
    /// Is it already what the configuration wants?
    pub(super) fn is(&self, place: &Place) -> bool {
        match (self, place) {
            (Self::None, Place::None) | (Self::Stderr, Place::Stderr) => true,
            (Self::File { path, .. }, Place::File(wanted)) => path == wanted,
            _ => false,
        }
    }

    /// Begins a new file, with `kept` old ones beside it; 0 opens the same name anew.
    pub(super) fn rotate(&mut self, kept: u32) -> Result<(), (PathBuf, io::Error)> {
        let Self::File { path, file } = self else {
            return Ok(());
        };
        // `/dev/null` and named pipes must stay where they are.
        if fs::metadata(&*path).is_ok_and(|data| !data.is_file()) {
            return Ok(());
        }
        proxy::log::rename_away(path, kept);
        *file = open(path).map_err(|error| (path.clone(), error))?;
        Ok(())
    }
}

/// Everything that gets lines.
#[derive(Debug)]
pub(super) struct Output {
    /// The log itself.
    pub(super) target: Target,
    /// Standard error hears events up to this level, wherever the log is.
    pub(super) stderr: Option<Level>,
    /// Old files kept at rotation.
    pub(super) rotate: u32,
    system: Option<System>,
}

/// The system's log, and whether it takes what we send.
#[derive(Debug)]
struct System {
    log: Syslog,
    failing: bool,
}

impl Output {
    pub(super) fn new(target: Target, system: Option<Syslog>) -> Self {
        Self {
            target,
            stderr: None,
            rotate: 0,
            system: system.map(|log| System {
                log,
                failing: false,
            }),
        }
    }

    /// Writes a line; `stamp` comes before its text in the log.
    pub(super) fn write(&mut self, level: Level, stamp: &str, text: &str) {
        self.log(level, &format!("{stamp}{text}\n"));
        let Some(system) = &mut self.system else {
            return;
        };
        // What isn't for operators isn't for the system's log either, as in Squid.
        let Some(priority) = priority(level, text) else {
            return;
        };
        let sent = system.log.send(priority, text);
        let failed = sent.is_err();
        let complaint = sent.err().filter(|_| !system.failing);
        system.failing = failed;
        if let Some(error) = complaint {
            let text = format!("ERROR: cannot log to syslog: {error}; lines are lost there");
            self.log(Level::ERROR, &format!("{stamp}{text}\n"));
        }
    }

    /// A full disk can't be complained of in the log that lies on it; nor a closed standard error.
    fn log(&mut self, level: Level, line: &str) {
        let aloud = match &mut self.target {
            Target::File { file, .. } => {
                drop(file.write_all(line.as_bytes()));
                false
            }
            Target::Stderr => true,
            Target::None => false,
        };
        if aloud || self.stderr.is_some_and(|heard| level <= heard) {
            drop(io::stderr().write_all(line.as_bytes()));
        }
    }
}

fn priority(level: Level, text: &str) -> Option<Priority> {
    match level {
        Level::ERROR if text.starts_with("FATAL: ") => Some(Priority::Alert),
        Level::ERROR => Some(Priority::Error),
        Level::WARN => Some(Priority::Warning),
        Level::INFO => Some(Priority::Notice),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    use proxy::log::Facility;

    fn place(log: FilePlace) -> Place {
        Place::of(&Config {
            cache_log: log,
            ..config::built_in()
        })
    }

    #[test]
    fn a_place_is_a_file_or_standard_error() {
        let named = |path: &str| place(FilePlace::File(path.into()));
        assert_eq!(named("stdio:/dev/stderr"), Place::Stderr);
        assert_eq!(named("/dev/stdout"), Place::Stderr);
        assert_eq!(
            named("stdio:/x/cache.log"),
            Place::File("/x/cache.log".into())
        );
        assert_eq!(place(FilePlace::None), Place::None);
        assert_eq!(place(FilePlace::Unset), Place::File(USUAL_PATH.into()));
    }

    #[test]
    fn the_systems_log_gets_what_is_for_operators() {
        let dir = tempfile::tempdir().unwrap();
        let [path, log] = ["log", "cache.log"].map(|name| dir.path().join(name));
        let syslog = Syslog::at(&path, "squid", Facility::Local(4));
        let target = Place::File(log.clone()).open().unwrap();
        let mut output = Output::new(target, Some(syslog));
        output.write(Level::INFO, "", "nobody hears");
        output.write(Level::INFO, "", "nobody hears");
        let system = UnixDatagram::bind(&path).unwrap();
        system.set_nonblocking(true).unwrap();
        output.write(Level::DEBUG, "", "details");
        output.write(Level::WARN, "", "WARNING: slow");
        output.write(Level::ERROR, "", "FATAL: gone");
        let received = || {
            let mut bytes = [0; 200];
            let length = system.recv(&mut bytes).ok()?;
            Some(String::from_utf8(bytes[..length].to_vec()).unwrap())
        };
        let (warning, fatal) = (received().unwrap(), received().unwrap());
        assert!(warning.starts_with("<164>") && warning.ends_with(": WARNING: slow"));
        assert!(fatal.starts_with("<161>") && fatal.ends_with(": FATAL: gone"));
        assert_eq!(received(), None);
        let log = fs::read_to_string(log).unwrap();
        assert_eq!(log.matches("cannot log to syslog").count(), 1, "{log}");
        assert_eq!(log.lines().count(), 6, "{log}");
    }

    #[test]
    fn what_is_no_file_is_not_renamed() {
        let mut target = Place::File("/dev/null".into()).open().unwrap();
        target.rotate(3).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(!Path::new("/dev/null.0").exists());
    }
}
