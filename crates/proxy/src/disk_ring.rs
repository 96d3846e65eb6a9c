//! A worker's ring: reads from a `cache_dir` that the kernel does while the worker goes on (`disk_io_uring`).
//!
//! It is made when a configuration first asks for it, and driven to the worker's end.

use std::cell::{Cell, OnceCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use config::{Config, DirKind};
use stats::{Cells, Gauge};
use store::Ring;

/// See the module.
#[derive(Debug)]
pub(crate) struct DiskRing {
    /// None where there is no such thing.
    ring: OnceCell<Option<Rc<Ring>>>,
    in_use: Cell<bool>,
    cells: Arc<Cells>,
}

impl DiskRing {
    /// None yet.
    pub(crate) fn new(cells: &Arc<Cells>) -> Self {
        Self {
            ring: OnceCell::new(),
            in_use: Cell::new(false),
            cells: Arc::clone(cells),
        }
    }

    /// The ring, if transactions of `config` are to have it. Without it threads read.
    pub(crate) fn arrange(&self, config: &Config) -> Option<Rc<Ring>> {
        let has_disk = config
            .cache_dirs
            .iter()
            .any(|dir| dir.kind != DirKind::Null);
        let ring = match config.disk_io_uring && has_disk {
            true => self.ring.get_or_init(|| start(Ring::new())).clone(),
            false => None,
        };
        self.use_it(ring.is_some());
        ring
    }

    fn use_it(&self, in_use: bool) {
        match (self.in_use.replace(in_use), in_use) {
            (false, true) => self.cells.up(Gauge::DiskRings),
            (true, false) => self.cells.down(Gauge::DiskRings),
            (false, false) | (true, true) => {}
        }
    }
}

impl Drop for DiskRing {
    fn drop(&mut self) {
        self.use_it(false);
    }
}

/// Drives it on the runtime of this thread.
fn start(made: io::Result<Ring>) -> Option<Rc<Ring>> {
    let started = made.and_then(|ring| {
        let ring = Rc::new(ring);
        tokio::task::spawn_local(ring.driver()?);
        Ok(ring)
    });
    started
        .inspect_err(|error| tracing::debug!("no io_uring, threads read from disk: {error}"))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        config::parse(text, "test").unwrap()
    }

    /// On a runtime like a worker's.
    fn on_a_worker(test: impl FnOnce(&DiskRing, &Cells)) {
        let cells = Arc::new(Cells::default());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build_local(tokio::runtime::LocalOptions::default())
            .unwrap();
        runtime.block_on(async { test(&DiskRing::new(&cells), &cells) });
        assert_eq!(cells.level(Gauge::DiskRings), 0, "it has ended");
    }

    #[test]
    fn there_is_one_where_something_is_to_be_read() {
        let dir = "cache_dir rock /a 100\n";
        on_a_worker(|disk, cells| {
            let off = format!("{dir}disk_io_uring off");
            for without in ["", "cache_dir null /a", &off] {
                assert!(disk.arrange(&config(without)).is_none(), "{without}");
            }
            let ring = disk.arrange(&config(dir));
            assert_eq!(ring.is_some(), Ring::new().is_ok());
            assert_eq!(cells.level(Gauge::DiskRings), i64::from(ring.is_some()));
            assert!(disk.arrange(&config(&off)).is_none());
            assert_eq!(cells.level(Gauge::DiskRings), 0);
        });
    }

    #[test]
    fn where_the_kernel_does_not_allow_it_there_is_none() {
        on_a_worker(|disk, cells| {
            let refused = || start(Err(io::ErrorKind::PermissionDenied.into()));
            assert!(disk.ring.get_or_init(refused).is_none());
            let config = config("cache_dir rock /a 100");
            assert!(disk.arrange(&config).is_none());
            assert_eq!(cells.level(Gauge::DiskRings), 0);
        });
    }
}
