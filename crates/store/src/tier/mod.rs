//! Memory and disk together: what is stored goes to disk as it comes, and comes back into memory when it is asked for.
//!
//! A volume knows keys and bytes. A response without variants lies under its key. Where variants are selected by request
//! fields, a *fork* lies there, which names the fields; each variant lies under the key, the number of the fork and the
//! values that it was selected by. A new fork has a new number: with the old one all its variants are out of reach at once.

mod history;
mod listing;
mod record;
mod tee;
#[cfg(test)]
mod tests;
mod volumes;

use std::sync::Arc;

use bytes::Bytes;

use crate::content::{Body, WHOLE_BYTES_MAX};
use crate::disk::{Ring, Stored, StoredBody};
use crate::journal::Event;
use crate::key::KeyRef;
use crate::moment::Moment;
use crate::object::{Object, Weigh};
use crate::store::Store;
use record::{Fork, Record};

pub use listing::Listing;
pub(crate) use tee::Tee;
pub use volumes::{Choice, Volumes, VolumesUsage};

/// A larger body goes to disk piece by piece.
pub(crate) const SMALL_BYTES_MAX: usize = 256 << 10;

impl<M: Weigh> Store<M> {
    /// Could something be on disk under `key`? It looks into indexes in memory only, and is wrong now and then.
    #[must_use]
    pub fn may_be_on_disk(&self, key: KeyRef<'_>) -> bool {
        let volumes = self.volumes();
        volumes.is_some_and(|volumes| volumes.may_have(key.url()))
    }

    /// The variant of `key` on disk that `matches`. What is small enough is in memory from then on, if that keeps it.
    /// `name`: what a request's values are for the fields that a selector names ([`Weigh::selector`]). `ring`: that of this
    /// thread, if it has one.
    pub async fn load(
        &self,
        key: KeyRef<'_>,
        name: impl Fn(&[u8]) -> Vec<u8>,
        mut matches: impl FnMut(&M) -> bool,
        now_secs: u32,
        ring: Option<&Ring>,
    ) -> Option<Arc<Object<M>>> {
        let volumes = self.volumes()?;
        let mut place = key.url().to_vec();
        let mut stored = volumes.find(&place, now_secs, ring).await?;
        if let Record::Fork(fork) = Record::read(&stored.meta)? {
            place = fork.place(key.url(), &name(fork.selector));
            stored = volumes.find(&place, now_secs, ring).await?;
        }
        let written = Moment(stored.stamps.judged);
        let object = self.object_from(key, &stored, self.ledger().newest_at(written))?;
        let tags = object.meta.tags();
        if volumes.distrusts(written) || volumes.are_buried(tags, written, now_secs, ring).await {
            volumes.remove(&place);
            return None;
        }
        if !matches(&object.meta) {
            return None;
        }
        let answer = match &stored.body {
            StoredBody::Whole(_) if self.keeps_loaded() => {
                self.link_loaded(key, Arc::clone(&object), matches)
            }
            StoredBody::Whole(_) | StoredBody::Extents(_) => Arc::clone(&object),
        };
        // What was removed while it was read is not to come back, but for what took its place in memory; and bans since it
        // was stored are for it too.
        if Arc::ptr_eq(&answer, &object) && !volumes.may_have(&place) {
            self.remove_from_memory(&object);
            return None;
        }
        let stands = self.stands(&answer);
        if stands {
            self.note(Event::Loaded, &answer);
        }
        stands.then_some(answer)
    }

    fn object_from(&self, key: KeyRef<'_>, stored: &Stored, judged: u64) -> Option<Arc<Object<M>>> {
        let Record::Response(meta) = Record::read(&stored.meta)? else {
            return None;
        };
        let meta = M::read_from(meta)?;
        Some(match &stored.body {
            StoredBody::Whole(body) if body.len() <= WHOLE_BYTES_MAX => {
                Object::whole(key, meta, body, judged, self.shared_counters())
            }
            StoredBody::Whole(body) => {
                Object::loaded(key, meta, body, judged, self.shared_counters())
            }
            StoredBody::Extents(extents) => {
                Object::on_disk(key, meta, extents, judged, self.shared_counters())
            }
        })
    }

    /// Puts a complete response on disk, if it is for the disk at all and small; larger ones went there as they came.
    pub(crate) fn save(&self, object: &Arc<Object<M>>) {
        let Some(volumes) = self.volumes() else {
            return;
        };
        let slices: Vec<Bytes> = match object.body() {
            Body::Whole(bytes) => vec![bytes],
            Body::Pages(pages) if pages.length() <= SMALL_BYTES_MAX as u64 => {
                let slices = pages.slices().map(|slice| slice.to_bytes().ok());
                let Some(slices) = slices.collect() else {
                    return;
                };
                slices
            }
            Body::Disk(extents) => {
                if let Some((place, meta)) = self.written(object, &volumes) {
                    volumes.renew(&place, &extents, &meta, Volumes::stamps(object));
                }
                return;
            }
            Body::Pages(_) | Body::Filling(_) => return,
        };
        match self.written(object, &volumes) {
            Some((place, meta)) => {
                volumes.put(&place, &meta, &slices, Volumes::stamps(object));
                self.note(Event::Saved, object);
            }
            None => self.remove_from_disk(object), // what is there is out of date
        }
    }

    /// Where it lies on disk, and what lies there beside its body.
    pub(crate) fn written(
        &self,
        object: &Object<M>,
        volumes: &Volumes,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut meta = Record::response();
        if !object.meta.write_to(&mut meta) {
            return None;
        }
        let (key, variant) = (object.key(), object.meta.variant());
        if variant.is_empty() {
            return Some((key.to_vec(), meta));
        }
        let selector = object.meta.selector();
        let place = match volumes
            .fork_at(key)
            .filter(|fork| *fork.selector == *selector)
        {
            Some(fork) => fork.place(key, variant),
            None => {
                let fork = Fork::new(selector);
                volumes.put(key, &fork.written(), &[], Volumes::stamps(object));
                fork.place(key, variant)
            }
        };
        Some((place, meta))
    }

    /// Removes from disk what `object` is in memory.
    pub(crate) fn remove_from_disk(&self, object: &Object<M>) {
        let Some(volumes) = self.volumes() else {
            return;
        };
        let (key, variant) = (object.key(), object.meta.variant());
        if variant.is_empty() {
            volumes.remove(key);
        } else if let Some(fork) = volumes.fork_at(key) {
            volumes.remove(&fork.place(key, variant));
        } else {
            volumes.remove(key); // not to be told right now: the fork goes with all its variants
        }
    }
}
