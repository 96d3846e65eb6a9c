//! Reads of files that the kernel does while the thread goes on (io_uring), into buffers that belong to the ring
//! meanwhile.
//!
//! | state of a read | its buffer and file | moved on by |
//! | --- | --- | --- |
//! | queued: its entry is written, the kernel hasn't taken it | in the table of flights | [`Ring::turn`]: out |
//! | out: the kernel may write to the buffer at any time | in the table | its end: done |
//! | done | the caller's again | |
//!
//! Whoever pushes a read keeps nothing that leads to its buffer, so whatever becomes of him, the kernel writes to memory
//! that is there. A ring that is dropped waits for what is out; what isn't back by then keeps its buffers for ever.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use slab::Slab;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How long a ring that is dropped waits for the kernel.
const DROP_MAX: Duration = Duration::from_secs(1);
/// Ends that the kernel works off each time that it is entered, if there are so many: 20 or more.
const WORKED_OFF: usize = 16;

/// What is to be read.
#[derive(Debug)]
pub struct Read<T> {
    /// From where.
    pub file: Arc<File>,
    /// From which byte of it on.
    pub at: u64,
    /// As many bytes as this has are read into it.
    pub buffer: Vec<u8>,
    /// What the caller knows it by.
    pub tag: T,
}

/// A read that has ended.
#[derive(Debug)]
pub struct Done<T> {
    /// As it was given; `None` after [`Ring::withdraw`].
    pub tag: Option<T>,
    /// As it was given; its beginning is what was read.
    pub buffer: Vec<u8>,
    /// Bytes that were read: fewer than asked for where the file ends.
    pub result: io::Result<usize>,
}

/// Reads of one thread, which made the ring and drives it.
pub struct Ring<T> {
    ring: IoUring,
    flights: Slab<Flight<T>>,
    /// Those of the flights that the kernel hasn't taken.
    queued: VecDeque<usize>,
    reads_max: usize,
    /// The kernel takes entries from the thread alone that made the ring.
    _of_one_thread: PhantomData<*const ()>,
}

struct Flight<T> {
    /// Its descriptor stands in the entry.
    _file: Arc<File>,
    buffer: Vec<u8>,
    tag: Option<T>,
}

impl<T> Ring<T> {
    /// With room for so many reads at a time, a power of two.
    ///
    /// # Errors
    /// Those of io_uring_setup(2) and io_uring_enter(2): where the kernel is older than 6.1 (`EINVAL`), or doesn't allow
    /// it (`EPERM`, `ENOSYS`).
    pub fn new(reads_max: u32) -> io::Result<Self> {
        // Ends are worked off when this thread asks for them, and never interrupt it.
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .build(reads_max)?;
        // Where entering isn't allowed, it is to be known now.
        ring.submit()?;
        Ok(Self {
            ring,
            flights: Slab::new(),
            queued: VecDeque::new(),
            reads_max: reads_max as usize,
            _of_one_thread: PhantomData,
        })
    }

