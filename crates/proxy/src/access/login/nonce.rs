//! Nonces of Digest (RFC 7616 §3.3). A nonce proves by itself that it is ours and how old it is: only those that
//! somebody has logged in with are kept, with their counts, so that a flood of challenges fills nothing.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::secret::{Secret, equal};

/// Nonces in use at a time. When there are more, all are too old at once: clients get new ones, and nobody is
/// asked for a password.
const USED_MAX: usize = 64 * 1024;

/// Hexadecimal digits: time, number, proof.
const DIGITS: usize = 16 + 16 + 32;

/// When it was made, and a number that nobody guesses.
type Id = (u64, u64);

#[derive(Debug)]
pub(super) struct Nonces {
    secret: Secret,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    counts: HashMap<Id, u64>,
    /// Those made up to here are too old, unless they are in `counts`.
    floor_ns: u64,
}

/// What holds of a nonce that was presented with a good digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It was good.
    Good,
    /// It was good for the last time.
    Last,
    /// It is too old, was used before, or isn't ours.
    Stale,
}

impl Nonces {
    pub(super) fn new() -> Self {
        Self {
            secret: Secret::new(),
            used: Mutex::default(),
        }
    }

    /// A new one.
    pub(super) fn make(&self, now_ns: u64) -> String {
        let id = (now_ns, rand::random());
        let mut nonce = format!("{:016x}{:016x}", id.0, id.1);
        for byte in self.proof(id) {
            // Writing to a string can't fail.
            let _always_good = write!(nonce, "{byte:02x}");
        }
        nonce
    }

    /// Uses one, by the client's count of its uses (`nc`).
    pub(super) fn take(
        &self,
        nonce: &[u8],
        count: u64,
        options: &config::auth::Digest,
        now_ns: u64,
    ) -> Use {
        let Some(id) = self.id(nonce) else {
            return Use::Stale;
        };
        let age = Duration::from_nanos(now_ns.saturating_sub(id.0));
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match used.counts.get(&id) {
            Some(before) => *before,
            None if id.0 <= used.floor_ns => return Use::Stale,
            None => 0,
        };
        let next = before.saturating_add(1);
        let count = if options.check_nonce_count {
            count
        } else {
            next
        };
        let uses_max = u64::from(options.nonce_max_count);
        let in_order = if options.nonce_strictness {
            count == next
        } else {
            count >= next
        };
        if !in_order || age > options.nonce_max_duration || count > uses_max {
            return Use::Stale;
        }
        used.keep(id, count, options, now_ns);
        if count == uses_max {
            Use::Last
        } else {
            Use::Good
        }
    }

    /// `None` when it isn't one of ours.
    fn id(&self, nonce: &[u8]) -> Option<Id> {
        let nonce = str::from_utf8(nonce)
            .ok()
            .filter(|nonce| nonce.len() == DIGITS)?;
        let number = |digits: Option<&str>| u64::from_str_radix(digits?, 16).ok();
        let id = (number(nonce.get(..16))?, number(nonce.get(16..32))?);
        let mut proof = String::with_capacity(32);
        for byte in self.proof(id) {
            let _always_good = write!(proof, "{byte:02x}");
        }
        let ours = equal(nonce.get(32..)?.as_bytes(), proof.as_bytes());
        ours.then_some(id)
    }

    fn proof(&self, (made_ns, number): Id) -> [u8; 16] {
        self.secret
            .hash(&[&made_ns.to_be_bytes(), &number.to_be_bytes()])
    }
}

impl Used {
    fn keep(&mut self, id: Id, count: u64, options: &config::auth::Digest, now_ns: u64) {
        if self.counts.len() >= USED_MAX && !self.counts.contains_key(&id) {
            let oldest = Duration::from_nanos(now_ns).saturating_sub(options.nonce_max_duration);
            self.counts
                .retain(|(made_ns, _), _| Duration::from_nanos(*made_ns) >= oldest);
            if self.counts.len() >= USED_MAX {
                self.counts.clear();
                self.floor_ns = now_ns;
            }
        }
        self.counts.insert(id, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEC: u64 = 1_000_000_000;

    const OPTIONS: config::auth::Digest = config::auth::Digest {
        nonce_garbage_interval: Duration::from_secs(300),
        nonce_max_duration: Duration::from_secs(60),
        nonce_max_count: 3,
        nonce_strictness: false,
        check_nonce_count: true,
        post_workaround: false,
    };

    fn uses(options: config::auth::Digest, counts: &[u64]) -> Vec<Use> {
        let nonces = Nonces::new();
        let nonce = nonces.make(SEC);
        let take = |count: &u64| nonces.take(nonce.as_bytes(), *count, &options, SEC);
        counts.iter().map(take).collect()
    }

    #[test]
    fn a_count_goes_up_and_ends() {
        use Use::{Good, Last, Stale};
        assert_eq!(uses(OPTIONS, &[1, 2, 3, 4]), [Good, Good, Last, Stale]);
        assert_eq!(uses(OPTIONS, &[1, 1, 3]), [Good, Stale, Last]);
        assert_eq!(uses(OPTIONS, &[0, u64::MAX]), [Stale, Stale]);
        let strict = config::auth::Digest {
            nonce_strictness: true,
            ..OPTIONS
        };
        assert_eq!(uses(strict, &[2, 1, 3, 2]), [Stale, Good, Stale, Good]);
        let careless = config::auth::Digest {
            check_nonce_count: false,
            ..OPTIONS
        };
        assert_eq!(uses(careless, &[0, 9, 9, 9]), [Good, Good, Last, Stale]);
    }

    #[test]
    fn a_nonce_gets_old_and_is_ours_alone() {
        let nonces = Nonces::new();
        let nonce = nonces.make(SEC);
        let take = |nonce: &str, now| nonces.take(nonce.as_bytes(), 1, &OPTIONS, now);
        assert_eq!(take(&nonce, 62 * SEC), Use::Stale);
        assert_eq!(take(&Nonces::new().make(SEC), SEC), Use::Stale);
        let mut forged = nonce.clone().into_bytes();
        forged[15] ^= 1;
        assert_eq!(nonces.take(&forged, 1, &OPTIONS, SEC), Use::Stale);
        for strange in [
            "",
            "x",
            nonce.get(1..).unwrap(),
            &format!("{nonce}0"),
            &nonce.to_uppercase(),
        ] {
            let same = strange == nonce;
            assert!(same || take(strange, SEC) == Use::Stale, "{strange}");
        }
        assert_eq!(take(&nonce, 61 * SEC), Use::Good);
    }

    #[test]
    fn a_full_table_is_emptied_and_lets_no_use_happen_twice() {
        let nonces = Nonces::new();
        let first = nonces.make(SEC);
        assert_eq!(nonces.take(first.as_bytes(), 1, &OPTIONS, SEC), Use::Good);
        for number in 0..USED_MAX as u64 {
            let mut used = nonces.used.lock().unwrap();
            used.keep((SEC, number), 1, &OPTIONS, 2 * SEC);
            assert!(used.counts.len() <= USED_MAX);
        }
        assert_eq!(
            nonces.take(first.as_bytes(), 2, &OPTIONS, 2 * SEC),
            Use::Stale
        );
        let next = nonces.make(3 * SEC);
        assert_eq!(
            nonces.take(next.as_bytes(), 1, &OPTIONS, 3 * SEC),
            Use::Good
        );
    }
}
