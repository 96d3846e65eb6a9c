//! The SNMP agent's life: its sockets are bound before rights are given up, it answers on the control
//! thread, and a reload that asks for other sockets ends it and starts another.

use std::sync::Arc;

use admin::snmp::{Sockets, serve};
use config::Config;
use tokio::task::JoinHandle;

use crate::workers::Crew;

/// An agent that answers, or none. It ends when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Agent(Option<JoinHandle<()>>);

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// Binds what the configuration asks for; what can't be bound is told in `failed`.
pub(crate) fn bind(config: &Config, failed: &mut Vec<String>) -> Option<Sockets> {
    Sockets::bind(config).unwrap_or_else(|error| {
        failed.push(format!("Cannot open SNMP Port: {error}"));
        None
    })
}

impl Agent {
    /// Answers by the rules of the crew.
    pub(crate) fn start(sockets: Option<Sockets>, crew: &Crew) -> Self {
        let Some(sockets) = sockets else {
            return Self::default();
        };
        if let Ok(local) = sockets.local_addr() {
            tracing::info!("Accepting SNMP messages on {local}");
        }
        let shared = crew.shared();
        let (admin, cells) = (Arc::clone(&shared.admin), shared.registry.cells());
        let orders = crew.subscribe();
        let task = tokio::spawn(async move {
            if let Err(error) = serve(sockets, admin, orders, cells).await {
                tracing::error!("the SNMP agent ended: {error}");
            }
        });
        Self(Some(task))
    }

    /// Goes by another configuration: only other sockets make a difference.
    pub(crate) async fn reload(&mut self, old: &Config, new: &Config, crew: &Crew) {
        if Sockets::alike(old, new) {
            return;
        }
        if let Some(task) = self.0.take() {
            task.abort();
            // Its sockets are closed by then; that it was cancelled is no news.
            drop(task.await);
        }
        let mut failed = Vec::new();
        *self = Self::start(bind(new, &mut failed), crew);
        for failed in &failed {
            tracing::error!("{failed}");
        }
    }
}
