//! Memory and disk together: what is stored goes to disk as it comes, and comes back into memory when it is asked for.
//!
//! A volume knows keys and bytes. A response without variants lies under its key. Where variants are selected by request
//! fields, a *fork* lies there, which names the fields; each variant lies under the key, the number of the fork and the
//! values that it was selected by. A new fork has a new number: with the old one all its variants are out of reach at once.
//!
//! Of a response of which only parts are stored a head lies in the place of the whole, and says which bytes there are. They
//! lie in pieces, each under a place of its own, with the number of the head: what takes its place puts them out of reach.

mod detached;
mod history;
mod listing;
mod parted;
mod pieces;
mod record;
mod runs;
mod sets;
mod tee;
#[cfg(test)]
mod tests;
mod volumes;

use std::sync::Arc;

use bytes::Bytes;

use crate::content::{Body, WHOLE_BYTES_MAX};
use crate::disk::{Ring, StoredBody};
use crate::journal::Event;
use crate::key::KeyRef;
use crate::moment::Moment;
use crate::object::{Object, Weigh};
use crate::store::Store;
use record::{Fork, Record};

pub use listing::Listing;
pub(crate) use pieces::PieceReader;
pub use pieces::Pieces;
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
        let judged = self.ledger().newest_at(written);
        let object = match Record::read(&stored.meta)? {
            Record::Response(meta) => self.object_from(key, meta, &stored.body, judged)?,
            Record::Parts(parts) => {
                let meta = M::read_from(parts.meta)?;
                let complete = meta.part_of()?.complete;
                let volumes = Arc::clone(&volumes);
                let pieces = Pieces::new(volumes, &place, &parts, complete, now_secs);
                Object::in_pieces(key, meta, &pieces, judged, self.shared_counters())
            }
            Record::Fork(_) | Record::Piece => return None,
        };
        let tags = object.meta.tags();
        if volumes.distrusts(written) || volumes.are_buried(tags, written, now_secs, ring).await {
            volumes.remove(&place);
            return None;
        }
        if !matches(&object.meta) {
            return None;
        }
        let is_for_memory = matches!(stored.body, StoredBody::Whole(_)) && !object.meta.is_part();
        let answer = match is_for_memory && self.keeps_loaded() {
            true => self.link_loaded(key, Arc::clone(&object), |meta| {
                !meta.is_part() && matches(meta)
            }),
            false => Arc::clone(&object),
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

    fn object_from(
        &self,
        key: KeyRef<'_>,
        meta: &[u8],
        body: &StoredBody,
        judged: u64,
    ) -> Option<Arc<Object<M>>> {
        let meta = M::read_from(meta)?;
        Some(match body {
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
            Body::Pages(pages) => {
                if let Some((place, meta)) = self.written(object, &volumes) {
                    let (bytes, stamps) = (pages.length(), Volumes::stamps(object));
                    volumes.renew_later(place, bytes, meta, stamps, is_like::<M>);
                }
                return;
            }
            Body::Pieces(_) | Body::Filling(_) => return,
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
        Some((self.place(object, volumes), meta))
    }

    /// Where it lies on disk, or would. The way to it is there from now on.
    fn place(&self, object: &Object<M>, volumes: &Volumes) -> Vec<u8> {
        let (key, variant) = (object.key(), object.meta.variant());
        if variant.is_empty() {
            return key.to_vec();
        }
        let selector = object.meta.selector();
        match volumes
            .fork_at(key)
            .filter(|fork| *fork.selector == *selector)
        {
            Some(fork) => fork.place(key, variant),
            None => {
                let fork = Fork::new(selector);
                volumes.put(key, &fork.written(), &[], Volumes::stamps(object));
                fork.place(key, variant)
            }
        }
    }

    /// Removes from disk what `object` is in memory.
    pub(crate) fn remove_from_disk(&self, object: &Object<M>) {
        let Some(volumes) = self.volumes() else {
            return;
        };
        match known_place(object, &volumes) {
            Some(place) => volumes.remove(&place),
            // Not to be told right now: the fork goes with all its variants.
            None => volumes.remove(object.key()),
        };
    }

    /// Has the disk count a use of what was found in memory: what is used there alone is to be on disk after a restart too.
    #[cold]
    pub(crate) fn tell_disk(&self, object: &Object<M>) {
        if let Some(volumes) = self.volumes()
            && let Some(place) = known_place(object, &volumes)
        {
            volumes.used(&place);
        }
    }
}

/// Where an object lies on disk, if it is there and that can be told without waiting.
fn known_place<M: Weigh>(object: &Object<M>, volumes: &Volumes) -> Option<Vec<u8>> {
    let (key, variant) = (object.key(), object.meta.variant());
    if variant.is_empty() {
        return Some(key.to_vec());
    }
    let fork = volumes.fork_at(key)?;
    Some(fork.place(key, variant))
}

/// May the one, as its owner has written it, be the other in an earlier state?
fn is_like<M: Weigh>(one: &[u8], other: &[u8]) -> bool {
    let (one, other) = (M::read_from(one), M::read_from(other));
    one.zip(other)
        .is_some_and(|(one, other)| one.is_like(&other))
}
