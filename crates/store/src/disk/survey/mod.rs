//! A look at a volume from outside: at what its tables say, without its index, without its lock, and without changing a byte.
//! Another process may serve from it meanwhile: what that one has not yet written isn't seen, and what it overwrites is
//! passed over.

mod body;

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use bytes::Bytes;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry as Slot;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

use super::device::Device;
use super::format::{
    ChunkHead, Entry, ExtentList, Kind, Parsed, Record, Superblock, parse, parse_beginning,
};
use super::geometry::{Geometry, LOG_AT};
use super::options::VolumeOptions;
use super::walk::{Met, Walk};
use super::{Listed, ListedContent};

/// Bytes that a record's head, key and meta rarely exceed.
const BEGINNING_BYTES: u32 = 4096;
/// A table that doesn't check may be one that is just being written: it is read so often.
const TRIES: usize = 3;

/// How closely records are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closeness {
    /// Head, key and meta of each.
    Heads,
    /// Every byte.
    Bytes,
}

/// What the tables of a volume say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SurveyUsage {
    /// Bytes that the volume may take.
    pub bytes_max: u64,
    /// Bytes of segments in use.
    pub bytes: u64,
    /// Segments in all.
    pub segments: u32,
    /// Segments in use.
    pub segments_used: u32,
    /// Records that can be found: responses, and what leads to them.
    pub records: u64,
    /// How often it was opened.
    pub epoch: u64,
    /// Whether there is a copy of the index on disk.
    pub has_image: bool,
}

/// See the module. It holds about 50 bytes of memory for each record.
#[derive(Debug)]
pub struct Survey {
    ground: Ground,
    superblock: Superblock,
    options: VolumeOptions,
    secrets: RapidSecrets,
    /// Of each hash what was written last.
    newest: HashMap<u64, Spot>,
    /// Under which number each segment was begun; 0 if it isn't in use.
    born: Vec<u64>,
    damaged_chunks: Vec<u64>,
}

/// A volume's file, and how it is divided.
#[derive(Debug)]
struct Ground {
    device: Device,
    geometry: Geometry,
    mark: u64,
}

impl Ground {
    fn new(device: Device, superblock: &Superblock) -> Self {
        Self {
            device,
            geometry: superblock.geometry,
            mark: superblock.chunk_mark(),
        }
    }

    fn walk(&self) -> Walk<'_, impl Fn(u64, usize) -> Vec<u8>> {
        Walk {
            geometry: &self.geometry,
            mark: self.mark,
            tries: TRIES,
            read: |at, bytes| self.device.read(at, bytes).unwrap_or_default(),
        }
    }

    /// Up to so many bytes of a segment; none where the disk fails.
    fn read(&self, number: u32, within: u32, bytes: u32) -> Vec<u8> {
        let at = self.geometry.offset(number, within);
        self.device.read(at, bytes as usize).unwrap_or_default()
    }
}

/// Where the newest record of a hash lies.
#[derive(Clone, Copy, Debug)]
struct Spot {
    lsn: u64,
    granule: u32,
    bytes: u32,
    kind: Kind,
    frequency: u8,
}

