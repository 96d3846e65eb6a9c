//! The directories of `cache_dir` lines: made by `-z`, opened at the start, exchanged by a reload, tried again when they
//! failed, closed at the end. One that fails never stops the others, nor the proxy.
//!
//! | state | moved on by |
//! | --- | --- |
//! | opened: what it holds is being found out | the end of that: open |
//! | open | a failure of its disk: failed; a reload without its line: closed |
//! | failed: what it had are misses | a try every [`RETRY`]: open |

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use anyhow::Context as _;
use config::{CacheDir, Config, DirChoice, DirKind, Replacement};
use proxy::flow::Store;
use store::{Choice, Policy, Volume, VolumeOptions, VolumeState, Volumes, sweep};
use tokio::time::Instant;

/// Between two tries to open one that failed.
const RETRY: Duration = Duration::from_secs(10);
/// Where indexes outlive the process.
const SHARED_MEMORY: &str = "/dev/shm";
/// Bytes of zeros at its beginning by which a file or device counts as blank: file systems and partition tables begin there.
const BLANK_BYTES: u64 = 1 << 20;
/// Threads of each that wait for its disk.
const READERS: usize = 8;

/// Those of the configuration in force.
#[derive(Debug, Default)]
pub(crate) struct CacheDirs {
    dirs: Vec<Dir>,
    choice: Choice,
}

#[derive(Debug)]
struct Dir {
    line: CacheDir,
    options: VolumeOptions,
    state: State,
}

#[derive(Debug)]
enum State {
    Opened(Arc<Volume>),
    Open(Arc<Volume>),
    Failed { tried: Instant },
}

impl CacheDirs {
    /// None yet. What directories that were deleted have left in shared memory goes.
    pub(crate) fn new() -> Self {
        let swept = sweep(Path::new(SHARED_MEMORY));
        if swept > 0 {
            tracing::info!("{SHARED_MEMORY}: removed {swept} of directories that are gone");
        }
        Self::default()
    }

    /// Lets the store have those of `config`. What has the same line as before stays open.
    pub(crate) fn arrange(&mut self, config: &Config, store: &Store) {
        let mut before = std::mem::take(&mut self.dirs);
        let mut fresh = Vec::new();
        for line in lines(config) {
            let options = options(line, config);
            let same = |dir: &Dir| dir.options == options;
            match before.iter().position(same) {
                Some(at) => self.dirs.push(before.swap_remove(at)),
                None => fresh.push((line.clone(), options)),
            }
        }
        // A volume is closed before the same files are opened for another line.
        for dir in before {
            dir.close();
        }
        for (line, options) in fresh {
            let state = open(&options);
            self.dirs.push(Dir {
                line,
                options,
                state,
            });
        }
        self.choice = match config.store_dir_select_algorithm {
            DirChoice::LeastLoad => Choice::LeastLoad,
            DirChoice::RoundRobin => Choice::RoundRobin,
        };
        self.give(store);
    }

    /// Takes note of those that have failed, and tries them again.
    pub(crate) fn tend(&mut self, store: &Store) {
        let mut changed = false;
        for dir in &mut self.dirs {
            changed |= dir.tend();
        }
        if changed {
            self.give(store);
        }
    }

    /// Writes down what isn't yet.
    pub(crate) fn close(&mut self) {
        for dir in self.dirs.drain(..) {
            dir.close();
        }
    }

    fn give(&self, store: &Store) {
        let volumes: Vec<Arc<Volume>> = self.dirs.iter().filter_map(Dir::volume).collect();
        let before = store.volumes();
        let volumes =
            (!volumes.is_empty()).then(|| Volumes::new(volumes, self.choice, before.as_deref()));
        store.set_volumes(volumes.map(Arc::new));
    }
}

impl Dir {
    fn volume(&self) -> Option<Arc<Volume>> {
        match &self.state {
            State::Opened(volume) | State::Open(volume) => Some(Arc::clone(volume)),
            State::Failed { .. } => None,
        }
    }

