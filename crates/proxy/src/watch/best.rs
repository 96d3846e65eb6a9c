//! The transactions with the greatest of some value: slowest, largest.

use std::sync::Arc;

use super::Transaction;

/// How many are kept.
const BEST: usize = 24;

#[derive(Debug, Default)]
pub(super) struct Best(Vec<(u64, Arc<Transaction>)>);

impl Best {
    /// Would it be kept?
    pub(super) fn wants(&self, value: u64) -> bool {
        value > 0 && (self.0.len() < BEST || value > self.least())
    }

    /// Keeps it, if it is one of the greatest.
    pub(super) fn offer(&mut self, value: u64, transaction: &Arc<Transaction>) {
        if !self.wants(value) {
            return;
        }
        let place = self.0.partition_point(|(kept, _)| *kept >= value);
        self.0.insert(place, (value, Arc::clone(transaction)));
        self.0.truncate(BEST);
    }

    /// Takes in all of another's.
    pub(super) fn add(&mut self, other: &Self) {
        for (value, transaction) in &other.0 {
            self.offer(*value, transaction);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Transaction>> {
        self.0.iter().map(|(_, transaction)| transaction)
    }

    fn least(&self) -> u64 {
        self.0.last().map_or(0, |(value, _)| *value)
    }
}
