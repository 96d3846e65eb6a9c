//! What helpers have said, remembered: who comes while one is asked waits for the same answer.

use std::hash::Hash;
use std::sync::Arc;

use quick_cache::sync::Cache;

use super::Refused;

/// Answers that are remembered.
pub(super) const KNOWN_MAX: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct Known<K, V>(Cache<K, Arc<V>>);

impl<K: Hash + Eq + Clone, V> Known<K, V> {
    pub(super) fn new() -> Self {
        Self(Cache::new(KNOWN_MAX))
    }

    /// What is known, no more than `most` of it.
    pub(super) fn some(&self, most: usize) -> impl Iterator<Item = Arc<V>> {
        self.0.iter().map(|(_, known)| known).take(most)
    }

    /// How much is known.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// What is known, if it `holds`; else what `ask` finds out. A refusal isn't remembered.
    pub(super) async fn recall(
        &self,
        key: &K,
        holds: impl Fn(&V) -> bool,
        ask: impl Future<Output = Result<V, Refused>>,
    ) -> Result<Arc<V>, Refused> {
        drop(self.0.remove_if(key, |known| !holds(known)));
        let slot = match self.0.get_value_or_guard_async(key).await {
            Ok(known) => return Ok(known),
            Err(slot) => slot,
        };
        let known = Arc::new(ask.await?);
        // Without room it is asked again.
        drop(slot.insert(Arc::clone(&known)));
        Ok(known)
    }
}
