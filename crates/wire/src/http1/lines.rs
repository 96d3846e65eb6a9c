//! The field section of a head or trailer: tokenised by `httparse`, then held to RFC 9112 §5.
//!
//! `httparse` takes a bare LF for a line end; everything else it refuses. So what is left to us:
//! line ends, limits, equal `Content-Length`s, and, in responses only, obsolete folding and white
//! space before a colon, both of which are repaired in a copy before it is parsed again.

use httparse::{EMPTY_HEADER, Header, Status};

use crate::{FieldId, Fields, chars};

/// Most field lines that are parsed without a heap allocation.
const LINES_ON_STACK: usize = 32;

/// What is wrong with a field section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadLines {
    Name,
    Value,
    End,
    TooMany,
    TooLarge,
}

/// Which line ends a field section may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnds {
    /// CRLF.
    Crlf,
    /// LF, each of them.
    Lf,
    /// Either.
    Any,
}

/// A complete field section: its length with the final blank line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) bytes: usize,
    pub(super) bare_lf: bool,
    /// Is there a name that someone may take for `Content-Length` or `Transfer-Encoding`?
    pub(super) framing_lookalike: bool,
}

/// Parses the field section at the start of `buf` into `fields`; `None` when it isn't complete.
pub(super) fn parse_section(
    buf: &[u8],
    fields_max: usize,
    ends: LineEnds,
    fields: &mut Fields,
) -> Result<Option<Section>, BadLines> {
    let mut few = [EMPTY_HEADER; LINES_ON_STACK];
    let few = few
        .get_mut(..fields_max.min(LINES_ON_STACK))
        .unwrap_or_default();
    match httparse::parse_headers(buf, few) {
        Ok(Status::Complete((bytes, lines))) => load(buf, bytes, lines, ends, fields).map(Some),
        Ok(Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) if fields_max > LINES_ON_STACK => {
            parse_long_section(buf, fields_max, ends, fields)
        }
        Err(error) => Err(error.into()),
    }
}

