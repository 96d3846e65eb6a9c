//! The `%` codes of Squid: log lines, questions to helpers, added header fields. A text is compiled
//! once, when the configuration is loaded, and filled in from a `Scene` without asking anybody.
//!
//! `% [encoding] [-] [[0]width[.max]] [{argument}] code [{argument}]`

mod code;
mod configured;
mod escape;
mod note;
mod parse;
mod scene;
mod time;
mod value;

use jiff::tz::TimeZone;
use rules::Codes;
use wire::helper::Quoting;

use code::Code;
pub(crate) use configured::Formats;
pub use configured::check;
pub(crate) use configured::dialect;
use escape::Encoding;
pub use parse::FormatError;
pub(crate) use scene::{AclCall, Scene};
pub(crate) use time::LocalTime;
use value::Kind;

use crate::flow::Received;

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `logformat`, `…_extras`, added fields. What stands between `"` or `[` `]` is encoded for that place.
    Logformat,
    /// The words of `external_acl_type`, with those from before it had codes; `%DATA` as this says.
    ExternalAcl(Quoting),
}

/// A compiled text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    parts: Box<[Part]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Box<[u8]>),
    Code(Piece),
}

/// A code with how it is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    code: Code,
    argument: Argument,
    encoding: Encoding,
    /// Padded to this width.
    width: usize,
    /// Cut to this length; of times, the decimals.
    length_max: Option<usize>,
    left: bool,
    zeros: bool,
}

/// What stands in braces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Argument {
    #[default]
    None,
    /// A field, or of its list the element that begins with `member=`.
    Field {
        name: Box<str>,
        member: Option<(u8, Box<str>)>,
    },
    Note {
        name: Box<str>,
        separator: Box<str>,
    },
    /// A form of `strftime`.
    Time(Box<str>),
    Byte(u8),
}

impl Piece {
    fn form(&self) -> Option<&str> {
        match &self.argument {
            Argument::Time(form) => Some(form),
            _ => None,
        }
    }

    fn push(&self, scene: &Scene<'_>, clock: &mut LocalTime, out: &mut Vec<u8>) {
        let start = out.len();
        let kind = value::push(self, scene, clock, out);
        if out.len() == start {
            return out.push(b'-');
        }
        match kind {
            Kind::Ready | Kind::Number => {}
            Kind::Words if self.encoding == Encoding::USUAL => self.cut(start, out),
            Kind::Text | Kind::Words => {
                let length_max = self.length_max.unwrap_or(usize::MAX);
                self.encoding.encode(out, start, length_max);
            }
        }
        self.pad(start, kind == Kind::Number && self.zeros, out);
    }

    fn cut(&self, start: usize, out: &mut Vec<u8>) {
        // The decimals of a time are no length.
        if let (Some(length_max), false) = (self.length_max, self.code == Code::StartTime) {
            out.truncate(start.saturating_add(length_max));
        }
    }

    fn pad(&self, start: usize, zeros: bool, out: &mut Vec<u8>) {
        let missing = self.width.saturating_sub(out.len() - start);
        if missing == 0 {
            return;
        }
        out.extend(std::iter::repeat_n(
            if zeros { b'0' } else { b' ' },
            missing,
        ));
        if !self.left
            && let Some(value) = out.get_mut(start..)
        {
            value.rotate_right(missing);
        }
    }
}

impl Format {
    /// Compiles a text.
    ///
    /// # Errors
    /// It names a code that no Squid has, or one without the argument that it needs.
    pub fn compile(text: &str, dialect: Dialect) -> Result<Self, FormatError> {
        parse::compile(text, dialect)
    }

    /// Appends the text, filled in.
    pub(crate) fn render(&self, scene: &Scene<'_>, out: &mut Vec<u8>) {
        self.render_by(scene, &mut LocalTime::new(TimeZone::system()), out);
    }

    /// The same, with a clock that remembers its second.
    pub(crate) fn render_by(&self, scene: &Scene<'_>, clock: &mut LocalTime, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Code(piece) => piece.push(scene, clock, out),
            }
        }
    }

    /// Does it ask for the name that the client logs in with?
    pub(crate) fn asks_login(&self) -> bool {
        self.has(|code| code == Code::Login)
    }

    /// Does it show fields of the reply?
    pub(crate) fn shows_reply(&self) -> bool {
        self.has(|code| code == Code::Field(value::Side::Reply))
    }

    /// Does it show the words of an ACL?
    fn shows_data(&self) -> bool {
        self.has(|code| code == Code::AclData)
    }

    fn has(&self, is_wanted: impl Fn(Code) -> bool) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Text(_) => false,
            Part::Code(piece) => is_wanted(piece.code),
        })
    }
}

impl Codes for Received<'_> {
    /// Compiled each time, for only annotations with codes come here; they are checked at load.
    fn fill(&self, text: &str) -> String {
        let Ok(format) = Format::compile(text, Dialect::Logformat) else {
            return text.to_owned();
        };
        let mut filled = Vec::new();
        format.render(&Scene::of_request(self), &mut filled);
        String::from_utf8_lossy(&filled).into_owned()
    }
}

#[cfg(test)]
mod tests;
