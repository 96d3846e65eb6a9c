//! The ordered header block: field lines in the order and letter case they came in.
//!
//! One byte buffer and a list of offsets, both kept between messages, so that a connection
//! parses request after request without allocating. Used for requests, responses and trailers.
//! RFC 9110 §5.

mod id;
mod list;

pub use id::FieldId;
pub use list::Elements;

use crate::chars;

/// A field line as the block holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLine<'a> {
    /// What we know the field as.
    pub id: FieldId,
    /// The name, in the letter case it came in.
    pub name: &'a [u8],
    /// The value, without white space around it.
    pub value: &'a [u8],
}

/// Offsets into the buffer; `u32` because heads are limited far below 4 GiB.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: u32,
    len: u32,
}

impl Span {
    fn new(start: usize, len: usize) -> Option<Self> {
        Some(Self {
            start: u32::try_from(start).ok()?,
            len: u32::try_from(len).ok()?,
        })
    }

    fn of(self, buf: &[u8]) -> &[u8] {
        let start = self.start as usize;
        buf.get(start..start + self.len as usize)
            .unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug)]
struct Line {
    id: FieldId,
    name: Span,
    value: Span,
}

/// An ordered block of field lines. Reusable: [`Fields::clear`] keeps the memory.
///
/// Names and values are clean by construction: the parser admits no control characters, and
/// [`Fields::push`] turns those it is given into spaces, so writing a block can't split a message.
#[derive(Debug, Default)]
pub struct Fields {
    buf: Vec<u8>,
    lines: Vec<Line>,
}

impl Clone for Fields {
    fn clone(&self) -> Self {
        Self {
            buf: self.buf.clone(),
            lines: self.lines.clone(),
        }
    }

    /// Keeps the memory, as [`Fields::clear`] does.
    fn clone_from(&mut self, source: &Self) {
        self.buf.clone_from(&source.buf);
        self.lines.clone_from(&source.lines);
    }
}

impl Fields {
    /// An empty block that owns no memory yet.
    pub const fn new() -> Self {
        Self {
            buf: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Forgets all lines and keeps the memory.
    pub fn clear(&mut self) {
        self.buf.clear();
        self.lines.clear();
    }

    /// Are there no lines?
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Bytes of memory held, for accounting of stored responses.
    pub fn memory_bytes(&self) -> usize {
        self.buf.capacity() + self.lines.capacity() * size_of::<Line>()
    }

    /// All lines in order.
    pub fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = FieldLine<'_>> + ExactSizeIterator + Clone {
        self.lines.iter().map(|line| view(&self.buf, line))
    }

    /// Does a line with this id exist?
    pub fn has(&self, id: FieldId) -> bool {
        self.lines.iter().any(|line| line.id == id)
    }

    /// The first value of a known field.
    pub fn get(&self, id: FieldId) -> Option<&[u8]> {
        let line = self.lines.iter().find(|line| line.id == id)?;
        Some(line.value.of(&self.buf))
    }

    /// All values of a known field, in order.
    pub fn get_all(&self, id: FieldId) -> impl Iterator<Item = &[u8]> + Clone {
        self.lines
            .iter()
            .filter(move |line| line.id == id)
            .map(|line| line.value.of(&self.buf))
    }

    /// The first value of a field by its name, in any letter case.
    pub fn get_name(&self, name: &[u8]) -> Option<&[u8]> {
        let id = FieldId::of(name);
        let line = self
            .lines
            .iter()
            .find(|line| is_named(&self.buf, line, id, name))?;
        Some(line.value.of(&self.buf))
    }

    /// All values of a field by its name, in any letter case.
    pub fn all_named<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + Clone {
        let id = FieldId::of(name);
        self.lines
            .iter()
            .filter(move |line| is_named(&self.buf, line, id, name))
            .map(|line| line.value.of(&self.buf))
    }

    /// Appends a line. Control characters in the value become spaces; white space around it is
    /// dropped. A name that is no token, or a block beyond 4 GiB, leaves the line out.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        if chars::is_token(name) {
            self.push_known(FieldId::of(name), name, value);
        }
    }

    /// Appends a line of a known field, in its usual letter case.
    pub fn push_id(&mut self, id: FieldId, value: &[u8]) {
        if id != FieldId::Other {
            self.push_known(id, id.name().as_bytes(), value);
        }
    }

    /// Gives the field this one value: replaces the first line, drops the others, or appends.
    pub fn set(&mut self, id: FieldId, value: &[u8]) {
        let Some(at) = self.lines.iter().position(|line| line.id == id) else {
            self.push_id(id, value);
            return;
        };
        let span = self.append_value(value);
        self.replace(at, span, |line, _| line.id == id);
    }

    /// As [`Fields::set`], for a field by its name.
    pub fn set_name(&mut self, name: &[u8], value: &[u8]) {
        let id = FieldId::of(name);
        let found = self
            .lines
            .iter()
            .position(|line| is_named(&self.buf, line, id, name));
        let Some(at) = found else {
            self.push(name, value);
            return;
        };
        let span = self.append_value(value);
        self.replace(at, span, |line, buf| is_named(buf, line, id, name));
    }

    /// Drops all lines of a known field; tells whether there were any.
    pub fn remove(&mut self, id: FieldId) -> bool {
        let before = self.lines.len();
        self.lines.retain(|line| line.id != id);
        before != self.lines.len()
    }

    /// Drops all lines of a field by its name; tells whether there were any.
    pub fn remove_name(&mut self, name: &[u8]) -> bool {
        let id = FieldId::of(name);
        let before = self.lines.len();
        let buf = &self.buf;
        self.lines.retain(|line| !is_named(buf, line, id, name));
        before != self.lines.len()
    }

    /// Keeps the lines for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(FieldLine<'_>) -> bool) {
        let buf = &self.buf;
        self.lines.retain(|line| keep(view(buf, line)));
    }

    /// The elements of a comma list over all lines of the field, trimmed, empty ones left out;
    /// commas in quoted strings don't separate (RFC 9110 §5.6.1).
    pub fn list(&self, id: FieldId) -> impl Iterator<Item = &[u8]> {
        self.get_all(id).flat_map(Elements::new)
    }

    /// As [`Fields::list`], for a field by its name.
    pub fn list_named<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.all_named(name).flat_map(Elements::new)
    }

    /// Does the comma list of the field hold this token, in any letter case?
    pub fn has_token(&self, id: FieldId, token: &[u8]) -> bool {
        self.get_all(id).any(|value| {
            value.eq_ignore_ascii_case(token)
                || value
                    .split(|&byte| byte == b',')
                    .any(|element| chars::trim_ows(element).eq_ignore_ascii_case(token))
        })
    }

    /// Appends all values of the field to `out`, joined by `", "` (RFC 9110 §5.3).
    pub fn join_into(&self, id: FieldId, out: &mut Vec<u8>) {
        for (at, value) in self.get_all(id).enumerate() {
            if at > 0 {
                out.extend_from_slice(b", ");
            }
            out.extend_from_slice(value);
        }
    }

    /// Appends `Name: value` CRLF for each line; no blank line at the end.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.reserve(self.buf.len() + 4 * self.lines.len());
        for line in self.iter() {
            out.extend_from_slice(line.name);
            out.extend_from_slice(b": ");
            out.extend_from_slice(line.value);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Starts a block from the bytes of a parsed field section; lines follow by
    /// [`Fields::push_parsed`] with offsets into them.
    pub(crate) fn load(&mut self, section: &[u8]) {
        self.clear();
        self.buf.extend_from_slice(section);
    }

    /// Adds a line whose name and value the parser has checked, by offsets into the section.
    pub(crate) fn push_parsed(
        &mut self,
        id: FieldId,
        name: (usize, usize),
        value: (usize, usize),
    ) -> Option<()> {
        let line = Line {
            id,
            name: Span::new(name.0, name.1)?,
            value: Span::new(value.0, value.1)?,
        };
        self.lines.push(line);
        Some(())
    }

    /// Adds a line whose name is a token.
    fn push_known(&mut self, id: FieldId, name: &[u8], value: &[u8]) {
        let start = self.buf.len();
        self.buf.extend_from_slice(name);
        let value = self.append_value(value);
        if let (Some(name), Some(value)) = (Span::new(start, name.len()), value) {
            self.lines.push(Line { id, name, value });
        }
    }

    fn append_value(&mut self, value: &[u8]) -> Option<Span> {
        let value = chars::trim_ows(value);
        let start = self.buf.len();
        if chars::is_field_value(value) {
            self.buf.extend_from_slice(value);
            return Span::new(start, value.len());
        }
        let clean = |&byte: &u8| {
            if chars::is_field_value_byte(byte) {
                byte
            } else {
                b' '
            }
        };
        self.buf.extend(value.iter().map(clean));
        let trimmed = chars::trim_ows(self.buf.get(start..)?);
        let skipped = trimmed.as_ptr() as usize - self.buf.get(start..)?.as_ptr() as usize;
        Span::new(start + skipped, trimmed.len())
    }

    fn replace(&mut self, at: usize, value: Option<Span>, is_same: impl Fn(&Line, &[u8]) -> bool) {
        let Some(value) = value else { return };
        let buf = &self.buf;
        let mut index = 0;
        self.lines.retain_mut(|line| {
            let keep = index <= at || !is_same(line, buf);
            if index == at {
                line.value = value;
            }
            index += 1;
            keep
        });
    }
}

