//! What the proxy knows of a stored response: its head, ready to send, and what decides on its reuse.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use rules::caching::Exchange;
use rules::caching::freshness::{Freshness, Traits};
use rules::caching::part::Part;
use rules::caching::storable::Storable;
use rules::caching::validate::{self, Validators};
use rules::caching::vary::{Selector, Vary};
use store::{PartOf, Tag, Weigh};
use wire::field::FieldId;
use wire::http1::{
    Limits, ResponseHead, Version, parse_response, reason_phrase, write_status_line,
};
use wire::value::date;

use crate::cache::{persist, tags};
use crate::context::Context;
use crate::digits::push_number;
use crate::flow::{Object, Received};

/// See the module.
#[derive(Debug)]
pub struct StoredResponse {
    /// Status of the response.
    pub(crate) status: u16,
    /// Version by which it came.
    pub(crate) version: Version,
    /// Status line and end-to-end fields, each with its line end; no Age, no framing but a known
    /// length, nothing of ours.
    pub(crate) head: Box<[u8]>,
    /// `head` has a Content-Length.
    pub(crate) has_length: bool,
    pub(crate) freshness: Freshness,
    /// Which requests it answers (RFC 9111 §4.1).
    pub(crate) vary: Vary,
    /// What it can be purged by, beside its URL.
    pub(crate) tags: Box<[Tag]>,
    /// Its Date, in Unix seconds.
    pub(super) date: i64,
    /// The origin is being asked about it in the background.
    pub(crate) validating: AtomicBool,
    /// It holds only a part.
    pub(crate) part: Option<Box<Part>>,
    pub(super) content_type: Range<u32>,
    pub(super) etag: Range<u32>,
}

impl StoredResponse {
    /// From a cleaned head.
    pub(crate) fn new(
        cx: &Context,
        head: &ResponseHead,
        version: Version,
        storable: Storable,
        tags: Box<[Tag]>,
        length: Option<u64>,
    ) -> Self {
        let mut bytes = Vec::with_capacity(head.fields.memory_bytes() + 64);
        write_status_line(head.status, head.reason(), &mut bytes);
        let (mut content_type, mut etag) = (0..0, 0..0);
        for line in head.fields.iter() {
            let framing = line.id == FieldId::ContentLength
                || line.id == FieldId::ContentRange && head.status == 206;
            if framing || is_for_one(cx, line.id) {
                continue;
            }
            bytes.extend_from_slice(line.name);
            bytes.extend_from_slice(b": ");
            let start = bytes.len();
            bytes.extend_from_slice(line.value);
            if line.id == FieldId::ContentType {
                content_type = offset(start)..offset(bytes.len());
            }
            if line.id == FieldId::ETag && etag.is_empty() {
                etag = offset(start)..offset(bytes.len());
            }
            bytes.extend_from_slice(b"\r\n");
        }
        let length = length.filter(|_| head.status != 204);
        let date = head.fields.get(FieldId::Date);
        if let Some(length) = length {
            bytes.extend_from_slice(b"Content-Length: ");
            push_number(&mut bytes, length);
            bytes.extend_from_slice(b"\r\n");
        }
        Self {
            status: head.status,
            version,
            head: bytes.into(),
            has_length: length.is_some(),
            freshness: storable.freshness,
            vary: storable.vary,
            tags,
            date: date.and_then(date::parse).unwrap_or(i64::MIN),
            validating: AtomicBool::new(false),
            part: None,
            content_type,
            etag,
        }
    }

    /// From the cleaned head of a 206.
    pub(crate) fn of_part(
        cx: &Context,
        head: &ResponseHead,
        version: Version,
        storable: Storable,
        tags: Box<[Tag]>,
        part: Part,
    ) -> Self {
        Self {
            part: Some(Box::new(part)),
            ..Self::new(cx, head, version, storable, tags, None)
        }
    }

    /// The part that is left of it.
    pub(crate) fn cut(&self, part: Part) -> Self {
        Self {
            head: self.head.clone(),
            vary: self.vary.clone(),
            tags: self.tags.clone(),
            validating: AtomicBool::new(false),
            part: Some(Box::new(part)),
            content_type: self.content_type.clone(),
            etag: self.etag.clone(),
            ..*self
        }
    }

    /// Is it whole, and an answer to requests with these fields?
    #[inline]
    pub(crate) fn answers(&self, request: &mut Selector<'_>) -> bool {
        self.part.is_none() && request.selects(&self.vary)
    }

