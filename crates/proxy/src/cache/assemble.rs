//! Puts content together from stretches of stored responses: one range from several parts, or several ranges as
//! multipart/byteranges (RFC 9110 §14.6). All but the bytes themselves is ready before the first is sent.

use bytes::Bytes;
use rules::caching::range::{Span, Spans};
use store::Reader;
use wire::field::FieldId;
use wire::http1::ResponseHead;
use wire::value::byteranges::Boundary;

use crate::flow::{Assembly, Content, Head, Response, Segment};

/// See the module.
pub(super) struct Assembling {
    segments: Vec<Segment>,
    text: Vec<u8>,
    several: Option<Several>,
    /// Number of bytes so far.
    length: u64,
}

/// What each part of a multipart/byteranges says.
struct Several {
    boundary: Boundary,
    content_type: Option<Box<[u8]>>,
    complete: Option<u64>,
}

impl Assembling {
    /// For stretches that are one range together, or all.
    pub(super) fn one() -> Self {
        Self {
            segments: Vec::new(),
            text: Vec::new(),
            several: None,
            length: 0,
        }
    }

    /// For several ranges of a response with this head and length.
    pub(super) fn several(head: &ResponseHead, complete: Option<u64>) -> Self {
        Self {
            several: Some(Several {
                boundary: Boundary::new(rand::random()),
                content_type: head.fields.get(FieldId::ContentType).map(Into::into),
                complete,
            }),
            ..Self::one()
        }
    }

    /// What is pushed from now on is this range.
    pub(super) fn begin_part(&mut self, span: Span) {
        let Some(several) = &self.several else { return };
        let range = span.content_range(several.complete);
        let start = self.text.len();
        let content_type = several.content_type.as_deref();
        several
            .boundary
            .write_part_head(content_type, range, &mut self.text);
        self.push_text(start);
    }

    /// Adds so many bytes that this reader gives from `first` on.
    pub(super) fn push(&mut self, reader: usize, first: u64, length: u64) {
        self.length += length;
        self.segments.push(Segment::Stored {
            reader,
            first,
            length,
        });
    }

    fn push_text(&mut self, start: usize) {
        let end = self.text.len();
        self.length += (end - start) as u64;
        self.segments.push(Segment::Text(start..end));
    }

    /// The reply with all of it.
    pub(super) fn into_response<'c>(
        mut self,
        head: Box<ResponseHead>,
        readers: Vec<Reader>,
    ) -> Response<'c> {
        let boundary = self.several.take().map(|several| several.boundary);
        if let Some(boundary) = &boundary {
            let start = self.text.len();
            boundary.write_end(&mut self.text);
            self.push_text(start);
        }
        Response {
            head: Head::Built(head),
            content: Content::Parts(Box::new(Assembly {
                readers,
                segments: self.segments,
                text: Bytes::from(self.text),
                boundary,
            })),
            length: Some(self.length),
            content_max: None,
            close: false,
        }
    }
}

/// As they were asked for; what still arrives can't be read backwards, so its ranges come as they lie
/// (RFC 9110 §15.3.7.2 leaves the order to us).
pub(super) fn in_sending_order(mut spans: Spans, complete: bool) -> Spans {
    if !complete {
        spans.sort_by_key(|span| span.first);
    }
    spans
}
