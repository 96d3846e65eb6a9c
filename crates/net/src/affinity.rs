//! Which processor core a thread runs on.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores that this process may use, lowest first.
///
/// # Errors
/// Whatever the kernel answers.
pub fn allowed_cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&core| set.is_set(core))
        .collect())
}

/// Where the thread that made it runs: on one core, or wherever it could at first.
#[derive(Debug)]
pub struct Affinity {
    at_first: CpuSet,
    core: Option<usize>,
}

impl Affinity {
    /// Of the calling thread, which isn't pinned yet.
    ///
    /// # Errors
    /// Whatever the kernel answers.
    pub fn of_current_thread() -> io::Result<Self> {
        Ok(Self {
            at_first: sched_getaffinity(None)?,
            core: None,
        })
    }

    /// Pins the calling thread to a core, numbered from 0, or lets it go. Does nothing where that is
    /// so already.
    ///
    /// # Errors
    /// `InvalidInput` where there can be no such core; else whatever the kernel answers.
    pub fn pin(&mut self, core: Option<usize>) -> io::Result<()> {
        if core == self.core {
            return Ok(());
        }
        let set = match core {
            None => self.at_first,
            Some(core) if core < CpuSet::MAX_CPU => {
                let mut set = CpuSet::new();
                set.set(core);
                set
            }
            Some(_) => return Err(io::ErrorKind::InvalidInput.into()),
        };
        sched_setaffinity(None, &set)?;
        self.core = core;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_on_its_core_until_it_is_let_go() {
        std::thread::spawn(|| {
            let all = allowed_cores().unwrap();
            let mut affinity = Affinity::of_current_thread().unwrap();
            let last = *all.last().unwrap();
            affinity.pin(Some(last)).unwrap();
            assert_eq!(allowed_cores().unwrap(), [last]);
            affinity.pin(None).unwrap();
            assert_eq!(allowed_cores().unwrap(), all);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_core_that_cannot_be_is_an_error() {
        let mut affinity = Affinity::of_current_thread().unwrap();
        assert!(affinity.pin(Some(usize::MAX)).is_err());
    }
}
