//! Moments in the life of what is stored, to tell what came first. Each differs from all others and is above those before,
//! also those of the process before, as far as the system's clock goes forward.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970, made to grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) u64);

impl Moment {
    /// One that nothing has had.
    ///
    /// It isn't for `now` to be given: what counts is only the order.
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        let last = LAST.fetch_max(now, Relaxed);
        Self(match now > last {
            true => now,
            false => LAST.fetch_add(1, Relaxed) + 1,
        })
    }

    pub(crate) fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    pub(crate) fn of_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_grow() {
        let moments: Vec<Moment> = (0..1000).map(|_| Moment::new()).collect();
        assert!(moments.is_sorted_by(|one, next| one < next));
        assert_eq!(Moment::of_bytes(moments[7].to_bytes()), moments[7]);
    }
}