    /// True when it has changed its state.
    fn tend(&mut self) -> bool {
        let path = self.line.path.display();
        let (state, objects) = match &self.state {
            State::Opened(volume) | State::Open(volume) => {
                volume.tend();
                let usage = volume.usage();
                (usage.state, usage.objects)
            }
            State::Failed { .. } => (VolumeState::OutOfService, 0),
        };
        match &self.state {
            State::Opened(volume) if state == VolumeState::Serving => {
                tracing::info!("cache_dir {path}: all is found that it holds, {objects} responses");
                self.state = State::Open(Arc::clone(volume));
                false
            }
            State::Opened(volume) | State::Open(volume) if state == VolumeState::OutOfService => {
                tracing::error!(
                    "cache_dir {path}: its disk failed; going on without it, and trying again"
                );
                let _failed_as_said = volume.close();
                self.state = State::Failed {
                    tried: Instant::now(),
                };
                true
            }
            State::Failed { tried } if tried.elapsed() >= RETRY => {
                self.state = open_again(&self.options);
                let back = matches!(self.state, State::Opened(_));
                if back {
                    tracing::info!("cache_dir {path}: back in service");
                }
                back
            }
            State::Opened(_) | State::Open(_) | State::Failed { .. } => false,
        }
    }

    fn close(self) {
        if let State::Opened(volume) | State::Open(volume) = self.state
            && let Err(error) = volume.close()
        {
            let path = self.line.path.display();
            tracing::error!("cache_dir {path}: {error}; what came last may be lost");
        }
    }
}

/// Those that something is to be in.
fn lines(config: &Config) -> impl Iterator<Item = &CacheDir> {
    let dirs = config.cache_dirs.iter();
    dirs.filter(|dir| dir.kind != DirKind::Null)
}

fn open(options: &VolumeOptions) -> State {
    match open_or_create(options) {
        Ok(volume) => State::Opened(volume),
        Err(error) => {
            tracing::error!(
                "cache_dir {}: {error}; going on without it. Is it there, and ours? squall -z makes it.",
                options.path.display()
            );
            State::Failed {
                tried: Instant::now(),
            }
        }
    }
}

/// What there is to say was said when it failed first.
fn open_again(options: &VolumeOptions) -> State {
    open_or_create(options).map_or_else(
        |_| State::Failed {
            tried: Instant::now(),
        },
        State::Opened,
    )
}

/// A directory that is empty of ours, or where ours makes no sense, gets a volume; one that isn't there may be a disk that
/// isn't mounted, and is left.
fn open_or_create(options: &VolumeOptions) -> io::Result<Arc<Volume>> {
    match Volume::open(options.clone()) {
        Err(error) if options.path.is_dir() && is_without(&error) => {
            Volume::create(options)?;
            if error.kind() == io::ErrorKind::InvalidData {
                let path = options.path.display();
                tracing::warn!("cache_dir {path}: {error}; beginning with an empty one");
            }
            Volume::open(options.clone())
        }
        opened => opened,
    }
}

/// Whether there is no volume, by what came of opening it.
fn is_without(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::InvalidData
    )
}

fn options(dir: &CacheDir, config: &Config) -> VolumeOptions {
    let usual = VolumeOptions::default();
    let most = config.maximum_object_size;
    let shared = Path::new(SHARED_MEMORY);
    VolumeOptions {
        path: dir.path.clone(),
        bytes: dir.bytes,
        object_bytes_min: match dir.read_only {
            true => u64::MAX,
            false => dir.object_bytes_min.max(config.minimum_object_size),
        },
        object_bytes_max: dir.object_bytes_max.unwrap_or(most).min(most),
        policy: policy(dir.replacement),
        reinsert_max_percent: match dir.tuning.overwrite_percent {
            Some(0) => 50,
            Some(100..) => 0,
            Some(_) | None => usual.reinsert_max_percent,
        },
        full_buffers_max: match dir.tuning.full_buffers_max {
            Some(most) => usize::try_from(most).unwrap_or(usize::MAX).max(1),
            None => usual.full_buffers_max,
        },
        readers: READERS,
        shared_memory: shared.is_dir().then(|| shared.to_owned()),
    }
}

