//! How much is logged: `debug_options`, `-d` and `-X`, in our five levels.

use config::Config;
use tracing::Level;

use crate::cli::Args;

/// What the configuration and the command line ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    /// The cache log hears events up to this level.
    pub(super) log: Level,
    /// `-d`: standard error hears events up to this level too.
    pub(super) stderr: Option<Level>,
    /// Old files kept at rotation.
    pub(super) rotate: u32,
}

impl Levels {
    /// Squid's sections mean nothing here: the level of `ALL` holds for everything.
    pub(super) fn read(config: &Config, args: &Args) -> Self {
        let words = || config.debug_options.split_whitespace();
        let rotate = words().find_map(|word| word.strip_prefix("rotate=")?.parse().ok());
        let all = words().find_map(|word| word.strip_prefix("ALL,")?.parse().ok());
        let stderr = args.debug.filter(|&level| level >= 0).map(level_of);
        let log = level_of(if args.debug_all { 9 } else { all.unwrap_or(1) });
        Self {
            log: stderr.map_or(log, |stderr| log.max(stderr)),
            stderr,
            rotate: rotate.unwrap_or(config.logfile_rotate),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_from_debug_options_and_the_command_line() {
        let check = |options: &str, line: &str, log: Level, stderr: Option<Level>, rotate: u32| {
            let config = Config {
                debug_options: options.into(),
                logfile_rotate: 5,
                ..config::built_in()
            };
            let levels = Levels::read(&config, &crate::cli::tests::args(line));
            let expected = Levels {
                log,
                stderr,
                rotate,
            };
            assert_eq!(levels, expected, "{options} {line}");
        };
        check("", "squid", Level::INFO, None, 5);
        check("ALL,1 33,2", "squid", Level::INFO, None, 5);
        check("rotate=3 ALL,3", "squid", Level::DEBUG, None, 3);
        check("rotate=0 ALL,9", "squid", Level::TRACE, None, 0);
        check("ALL,1", "squid -X", Level::TRACE, None, 5);
        check("", "squid -d 1", Level::INFO, Some(Level::INFO), 5);
        check("ALL,1", "squid -d5", Level::TRACE, Some(Level::TRACE), 5);
        check("ALL,9", "squid -d1", Level::TRACE, Some(Level::INFO), 5);
    }
}
