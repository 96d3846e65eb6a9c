//! From a text to its parts.

use wire::helper::Quoting;

use super::code::{self, Code, Row};
use super::escape::Encoding;
use super::{Argument, Dialect, Format, Part, Piece, time};

/// The widest column.
const WIDTH_MAX: usize = 4096;

/// Why a text can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// No Squid has this code.
    #[error("Unsupported %code: '{0}'")]
    Unknown(String),
    /// It says nothing without an argument, or with this one.
    #[error("%{0} needs another argument in braces")]
    BadArgument(String),
    /// The brace isn't closed.
    #[error("Missing '}}' after '{0}'")]
    OpenBrace(String),
}

/// A text on its way.
struct Parser<'t> {
    rest: &'t str,
    dialect: Dialect,
    /// What codes are written as where they say nothing: quotes and brackets change it.
    context: Encoding,
    text: Vec<u8>,
    parts: Vec<Part>,
}

pub(super) fn compile(text: &str, dialect: Dialect) -> Result<Format, FormatError> {
    let mut parser = Parser {
        rest: text,
        dialect,
        context: Encoding::USUAL,
        text: Vec::new(),
        parts: Vec::new(),
    };
    while let Some((before, after)) = parser.rest.split_once('%') {
        parser.literal(before);
        let whole = parser.rest.get(before.len()..).unwrap_or_default();
        parser.rest = after;
        parser.code(whole)?;
    }
    let rest = parser.rest;
    parser.literal(rest);
    let mut format = parser.finish();
    if let Dialect::ExternalAcl(_) = dialect
        && !format.shows_data()
    {
        let mut parts = format.parts.into_vec();
        let blank = if parts.is_empty() { "%DATA" } else { " %DATA" };
        let data = compile(blank, dialect)?;
        parts.extend(data.parts);
        format.parts = parts.into();
    }
    Ok(format)
}

