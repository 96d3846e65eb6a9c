//! Waiting for events: bounded polling, and gates that a test opens.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest that anything in the kit waits unless told otherwise.
pub const WAIT: Duration = Duration::from_secs(10);

/// Polls `probe` until it gives a value; panics after [`WAIT`], naming `what` was awaited.
#[track_caller]
pub fn until<T>(what: &str, probe: impl FnMut() -> Option<T>) -> T {
    match until_within(WAIT, probe) {
        Some(value) => value,
        None => panic!("waited {WAIT:?} in vain for {what}"),
    }
}

/// Polls `probe` until it gives a value, or `limit` has passed.
pub fn until_within<T>(limit: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        // Asked once more after the limit: a stalled machine shall not fail a test.
        let late = start.elapsed() > limit;
        if let Some(value) = probe() {
            return Some(value);
        }
        if late {
            return None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// A gate that is shut until somebody opens it. Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    arrived: usize,
}

impl Gate {
    /// A shut gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets through everyone who waits here, and all who come later.
    pub fn open(&self) {
        self.state().open = true;
        self.inner.changed.notify_all();
    }

    /// Has the gate been opened?
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state().open
    }

    /// Waits until the gate is open; panics after [`WAIT`].
    #[track_caller]
    pub fn pass(&self) {
        assert!(self.pass_within(WAIT), "the gate stayed shut for {WAIT:?}");
    }

    /// Waits until the gate is open, or `limit` has passed: then false.
    #[must_use]
    pub fn pass_within(&self, limit: Duration) -> bool {
        self.state().arrived += 1;
        self.inner.changed.notify_all();
        self.wait(limit, |state| state.open)
    }

    /// Waits until `count` have arrived at the gate since it was made.
    #[track_caller]
    pub fn wait_for_arrivals(&self, count: usize) {
        let enough = self.wait(WAIT, |state| state.arrived >= count);
        assert!(
            enough,
            "fewer than {count} arrived at the gate within {WAIT:?}"
        );
    }

    fn wait(&self, limit: Duration, met: impl Fn(&State) -> bool) -> bool {
        let (state, _) = self
            .inner
            .changed
            .wait_timeout_while(self.state(), limit, |state| !met(state))
            .unwrap_or_else(PoisonError::into_inner);
        met(&state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opened_gate_lets_the_waiting_through() {
        let gate = Gate::new();
        let waiter = thread::spawn({
            let gate = gate.clone();
            move || gate.pass()
        });
        gate.wait_for_arrivals(1);
        assert!(!gate.is_open());
        gate.open();
        waiter.join().unwrap();
    }

    #[test]
    fn a_shut_gate_gives_up_at_its_limit() {
        assert!(!Gate::new().pass_within(Duration::from_millis(1)));
    }

    #[test]
    fn polling_ends_with_the_first_value() {
        let mut asked = 0;
        let found = until("the third time", || {
            asked += 1;
            (asked == 3).then_some(asked)
        });
        assert_eq!(found, 3);
        assert_eq!(until_within(Duration::ZERO, || None::<()>), None);
    }
}
