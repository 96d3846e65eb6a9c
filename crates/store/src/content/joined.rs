//! A complete body put together from stretches of others, whose slices it shares.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Poll;

use super::fill::seal;
use super::pages::Segment;
use super::{Charge, Done, Reader};
use crate::usage::Counters;

/// What these readers give from `first` on, so many bytes each. `None` unless all of it is here.
pub(crate) fn joined(
    stretches: impl IntoIterator<Item = (Reader, u64, u64)>,
    counters: &Arc<Counters>,
) -> Option<Done> {
    let mut segments = VecDeque::new();
    let mut start = 0;
    for (mut reader, first, length) in stretches {
        let end = first.checked_add(length)?;
        reader.seek(first);
        reader.stop_at(end);
        while reader.position() < end {
            let Poll::Ready(Some(Ok(data))) = reader.next_now() else {
                return None;
            };
            let segment = Segment { start, data };
            start = segment.end();
            segments.push_back(segment);
        }
    }
    let charge = Charge::new(counters, start);
    Some(seal(segments, charge, counters))
}
