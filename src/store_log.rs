//! The log of what becomes of stored responses (`cache_store_log`).

use std::path::Path;

use config::{Config, FilePlace};
use proxy::log::StoreLog;

use crate::workers::Shared;

/// Opens it, if the configuration asks for it. Without it the proxy serves all the same.
pub(crate) fn open(config: &Config, shared: &Shared) -> Option<StoreLog> {
    let opened = StoreLog::open(
        path(config)?,
        config.logfile_rotate,
        shared.clock,
        &shared.store,
        &shared.registry,
    );
    match opened {
        Ok(log) => Some(log),
        Err(error) => {
            tracing::error!("{error}; cache_store_log is off");
            None
        }
    }
}

/// Do both configurations write it in the same way?
pub(crate) fn alike(one: &Config, other: &Config) -> bool {
    let both = (path(one), path(other));
    both.0 == both.1 && one.logfile_rotate == other.logfile_rotate
}

/// Where it is, if anywhere.
pub(crate) fn path(config: &Config) -> Option<&Path> {
    match &config.cache_store_log {
        FilePlace::File(path) => Some(path),
        FilePlace::Unset | FilePlace::None => None,
    }
}