impl Survey {
    /// Reads the tables of a volume.
    ///
    /// # Errors
    /// `NotFound` where there is none, `InvalidData` where it can't be read as one; if the disk fails.
    pub fn open(options: VolumeOptions) -> io::Result<Self> {
        let device = Device::open_to_look(&options.log_path())?;
        let superblock = Superblock::read(&device)?.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "no volume is in the file")
        })?;
        let mut survey = Self {
            secrets: RapidSecrets::seed(superblock.secret),
            ground: Ground::new(device, &superblock),
            superblock,
            options,
            newest: HashMap::new(),
            born: Vec::new(),
            damaged_chunks: Vec::new(),
        };
        for number in 0..survey.ground.geometry.segments {
            let born = survey.ground.walk().born(number);
            let born = born.filter(|born| *born >= superblock.watermark);
            survey.born.push(born.unwrap_or(0));
        }
        for (born, number) in survey.segments() {
            survey.read_segment(number, born);
        }
        Ok(survey)
    }

    /// Those in use, the oldest first.
    fn segments(&self) -> Vec<(u64, u32)> {
        let numbered = self.born.iter().copied().zip(0..);
        let mut segments: Vec<_> = numbered.filter(|(born, _)| *born > 0).collect();
        segments.sort_unstable();
        segments
    }

    fn read_segment(&mut self, number: u32, born: u64) {
        let (mut chunks, mut damaged) = (Vec::new(), Vec::new());
        self.ground
            .walk()
            .each_chunk(number, born, |met| match met {
                Met::Chunk(head, entries) => chunks.push((head, entries)),
                Met::Damaged(at) => damaged.push(self.ground.geometry.offset(number, at)),
            });
        if !damaged.is_empty() && self.stands(number) {
            self.damaged_chunks.append(&mut damaged);
        }
        for (head, entries) in chunks {
            for entry in entries {
                self.learn(number, &head, &entry);
            }
        }
    }

    fn learn(&mut self, number: u32, head: &ChunkHead, entry: &Entry) {
        if entry.kind == Kind::Fragment {
            return;
        }
        let spot = Spot {
            lsn: entry.lsn,
            granule: self.ground.geometry.granule_at(number, head.at + entry.at),
            bytes: entry.bytes,
            kind: entry.kind,
            frequency: entry.frequency,
        };
        match self.newest.entry(entry.hash) {
            Slot::Vacant(slot) => {
                slot.insert(spot);
            }
            // What was written again has its old number: the later copy stays longer.
            Slot::Occupied(mut slot) if slot.get().lsn <= spot.lsn => {
                slot.insert(spot);
            }
            Slot::Occupied(_) => {}
        }
    }

    /// The path of the volume, as it was given.
    #[must_use]
    pub fn options(&self) -> &VolumeOptions {
        &self.options
    }

    /// The file that the volume lies in.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.options.log_path()
    }

    /// Where its index outlives the process that serves from it.
    #[must_use]
    pub fn index_file(&self) -> Option<PathBuf> {
        self.options.index_path(&self.superblock.uuid)
    }

    /// Offsets in the file of chunks of which nothing can be told any more.
    #[must_use]
    pub fn damaged_chunks(&self) -> &[u64] {
        &self.damaged_chunks
    }

    /// What the tables say.
    #[must_use]
    pub fn usage(&self) -> SurveyUsage {
        let geometry = &self.ground.geometry;
        let used = self.born.iter().filter(|born| **born > 0).count();
        let segments_used = u32::try_from(used).unwrap_or(u32::MAX);
        let stored = self.newest.values().filter(|spot| spot.is_stored());
        SurveyUsage {
            bytes_max: geometry.log_bytes(),
            bytes: u64::from(segments_used) << geometry.segment_log2,
            segments: geometry.segments,
            segments_used,
            records: stored.count() as u64,
            epoch: self.superblock.epoch,
            has_image: self.superblock.image.number > 0,
        }
    }

    /// Shows all that can be found, in the order of the file, until `show` has enough.
    pub fn each(&self, closeness: Closeness, mut show: impl FnMut(Listed) -> ControlFlow<()>) {
        let stored = self.newest.iter().filter(|(_, spot)| spot.is_stored());
        let mut stored: Vec<(u32, u64)> =
            stored.map(|(hash, spot)| (spot.granule, *hash)).collect();
        stored.sort_unstable();
        for (_, hash) in stored {
            if let Some(listed) = self.look(hash, closeness)
                && show(listed).is_break()
            {
                return;
            }
        }
    }

    /// What is stored under `key`.
    #[must_use]
    pub fn find(&self, key: &[u8]) -> Option<Listed> {
        let listed = self.look(rapidhash_v3_seeded(key, &self.secrets), Closeness::Heads)?;
        let is_it =
            matches!(&listed.content, ListedContent::Sound { key: found, .. } if found == key);
        is_it.then_some(listed)
    }

    fn look(&self, hash: u64, closeness: Closeness) -> Option<Listed> {
        let spot = self.newest.get(&hash).filter(|spot| spot.is_stored())?;
        let (segment, within) = self.ground.geometry.locate(spot.granule)?;
        let content = self.content(hash, spot, segment, within, closeness);
        Some(Listed {
            offset: self.ground.geometry.offset(segment, within),
            bytes: spot.bytes,
            uses: u32::from(spot.frequency),
            content: match content {
                ListedContent::Damaged if !self.stands(segment) => ListedContent::Outlived,
                content => content,
            },
        })
    }

    fn content(
        &self,
        hash: u64,
        spot: &Spot,
        segment: u32,
        within: u32,
        closeness: Closeness,
    ) -> ListedContent {
        let read = |bytes: u32| Bytes::from(self.ground.read(segment, within, bytes));
        let is_it = |record: &Record<'_>| {
            (record.hash, record.lsn, record.kind) == (hash, spot.lsn, spot.kind)
        };
        if closeness == Closeness::Heads && spot.kind == Kind::Whole {
            let bytes = read(spot.bytes.min(BEGINNING_BYTES));
            if let Ok(begun) = parse_beginning(&bytes, self.born(segment))
                && is_it(&begun.record)
            {
                return sound(&bytes, &begun.record, u64::from(begun.body_bytes));
            }
        }
        let bytes = read(spot.bytes);
        let Parsed::Record(record) = parse(&bytes, self.born(segment)) else {
            return ListedContent::Damaged;
        };
        if !is_it(&record) {
            return ListedContent::Damaged;
        }
        if record.kind == Kind::Whole {
            return sound(&bytes, &record, record.body.len() as u64);
        }
        let Some(list) = ExtentList::decode(record.body, &self.ground.geometry) else {
            return ListedContent::Damaged;
        };
        match self.fragments(hash, &list, closeness) {
            body::State::Sound => sound(&bytes, &record, list.body_bytes()),
            body::State::Outlived => ListedContent::Outlived,
            body::State::Damaged => ListedContent::Damaged,
        }
    }

    /// Whether nothing has made room for others in that segment since.
    fn stands(&self, segment: u32) -> bool {
        let born = self.born(segment);
        match Superblock::read(&self.ground.device) {
            Ok(Some(now)) => born >= now.watermark,
            Ok(None) | Err(_) => true,
        }
    }

    /// The number that the segment at that offset of the file was begun under.
    fn born_at(&self, offset: u64) -> u64 {
        let within = offset.saturating_sub(LOG_AT) >> self.ground.geometry.segment_log2;
        self.born(u32::try_from(within).unwrap_or(u32::MAX))
    }

    fn born(&self, segment: u32) -> u64 {
        self.born.get(segment as usize).copied().unwrap_or(0)
    }
}

impl Spot {
    fn is_stored(&self) -> bool {
        matches!(self.kind, Kind::Whole | Kind::Extents)
    }
}

fn sound(bytes: &Bytes, record: &Record<'_>, body_bytes: u64) -> ListedContent {
    ListedContent::Sound {
        key: bytes.slice_ref(record.key),
        meta: bytes.slice_ref(record.meta),
        body_bytes,
        stamps: record.stamps,
    }
}