    /// Reads that have not ended.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flights.len()
    }

    /// Whether all have ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    /// Has `read` done, from the next [`Ring::turn`] on.
    ///
    /// # Errors
    /// With too many reads under way, or of more bytes than an entry can tell, it is given back.
    pub fn push(&mut self, read: Read<T>) -> Result<(), Read<T>> {
        let Ok(bytes) = u32::try_from(read.buffer.len()) else {
            return Err(read);
        };
        if self.flights.len() >= self.reads_max {
            return Err(read);
        }
        let Read {
            file,
            at,
            mut buffer,
            tag,
        } = read;
        let place = self.flights.vacant_entry();
        let entry = opcode::Read::new(Fd(file.as_raw_fd()), buffer.as_mut_ptr(), bytes)
            .offset(at)
            .build()
            .user_data(place.key() as u64);
        // SAFETY: the entry names a descriptor and a buffer that lie in the table of flights from here on. They are taken
        // out of it when the kernel says that it is done with them, or never; moving the `Vec` doesn't move what it holds.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            return Err(Read {
                file,
                at,
                buffer,
                tag,
            });
        }
        self.queued.push_back(place.key());
        place.insert(Flight {
            _file: file,
            buffer,
            tag: Some(tag),
        });
        Ok(())
    }

    /// Has the kernel take what is queued, and gives what is done to `ended`. Doesn't wait.
    ///
    /// # Errors
    /// If the kernel doesn't take it now. It stays queued, and is tried again with the next turn.
    pub fn turn(&mut self, mut ended: impl FnMut(Done<T>)) -> io::Result<()> {
        for round in 0..=self.flights.len() / WORKED_OFF {
            // An end that an earlier turn brought makes readable, too: then there is nothing to enter for.
            if !self.has_work() && (round > 0 || self.queued.is_empty()) {
                break;
            }
            let entered = self.ring.submit();
            let entered = self.took(entered);
            self.reap(&mut ended);
            entered?;
        }
        self.reap(&mut ended);
        Ok(())
    }

    /// Whether the kernel has something to work off on this thread. It does so with some of it at a time, and tells of the
    /// rest by this flag alone; which may stay when all is worked off, until there is something again.
    fn has_work(&mut self) -> bool {
        self.ring.submission().taskrun()
    }

    /// The tags of all that has not ended: nobody waits for its end any more.
    pub fn withdraw(&mut self) -> Vec<T> {
        let flights = self.flights.iter_mut();
        flights
            .filter_map(|(_, flight)| flight.tag.take())
            .collect()
    }

    /// So many of those that are queued were taken.
    fn took(&mut self, entered: io::Result<usize>) -> io::Result<()> {
        match entered {
            Ok(taken) => {
                self.queued.drain(..taken.min(self.queued.len()));
                Ok(())
            }
            // The time is over, or a signal came.
            Err(error)
                if [Errno::TIME, Errno::INTR]
                    .map(Errno::raw_os_error)
                    .map(Some)
                    .contains(&error.raw_os_error()) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn reap(&mut self, ended: &mut impl FnMut(Done<T>)) {
        for entry in self.ring.completion() {
            let key = usize::try_from(entry.user_data()).unwrap_or(usize::MAX);
            let Some(flight) = self.flights.try_remove(key) else {
                continue;
            };
            ended(Done {
                tag: flight.tag,
                buffer: flight.buffer,
                result: usize::try_from(entry.result())
                    .map_err(|_| io::Error::from_raw_os_error(entry.result().saturating_neg())),
            });
        }
    }

    /// Waits until something is done, or the time is over. What is queued is taken before.
    ///
    /// # Errors
    /// As with [`Ring::turn`].
    pub fn wait(&mut self, most: Duration, mut ended: impl FnMut(Done<T>)) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let time = Timespec::from(most);
        let args = SubmitArgs::new().timespec(&time);
        let entered = self.ring.submitter().submit_with_args(1, &args);
        let entered = self.took(entered);
        self.reap(&mut ended);
        entered
    }
}

impl<T> Ring<T> {
    /// Becomes readable, in the runtime of the calling thread, whenever there is something for a turn to end; may be asked
    /// for once.
    ///
    /// # Errors
    /// If there are no more descriptors, or the runtime takes none.
    pub fn readable(&self) -> io::Result<AsyncFd<OwnedFd>> {
        // The descriptor of the ring itself misses what the kernel has to work off on this thread.
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        self.ring.submitter().register_eventfd(event.as_raw_fd())?;
        // SAFETY: an `OwnedFd` is open as long as it is owned, and always the same.
        let readable = unsafe { AsyncFd::register_with_interest(event, Interest::READABLE) };
        Ok(readable?)
    }
}

