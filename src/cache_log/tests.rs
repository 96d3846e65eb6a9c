//! What is in the log after what was said.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use config::FilePlace;

use super::*;
use crate::cli::tests::args;

fn config_with(path: &Path, options: &str) -> Config {
    Config {
        cache_log: FilePlace::File(path.into()),
        debug_options: options.into(),
        ..config::built_in()
    }
}

/// One log at a time: what `tracing` keeps of who hears what is the process's, and two that renew
/// it at once can leave what the older one found.
fn alone() -> MutexGuard<'static, ()> {
    static LOG: Mutex<()> = Mutex::new(());
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

fn heard_by(log: &CacheLog, story: impl FnOnce()) {
    let subscriber = tracing_subscriber::registry().with(log.clone());
    tracing::subscriber::with_default(subscriber, story);
}

/// The lines of a log without their stamps.
fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let words = text
        .lines()
        .map(|line| line.split_once(" kid1| ").unwrap().1);
    words.map(str::to_owned).collect()
}

#[test]
fn a_line_has_squids_form() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.log");
    let log = CacheLog::open(&config_with(&path, ""), &Args::default(), false);
    heard_by(&log, || {
        tracing::info!("Starting");
        tracing::warn!(peer = "a\nb", "slow");
        tracing::error!("FATAL: gone");
        tracing::debug!("not heard");
        log.rotate();
        tracing::info!("anew");
    });
    let old = dir.path().join("cache.log.0");
    assert!(
        fs::read_to_string(&old)
            .unwrap()
            .contains(" kid1| Starting\n")
    );
    assert_eq!(
        lines(&old),
        ["Starting", "WARNING: slow peer=\"a\\nb\"", "FATAL: gone"]
    );
    assert_eq!(lines(&path), ["anew"]);
}

#[test]
fn full_debugging_comes_and_goes() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.log");
    let log = CacheLog::open(&config_with(&path, ""), &Args::default(), false);
    let murmur = |word: &str| tracing::trace!("{word}");
    heard_by(&log, || {
        murmur("before");
        log.toggle_debugging();
        murmur("during");
        log.toggle_debugging();
        murmur("after");
    });
    assert_eq!(
        lines(&path),
        ["Full debugging is on", "during", "Full debugging is off"]
    );
}

#[test]
fn a_reload_moves_the_log_and_changes_how_much_is_said() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
    let log = CacheLog::open(&config_with(&first, ""), &Args::default(), false);
    let murmur = |word: &str| tracing::debug!("{word}");
    heard_by(&log, || {
        murmur("one");
        log.reconfigure(&config_with(&first, "ALL,3"), &Args::default());
        murmur("two");
        log.reconfigure(&config_with(&second, "rotate=1 ALL,3"), &Args::default());
        murmur("three");
        log.reconfigure(
            &config_with(Path::new("/nowhere/log"), "rotate=1"),
            &Args::default(),
        );
        murmur("four");
        tracing::info!("five");
        log.rotate();
    });
    assert_eq!(lines(&first), ["two"]);
    let second = lines(&dir.path().join("second.0"));
    assert_eq!(second.len(), 3, "{second:?}");
    assert_eq!((second[0].as_str(), second[2].as_str()), ("three", "five"));
    assert!(second[1].starts_with("WARNING: Cannot write log file: /nowhere/log: No such file"));
}

#[test]
fn a_log_that_cannot_be_opened_is_heard_on_standard_error() {
    let _alone = alone();
    let config = config_with(Path::new("/nowhere/cache.log"), "");
    let log = CacheLog::open(&config, &args("squid"), false);
    assert!(matches!(log.output().target, Target::Stderr));
    let log = CacheLog::open(&config, &args("squid"), true);
    assert!(matches!(log.output().target, Target::None));
}
