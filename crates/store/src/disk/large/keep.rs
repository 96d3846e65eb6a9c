//! What the reclaimer keeps of large bodies: their fragments in the segment that is to be free are appended again, and then
//! a head with the new list, in the same stream, so that it comes to the disk after them.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::disk::add::Refused;
use crate::disk::engine::Engine;
use crate::disk::find::Patience;
use crate::disk::format::{Draft, Extent, ExtentList, Kind, Parsed, Record, Stamps, parse};
use crate::disk::geometry::narrow;
use crate::disk::index::Place;
use crate::disk::large::Extents;
use crate::disk::log::Stream;
use crate::usage::count;

/// Moves what lies in `segment` of the body that the head at `place` leads to. If that doesn't work out, the body is lost
/// with the segment.
pub(crate) fn keep(engine: &Arc<Engine>, segment: u32, hash: u64, place: Place) {
    let Some(bytes) = engine.read_at(place, Patience::Some) else {
        return;
    };
    let Parsed::Record(head) = parse(&bytes, engine.born(place)) else {
        return;
    };
    let kept = head.hash == hash && head.kind == Kind::Extents;
    let extents = kept
        .then(|| Extents::open(engine, hash, place, head.body))
        .flatten();
    // Refusals come at the end of the volume only: there is always a segment left for what is kept.
    if let Some(extents) = extents
        && matches!(move_body(engine, segment, place, &head, &extents), Ok(true))
    {
        count(&engine.counters.reinserts);
    }
}

fn move_body(
    engine: &Engine,
    segment: u32,
    place: Place,
    head: &Record<'_>,
    extents: &Extents,
) -> Result<bool, Refused> {
    let old = extents.list();
    let mut list = ExtentList::new(old.id);
    let mut first = false;
    for (ordinal, extent) in old.iter(&engine.geometry).enumerate() {
        let located = engine.geometry.locate(extent.granule);
        let extent = if located.is_some_and(|(lies, _)| lies == segment) {
            let Ok(body) = extents.read(ordinal) else {
                return Ok(false);
            };
            first |= ordinal == 0;
            engine.store_fragment(Stream::Again, head.hash, (list.id, ordinal), &[&body])?
        } else {
            extent
        };
        list.push(extent, &engine.geometry);
    }
    // Its runs may have come apart.
    if list.encoded_bytes() > engine.list_bytes_max() {
        return Ok(false);
    }
    let body = list.encode();
    let body = SmallVec::from_slice(&[body.as_slice()]);
    let draft = Draft::new(
        Kind::Extents,
        head.hash,
        head.key,
        head.meta,
        body,
        head.stamps,
    );
    let mut log = engine.log_with_room();
    let Some(mut uses) = engine.index.uses(head.hash, place) else {
        return Ok(false);
    };
    // Once for all of the body, in however many segments it lies.
    if first {
        uses = uses.halved();
    }
    let lsn = log.number();
    let frequency = u8::try_from(uses.count()).unwrap_or(u8::MAX);
    let new = engine.append(&mut log, Stream::Again, &draft, lsn, frequency)?;
    let replaced = engine.index.replace(head.hash, place, new);
    engine.index.set_uses(head.hash, new, uses);
    Ok(replaced)
}

impl Engine {
    /// Appends a fragment of the body with this number.
    pub(super) fn store_fragment(
        &self,
        stream: Stream,
        hash: u64,
        (id, ordinal): (u64, usize),
        parts: &[&[u8]],
    ) -> Result<Extent, Refused> {
        if self.is_down() {
            return Err(Refused::OutOfService);
        }
        let stamps = Stamps {
            judged: id,
            date: narrow(ordinal),
            ..Stamps::default()
        };
        let draft = Draft::new(Kind::Fragment, hash, &[], &[], parts.into(), stamps);
        let mut log = match stream {
            Stream::Again => self.log_with_room(),
            Stream::New | Stream::Large => self.log(),
        };
        let lsn = log.number();
        let place = self.append(&mut log, stream, &draft, lsn, 0)?;
        let segment = self
            .geometry
            .locate(place.granule)
            .map_or(0, |(segment, _)| segment);
        Ok(Extent {
            granule: place.granule,
            bytes: parts.iter().map(|part| narrow(part.len())).sum(),
            born: self.segments.born(segment),
        })
    }
}