    /// May a request get it that began to look when there was nothing? What was purged softly is to be validated first.
    pub(crate) fn may_be_joined(&self, request: &mut Selector<'_>) -> bool {
        self.answers(request) && !self.freshness.traits.has(Traits::PURGED)
    }

    /// The same response after a 304 (RFC 9111 §3.2).
    pub(crate) fn updated(&self, cx: &Context, received: &Received<'_>, by: &ResponseHead) -> Self {
        let mut head = cx.heads.take();
        self.parse(&mut head);
        let length = head.fields.get(FieldId::ContentLength);
        let length = length.and_then(wire::value::decimal);
        validate::update(&mut head.fields, &by.fields);
        let exchange = exchange(cx, received, &head);
        let storable = Storable {
            freshness: Freshness::of(&cx.plan.rules.caching, &exchange),
            vary: self.vary.clone(),
        };
        let tags = tags::of(cx, received, &head).unwrap_or_else(|| self.tags.clone());
        let updated = Self::new(cx, &head, self.version, storable, tags, length);
        cx.heads.give(head);
        updated
    }

    /// Seconds since the origin made it (RFC 9111 §4.2.3).
    pub(crate) fn age(&self, now: i64) -> u64 {
        u64::try_from(self.freshness.age_secs(now)).unwrap_or(0)
    }

    /// As [`StoredResponse::updated`], for the requests that are like this one in what the 304 says.
    pub(crate) fn picked(&self, cx: &Context, received: &Received<'_>, by: &ResponseHead) -> Self {
        let mut updated = self.updated(cx, received, by);
        let mut head = cx.heads.take();
        updated.parse(&mut head);
        if let Some(vary) = Vary::of(&head.fields, &received.head.fields) {
            updated.vary = vary;
        }
        cx.heads.give(head);
        updated
    }

    /// Has it the same validators?
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let modified = b"last-modified";
        self.etag() == other.etag() && self.field(modified) == other.field(modified)
    }

    /// Its entity tag.
    pub(crate) fn etag(&self) -> Option<&[u8]> {
        let etag = self.within(&self.etag);
        (!etag.is_empty()).then_some(etag)
    }

    /// What it can be validated by.
    pub(crate) fn validators(&self) -> Validators<'_> {
        Validators {
            etag: self.etag(),
            modified: self.field(b"last-modified"),
            made: (self.date != i64::MIN).then_some(self.date),
        }
    }

    /// Its content coding.
    pub(crate) fn coding(&self) -> Option<&[u8]> {
        self.field(b"content-encoding")
    }

    /// The value of the first field of that name. Looks through the lines as they are stored.
    pub(super) fn field(&self, name: &[u8]) -> Option<&[u8]> {
        let mut lines = self.head.split(|byte| *byte == b'\n');
        lines.find_map(|line| {
            let (found, value) = line.split_at_checked(name.len())?;
            let value = value.strip_prefix(b": ")?;
            let is_it = found.eq_ignore_ascii_case(name);
            is_it.then(|| value.trim_ascii_end())
        })
    }

    /// Date, Last-Modified and Expires, as they stand in its head; in Unix seconds.
    pub(crate) fn stated_times(&self) -> [Option<i64>; 3] {
        [&b"date"[..], b"last-modified", b"expires"]
            .map(|name| self.field(name).and_then(date::parse))
    }

    /// Its Content-Length, if it has one.
    pub(crate) fn stated_length(&self) -> Option<u64> {
        let length = self.field(b"content-length")?;
        wire::value::decimal(length)
    }

    /// Its content type.
    pub(crate) fn content_type(&self) -> &[u8] {
        self.within(&self.content_type)
    }

    fn within(&self, range: &Range<u32>) -> &[u8] {
        let start = usize::try_from(range.start).unwrap_or(usize::MAX);
        let end = usize::try_from(range.end).unwrap_or(usize::MAX);
        self.head.get(start..end).unwrap_or_default()
    }

    fn parse(&self, head: &mut ResponseHead) {
        let mut bytes = Vec::with_capacity(self.head.len() + 2);
        bytes.extend_from_slice(&self.head);
        bytes.extend_from_slice(b"\r\n");
        let limits = Limits {
            head_bytes_max: usize::MAX,
            fields_max: usize::MAX,
            ..Limits::default()
        };
        let parsed = parse_response(&bytes, &limits, head);
        debug_assert!(parsed.is_ok(), "a stored head is one that we wrote");
    }
}

/// Fields that only the client gets that caused the response: its age then, and a cookie, which is
/// not for all (as in Squid) unless `cache_set_cookie` says so.
pub(crate) fn is_for_one(cx: &Context, id: FieldId) -> bool {
    id == FieldId::Age || id == FieldId::SetCookie && !cx.plan.config.cache_set_cookie
}

