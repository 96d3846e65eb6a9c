//! What wakes the thread that writes the access logs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

/// Wakes the thread, with at most one system call per gathering.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Bell {
    /// Whom to wake.
    pub(super) fn belongs_to(&self, thread: &Thread) {
        self.thread.get_or_init(|| thread.clone());
    }

    /// Must the thread be woken?
    pub(super) fn ring(&self) -> bool {
        !self.rung.swap(true, Ordering::SeqCst)
    }

    pub(super) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    pub(super) fn wait(&self) {
        while !self.rung.load(Ordering::SeqCst) {
            thread::park();
        }
    }

    pub(super) fn silence(&self) {
        self.rung.store(false, Ordering::SeqCst);
    }
}
