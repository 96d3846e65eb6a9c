//! Which bytes there are of a response that lies on disk in parts, and the pieces that they are cut into.
//!
//! A run is cut where the whole is at a multiple of [`PIECE_BYTES`]: so its bounds say where each of its pieces begins, and
//! runs that meet at such a place are one.

use std::ops::Range;

/// Bytes of a piece, but for the first and the last of a run. Ranges that are asked for one after another mostly meet at a
/// multiple of a power of two.
pub(super) const PIECE_BYTES: u64 = 128 << 10;

/// Runs of a response; of more, the shortest is forgotten.
const RUNS_MAX: usize = 1024;

/// Pieces that are looked for on behalf of one request, in the index in memory; what lies beyond isn't seen.
const LOOKED_FOR_MAX: usize = 1 << 18;

/// Bytes of a run as it is written.
const RUN: usize = 16;

/// See the module. In the order of their first bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Runs(Vec<Range<u64>>);

/// Where the piece ends that begins at `at`, as far as multiples say.
pub(super) fn boundary_after(at: u64) -> u64 {
    (at - at % PIECE_BYTES).saturating_add(PIECE_BYTES)
}

impl Runs {
    /// Adds a run that was written.
    pub(super) fn add(&mut self, run: Range<u64>) {
        let mut all = std::mem::take(&mut self.0);
        all.push(run);
        all.sort_by_key(|run| (run.start, u64::MAX - run.end));
        for run in all {
            match self.0.last_mut() {
                Some(last) if run.end <= last.end => {}
                Some(last) if run.start <= last.end && run.start.is_multiple_of(PIECE_BYTES) => {
                    last.end = run.end;
                }
                _ => self.0.push(run),
            }
        }
        while self.0.len() > RUNS_MAX {
            let numbered = self.0.iter().enumerate();
            let shortest = numbered.min_by_key(|(_, run)| run.end - run.start);
            let Some((shortest, _)) = shortest else {
                return;
            };
            self.0.remove(shortest);
        }
    }

    /// The piece with this byte that reaches farthest, of those that `is_there` by their first bytes.
    pub(super) fn piece_at(&self, at: u64, is_there: impl Fn(u64) -> bool) -> Option<Range<u64>> {
        let before = self.0.partition_point(|run| run.start <= at);
        let runs = self.0.get(..before)?.iter();
        let pieces = runs.filter(|run| at < run.end).map(|run| {
            let start = run.start.max(at - at % PIECE_BYTES);
            start..run.end.min(boundary_after(at))
        });
        pieces
            .filter(|piece| is_there(piece.start))
            .max_by_key(|piece| piece.end)
    }

    /// What is there of `wanted`, in order, as far as `is_there` says so of the pieces' first bytes. No more than `most`.
    pub(super) fn stretches(
        &self,
        wanted: Range<u64>,
        most: usize,
        is_there: impl Fn(u64) -> bool,
    ) -> Vec<Range<u64>> {
        let mut found: Vec<Range<u64>> = Vec::new();
        let mut at = wanted.start;
        for _ in 0..LOOKED_FOR_MAX {
            if at >= wanted.end {
                break;
            }
            let Some(piece) = self.piece_at(at, &is_there) else {
                match self.after_hole(at) {
                    Some(next) => at = next,
                    None => break,
                }
                continue;
            };
            let end = piece.end.min(wanted.end);
            let full = found.len() == most;
            match found.last_mut() {
                Some(last) if last.end == at => last.end = end,
                _ if full => break,
                _ => found.push(at..end),
            }
            at = end;
        }
        found
    }

    /// Where something may be again, if nothing is at `at`.
    fn after_hole(&self, at: u64) -> Option<u64> {
        let next = self.0.partition_point(|run| run.start <= at);
        let (begun, to_come) = self.0.split_at_checked(next)?;
        let boundary = boundary_after(at);
        let goes_on = begun.iter().any(|run| boundary < run.end);
        let begins = to_come.first().map(|run| run.start);
        match (goes_on, begins) {
            (true, Some(begins)) => Some(begins.min(boundary)),
            (true, None) => Some(boundary),
            (false, begins) => begins,
        }
    }

    /// Bytes of all of them, twice what lies in two.
    pub(super) fn bytes(&self) -> u64 {
        let lengths = self.0.iter().map(|run| run.end - run.start);
        lengths.fold(0, u64::saturating_add)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let count = u16::try_from(self.0.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&count.to_le_bytes());
        for run in &self.0 {
            out.extend_from_slice(&run.start.to_le_bytes());
            out.extend_from_slice(&run.end.to_le_bytes());
        }
    }

