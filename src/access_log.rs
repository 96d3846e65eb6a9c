//! The access logs that the configuration asks for.

use std::path::PathBuf;

use config::{Config, LogModule};
use proxy::log::{AccessLog, Format, OpenError, Options, Place, Spec};

/// Where requests are logged when the configuration doesn't say.
const USUAL_PATH: &str = "/var/log/squid/access.log";

/// Opens them all.
pub(crate) fn open(config: &Config, workers: usize) -> Result<AccessLog, OpenError> {
    let options = Options {
        workers,
        rotate: config.logfile_rotate,
        strip_query_terms: config.strip_query_terms,
        ..Options::default()
    };
    AccessLog::open(&specs(config), &options)
}

/// One per `access_log` line, in their order: rules choose among them by it.
fn specs(config: &Config) -> Vec<Spec> {
    if config.access_logs.is_empty() {
        return vec![Spec {
            place: Some(Place::File(PathBuf::from(USUAL_PATH))),
            format: Format::Native,
            rotate: None,
        }];
    }
    let logs = config.access_logs.iter().map(|log| Spec {
        place: match &log.module {
            LogModule::None => None,
            LogModule::File(path) => Some(Place::of(&path.to_string_lossy())),
            // The configuration has warned of kinds that are still to come.
            LogModule::Other(_) => Some(Place::File("/dev/null".into())),
        },
        // The configuration has warned of formats that are still to come.
        format: Format::named(&log.format).unwrap_or(Format::Native),
        rotate: log.rotate,
    });
    logs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_squids_usual_file_in_its_own_format() {
        let specs = specs(&config::built_in());
        assert_eq!(specs.len(), 1);
        assert_eq!(specs[0].place, Some(Place::File(USUAL_PATH.into())));
        assert_eq!(specs[0].format, Format::Native);
    }
}