impl PartialEq for Fields {
    /// The same lines in the same order and letter case.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Fields {}

fn view<'a>(buf: &'a [u8], line: &Line) -> FieldLine<'a> {
    FieldLine {
        id: line.id,
        name: line.name.of(buf),
        value: line.value.of(buf),
    }
}

fn is_named(buf: &[u8], line: &Line, id: FieldId, name: &[u8]) -> bool {
    line.id == id && (id != FieldId::Other || line.name.of(buf).eq_ignore_ascii_case(name))
}

/// Any lines: lists give trimmed elements from within the value, tokens are found in them, and a
/// block holds what was set.
///
/// # Panics
/// When that isn't so.
pub fn fuzz(data: &[u8]) {
    let mut fields = Fields::new();
    for line in data.split(|&byte| byte == b'\n') {
        let (name, value) = chars::split_once(line, b':').unwrap_or((b"Vary", line));
        let before = fields.len();
        fields.push(name, value);
        assert_eq!(fields.len() - before, usize::from(chars::is_token(name)));
    }
    for element in fields.list(FieldId::Vary) {
        assert!(!element.is_empty(), "empty elements are left out");
        assert_eq!(chars::trim_ows(element), element, "elements are trimmed");
        if !element.contains(&b',') && !element.contains(&b'"') {
            assert!(fields.has_token(FieldId::Vary, element));
        }
    }
    let others = fields
        .iter()
        .filter(|line| line.id != FieldId::Vary)
        .count();
    fields.set(FieldId::Vary, data);
    assert_eq!(
        fields.get_all(FieldId::Vary).count(),
        1,
        "set leaves one line"
    );
    assert_eq!(fields.len(), others + 1, "and all the others");
    let mut written = Vec::new();
    fields.write_to(&mut written);
    let lines = written.split(|&byte| byte == b'\n').count() - 1;
    assert_eq!(
        lines,
        fields.len(),
        "one line each, whatever the values were"
    );
}

#[cfg(test)]
mod tests;