    /// What was written, and what follows it; `None` for anything else.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (count, rest) = bytes.split_first_chunk()?;
        let count = usize::from(u16::from_le_bytes(*count));
        let (runs, rest) = rest.split_at_checked(count * RUN)?;
        let (words, _) = runs.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let mut runs = Vec::with_capacity(count);
        while let (Some(start), Some(end)) = (words.next(), words.next()) {
            runs.push(start..end);
        }
        let sound = runs.is_sorted_by_key(|run| run.start) && runs.len() <= RUNS_MAX;
        let sound = sound && runs.iter().all(|run| run.start < run.end);
        sound.then_some((Self(runs), rest))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const P: u64 = PIECE_BYTES;

    fn runs(all: &[Range<u64>]) -> Runs {
        let mut runs = Runs::default();
        for run in all {
            runs.add(run.clone());
        }
        runs
    }

    #[test]
    fn runs_that_meet_at_a_multiple_are_one() {
        let check = |all: [Range<u64>; 2], expected: Range<u64>| {
            assert_eq!(runs(&all).0, vec![expected; 1], "{all:?}");
        };
        check([0..P, P..2 * P], 0..2 * P);
        check([P..2 * P, 0..P], 0..2 * P);
        assert_eq!(runs(&[0..100, 100..200]).0, [0..100, 100..200]);
        check([0..200, 100..150], 0..200);
        check([100..150, 100..200], 100..200);
        check([5..2 * P + 7, 2 * P..3 * P], 5..3 * P);
    }

    #[test]
    fn the_shortest_run_is_forgotten() {
        let mut runs = Runs::default();
        for number in 0..=RUNS_MAX as u64 {
            let bytes = if number == 7 { 1 } else { 2 };
            runs.add(number * 10..number * 10 + bytes);
        }
        assert_eq!(runs.0.len(), RUNS_MAX);
        assert_eq!(runs.piece_at(70, |_| true), None);
        assert_eq!(runs.piece_at(81, |_| true), Some(80..82));
        assert_eq!(runs.bytes(), 2 * RUNS_MAX as u64);
    }

    /// A disk of pieces, by their first bytes, with their ends. What is there isn't written again.
    fn write(disk: &mut BTreeMap<u64, u64>, runs: &mut Runs, run: Range<u64>) {
        let (mut at, mut written) = (run.start, Vec::new());
        while at < run.end {
            let end = boundary_after(at).min(run.end);
            let held = runs.piece_at(at, |start| disk.contains_key(&start));
            if held.is_none_or(|held| held.end < end) {
                disk.insert(at, end);
                written.push(at..end);
            }
            at = end;
        }
        written.into_iter().for_each(|piece| runs.add(piece));
    }

    fn run() -> impl Strategy<Value = Range<u64>> {
        let place = prop_oneof![(0..6u64).prop_map(|n| n * P), 0..6 * P];
        let length = prop_oneof![Just(P), 1..3 * P];
        (place, length).prop_map(|(start, length)| start..start + length)
    }

    proptest! {
        /// What is said to be there can be read from the pieces there are, whichever were lost; and what nothing was lost
        /// of is there, all of it.
        #[test]
        fn what_is_there_can_be_read(
            written in prop::collection::vec(run(), 0..8),
            lost in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
            wanted in run(),
        ) {
            let (mut disk, mut runs) = (BTreeMap::new(), Runs::default());
            for run in &written {
                write(&mut disk, &mut runs, run.clone());
            }
            let all = disk.len();
            for lost in lost {
                if !disk.is_empty() {
                    let place = *disk.keys().nth(lost.index(disk.len())).unwrap();
                    disk.remove(&place);
                }
            }
            let there = |start| disk.contains_key(&start);
            let stretches = runs.stretches(wanted.clone(), usize::MAX, there);
            let mut before = wanted.start;
            for stretch in &stretches {
                prop_assert!(before <= stretch.start && stretch.start < stretch.end && stretch.end <= wanted.end);
                before = stretch.end;
                let mut at = stretch.start;
                while at < stretch.end {
                    let piece = runs.piece_at(at, there).unwrap();
                    prop_assert!(piece.start <= at && at < piece.end && piece.end <= disk[&piece.start]);
                    let covered = written.iter().any(|run| run.contains(&at));
                    prop_assert!(covered);
                    at = piece.end;
                }
            }
            if disk.len() == all {
                for at in [wanted.start, wanted.end - 1, wanted.start.midpoint(wanted.end)] {
                    let covered = written.iter().any(|run| run.contains(&at));
                    let said = stretches.iter().any(|stretch| stretch.contains(&at));
                    prop_assert_eq!(covered, said, "byte {}", at);
                }
            }
            let mut bytes = Vec::new();
            runs.write(&mut bytes);
            bytes.extend_from_slice(b"more");
            prop_assert_eq!(Runs::read(&bytes), Some((runs, &b"more"[..])));
        }

        #[test]
        fn hostile_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some((runs, _)) = Runs::read(&bytes) {
                runs.stretches(0..u64::MAX, 8, |_| false);
                runs.bytes();
            }
        }
    }
}
