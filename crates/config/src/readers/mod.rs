//! What the words of a line mean, for directives that need more than one value.

use crate::model::access::{AccessRule, AclRef};
use crate::model::port::PortMode;
use crate::problem::{Place, Problem};
use crate::read::Draft;

pub(crate) mod accelerator;
pub(crate) mod auth;
pub(crate) mod cache_dir;
mod choice;
pub(crate) mod delay;
pub(crate) mod deny_info;
pub(crate) mod external;
pub(crate) mod header;
pub(crate) mod lists;
pub(crate) mod log;
pub(crate) mod marks;
pub(crate) mod old;
pub(crate) mod old_log;
pub(crate) mod peer;
pub(crate) mod pool;
pub(crate) mod port;
pub(crate) mod refresh;
pub(crate) mod rewrite;
pub(crate) mod simple;
pub(crate) mod tls;

impl Draft {
    /// What lines mean together, whatever their order. Called after the last one.
    pub(crate) fn resolve(&mut self) -> Option<Problem> {
        self.apply_old_logs();
        self.apply_default_format();
        self.apply_log_daemon();
        // "The first port" is one for clients, wherever its line is.
        let ports = &mut self.config.ports;
        ports.sort_by_key(|port| port.mode == PortMode::Manager);
        self.manage_from_here();
        let told = self.accelerate();
        self.acls.finish(&mut self.config.acls);
        told
    }

    /// Without a `manager_access` line, this host alone may ask at a `manager_port`.
    fn manage_from_here(&mut self) {
        let mut ports = self.config.ports.iter();
        let has_port = ports.any(|port| port.mode == PortMode::Manager);
        if has_port && self.config.manager_access.is_empty() {
            self.config.manager_access.push(AccessRule {
                allow: true,
                acls: vec![AclRef {
                    name: "localhost".to_owned(),
                    negated: false,
                }],
                place: Place {
                    file: "built-in".into(),
                    line: 0,
                },
            });
        }
    }
}
