//! Addresses that could not be connected to lately.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Addresses, DnsError};

/// How long an address stays bad: a minute.
const BAD_NS: u64 = 60_000_000_000;

/// Bad addresses remembered; more are not.
const BAD_MAX: usize = 1024;

/// The bad addresses and until when they are bad. Nothing is locked while there are none.
#[derive(Debug, Default)]
pub(super) struct BadAddresses {
    any: AtomicBool,
    until_ns: Mutex<HashMap<IpAddr, u64>>,
}

impl BadAddresses {
    pub(super) fn mark(&self, addr: IpAddr, now_ns: u64) {
        let mut bad = self.lock();
        if bad.len() >= BAD_MAX {
            bad.retain(|_, until_ns| *until_ns > now_ns);
        }
        if bad.len() < BAD_MAX {
            bad.insert(addr, now_ns.saturating_add(BAD_NS));
            self.any.store(true, Relaxed);
        }
    }

    pub(super) fn unmark(&self, addr: IpAddr) {
        if self.any.load(Relaxed) {
            let mut bad = self.lock();
            bad.remove(&addr);
            self.any.store(!bad.is_empty(), Relaxed);
        }
    }

    /// Those of `all` that are bad.
    pub(super) fn among(&self, all: Result<&[IpAddr], &DnsError>, now_ns: u64) -> Vec<IpAddr> {
        if !self.any.load(Relaxed) {
            return Vec::new();
        }
        let bad = self.lock();
        let is_bad = |addr: &&IpAddr| bad.get(addr).is_some_and(|until_ns| *until_ns > now_ns);
        all.unwrap_or_default()
            .iter()
            .filter(is_bad)
            .copied()
            .collect()
    }

    /// The same addresses, the bad ones last.
    pub(super) fn last(&self, all: Addresses, now_ns: u64) -> Addresses {
        if all.len() < 2 || !self.any.load(Relaxed) {
            return all;
        }
        let mut bad = self.lock();
        bad.retain(|_, until_ns| *until_ns > now_ns);
        self.any.store(!bad.is_empty(), Relaxed);
        let (behind, mut front): (Vec<_>, Vec<_>) =
            all.iter().copied().partition(|addr| bad.contains_key(addr));
        if behind.is_empty() || front.is_empty() {
            return all;
        }
        front.extend(behind);
        Arc::from(front)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, u64>> {
        self.until_ns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_address_is_last_until_its_time_is_over() {
        let [one, two, three]: [IpAddr; 3] =
            ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|text| text.parse().unwrap());
        let all: Addresses = [one, two, three].into();
        let bad = BadAddresses::default();
        bad.mark(one, 0);
        assert_eq!(*bad.last(Arc::clone(&all), 1), [two, three, one]);
        assert_eq!(*bad.last(Arc::clone(&all), BAD_NS), [one, two, three]);
        bad.mark(two, 0);
        bad.unmark(two);
        assert_eq!(*bad.last(all, 1), [one, two, three]);
    }
}
