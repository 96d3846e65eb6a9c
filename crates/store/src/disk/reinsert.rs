//! What is kept of a segment that is to be free: of the records that were used, the ones the policy prizes most, up to a
//! share of what is made free. They are appended again, to a stream of their own, with half their uses: so what is kept is
//! kept for their sake once.
//!
//! What one segment leaves of its share goes to the next. Records that were kept lie together, and most of them are used
//! again: a share of each segment alone would lose three quarters of them at the next turn.

use std::sync::Arc;

use hashbrown::HashMap;

use super::engine::Engine;
use super::format::{Draft, Entry, Kind, Parsed, Record, parse};
use super::index::{Place, SizeCode, Uses};
use super::large;
use super::log::Stream;
use crate::options::Policy;
use crate::usage::count;

/// Segments that may be kept whole, at most, for all that others left of their share; never more than a batch.
const CREDIT_SEGMENTS: usize = 8;

/// How much may still be kept.
#[derive(Debug)]
pub(crate) struct Credit {
    bytes: u64,
}

impl Credit {
    pub(crate) fn new(engine: &Engine) -> Self {
        let mut credit = Self { bytes: 0 };
        for _ in 0..CREDIT_SEGMENTS {
            credit.earn(engine);
        }
        credit
    }

    /// The share of a segment.
    fn earn(&mut self, engine: &Engine) {
        let segment = u64::from(engine.geometry.segment());
        let share = u64::from(engine.options.reinsert_max_percent.min(100));
        let segments = CREDIT_SEGMENTS.min(engine.geometry.segments_batch()) as u64;
        let most = segment * segments * share.min(1);
        self.bytes = most.min(self.bytes + segment * share / 100);
    }

    fn spend(&mut self, bytes: u32) -> bool {
        let left = self.bytes.checked_sub(u64::from(bytes));
        self.bytes = left.unwrap_or(self.bytes);
        left.is_some()
    }
}

/// A record of a segment, with where in the segment it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lying {
    pub(crate) within: u32,
    pub(crate) entry: Entry,
}

impl Lying {
    pub(crate) fn place(&self, engine: &Engine, segment: u32) -> Place {
        Place {
            granule: engine.geometry.granule_at(segment, self.within),
            size: SizeCode::of_bytes(self.entry.bytes),
        }
    }

    fn end(&self) -> u32 {
        self.within.saturating_add(self.entry.bytes)
    }
}

/// What may be kept.
#[derive(Clone, Copy, Debug)]
enum Candidate {
    Record(Lying),
    /// What lies here of a large body, whose head has this hash and place.
    Body {
        hash: u64,
        head: Place,
        bytes: u32,
    },
}

impl Candidate {
    fn bytes(&self) -> u32 {
        match self {
            Self::Record(lying) => lying.entry.bytes,
            Self::Body { bytes, .. } => *bytes,
        }
    }
}

/// Appends again what is worth it. What is no longer in its old place in the index then has been kept, or replaced.
pub(crate) fn keep(engine: &Arc<Engine>, credit: &mut Credit, segment: u32, lying: &[Lying]) {
    credit.earn(engine);
    let chosen = choose(engine, credit, segment, lying);
    // Bodies first: where their heads lie here as well, those are not needed then.
    for candidate in &chosen {
        if let Candidate::Body { hash, head, .. } = candidate {
            large::keep(engine, segment, *hash, *head);
        }
    }
    let records = chosen.iter().filter_map(|candidate| match candidate {
        Candidate::Record(lying) => Some(*lying),
        Candidate::Body { .. } => None,
    });
    keep_records(engine, segment, records.collect());
}

fn keep_records(engine: &Engine, segment: u32, mut records: Vec<Lying>) {
    records.sort_by_key(|lying| lying.within);
    // In spans of a chunk: one long read costs less than many short ones, on any disk.
    let span = engine.geometry.chunk();
    let born = engine.segments.born(segment);
    for group in records.chunk_by(|a, b| a.within / span == b.within / span) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let at = engine.geometry.offset(segment, first.within);
        let read = engine.device.read(at, (last.end() - first.within) as usize);
        let Some(bytes) = engine.note_read(read) else {
            continue;
        };
        engine.count_read(bytes.len());
        for lying in group {
            let from = (lying.within - first.within) as usize;
            let record = bytes.get(from..).map(|bytes| parse(bytes, born));
            let place = lying.place(engine, segment);
            match record {
                Some(Parsed::Record(record)) if record.lsn == lying.entry.lsn => {
                    append(engine, &record, place);
                }
                _ => {
                    if engine.forget(lying.entry.hash, place) {
                        count(&engine.counters.wrong);
                    }
                }
            }
        }
    }
}