#[cold]
fn parse_long_section(
    buf: &[u8],
    fields_max: usize,
    ends: LineEnds,
    fields: &mut Fields,
) -> Result<Option<Section>, BadLines> {
    // A line takes at least three bytes ("a:" and LF), so a short buffer needs no long table.
    let mut many = vec![EMPTY_HEADER; fields_max.min(buf.len() / 3 + 1)];
    match httparse::parse_headers(buf, &mut many) {
        Ok(Status::Complete((bytes, lines))) => load(buf, bytes, lines, ends, fields).map(Some),
        Ok(Status::Partial) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Copies the section into the block and notes where the lines are.
fn load(
    buf: &[u8],
    bytes: usize,
    lines: &[Header<'_>],
    ends: LineEnds,
    fields: &mut Fields,
) -> Result<Section, BadLines> {
    let section = buf.get(..bytes).unwrap_or_default();
    let offset = |part: &[u8]| part.as_ptr() as usize - section.as_ptr() as usize;
    fields.load(section);
    let mut bare_lf = 0;
    let mut lengths = 0_u32;
    let mut framing_lookalike = false;
    for (index, line) in lines.iter().enumerate() {
        let name = offset(line.name.as_bytes());
        // The first line has the start line before it, whose end the caller has checked.
        if index > 0 && !ends_with_crlf(section, name) {
            bare_lf += 1;
        }
        let id = FieldId::of(line.name.as_bytes());
        match id {
            FieldId::ContentLength => lengths += 1,
            FieldId::Other => framing_lookalike |= is_framing_lookalike(line.name.as_bytes()),
            _ => {}
        }
        let value = (offset(line.value), line.value.len());
        fields
            .push_parsed(id, (name, line.name.len()), value)
            .ok_or(BadLines::TooLarge)?;
    }
    // The end of the last line, then the blank line.
    let blank = if section.ends_with(b"\r\n") { 2 } else { 1 };
    bare_lf += usize::from(blank == 1);
    let mut ends_seen = lines.len();
    if let Some(before_blank) = bytes.checked_sub(blank)
        && before_blank > 0
    {
        ends_seen += 1;
        bare_lf += usize::from(!ends_with_crlf(section, before_blank));
    }
    let ends_seen = ends_seen.max(1);
    let fault = match ends {
        LineEnds::Crlf => bare_lf > 0,
        LineEnds::Lf => bare_lf != ends_seen,
        LineEnds::Any => false,
    };
    if fault {
        return Err(BadLines::End);
    }
    if lengths > 1 {
        merge_content_lengths(fields);
    }
    Ok(Section {
        bytes,
        bare_lf: bare_lf > 0,
        framing_lookalike,
    })
}

/// Does the name become that of a framing field where punctuation is dropped or replaced, as CGI
/// does? Nobody sends `Content_Length` but to be understood differently by two recipients.
fn is_framing_lookalike(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 2] = [b"contentlength", b"transferencoding"];
    let letters = name.iter().filter(|byte| byte.is_ascii_alphanumeric());
    matches!(name.len(), 13..=24)
        && NAMES.iter().any(|known| {
            letters
                .clone()
                .map(u8::to_ascii_lowercase)
                .eq(known.iter().copied())
        })
}

/// Does the line before offset `at` end with CRLF?
fn ends_with_crlf(section: &[u8], at: usize) -> bool {
    section
        .get(..at)
        .is_some_and(|before| before.ends_with(b"\r\n"))
}

/// Leaves one `Content-Length` of several lines that all say the same (RFC 9112 §6.3); else leaves
/// them as they are, and framing refuses the message.
#[cold]
fn merge_content_lengths(fields: &mut Fields) {
    merge(fields, chars::decimal);
}

/// As for lines, for lists in a line. Only for responses: no client has a reason to send one.
pub(super) fn merge_content_length_lists(fields: &mut Fields) {
    if fields
        .get(FieldId::ContentLength)
        .is_some_and(|value| value.contains(&b','))
    {
        merge(fields, |value| {
            let mut lengths = value.split(|&byte| byte == b',').map(chars::trim_ows);
            let first = chars::decimal(lengths.next()?)?;
            lengths
                .all(|length| chars::decimal(length) == Some(first))
                .then_some(first)
        });
    }
}

fn merge(fields: &mut Fields, parse: impl Fn(&[u8]) -> Option<u64>) {
    let mut lengths = fields.get_all(FieldId::ContentLength).map(parse);
    if let Some(Some(first)) = lengths.next()
        && lengths.all(|length| length == Some(first))
    {
        drop(lengths);
        fields.set(FieldId::ContentLength, first.to_string().as_bytes());
    }
}

/// A copy, at the same offsets, in which folded lines and white space before a colon are mended, or
/// `None` when there is nothing to mend. Only for responses: RFC 9112 §5.1, §5.2.
#[cold]
pub(super) fn mend_response_section(
    buf: &[u8],
    ends: LineEnds,
) -> Result<Option<Vec<u8>>, BadLines> {
    let mut copy = buf.to_vec();
    let mut mended = false;
    let mut start = 0;
    let mut framing = false;
    while let Some(length) = copy
        .get(start..)
        .and_then(|rest| memchr::memchr(b'\n', rest))
    {
        let end = start + length;
        let line = copy.get(start..end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.first() {
            None => return Ok(mended.then_some(copy)),
            Some(&byte) if chars::is_ows(byte) => {
                // A fold. Not before the first field, not one that looks like the blank line to
                // someone, and not of a field that decides framing.
                if start == 0 || framing || chars::trim_ows(line).is_empty() {
                    return Err(BadLines::Name);
                }
                if ends == LineEnds::Crlf && !ends_with_crlf(&copy, start) {
                    return Err(BadLines::End);
                }
                unfold(&mut copy, start);
                mended = true;
            }
            Some(_) => {
                let Some(colon) = memchr::memchr(b':', line) else {
                    return Err(BadLines::Name);
                };
                let name = line.get(..colon).unwrap_or_default();
                let id = FieldId::of(chars::trim_ows(name));
                framing = matches!(id, FieldId::ContentLength | FieldId::TransferEncoding);
                let gap = name
                    .iter()
                    .rev()
                    .take_while(|&&byte| chars::is_ows(byte))
                    .count();
                if gap > 0 {
                    if framing {
                        return Err(BadLines::Name);
                    }
                    copy.swap(start + colon - gap, start + colon);
                    mended = true;
                }
            }
        }
        start = end + 1;
    }
    // No blank line yet. The fault may be that of a line still arriving, so leave that out.
    let cut_bytes = copy.len() - start;
    copy.truncate(start);
    Ok((mended || cut_bytes > 0).then_some(copy))
}

/// Replaces the line end before offset `start` with spaces.
fn unfold(copy: &mut [u8], start: usize) {
    let (before, _) = copy.split_at_mut(start);
    if let [.., cr, lf] = before {
        *lf = b' ';
        if *cr == b'\r' {
            *cr = b' ';
        }
    }
}

impl From<httparse::Error> for BadLines {
    fn from(error: httparse::Error) -> Self {
        match error {
            httparse::Error::HeaderValue => Self::Value,
            httparse::Error::NewLine => Self::End,
            httparse::Error::TooManyHeaders => Self::TooMany,
            httparse::Error::HeaderName
            | httparse::Error::Status
            | httparse::Error::Token
            | httparse::Error::Version => Self::Name,
        }
    }
}
