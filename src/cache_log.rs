//! The cache log: what the program says to its operator, in Squid's form
//! (`2026/11/20 10:00:00 kid1| WARNING: …`), to a file, to standard error, to syslog.
//!
//! A reload may move it and change how much is said; `SIGUSR2` switches full debugging on and off.

mod levels;
mod line;
mod output;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use config::Config;
use jiff::tz::TimeZone;
use proxy::log::Syslog;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::cli::Args;
use crate::console;
use levels::Levels;
use output::{Output, Place, Target};

/// Our crates; others are heard only when something is wrong.
const OURS: [&str; 7] = [
    "squall", "proxy", "net", "store", "rules", "config", "admin",
];

/// The open log.
#[derive(Clone, Debug)]
pub(crate) struct CacheLog(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    output: Mutex<Output>,
    /// Place in [`HEARD`] of the level that the configuration asks for.
    level: AtomicU8,
    /// Everything is heard, until the next `SIGUSR2`.
    debugging: AtomicBool,
    zone: TimeZone,
}

/// The levels that a configuration can ask for.
const HEARD: [Level; 3] = [Level::INFO, Level::DEBUG, Level::TRACE];

impl CacheLog {
    /// Opens the log. A log that can't be opened goes to standard error: it must be heard.
    pub(crate) fn open(config: &Config, args: &Args, built_in: bool) -> Self {
        let target = Place::of(config).open().unwrap_or_else(|(path, error)| {
            if built_in {
                return Target::None;
            }
            console::say(cannot_write(&path, &error));
            console::say("         messages will be sent to 'stderr'.");
            Target::Stderr
        });
        let service = args.service_name();
        let system = args.syslog();
        let system = system.map(|facility| Syslog::new(service.as_str(), facility));
        let log = Self(Arc::new(Inner {
            output: Mutex::new(Output::new(target, system)),
            level: AtomicU8::new(0),
            debugging: AtomicBool::new(false),
            zone: TimeZone::system(),
        }));
        log.set(Levels::read(config, args));
        log
    }

    /// Sends all events of the process here from now on.
    pub(crate) fn install(&self) -> anyhow::Result<()> {
        let subscriber = tracing_subscriber::registry().with(self.clone());
        Ok(tracing::subscriber::set_global_default(subscriber)?)
    }

    /// Goes by a new configuration. A new place that can't be opened is told in the old one, which
    /// stays; each line is in one of them.
    pub(crate) fn reconfigure(&self, config: &Config, args: &Args) {
        let place = Place::of(config);
        if !self.output().target.is(&place) {
            match place.open() {
                Ok(target) => self.output().target = target,
                Err((path, error)) => tracing::warn!("{}", cannot_write(&path, &error)),
            }
        }
        self.set(Levels::read(config, args));
    }

    /// Switches full debugging on, or off again.
    pub(crate) fn toggle_debugging(&self) {
        let was = self.0.debugging.fetch_xor(true, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
        tracing::info!("Full debugging is {}", if was { "off" } else { "on" });
    }

    /// Begins a new file.
    pub(crate) fn rotate(&self) {
        let failed = {
            let mut output = self.output();
            let kept = output.rotate;
            output.target.rotate(kept).err()
        };
        if let Some((path, error)) = failed {
            tracing::error!("cannot open {}: {error}", path.display());
        }
    }

    fn set(&self, levels: Levels) {
        {
            let mut output = self.output();
            output.stderr = levels.stderr;
            output.rotate = levels.rotate;
        }
        let level = HEARD.iter().position(|level| *level == levels.log);
        let level = level.and_then(|level| level.try_into().ok()).unwrap_or(0);
        self.0.level.store(level, Ordering::Relaxed);
        // Who was never heard was told not to speak.
        tracing::callsite::rebuild_interest_cache();
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.0.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The level up to which our own crates are heard.
    fn heard(&self) -> Level {
        let level = usize::from(self.0.level.load(Ordering::Relaxed));
        if self.0.debugging.load(Ordering::Relaxed) {
            Level::TRACE
        } else {
            HEARD.get(level).copied().unwrap_or(Level::INFO)
        }
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!(
        "WARNING: Cannot write log file: {}: {error}",
        path.display()
    )
}

impl<S: Subscriber> Layer<S> for CacheLog {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let target = metadata.target().split("::").next().unwrap_or_default();
        let heard = if OURS.contains(&target) {
            self.heard()
        } else {
            Level::ERROR
        };
        metadata.is_event() && *metadata.level() <= heard
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let text = line::text(event);
        let stamp = format!("{} kid1| ", console::stamp(&self.0.zone));
        self.output()
            .write(*event.metadata().level(), &stamp, &text);
    }
}

#[cfg(test)]
mod tests;