/// What to keep: what was used, best first, as far as the share goes.
fn choose(engine: &Engine, credit: &mut Credit, segment: u32, lying: &[Lying]) -> Vec<Candidate> {
    let policy = engine.options.policy;
    let now_secs = engine.now_secs();
    let mut used: Vec<(f64, Candidate)> = Vec::new();
    let mut add = |candidate: Candidate, hash: u64, place: Place| {
        let uses = engine.index.uses(hash, place);
        if let Some(uses) = uses.filter(|uses| uses.count() > 0) {
            let worth = worth(policy, uses, candidate.bytes(), now_secs);
            used.push((worth, candidate));
        }
    };
    for lying in lying {
        if matches!(lying.entry.kind, Kind::Whole | Kind::Extents) {
            let place = lying.place(engine, segment);
            add(Candidate::Record(*lying), lying.entry.hash, place);
        }
    }
    for (hash, bytes) in bodies(lying) {
        for head in engine.index.find(hash) {
            add(Candidate::Body { hash, head, bytes }, hash, head);
        }
    }
    used.sort_by(|a, b| b.0.total_cmp(&a.0));
    // What doesn't fit in any more leaves room for smaller ones.
    used.retain(|(_, candidate)| credit.spend(candidate.bytes()));
    used.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The hashes of the keys of large bodies, with how much of them lies here.
fn bodies(lying: &[Lying]) -> HashMap<u64, u32> {
    let mut bodies = HashMap::new();
    for lying in lying {
        if lying.entry.kind == Kind::Fragment {
            let bytes: &mut u32 = bodies.entry(lying.entry.hash).or_default();
            *bytes = bytes.saturating_add(lying.entry.bytes);
        }
    }
    bodies
}

/// The order of the policy; the log itself is the age that the heaps add.
fn worth(policy: Policy, uses: Uses, bytes: u32, now_secs: u32) -> f64 {
    let uses_count = f64::from(uses.count());
    let bytes = f64::from(bytes.max(1));
    match policy {
        Policy::Lru | Policy::HeapLru => -f64::from(uses.idle_secs(now_secs)),
        Policy::HeapGdsf => uses_count / bytes,
        Policy::HeapLfuda => uses_count,
        Policy::Default => uses_count / bytes.powf(0.75),
    }
}

/// Appends a record again, under its old number, unless another took its place meanwhile.
fn append(engine: &Engine, record: &Record<'_>, old: Place) {
    let body = [record.body].into_iter().collect();
    let draft = Draft::new(
        record.kind,
        record.hash,
        record.key,
        record.meta,
        body,
        record.stamps,
    );
    let mut log = engine.log_with_room();
    let Some(uses) = engine.index.uses(record.hash, old) else {
        return;
    };
    let halved = uses.halved();
    let frequency = u8::try_from(halved.count()).unwrap_or(u8::MAX);
    let appended = engine.append(&mut log, Stream::Again, &draft, record.lsn, frequency);
    if let Ok(place) = appended
        && engine.index.replace(record.hash, old, place)
    {
        engine.index.set_uses(record.hash, place, halved);
        count(&engine.counters.reinserts);
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, Uses, worth};

    #[test]
    fn each_policy_prizes_what_its_name_says() {
        let small_rare = (Uses::new(2, 6400), 1000);
        let large_often = (Uses::new(8, 64), 10_000);
        let check = |policy, small_is_better: bool| {
            let [small, large] =
                [small_rare, large_often].map(|(uses, bytes)| worth(policy, uses, bytes, 12_800));
            assert_eq!(small > large, small_is_better, "{policy:?}");
        };
        check(Policy::Lru, true);
        check(Policy::HeapLru, true);
        check(Policy::HeapGdsf, true);
        check(Policy::HeapLfuda, false);
        check(Policy::Default, true);
    }
}
