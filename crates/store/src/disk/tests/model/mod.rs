//! A volume beside a map, with crashes. What is found is what was stored last; after a crash, what was stored last or
//! since the last flush. Nothing that was removed before a flush comes back, and nothing is lost that was stored, or, after
//! a crash, flushed, a short while ago.

mod known;
mod steps;

use std::io;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};

use super::faults::Plan;
use super::{Volume, VolumeOptions, VolumeState, folder, get, options, stamps, until, wait};
use crate::disk::geometry::LOG_AT;
use crate::disk::{Extents, Refused, StoredBody, Writing};
use crate::sync::{Arc, sleep};
use crate::usage::count;
use known::{Content, Model};
pub(super) use steps::sequence;
use steps::{KEYS, Sequence, Size, Step};

/// Of the volume, by segments of 64 KiB.
fn bytes(size: Size) -> u64 {
    let segments = match size {
        Size::Least => 8,
        Size::Small => 15,
    };
    LOG_AT + (segments << 16)
}

/// How often a refusal is taken for one that passes by, while the disk catches up.
const TRIES: usize = 100;
const BETWEEN_TRIES: Duration = Duration::from_micros(50);

/// What was done in all sequences.
#[derive(Debug, Default)]
pub(super) struct Tally {
    sequences: AtomicU64,
    steps: AtomicU64,
    crashes: AtomicU64,
    closings: AtomicU64,
    finds: AtomicU64,
    found: AtomicU64,
    found_large: AtomicU64,
    refused: AtomicU64,
    reinserts: AtomicU64,
    evictions: AtomicU64,
}

/// Bytes that bodies are cut from, each at a place of its own.
static NOISE: LazyLock<Bytes> = LazyLock::new(|| super::noise(1, 1 << 20).into());

fn noise(number: u64, bytes: u32) -> Bytes {
    let from = usize::try_from(number).unwrap() * 1009 % (NOISE.len() / 2);
    NOISE.slice(from..from + bytes as usize)
}

fn name(key: u8) -> [u8; 30] {
    [key; 30]
}

/// A large body on its way.
struct Slow {
    writing: Writing,
    key: u8,
    content: Content,
    rest: Bytes,
}

/// A large body that is kept hold of.
struct Held {
    extents: Arc<Extents>,
    content: Content,
}

struct Run<'t> {
    folder: tempfile::TempDir,
    options: VolumeOptions,
    volume: Option<Arc<Volume>>,
    model: Model,
    slow: Option<Slow>,
    held: Option<Held>,
    number: u64,
    /// Since it was opened, not all that was written may be on the disk.
    torn: bool,
    /// The index may say what a crash has taken back.
    doubtful: bool,
    /// The machine went down once. Of what it had not written yet some may be on the disk: heads without their bodies.
    scarred: bool,
    tally: &'t Tally,
}

impl<'t> Run<'t> {
    fn new(sequence: &Sequence, tally: &'t Tally) -> Self {
        let folder = folder();
        let options = VolumeOptions {
            policy: sequence.policy,
            shared_memory: sequence.shared.then(|| folder.path().to_owned()),
            ..options(folder.path(), bytes(sequence.size))
        };
        Volume::create(&options).unwrap();
        let volume = open(&options);
        Self {
            folder,
            options,
            volume: Some(volume),
            model: Model::new(sequence.size),
            slow: None,
            held: None,
            number: 0,
            torn: false,
            doubtful: false,
            scarred: false,
            tally,
        }
    }

