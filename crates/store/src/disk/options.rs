//! What a volume is given by the program.

use std::path::PathBuf;

use crate::options::Policy;

/// What the names of indexes in shared memory begin with.
pub(crate) const INDEX_PREFIX: &str = "squall-";
/// The log's file in a cache directory.
const LOG_NAME: &str = "squall.log";

/// One `cache_dir`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeOptions {
    /// A directory for the volume's files; or a file or block device to be the log itself.
    pub path: PathBuf,
    /// Bytes of disk that it may take. Only [`Volume::create`](super::Volume::create) looks at it, or the first
    /// [`Volume::open`](super::Volume::open): a volume keeps its size.
    pub bytes: u64,
    /// The smallest body that is stored.
    pub object_bytes_min: u64,
    /// The largest body that is stored.
    pub object_bytes_max: u64,
    /// What is written again rather than lost, when the log comes round to it.
    pub policy: Policy,
    /// How much may be written again, in percent of what is new.
    pub reinsert_max_percent: u8,
    /// Chunks of up to 1 MiB that wait for the disk, before nothing more is stored.
    pub full_buffers_max: usize,
    /// Threads that wait for reads.
    pub readers: usize,
    /// A directory in memory (`/dev/shm`) where the index outlives the process.
    pub shared_memory: Option<PathBuf>,
}

impl Default for VolumeOptions {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            bytes: 100 << 20,
            object_bytes_min: 0,
            object_bytes_max: u64::MAX,
            policy: Policy::default(),
            reinsert_max_percent: 25,
            full_buffers_max: 32,
            readers: 8,
            shared_memory: None,
        }
    }
}

impl VolumeOptions {
    /// Where the log lies.
    pub(crate) fn log_path(&self) -> PathBuf {
        if self.path.is_dir() {
            self.path.join(LOG_NAME)
        } else {
            self.path.clone()
        }
    }

    /// Where the index of a volume outlives the process.
    pub(crate) fn index_path(&self, uuid: &[u8; 16]) -> Option<PathBuf> {
        let name = format!("{INDEX_PREFIX}{:032x}", u128::from_be_bytes(*uuid));
        Some(self.shared_memory.as_ref()?.join(name))
    }
}
