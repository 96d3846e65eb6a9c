//! Reads the configuration anew. What is good takes effect for all later requests; what is bad
//! changes nothing. Ports, logs and sizes of caches stay as they were at the start.

use std::sync::Arc;

use config::{Config, Port, Problems};

use crate::cli::Args;
use crate::configuration::Source;
use crate::supports;
use crate::version::OURS;
use crate::workers::Crew;

/// Does it, and tells the cache log how it went.
pub(crate) fn run(crew: &Crew, source: &Source, args: &Args) {
    tracing::info!("Reconfiguring Squall Cache (version {OURS})...");
    let before = crew.plan();
    let plan = source.load(args).and_then(|mut config| {
        keep_what_cannot_change(&mut config, &before.config);
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        supports::plan(config, Some(&before))
    });
    match plan {
        Ok(plan) => {
            for warning in &plan.rules.warnings {
                tracing::warn!("{warning}");
            }
            crew.reload(Arc::new(plan));
            tracing::info!("Reconfigured.");
        }
        Err(Problems(problems)) => {
            for problem in problems {
                tracing::error!("{problem}");
            }
            tracing::error!("the configuration stays as it was");
        }
    }
}

/// Workers know ports and logs by their numbers: both stay those of the start.
fn keep_what_cannot_change(config: &mut Config, before: &Config) {
    let same = |new: &Port, old: &Port| {
        (new.addr, &new.host, new.port, new.ipv4) == (old.addr, &old.host, old.port, old.ipv4)
    };
    let kept = before.ports.iter().map(|old| {
        let new = config.ports.iter().find(|new| same(new, old));
        new.unwrap_or(old).clone()
    });
    let kept: Vec<Port> = kept.collect();
    let moved = config.ports.iter().any(|new| !kept.contains(new))
        || kept.iter().any(|port| !config.ports.contains(port));
    if moved {
        tracing::warn!("changed http_port lines take effect at the next start");
    }
    config.ports = kept;
    let places = |config: &Config| -> Vec<_> {
        let logs = config.access_logs.iter();
        logs.map(|log| (log.module.clone(), log.format.clone()))
            .collect()
    };
    if places(config) != places(before) {
        tracing::warn!("changed access_log lines take effect at the next start");
        config.access_logs.clone_from(&before.access_logs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(numbers: &[u16]) -> Config {
        let mut config = config::built_in();
        let port = config.ports.remove(0);
        config.ports = numbers
            .iter()
            .map(|&number| Port {
                port: number,
                ..port.clone()
            })
            .collect();
        config
    }

    #[test]
    fn ports_keep_their_numbers_and_take_new_settings() {
        let before = ports(&[1, 2]);
        let mut config = ports(&[3, 2]);
        config.ports[1].name = "new".into();
        keep_what_cannot_change(&mut config, &before);
        let kept: Vec<u16> = config.ports.iter().map(|port| port.port).collect();
        assert_eq!(kept, [1, 2]);
        assert_eq!(config.ports[1].name, "new");
    }
}