    fn volume(&self) -> &Volume {
        self.volume.as_ref().unwrap()
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Put(key, bytes) => self.put(key, bytes.into()),
            Step::Large(key, bytes) => {
                if let Some(slow) = self.begin(key, bytes) {
                    self.finish(slow);
                }
            }
            Step::Begin(key, bytes) => self.slow = self.begin(key, bytes),
            Step::Append(bytes) => self.append(bytes.into()),
            Step::Finish => {
                if let Some(slow) = self.slow.take() {
                    self.finish(slow);
                }
            }
            Step::Renew(key) => self.renew(key),
            Step::Remove(key) => {
                self.volume().remove(&name(key));
                self.model.removed(key);
            }
            Step::Find(key) => self.check(key),
            Step::Hold(key) => self.hold(key),
            Step::Read(at) => self.read(at),
            Step::Flush => {
                self.volume().flush().unwrap();
                self.flushed();
            }
            Step::Clear => {
                self.volume().clear().unwrap();
                self.model.cleared();
            }
            Step::Close => {
                count(&self.tally.closings);
                self.volume().close().unwrap();
                self.flushed();
                self.reopen();
            }
            Step::Crash => {
                count(&self.tally.crashes);
                // The machine goes down, and takes the shared memory with it.
                if self.torn {
                    remove_indexes(self.folder.path());
                    self.scarred = true;
                }
                self.doubtful |= self.options.shared_memory.is_some();
                self.reopen();
            }
            Step::Tear(bytes) => {
                self.volume().faults().set(Plan {
                    torn: Some(usize::from(bytes)),
                    ..Plan::default()
                });
                self.torn = true;
                self.model.let_go();
            }
        }
        let usage = self.volume().usage();
        assert_eq!(usage.read_errors + usage.write_errors, 0);
        assert!(self.may_be_wrong() || usage.wrong == 0, "{usage:?}");
        assert_eq!(usage.tombstones_lost + usage.index_drops, 0);
    }

    fn may_be_wrong(&self) -> bool {
        self.torn || self.doubtful || self.scarred
    }

    fn next(&mut self, bytes: u32) -> Content {
        self.number += 1;
        Content {
            number: self.number,
            body: self.number,
            bytes,
        }
    }

    fn put(&mut self, key: u8, bytes: u32) {
        let content = self.next(bytes);
        let stored = self.insist(|volume| {
            let body = noise(content.body, bytes);
            volume.put(&name(key), &meta(content), &[body], stamps(content.number))
        });
        if stored {
            self.model.put(key, content);
            self.guard();
        }
    }

    /// While segments are kept from being taken, others go sooner; and what is torn may not be there.
    fn guard(&mut self) {
        if self.torn || self.held.is_some() {
            self.model.let_go();
        }
    }

    /// Whether it is done in the end. Where all waits for a reader, it isn't.
    fn insist(&self, mut act: impl FnMut(&Volume) -> Result<(), Refused>) -> bool {
        let tries = if self.held.is_some() { 3 } else { TRIES };
        for _ in 0..tries {
            match act(self.volume()) {
                Ok(()) => return true,
                Err(Refused::Busy | Refused::Full) => sleep(BETWEEN_TRIES),
                Err(Refused::Gone) => return false,
                Err(refused) => panic!("{refused:?}"),
            }
        }
        count(&self.tally.refused);
        false
    }

    fn begin(&mut self, key: u8, bytes: u32) -> Option<Slow> {
        let content = self.next(bytes);
        let writing = self.volume().begin(&name(key), None).unwrap();
        Some(Slow {
            writing,
            key,
            content,
            rest: noise(content.body, bytes),
        })
    }

    fn append(&mut self, bytes: usize) {
        let Some(mut slow) = self.slow.take() else {
            return;
        };
        let mut part = slow.rest.split_to(bytes.min(slow.rest.len()));
        if self.poll(|cx| slow.writing.poll_append(&mut part, cx)) {
            self.slow = Some(slow);
        }
        self.model.appended(bytes.try_into().unwrap());
        self.guard();
    }

    fn finish(&mut self, mut slow: Slow) {
        let (content, number) = (slow.content, slow.content.number);
        let meta = meta(content);
        let done = self.poll(|cx| slow.writing.poll_append(&mut slow.rest, cx))
            && self.poll(|cx| slow.writing.poll_finish(&meta, stamps(number), cx));
        if done {
            self.model.stored(slow.key, content);
        } else {
            self.model.appended(content.bytes);
        }
    }

    fn poll(&self, mut act: impl FnMut(&mut Context<'_>) -> Poll<Result<(), Refused>>) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        self.insist(|_| match act(&mut cx) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(Refused::Busy),
        })
    }

    fn renew(&mut self, key: u8) {
        let Some(stored) = get(self.volume(), &name(key)) else {
            return self.model.check(key, None);
        };
        let Some(old) = self.content(key, &stored) else {
            return self.model.check(key, None);
        };
        let new = Content {
            number: self.next(0).number,
            ..old
        };
        if self.insist(|volume| volume.update(&stored, &meta(new), stamps(new.number))) {
            self.model.renewed(key, new);
            self.guard();
        }
    }

    fn find(&self, key: u8) -> Option<Content> {
        count(&self.tally.finds);
        let stored = get(self.volume(), &name(key))?;
        count(&self.tally.found);
        self.content(key, &stored)
    }

    /// What was found, if all of it can be read.
    fn content(&self, key: u8, stored: &super::Stored) -> Option<Content> {
        assert_eq!(stored.key, name(key).as_slice());
        let number = stored.stamps.judged;
        let body = u64::from_le_bytes(stored.meta[8..].try_into().unwrap());
        let bytes = match &stored.body {
            StoredBody::Whole(bytes) => bytes.len() as u64,
            StoredBody::Extents(extents) => extents.len(),
        };
        let content = Content {
            number,
            body,
            bytes: u32::try_from(bytes).unwrap(),
        };
        assert_eq!(stored.meta, meta(content).as_slice());
        match &stored.body {
            StoredBody::Whole(bytes) => assert!(*bytes == noise(body, content.bytes)),
            StoredBody::Extents(extents) => {
                count(&self.tally.found_large);
                if let Err(error) = read(extents, content, 0) {
                    assert!(self.scarred, "{error}");
                    return None;
                }
            }
        }
        Some(content)
    }

    fn check(&mut self, key: u8) {
        let found = self.find(key);
        self.model.check(key, found);
    }

    fn hold(&mut self, key: u8) {
        let Some(stored) = get(self.volume(), &name(key)) else {
            return self.model.check(key, None);
        };
        let Some(content) = self.content(key, &stored) else {
            return self.model.check(key, None);
        };
        if let StoredBody::Extents(extents) = stored.body {
            self.held = Some(Held { extents, content });
            self.model.let_go();
        }
    }

    fn read(&mut self, at: u32) {
        if let Some(held) = &self.held {
            read(&held.extents, held.content, at.min(held.content.bytes)).unwrap();
        }
    }

    fn flushed(&mut self) {
        if !self.torn {
            self.model.flushed();
        }
    }

    /// Ends the process, and begins another one.
    fn reopen(&mut self) {
        self.slow = None;
        self.held = None;
        let usage = self.volume().usage();
        self.tally.reinserts.fetch_add(usage.reinserts, Relaxed);
        self.tally.evictions.fetch_add(usage.evictions, Relaxed);
        self.volume = None;
        self.volume = Some(open(&self.options));
        self.torn = false;
        for key in 0..KEYS {
            let found = self.find(key);
            self.model.crashed(key, found);
        }
        self.model.reopened();
    }
}

