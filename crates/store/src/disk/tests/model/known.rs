//! What may be found under the keys, and what must be.

use std::collections::{HashMap, VecDeque};

use super::steps::Size;

/// What is stored under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// Of the step that stored or renewed it.
    pub(super) number: u64,
    /// Of the step that brought its body.
    pub(super) body: u64,
    pub(super) bytes: u32,
}

type Value = Option<Content>;

/// Bytes of a log of 15 segments after which something may be gone: eleven are in use, and some are left half full.
const RECENT: u64 = 128 << 10;
const SEGMENT: u64 = 64 << 10;
/// Bytes that a record has besides its body, at most.
const RECORD: u64 = 1024;
/// What an opening, a flush and a removal cost of the log, at most: the rest of a segment, or of a few blocks.
const OPENING: u64 = 64 << 10;
const FLUSH: u64 = 24 << 10;
const REMOVAL: u64 = 8 << 10;

/// What may be found under the keys. Nothing may be, unless it was stored a short while ago.
#[derive(Debug, Default)]
pub(super) struct Model {
    keys: HashMap<u8, Known>,
    /// Bytes that were appended to the log, at most.
    appended: u64,
    /// Bytes that were appended to where records are.
    small: u64,
    /// How many those were, and how many all, when a record was appended: for the last of them, as many as a segment holds.
    begun: VecDeque<(u64, u64)>,
    /// How many of all are certain to be there; 0 in a volume that is always short of room.
    recent: u64,
}

/// What is known of a key.
#[derive(Debug)]
struct Known {
    /// What may be found, as long as there is no crash.
    live: Value,
    /// What may be found after one: what it had at the last flush, and since.
    values: Vec<Value>,
    /// Whether the last of them is what it has. After a crash that isn't known: what is not found then may have been
    /// lost for want of room, and come back by the next crash.
    settled: bool,
    /// What was appended before its segment was begun; nothing, where it may be gone already.
    at: Option<u64>,
    /// Whether it survives a crash.
    flushed: bool,
}

impl Known {
    /// Whether it was stored after so many bytes of the log.
    fn is_since(&self, bytes: u64) -> bool {
        self.at.is_some_and(|at| at >= bytes)
    }
}

impl Model {
    pub(super) fn new(size: Size) -> Self {
        Self {
            recent: match size {
                Size::Least => 0,
                Size::Small => RECENT,
            },
            ..Self::default()
        }
    }

    /// Where the log was, that long ago that all before may be gone.
    fn horizon(&self) -> u64 {
        // To begin with, there is room for more.
        self.appended.saturating_sub(self.recent)
    }

    fn known(&mut self, key: u8) -> &mut Known {
        self.keys.entry(key).or_insert_with(|| Known {
            live: None,
            values: vec![None],
            settled: true,
            at: None,
            flushed: true,
        })
    }

    /// A record was.
    pub(super) fn put(&mut self, key: u8, content: Content) {
        let before = self.small;
        self.begun.push_back((before, self.appended));
        self.stored(key, content);
        self.small += u64::from(content.bytes) + RECORD;
        // Those that may lie in the same segment.
        while self
            .begun
            .front()
            .is_some_and(|(small, _)| small + SEGMENT < before)
        {
            self.begun.pop_front();
        }
        self.known(key).at = self.begun.front().map(|(_, at)| *at);
    }

    /// A large body was: pieces of it may lie in a segment that is old already.
    pub(super) fn stored(&mut self, key: u8, content: Content) {
        self.set(key, Some(content));
        self.appended(content.bytes);
    }

    /// The same body has a new head.
    pub(super) fn renewed(&mut self, key: u8, content: Content) {
        let at = self.known(key).at;
        self.set(key, Some(content));
        self.known(key).at = at;
        self.appended(content.bytes);
    }

    pub(super) fn removed(&mut self, key: u8) {
        self.set(key, None);
        self.appended += REMOVAL;
    }

    /// So much of a body, or of one that is broken off.
    pub(super) fn appended(&mut self, bytes: u32) {
        self.appended += u64::from(bytes) * 9 / 8 + RECORD;
    }

    fn set(&mut self, key: u8, value: Value) {
        let known = self.known(key);
        known.live = value;
        known.values.push(value);
        known.settled = true;
        known.at = None;
        known.flushed = false;
    }

    pub(super) fn check(&mut self, key: u8, found: Value) {
        let (horizon, appended) = (self.horizon(), self.appended);
        let known = self.known(key);
        let gone = found.is_none() && !known.is_since(horizon);
        assert!(
            gone || found == known.live,
            "key {key}: {found:?}, not {known:?} at {appended}"
        );
    }

    /// What is found after the process has ended; all that was flushed, but for what is old.
    pub(super) fn crashed(&mut self, key: u8, found: Value) {
        let (horizon, appended) = (self.horizon(), self.appended);
        let known = self.known(key);
        known.at = known.at.filter(|_| known.flushed);
        if known.is_since(horizon) {
            assert_eq!(found, known.live, "key {key}: {known:?} at {appended}");
        }
        let allowed = found.is_none() || known.values.contains(&found);
        assert!(allowed, "key {key}: {found:?}, not of {known:?}");
        known.live = found;
        known.settled = false;
        if found.is_some() {
            known.values = vec![found];
        }
    }

    pub(super) fn reopened(&mut self) {
        self.appended += OPENING;
        self.begun.clear();
    }

    pub(super) fn flushed(&mut self) {
        self.appended += FLUSH;
        for known in self.keys.values_mut().filter(|known| known.settled) {
            known.values.drain(..known.values.len() - 1);
            known.flushed = true;
        }
    }

    /// All is gone, for good.
    pub(super) fn cleared(&mut self) {
        self.keys.clear();
    }

    /// Anything may be gone from now on.
    pub(super) fn let_go(&mut self) {
        for known in self.keys.values_mut() {
            known.at = None;
        }
    }
}
