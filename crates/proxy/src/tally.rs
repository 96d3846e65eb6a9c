//! What a worker counts of requests that go to hops and of what comes back, for the manager's pages: tables that have no
//! place among the cells. A hit counts nothing here.

use std::collections::{BTreeMap, HashMap};

use rules::caching::storable::{NotStorable, Storable};
use wire::field::{FieldId, Fields};

/// Tries told apart; later ones count as the last.
pub const TRIES_MAX: usize = 10;

/// Values told apart of `Via` and of `X-Forwarded-For`; others are counted together.
const VALUES_MAX: usize = 1000;

/// Bytes of a value that are looked at.
const VALUE_BYTES_MAX: usize = 256;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Answers of hops by status and by the number of the try, from 1 on; status 0: none came.
    pub forwarded: BTreeMap<u16, [u64; TRIES_MAX]>,
    /// Fields of requests that went to a hop.
    pub requests: FieldTally,
    /// Fields of the answers.
    pub replies: FieldTally,
    /// What those requests had in `Via`.
    pub via: ValueTally,
    /// What those requests had in `X-Forwarded-For`.
    pub forwarded_for: ValueTally,
    /// Answers that may be stored.
    pub storable: u64,
    /// Answers that may not, by the reason.
    pub not_storable: BTreeMap<&'static str, u64>,
    /// Answers whose lifetime a `refresh_pattern` line has guessed, by its number from 1 on.
    pub guessed: BTreeMap<u32, u64>,
}

/// How many messages there were, and how many field lines by name.
#[derive(Clone, Debug)]
pub struct FieldTally {
    /// Messages.
    pub messages: u64,
    /// By [`FieldId`], of which there are no more than bits in [`FieldId::bit`].
    lines: [u64; u128::BITS as usize],
}

impl Default for FieldTally {
    fn default() -> Self {
        Self {
            messages: 0,
            lines: [0; u128::BITS as usize],
        }
    }
}

/// How often each value came.
#[derive(Clone, Debug, Default)]
pub struct ValueTally {
    /// By the value's first bytes.
    pub values: HashMap<Box<[u8]>, u64>,
    /// Values for which there was no place any more.
    pub others: u64,
}

impl Tally {
    /// A request goes to a hop.
    pub(crate) fn sent(&mut self, fields: &Fields) {
        self.requests.count(fields);
        if let Some(value) = fields.get(FieldId::Via) {
            self.via.count(value);
        }
        if let Some(value) = fields.get(FieldId::XForwardedFor) {
            self.forwarded_for.count(value);
        }
    }

    /// The hop of this try, counted from 1, has answered with this status, or with none.
    pub(crate) fn answered(&mut self, attempt: u64, status: u16) {
        let tries = self.forwarded.entry(status).or_default();
        let place = usize::try_from(attempt).map_or(TRIES_MAX, |attempt| attempt.min(TRIES_MAX));
        if let Some(count) = tries.get_mut(place.saturating_sub(1)) {
            *count += 1;
        }
    }

    /// It was decided whether an answer may be stored.
    pub(crate) fn judged(&mut self, judged: &Result<Storable, NotStorable>) {
        match judged {
            Ok(storable) => {
                self.storable += 1;
                if let Some(line) = storable.freshness.guessed_by {
                    *self.guessed.entry(line.get()).or_default() += 1;
                }
            }
            Err(why) => *self.not_storable.entry(why.name()).or_default() += 1,
        }
    }

    /// Adds what another worker has counted.
    pub fn add(&mut self, other: &Self) {
        for (status, tries) in &other.forwarded {
            let sums = self.forwarded.entry(*status).or_default();
            sums.iter_mut()
                .zip(tries)
                .for_each(|(sum, count)| *sum += count);
        }
        self.requests.add(&other.requests);
        self.replies.add(&other.replies);
        self.via.add(&other.via);
        self.forwarded_for.add(&other.forwarded_for);
        self.storable += other.storable;
        add_all(&mut self.not_storable, &other.not_storable);
        add_all(&mut self.guessed, &other.guessed);
    }
}

impl FieldTally {
    pub(crate) fn count(&mut self, fields: &Fields) {
        self.messages += 1;
        for line in fields.iter() {
            if let Some(count) = self.lines.get_mut(line.id as usize) {
                *count += 1;
            }
        }
    }

    /// Field lines of that name; those without a name of ours are [`FieldId::Other`].
    pub fn lines(&self, id: FieldId) -> u64 {
        self.lines.get(id as usize).copied().unwrap_or(0)
    }

    fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        let sums = self.lines.iter_mut().zip(&other.lines);
        sums.for_each(|(sum, count)| *sum += count);
    }
}

impl ValueTally {
    fn count(&mut self, value: &[u8]) {
        self.add_one(value.get(..VALUE_BYTES_MAX).unwrap_or(value), 1);
    }

    fn add_one(&mut self, value: &[u8], count: u64) {
        if let Some(sum) = self.values.get_mut(value) {
            *sum += count;
        } else if self.values.len() < VALUES_MAX {
            self.values.insert(value.into(), count);
        } else {
            self.others += count;
        }
    }

    fn add(&mut self, other: &Self) {
        self.others += other.others;
        for (value, count) in &other.values {
            self.add_one(value, *count);
        }
    }
}

fn add_all<K: Ord + Copy>(sums: &mut BTreeMap<K, u64>, counts: &BTreeMap<K, u64>) {
    for (key, count) in counts {
        *sums.entry(*key).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_of_workers_add_up() {
        let mut fields = Fields::new();
        fields.push(b"Via", b"1.1 a");
        fields.push(b"X-Mine", b"1");
        let mut one = Tally::default();
        one.sent(&fields);
        one.answered(1, 200);
        one.answered(99, 0);
        one.judged(&Err(NotStorable::Private));
        let mut sum = one.clone();
        sum.add(&one);
        assert_eq!(sum.requests.messages, 2);
        assert_eq!(sum.requests.lines(FieldId::Via), 2);
        assert_eq!(sum.requests.lines(FieldId::Other), 2);
        assert_eq!(sum.via.values[&b"1.1 a"[..]], 2);
        assert_eq!(
            (sum.forwarded[&200][0], sum.forwarded[&0][TRIES_MAX - 1]),
            (2, 2)
        );
        assert_eq!(sum.not_storable["private"], 2);
    }

    #[test]
    fn values_have_a_bound() {
        let mut tally = ValueTally::default();
        for number in 0..VALUES_MAX + 5 {
            tally.count(number.to_string().as_bytes());
        }
        tally.count(b"0");
        assert_eq!((tally.values.len(), tally.others), (VALUES_MAX, 5));
        assert_eq!(tally.values[&b"0"[..]], 2);
    }
}
