//! When the allocator of the program (mimalloc) gives memory back to the system. Used by the program and its workers.
//!
//! Each thread has a heap of its own. What is freed there stays with it until it is collected, which the allocator does by
//! itself only after thousands of allocations; and what has been collected stays with the process for a while, in case
//! that it is needed again.

use std::ffi::{c_int, c_long};
use std::time::Duration;

/// `mi_option_purge_delay`, milliseconds.
const PURGE_DELAY: c_int = 15;

// SAFETY: as in mimalloc.h. None takes pointers; `mi_collect` is for the calling thread's heap, which is made if there
// is none, and options may be set at any time.
unsafe extern "C" {
    safe fn mi_collect(force: bool);
    safe fn mi_option_get(option: c_int) -> c_long;
    safe fn mi_option_set(option: c_int, value: c_long);
}

/// What has been collected goes back to the system after `delay`, with the next collection by anybody.
pub fn set_delay(delay: Duration) {
    let millis = c_long::try_from(delay.as_millis()).unwrap_or(c_long::MAX);
    mi_option_set(PURGE_DELAY, millis);
}

/// The delay that holds.
#[must_use]
pub fn delay() -> Duration {
    Duration::from_millis(u64::try_from(mi_option_get(PURGE_DELAY)).unwrap_or(0))
}

/// Collects what was freed of the calling thread's memory, and gives back to the system what has waited long enough.
pub fn collect() {
    mi_collect(false);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The option is known by its number: the delay that it has at first shows that it is the right one.
    #[test]
    #[cfg_attr(miri, ignore = "calls C")]
    fn the_delay_can_be_set() {
        assert_eq!(delay(), Duration::from_secs(1));
        set_delay(Duration::from_millis(123));
        assert_eq!(delay(), Duration::from_millis(123));
        collect();
    }
}
