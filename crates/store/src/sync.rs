//! What threads meet by: locks, atomics, threads. Those of std; or, in tests that try the ways in which threads may meet,
//! those of a model checker. `cargo xtask models` runs them.
//!
//! | with | of the checker is | tried is |
//! | --- | --- | --- |
//! | `--cfg loom` | what [`of_index`] has | the index, with every order of its steps that memory allows |
//! | `--cfg shuttle` | all else | a volume with all its threads, with orders of chance |

#[cfg(all(test, shuttle))]
pub(crate) use shuttle::{
    sync::{Condvar, Mutex, MutexGuard, atomic, mpsc},
    thread,
};
pub(crate) use std::sync::{Arc, PoisonError};
use std::time::Duration;
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard, atomic, mpsc},
    thread,
};

/// Lets others go on for so long. Where a checker says who goes on, no time passes.
pub(crate) fn sleep(time: Duration) {
    #[cfg(not(all(test, shuttle)))]
    thread::sleep(time);
    #[cfg(all(test, shuttle))]
    {
        let _none = time;
        thread::yield_now();
    }
}

/// Locks, also after a panic elsewhere: every critical section of a volume leaves its data whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the index is made of.
pub(crate) mod of_index {
    #[cfg(all(test, loom))]
    pub(crate) use self::checked::{AtomicBool, AtomicU32, AtomicU64, Mutex, MutexGuard, Words};
    #[cfg(not(all(test, loom)))]
    pub(crate) use {
        std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64},
        std::sync::{Mutex, MutexGuard},
        sys::Words,
    };

    /// As [`super::lock`].
    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(super::PoisonError::into_inner)
    }

    #[cfg(all(test, loom))]
    mod checked {
        use std::fs::File;
        use std::io;
        use std::ops::Deref;

        pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
        pub(crate) use loom::sync::{Mutex, MutexGuard};

        /// In the place of mapped memory.
        #[derive(Debug)]
        pub(crate) struct Words<W>(Box<[W]>);

        impl<W: Default> Words<W> {
            pub(crate) fn anonymous(len: usize) -> io::Result<Self> {
                Ok(Self((0..len).map(|_| W::default()).collect()))
            }

            pub(crate) fn of_file(_: &File, _: u64, _: usize) -> io::Result<Self> {
                Err(io::ErrorKind::Unsupported.into())
            }

            pub(crate) fn prefer_large_pages(&self) {}
        }

        impl<W> Deref for Words<W> {
            type Target = [W];

            fn deref(&self) -> &[W] {
                &self.0
            }
        }
    }
}