impl<T> fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("flights", &self.flights.len())
            .field("queued", &self.queued.len())
            .finish_non_exhaustive()
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let until = Instant::now() + DROP_MAX;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_empty() || self.wait(left, drop).is_err() {
                break;
            }
        }
        // Nobody enters the ring again: what the kernel hasn't taken it never takes.
        for key in std::mem::take(&mut self.queued) {
            drop(self.flights.try_remove(key));
        }
        // To the rest it may still write, after the descriptor of the ring is closed, too.
        for flight in self.flights.drain() {
            flight.buffer.leak();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn read(file: &Arc<File>, at: u64, bytes: usize, tag: u64) -> Read<u64> {
        Read {
            file: Arc::clone(file),
            at,
            buffer: vec![0; bytes],
            tag,
        }
    }

    fn file(content: &[u8]) -> Arc<File> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        Arc::new(file)
    }

    /// The ring, if this kernel has one: a machine without is none to fail for. Miri knows no rings.
    fn ring(reads_max: u32) -> Option<Ring<u64>> {
        (!cfg!(miri)).then(|| Ring::new(reads_max).ok())?
    }

    /// All that is under way.
    fn ends(ring: &mut Ring<u64>) -> Vec<Done<u64>> {
        let mut ends = Vec::new();
        let until = Instant::now() + PATIENCE;
        while !ring.is_empty() && Instant::now() < until {
            ring.wait(PATIENCE, |done| ends.push(done)).unwrap();
        }
        ends.sort_by_key(|done| done.tag);
        ends
    }

    #[test]
    fn what_is_read_comes_back_with_its_tag() {
        let Some(mut ring) = ring(4) else { return };
        let file = file(b"0123456789");
        ring.push(read(&file, 2, 3, 7)).unwrap();
        ring.push(read(&file, 8, 100, 8)).unwrap();
        ring.push(read(&file, 50, 1, 9)).unwrap();
        let ends = ends(&mut ring);
        let read = |done: &Done<u64>| {
            let bytes = *done.result.as_ref().unwrap();
            (done.tag, done.buffer[..bytes].to_vec())
        };
        assert_eq!(read(&ends[0]), (Some(7), b"234".to_vec()));
        assert_eq!(read(&ends[1]), (Some(8), b"89".to_vec()));
        assert_eq!(read(&ends[2]), (Some(9), Vec::new()));
    }

    #[test]
    fn an_error_is_the_error_of_its_read() {
        let Some(mut ring) = ring(4) else { return };
        let folder = Arc::new(File::open("/").unwrap());
        ring.push(read(&folder, 0, 10, 1)).unwrap();
        ring.push(read(&file(b"a"), 0, 10, 2)).unwrap();
        let ends = ends(&mut ring);
        let error = ends[0].result.as_ref().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
        assert_eq!(*ends[1].result.as_ref().unwrap(), 1);
    }

    #[test]
    fn no_more_are_under_way_than_there_is_room_for() {
        let Some(mut ring) = ring(2) else { return };
        let file = file(b"abc");
        for round in 0..10 {
            ring.push(read(&file, 0, 1, round)).unwrap();
            ring.push(read(&file, 1, 1, round)).unwrap();
            let refused = ring.push(read(&file, 2, 1, 99)).unwrap_err();
            assert_eq!((refused.tag, refused.buffer.len()), (99, 1));
            assert_eq!(ends(&mut ring).len(), 2);
        }
    }

    #[test]
    fn what_nobody_waits_for_any_more_has_no_tag() {
        let Some(mut ring) = ring(4) else { return };
        let file = file(b"abc");
        ring.push(read(&file, 0, 1, 1)).unwrap();
        assert_eq!(ring.withdraw(), [1]);
        ring.push(read(&file, 1, 1, 2)).unwrap();
        let ends = ends(&mut ring);
        assert_eq!((ends[0].tag, ends[1].tag), (None, Some(2)));
    }

    #[test]
    fn a_ring_is_dropped_with_a_read_that_does_not_end() {
        let Some(mut ring) = ring(4) else { return };
        let (from, mut to) = io::pipe().unwrap();
        let from = Arc::new(File::from(OwnedFd::from(from)));
        ring.push(read(&from, 0, 10, 1)).unwrap();
        ring.turn(drop).unwrap();
        ring.push(read(&from, 0, 10, 2)).unwrap();
        assert_eq!(ring.len(), 2);
        drop(ring);
        // Nobody reads it, or the kernel puts it where nobody looks.
        to.write_all(b"abc").unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no rings")]
    fn room_for_none_is_refused_as_a_kernel_without_rings_does() {
        assert!(Ring::<u64>::new(0).is_err());
    }
}
