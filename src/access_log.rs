//! The access logs that the configuration asks for.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use config::log::USUAL_PATH;
use config::{Config, LogModule};
use proxy::format::Dialect;
use proxy::log::{AccessLog, Format, Options, Place, Spec};
use stats::Registry;

use crate::{privileges, workers};

/// Opens them all. That the usual place isn't there is no reason not to serve; that a named one
/// isn't, is.
pub(crate) fn open(config: &Config, registry: &Registry) -> anyhow::Result<AccessLog> {
    match AccessLog::open(&specs(config)?, &options(config), registry) {
        Ok(log) => Ok(log),
        Err(error) if config.access_logs.is_empty() => {
            tracing::warn!("{error}; requests are not logged");
            Ok(AccessLog::default())
        }
        Err(error) => Err(error).with_context(|| {
            let user = privileges::user_name();
            format!("The parent directory must be writeable by the user '{user}'")
        }),
    }
}

/// Do both configurations log in the same way?
pub(crate) fn alike(one: &Config, other: &Config) -> bool {
    let both = (specs(one).ok(), specs(other).ok());
    both.0.is_some() && both.0 == both.1 && options(one) == options(other)
}

fn options(config: &Config) -> Options {
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    Options {
        // Workers may become more while the log is open.
        workers: workers::count(config).max(cores),
        rotate: config.logfile_rotate,
        strip_query_terms: config.strip_query_terms,
        client_netmask: config.client_netmask,
        log_mime_hdrs: config.log_mime_hdrs,
        ..Options::default()
    }
}

/// One per `access_log` line, in their order: rules choose among them by it.
fn specs(config: &Config) -> anyhow::Result<Vec<Spec>> {
    if config.access_logs.is_empty() {
        let place = Place::File(PathBuf::from(USUAL_PATH));
        return Ok(vec![Spec::new(Some(place), Format::Native)]);
    }
    let mut logs = Vec::with_capacity(config.access_logs.len());
    for log in &config.access_logs {
        logs.push(Spec {
            place: place(config, &log.module),
            format: format(config, &log.format)?,
            rotate: log.rotate,
            buffer_bytes: log.buffer_size.and_then(|bytes| bytes.try_into().ok()),
            dies_on_error: log.dies_on_error,
        });
    }
    Ok(logs)
}

fn place(config: &Config, module: &LogModule) -> Option<Place> {
    Some(match module {
        LogModule::None => return None,
        LogModule::File(path) => Place::file(path.clone()),
        LogModule::Daemon(argument) => Place::Daemon {
            program: config.logfile_daemon.clone().unwrap_or_default(),
            argument: argument.clone(),
        },
        LogModule::Syslog(facility, priority) => Place::Syslog(*facility, *priority),
        LogModule::Udp(addr) => Place::Udp(addr.clone()),
        LogModule::Tcp(addr) => Place::Tcp(addr.clone()),
    })
}

/// The format of that name: the configuration's own, or one that needs no line.
fn format(config: &Config, name: &str) -> anyhow::Result<Format> {
    let own = config.logformats.iter().rfind(|format| format.name == name);
    let Some(own) = own else {
        return Ok(Format::named(name).unwrap_or(Format::Native));
    };
    let compiled = proxy::format::Format::compile(&own.text, Dialect::Logformat);
    let compiled = compiled.with_context(|| format!("logformat {name} ({})", own.place))?;
    Ok(Format::Custom(Arc::new(compiled)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_squids_usual_file_in_its_own_format() {
        let specs = specs(&config::built_in()).unwrap();
        assert_eq!(specs.len(), 1);
        assert_eq!(specs[0].place, Some(Place::File(USUAL_PATH.into())));
        assert_eq!(specs[0].format, Format::Native);
    }
}