/// The volumes that a configuration names.
pub(crate) fn volumes(config: &Config) -> Vec<VolumeOptions> {
    lines(config).map(|line| options(line, config)).collect()
}

/// What a configured policy is in the store.
pub(crate) const fn policy(replacement: Option<Replacement>) -> Policy {
    match replacement {
        None => Policy::Default,
        Some(Replacement::Lru) => Policy::Lru,
        Some(Replacement::HeapLru) => Policy::HeapLru,
        Some(Replacement::HeapGdsf) => Policy::HeapGdsf,
        Some(Replacement::HeapLfuda) => Policy::HeapLfuda,
    }
}

/// Whether a file or device holds nothing: nobody has begun to use it. What has anything where a volume begins may be
/// somebody else's.
fn is_blank(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    let file = fs::File::open(path)?;
    io::Read::read_to_end(&mut io::Read::take(file, BLANK_BYTES), &mut beginning)?;
    Ok(beginning.iter().all(|byte| *byte == 0))
}

/// Makes what is missing, as `-z` does, and gives it to the user that we become.
pub(crate) fn make(config: &Config, mut say: impl FnMut(&str)) -> anyhow::Result<()> {
    for dir in lines(config) {
        let path = dir.path.display();
        let options = options(dir, config);
        // `coss` may have a file or a device in the place of a directory.
        let is_file = dir.kind == DirKind::Coss && !dir.path.is_dir() && dir.path.exists();
        if !is_file && !dir.path.is_dir() {
            say(&format!("Making {path}"));
            fs::create_dir_all(&dir.path)?;
        } else {
            say(&format!("{path} exists"));
        }
        match Volume::open(options.clone()) {
            Ok(volume) => volume.close()?,
            Err(error) if is_without(&error) && (!is_file || is_blank(&dir.path)?) => {
                Volume::create(&options)?;
            }
            Err(error) => return Err(error).with_context(|| format!("cache_dir {path}")),
        }
        if !is_file && matches!(dir.kind, DirKind::Ufs | DirKind::Aufs | DirKind::Diskd) {
            // Scripts that start Squid look for it, to see whether -z is needed.
            fs::create_dir_all(dir.path.join("00"))?;
        }
        crate::privileges::hand_over_tree(config, &dir.path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> VolumeOptions {
        let config = config::parse(text, "test").unwrap();
        options(lines(&config).next().unwrap(), &config)
    }

    #[test]
    fn sizes_are_bounded_by_the_lines_about_all() {
        let both = first("cache_dir rock /a 7 max-size=9000000\nminimum_object_size 1 KB");
        assert_eq!((both.bytes, both.object_bytes_min), (7 << 20, 1024));
        assert_eq!(both.object_bytes_max, 4 << 20);
        let own =
            first("maximum_object_size 9 MB\ncache_dir aufs /a 7 16 256 min-size=5 max-size=6");
        assert_eq!((own.object_bytes_min, own.object_bytes_max), (5, 6));
        let closed = first("cache_dir aufs /a 7 16 256 no-store");
        assert!(closed.object_bytes_min > closed.object_bytes_max);
    }

    #[test]
    fn what_coss_says_of_overwriting_is_obeyed() {
        let of = |text: &str| first(&format!("cache_dir coss /a 7 max-size=9 {text}"));
        assert_eq!(of("").reinsert_max_percent, 25);
        assert_eq!(of("overwrite-percent=0").reinsert_max_percent, 50);
        assert_eq!(of("overwrite-percent=100").reinsert_max_percent, 0);
        assert_eq!(of("maxfullbufs=3").full_buffers_max, 3);
    }

    #[test]
    fn null_is_nothing() {
        let config = config::parse("cache_dir null /tmp", "test").unwrap();
        assert_eq!(lines(&config).count(), 0);
    }
}
