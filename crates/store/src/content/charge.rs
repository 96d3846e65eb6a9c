//! Bytes on the store's account, taken off it when they are freed, wherever and whenever that is.

use std::sync::Arc;

use bytes::Bytes;

use crate::usage::Counters;

/// A number of bytes on the account; off it on drop.
#[derive(Debug)]
pub(crate) struct Charge {
    counters: Arc<Counters>,
    bytes: u64,
}

impl Charge {
    pub(crate) fn new(counters: &Arc<Counters>, bytes: u64) -> Self {
        counters.charge(bytes);
        Self {
            counters: Arc::clone(counters),
            bytes,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn grow(&mut self, bytes: u64) {
        self.counters.charge(bytes);
        self.bytes += bytes;
    }

    pub(crate) fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.counters.release(bytes);
        self.bytes -= bytes;
    }

    /// Moves all of the charge to a new owner.
    pub(crate) fn take(&mut self) -> Self {
        Self {
            counters: Arc::clone(&self.counters),
            bytes: std::mem::take(&mut self.bytes),
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.counters.release(self.bytes);
    }
}

/// The bytes of a whole body. Charged until the last slice of them is dropped.
struct Charged {
    bytes: Box<[u8]>,
    counters: Arc<Counters>,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        self.counters.release(self.bytes.len() as u64);
    }
}

/// `bytes`, on the account as long as any slice of them lives.
pub(crate) fn charged_bytes(bytes: Box<[u8]>, counters: &Arc<Counters>) -> Bytes {
    if bytes.is_empty() {
        return Bytes::new();
    }
    counters.charge(bytes.len() as u64);
    Bytes::from_owner(Charged {
        bytes,
        counters: Arc::clone(counters),
    })
}