fn open(options: &VolumeOptions) -> Arc<Volume> {
    let volume = Volume::open(options.clone()).unwrap();
    until(|| volume.usage().state == VolumeState::Serving);
    volume
}

fn remove_indexes(folder: &Path) {
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        if file.file_name().to_string_lossy().starts_with("squall-") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
}

fn meta(content: Content) -> [u8; 16] {
    let mut meta = [0; 16];
    meta[..8].copy_from_slice(&content.number.to_le_bytes());
    meta[8..].copy_from_slice(&content.body.to_le_bytes());
    meta
}

/// Reads a large body from there to its end.
fn read(extents: &Arc<Extents>, content: Content, from: u32) -> io::Result<()> {
    assert_eq!(extents.len(), u64::from(content.bytes));
    let mut rest = noise(content.body, content.bytes).slice(from as usize..);
    let mut reader = extents.reader();
    while !rest.is_empty() {
        let at = extents.len() - rest.len() as u64;
        let bytes = wait(|cx| reader.poll_read(at, u64::MAX, cx))?;
        assert!(!bytes.is_empty() && bytes == rest.split_to(bytes.len()));
    }
    Ok(())
}

pub(super) fn run(sequence: &Sequence, tally: &Tally) {
    let mut run = Run::new(sequence, tally);
    for step in &sequence.steps {
        run.step(step);
    }
    count(&tally.sequences);
    let steps = sequence.steps.len() as u64;
    tally.steps.fetch_add(steps, Relaxed);
}

/// As many sequences as a suite has time for. All of them, 5 ms of processor each:
/// `PROPTEST_CASES=100000 cargo test --release -p store --lib a_volume_is_a_map -- --nocapture`, which ends with what was done; the
/// same ones again by `PROPTEST_RNG_SEED`.
#[test]
fn a_volume_is_a_map_that_forgets() {
    let mut config = ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::default())),
        source_file: Some(file!()),
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 256;
    }
    let tally = Tally::default();
    let ran = TestRunner::new(config).run(&sequence(), |sequence| {
        run(&sequence, &tally);
        Ok(())
    });
    println!("{tally:?}");
    ran.unwrap();
}
