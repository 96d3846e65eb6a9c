//! Reads the configuration anew. What is good takes effect for all later transactions; what is bad
//! changes nothing. What didn't change isn't touched: sockets, connections, cache, known names and
//! open logs stay, and running transactions go on by the rules they began with.
//!
//! | step | when it fails |
//! | --- | --- |
//! | read and work out the configuration | its errors are logged, the old one stays |
//! | open its logs, where they differ | likewise |
//! | open its ports that aren't open | likewise when none could be; else those are logged and missing |
//! | let the workers serve by it; close what it doesn't name | |

use std::sync::Arc;

use anyhow::Context as _;
use config::{Config, Problems};
use proxy::helpers::Helpers;
use proxy::plan::Plan;

use crate::serve::Running;
use crate::version::OURS;
use crate::workers::{self, Setting};
use crate::{access_log, config_command, store_log, supports};

/// Does it, and tells the cache log how it went.
pub(crate) fn run(running: &mut Running) {
    tracing::info!("Reconfiguring Squall Cache (version {OURS})...");
    match take_effect(running) {
        Ok(()) => tracing::info!("Reconfigured."),
        Err(error) => {
            match error.downcast::<Problems>() {
                Ok(Problems(problems)) => {
                    for problem in problems {
                        tracing::error!("{problem}");
                    }
                }
                Err(error) => tracing::error!("{error:#}"),
            }
            tracing::error!("the configuration stays as it was");
        }
    }
}

fn take_effect(running: &mut Running) -> anyhow::Result<()> {
    let before = running.crew.orders();
    let (config, text) = config_command::load(&running.source, &running.args);
    let config = config?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let plan = work_out(config, &running.crew.shared().helpers, &before.plan)?;
    let old = &before.plan.config;
    let log = if access_log::alike(&plan.config, old) {
        before.log.clone()
    } else {
        access_log::open(&plan.config, &running.crew.shared().registry)?
    };
    let resolver = if supports::resolve_alike(&plan.config, old) {
        before.resolver.clone()
    } else {
        supports::resolver(&plan.config, running.crew.shared())?
    };
    let workers = workers::count(&plan.config);
    let opened = running.ports.reopen(&plan.config, workers)?;
    for failed in &opened.failed {
        tracing::error!("{failed}");
    }
    for name in late(&plan.config, old) {
        tracing::warn!("{name} takes effect at the next start");
    }
    let shared = running.crew.shared();
    supports::resize(&shared.store, &plan.config);
    running.cache_dirs.arrange(&plan.config, &shared.store);
    let setting = Setting {
        sockets: opened.ports.sockets(),
        plan: Arc::new(plan),
        log,
        resolver,
    };
    if !store_log::alike(&setting.plan.config, old) {
        let shared = running.crew.shared();
        shared.store.set_journal(None);
        running.store_log = store_log::open(&setting.plan.config, shared);
    }
    let renewed = !access_log::alike(&setting.plan.config, old);
    running
        .crew
        .reload(setting)
        .context("not all workers run")?;
    running.crew.shared().admin.show_config(text);
    running.ports = opened.ports;
    if renewed {
        running.retired_logs.push(before.log.retire());
    }
    for line in &opened.told {
        tracing::info!("{line}");
    }
    Ok(())
}

fn work_out(config: Config, helpers: &Helpers, before: &Plan) -> Result<Plan, Problems> {
    let plan = supports::plan(config, helpers, Some(before))?;
    for warning in &plan.rules.warnings {
        tracing::warn!("{warning}");
    }
    Ok(plan)
}

/// Directives whose values belong to the process from its start to its end, and have changed.
fn late(new: &Config, old: &Config) -> Vec<&'static str> {
    macro_rules! changed {
        ($($field:ident),*) => {
            [$((stringify!($field), new.$field != old.$field)),*]
        };
    }
    let changed = changed!(
        cache_effective_user,
        cache_effective_group,
        coredump_dir,
        max_filedescriptors,
        memory_replacement_policy,
        pid_filename,
        umask
    );
    let changed = changed.into_iter().filter(|(_, changed)| *changed);
    changed.map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_change_is_named() {
        let old = config::built_in();
        let new = Config {
            umask: 0o77,
            cache_mem: 1,
            ..config::built_in()
        };
        assert_eq!(late(&new, &old), ["umask"]);
        assert!(late(&old, &old).is_empty());
    }
}
