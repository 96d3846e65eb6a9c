//! The tags that the store keeps a response under.

use rules::caching::tags::{self, TAGS_MAX, groups, origin};
use store::{KeyRef, Tag};
use wire::http1::ResponseHead;
use wire::target::Target;

use crate::cache::stored;
use crate::context::Context;
use crate::flow::Received;

/// The space of tags that operators purge by.
const OPERATORS: &[u8] = b"";

/// The tags of a response; `None` when it has more than we take: a purge by one of them would miss it.
///
/// Tags that only a PURGE can name aren't kept while none is possible.
pub(crate) fn of(cx: &Context, received: &Received<'_>, head: &ResponseHead) -> Option<Box<[Tag]>> {
    let mut all = of_groups(received.target, &groups(&head.fields));
    if cx.plan.rules.purge {
        all.extend(tags::tags(&head.fields).map(named));
    }
    all.sort_unstable();
    all.dedup();
    (all.len() <= TAGS_MAX).then(|| all.into())
}

/// A tag that operators purge by.
pub(crate) fn named(name: &[u8]) -> Tag {
    Tag::new(OPERATORS, name)
}

/// The groups of what is stored under a key.
pub(crate) fn groups_under(cx: &Context, key: KeyRef<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for object in cx.store.variants(key, |meta| !meta.tags.is_empty()) {
        let head = stored::build(cx, &object, false);
        all.extend(groups(&head.fields));
        cx.heads.give(head);
    }
    all
}

/// Groups, which belong to an origin (RFC 9875 §2.1).
pub(crate) fn of_groups(target: &Target, groups: &[String]) -> Vec<Tag> {
    if groups.is_empty() {
        return Vec::new();
    }
    let origin = origin(target);
    let tags = groups
        .iter()
        .map(|group| Tag::new(&origin, group.as_bytes()));
    tags.collect()
}