impl<'t> Parser<'t> {
    fn literal(&mut self, text: &str) {
        if self.dialect == Dialect::Logformat {
            for sign in text.chars() {
                self.context = match (sign, self.context) {
                    ('"', Encoding::Word(Quoting::Quoted)) => Encoding::USUAL,
                    ('"', Encoding::USUAL) => Encoding::Word(Quoting::Quoted),
                    ('[', Encoding::USUAL) => Encoding::Mime,
                    (']', Encoding::Mime) => Encoding::USUAL,
                    (_, context) => context,
                };
            }
        }
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Takes what follows a `%`.
    fn code(&mut self, whole: &str) -> Result<(), FormatError> {
        let encoding = self.rest.chars().next().and_then(Encoding::of);
        if encoding.is_some() {
            self.skip(1);
        }
        let left = self.takes("-");
        let zeros = self.takes("0");
        let width = self.digits().unwrap_or(0);
        let length_max = if self.takes(".") { self.digits() } else { None };
        let before = self.braces()?;
        let Some((row, name)) = self.name() else {
            return Err(FormatError::Unknown(whole.to_owned()));
        };
        let argument = match before {
            Some(argument) => Some(argument),
            None => self.braces()?,
        };
        let bad = || FormatError::BadArgument(name.to_owned());
        if row.needs_argument && argument.is_none() {
            return Err(bad());
        }
        let usual = match (row.code, self.dialect) {
            (Code::AclData, Dialect::ExternalAcl(quoting)) => Encoding::Word(quoting),
            _ => self.context,
        };
        let piece = Piece {
            code: row.code,
            argument: read_argument(row.code, argument.unwrap_or_default()).ok_or_else(bad)?,
            encoding: encoding.unwrap_or(usual),
            width,
            length_max,
            left,
            zeros,
        };
        match piece {
            Piece {
                code: Code::Percent,
                ..
            } => self.text.push(b'%'),
            Piece {
                argument: Argument::Byte(byte),
                ..
            } => self.text.push(byte),
            piece => {
                self.close_text();
                self.parts.push(Part::Code(piece));
            }
        }
        Ok(())
    }

    /// The code's row and its name.
    fn name(&mut self) -> Option<(&'static Row, &'t str)> {
        let text = self.rest;
        let legacy = match self.dialect {
            // `%>{Name}` is what `%>ha{Name}` is.
            Dialect::ExternalAcl(_) => match text.get(..2) {
                Some(">{") => {
                    self.skip(1);
                    return Some((code::find(code::TABLE, ">ha")?, ">"));
                }
                Some("<{") => {
                    self.skip(1);
                    return Some((code::find(code::TABLE, "<h")?, "<"));
                }
                _ => code::find(code::LEGACY, text),
            },
            Dialect::Logformat => None,
        };
        let part = code::ABSENT_NAMES
            .iter()
            .find(|part| text.starts_with(**part));
        if part.is_some() || legacy.is_some_and(|row| row.name.ends_with('_')) {
            let is_name = |sign: char| sign.is_ascii_alphanumeric() || ":_<>".contains(sign);
            let length = text.find(|sign| !is_name(sign)).unwrap_or(text.len());
            self.skip(length);
            let row = legacy.or_else(|| code::find(code::TABLE, "ui"))?;
            return Some((row, text.get(..length)?));
        }
        if let Some(row) = legacy {
            self.skip(row.name.len());
            return Some((row, row.name));
        }
        let text = text.strip_prefix("http::").unwrap_or(text);
        let row = code::find(code::TABLE, text)?;
        self.rest = text;
        self.skip(row.name.len());
        Some((row, row.name))
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn digits(&mut self) -> Option<usize> {
        let is_digit = |sign: char| sign.is_ascii_digit();
        let length = self.rest.find(|sign| !is_digit(sign))?;
        let number = self.rest.get(..length)?.parse().ok()?;
        self.skip(length);
        Some(WIDTH_MAX.min(number))
    }

    fn braces(&mut self) -> Result<Option<&'t str>, FormatError> {
        let Some(after) = self.rest.strip_prefix('{') else {
            return Ok(None);
        };
        let open = || FormatError::OpenBrace(self.rest.to_owned());
        let (argument, rest) = after.split_once('}').ok_or_else(open)?;
        self.rest = rest;
        Ok(Some(argument))
    }

    fn close_text(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.parts.push(Part::Text(text.into()));
        }
    }

    fn finish(mut self) -> Format {
        self.close_text();
        Format {
            parts: self.parts.into(),
        }
    }
}

/// `None`: it makes no sense for this code.
fn read_argument(code: Code, text: &str) -> Option<Argument> {
    Some(match code {
        Code::Field(_) if text.is_empty() => Argument::None,
        Code::Field(_) => {
            let (name, member) = match text.split_once(':') {
                None => (text, None),
                Some((name, member)) => (name, Some(split_separator(member))),
            };
            Argument::Field {
                name: name.into(),
                member: member.map(|(separator, member)| (separator, member.into())),
            }
        }
        Code::Note => {
            let (name, separator) = match text.split_once(':') {
                Some((name, separator)) => (name, separator),
                None if text.is_empty() => (text, "\r\n"),
                None => (text, ","),
            };
            Argument::Note {
                name: name.into(),
                separator: separator.into(),
            }
        }
        Code::LocalTime | Code::UtcTime if !text.is_empty() => {
            if !time::is_form(text) {
                return None;
            }
            Argument::Time(text.into())
        }
        Code::Byte => Argument::Byte(text.parse().ok().filter(|byte| *byte > 0)?),
        _ => Argument::None,
    })
}

/// A sign before the name of a list's element parts the elements; else it is a comma.
fn split_separator(member: &str) -> (u8, &str) {
    match member.as_bytes() {
        [sign, ..] if sign.is_ascii() && !sign.is_ascii_alphanumeric() => {
            (*sign, member.get(1..).unwrap_or_default())
        }
        _ => (b',', member),
    }
}
