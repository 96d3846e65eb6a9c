//! The file or device that a volume lies in, locked for this process alone.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSliceMut, Seek, SeekFrom};
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Advice, FlockOperation, fadvise, flock};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use super::geometry::Geometry;
#[cfg(test)]
use super::tests::faults::Faults;

/// What a read that must not wait came to.
pub(crate) enum Cached {
    /// So many bytes were read, as far as they are in memory; perhaps fewer than there is room for.
    Bytes(usize),
    /// It would have to wait for the disk.
    Waits,
}

/// The place of a volume.
#[derive(Debug)]
pub(crate) struct Device {
    /// Shared with reads that the kernel has.
    file: Arc<File>,
    #[cfg(test)]
    pub(crate) faults: Faults,
}

impl Device {
    /// The file at `path`, made if `create` is set.
    pub(crate) fn open(path: &Path, create: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        // Each read asks for what it needs, and nobody knows what the next one is.
        fadvise(&file, 0, None, Advice::Random)?;
        Ok(Self {
            file: Arc::new(file),
            #[cfg(test)]
            faults: Faults::default(),
        })
    }

    /// The file at `path`, to be looked at only: whoever else has it open is not disturbed.
    pub(crate) fn open_to_look(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: Arc::new(File::open(path)?),
            #[cfg(test)]
            faults: Faults::default(),
        })
    }

    /// Lets others open it, though who still reads keeps it open.
    pub(crate) fn unlock(&self) -> io::Result<()> {
        Ok(flock(&self.file, FlockOperation::NonBlockingUnlock)?)
    }

    /// Empties a file; a block device stays as it is, but for what is written to it later.
    pub(crate) fn empty(&self) -> io::Result<()> {
        if self.capacity()?.is_none() {
            self.file.set_len(0)?;
        }
        Ok(())
    }

    /// Up to `bytes` bytes from `at` on: fewer where the file ends.
    pub(crate) fn read(&self, at: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let mut buf = vec![0; bytes];
        let filled = self.read_into(at, &mut buf)?;
        buf.truncate(filled);
        Ok(buf)
    }

    /// As many bytes from `at` on as there is room for: fewer where the file ends. Says how many.
    pub(crate) fn read_into(&self, at: u64, buf: &mut [u8]) -> io::Result<usize> {
        #[cfg(test)]
        let _steady = self.faults.before_read()?;
        let mut filled = 0;
        while let Some(rest) = buf.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, at + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        #[cfg(test)]
        self.faults.after_read(at, buf.get_mut(..filled).unwrap());
        Ok(filled)
    }

    /// The same, of what the kernel has in memory.
    pub(crate) fn read_cached(&self, at: u64, buf: &mut [u8]) -> io::Result<Cached> {
        #[cfg(test)]
        let _steady = self.faults.before_read()?;
        #[cfg(test)]
        if self.faults.is_uncached() {
            return Ok(Cached::Waits);
        }
        let read = preadv2(
            &self.file,
            &mut [IoSliceMut::new(buf)],
            at,
            ReadWriteFlags::NOWAIT,
        );
        match read {
            Ok(count) => {
                #[cfg(test)]
                self.faults.after_read(at, buf.get_mut(..count).unwrap());
                Ok(Cached::Bytes(count))
            }
            // Not every file system can tell.
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::INTR | Errno::NOSYS) => Ok(Cached::Waits),
            Err(error) => Err(error.into()),
        }
    }

    /// Has the kernel begin to read what will be asked for. Whether it does is seen then.
    pub(crate) fn begin_reading(&self, at: u64, bytes: u64) {
        #[cfg(test)]
        self.faults.note_begun(at, bytes);
        fadvise(&self.file, at, NonZeroU64::new(bytes), Advice::WillNeed).ok();
    }

    /// For reads by a [`Ring`](super::ring::Ring).
    pub(crate) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// What such a read comes to.
    #[cfg(test)]
    pub(crate) fn faulty(
        &self,
        at: u64,
        buf: &mut [u8],
        read: io::Result<usize>,
    ) -> io::Result<usize> {
        let _steady = self.faults.before_read()?;
        let filled = read?;
        self.faults.after_read(at, buf.get_mut(..filled).unwrap());
        Ok(filled)
    }

    /// Writes all of `bytes`.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        let bytes = self.tear(at, bytes)?;
        self.file.write_all_at(bytes, at)
    }

    /// Has the kernel begin to write to the disk what was written. Who reads meanwhile waits for less than when much
    /// has come together, and a sync too. It may have to wait for the disk.
    pub(crate) fn begin_writing(&self, at: u64, bytes: u64) {
        sys::begin_writing(&self.file, at, bytes);
    }

    /// Waits until all that was written lies on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        #[cfg(test)]
        self.faults
            .before_sync(|at, bytes| self.file.write_all_at(bytes, at).unwrap());
        self.file.sync_data()
    }

    #[cfg(test)]
    fn tear<'a>(&self, at: u64, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        let kept = self.faults.before_write(at, bytes)?;
        let end = at + bytes.len() as u64;
        if kept < bytes.len() && self.bytes()? < end {
            self.file.set_len(end)?;
        }
        Ok(&bytes[..kept])
    }

    /// Bytes of the file, as far as anything was written to it; of a block device, all it has.
    pub(crate) fn bytes(&self) -> io::Result<u64> {
        (&*self.file).seek(SeekFrom::End(0))
    }

    /// Bytes that it can't have more of; `None` for a file.
    pub(crate) fn capacity(&self) -> io::Result<Option<u64>> {
        let is_device = self.file.metadata()?.file_type().is_block_device();
        is_device.then(|| self.bytes()).transpose()
    }

    /// Whether its file system has room for some segments, as far as that can be told.
    pub(crate) fn has_room_for(&self, geometry: &Geometry) -> bool {
        let least = 2 * u64::from(geometry.segment());
        rustix::fs::fstatvfs(&self.file)
            .is_ok_and(|room| room.f_bavail.saturating_mul(room.f_frsize) >= least)
    }

    /// Whether the file still has a name. Whoever deletes a cache directory wants its volume gone.
    pub(crate) fn is_linked(&self) -> bool {
        rustix::fs::fstat(&self.file).is_ok_and(|stat| stat.st_nlink > 0)
    }
}