/// Heads are bounded by `reply_header_max_size`, far below 4 GiB.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A request with its response, as the caching rules look at them.
pub(crate) fn exchange<'e>(
    cx: &'e Context,
    received: &Received<'e>,
    head: &'e ResponseHead,
) -> Exchange<'e> {
    Exchange {
        method: &received.head.method,
        url: received.key(),
        request: &received.head.fields,
        status: head.status,
        reply: &head.fields,
        request_time: received.now.unix_secs(),
        response_time: cx.unix_secs(),
        surrogate_id: received
            .connection
            .port
            .accel()
            .map(|_| &*cx.plan.lines.surrogate_id),
    }
}

impl Weigh for StoredResponse {
    fn weight_bytes(&self) -> usize {
        let part = self.part.as_ref().map_or(0, |part| {
            size_of::<Part>() + part.validator.as_ref().map_or(0, |tag| tag.len())
        });
        let tags = self.tags.len() * Tag::WEIGHT_BYTES;
        size_of::<Self>() + self.head.len() + self.vary.as_bytes().len() + tags + part
    }

    fn supersedes(&self, older: &Self) -> bool {
        self.vary == older.vary
            && match (&self.part, &older.part) {
                (Some(part), Some(older)) => part.replaces(older),
                (None, _) | (_, None) => true,
            }
    }

    /// The most recent by its Date (RFC 9111 §4.1).
    fn preferred_to(&self, newer: &Self) -> bool {
        self.date > newer.date
    }

    fn is_part(&self) -> bool {
        self.part.is_some()
    }

    fn part_of(&self) -> Option<PartOf<'_>> {
        let part = self.part.as_deref()?;
        Some(PartOf {
            first: part.first,
            complete: part.complete.filter(|complete| *complete > 0)?,
            validator: part.validator.as_deref()?,
        })
    }

    fn is_like(&self, other: &Self) -> bool {
        Self::is_like(self, other)
    }

    fn is_spare(&self) -> bool {
        self.freshness.traits.has(Traits::SPARE)
    }

    fn tags(&self) -> &[Tag] {
        &self.tags
    }

    fn selector(&self) -> &[u8] {
        self.vary.selector()
    }

    fn variant(&self) -> &[u8] {
        self.vary.as_bytes()
    }

    fn write_to(&self, out: &mut Vec<u8>) -> bool {
        persist::write(self, out)
    }

    fn read_from(bytes: &[u8]) -> Option<Self> {
        persist::read(bytes)
    }

    fn times(&self) -> [u32; 3] {
        let modified = self.field(b"last-modified").and_then(date::parse);
        let times = [self.date, self.freshness.fresh_until, modified.unwrap_or(0)];
        times.map(|time| u32::try_from(time.max(0)).unwrap_or(u32::MAX))
    }

    /// Parts are used while they are fresh only.
    fn stale_since(&self, since: i64) -> Option<Self> {
        self.part.is_none().then(|| Self {
            head: self.head.clone(),
            freshness: self.freshness.stale_since(since),
            vary: self.vary.clone(),
            tags: self.tags.clone(),
            validating: AtomicBool::new(false),
            part: None,
            content_type: self.content_type.clone(),
            etag: self.etag.clone(),
            ..*self
        })
    }
}

/// The whole response, of this length, that a stored part is of.
pub(super) fn completed(cx: &Context, part: &Object, length: u64) -> StoredResponse {
    let meta = &part.meta;
    let mut head = build(cx, part, false);
    head.status = 200;
    head.set_reason(reason_phrase(200).as_bytes());
    let storable = Storable {
        freshness: meta.freshness,
        vary: meta.vary.clone(),
    };
    let tags = meta.tags.clone();
    let completed = StoredResponse::new(cx, &head, meta.version, storable, tags, Some(length));
    cx.heads.give(head);
    completed
}

/// The head as fields, for replies that are not the stored response as it is. With `aged`, Age is
/// there as in hits.
pub(crate) fn build(cx: &Context, object: &Object, aged: bool) -> Box<ResponseHead> {
    let mut head = cx.heads.take();
    object.meta.parse(&mut head);
    head.fields.remove(FieldId::ContentLength);
    if aged {
        let mut age = Vec::with_capacity(8);
        push_number(&mut age, object.meta.age(cx.unix_secs()));
        head.fields.push_id(FieldId::Age, &age);
    }
    head
}
