//! Messages: a question that reads, and its answer.

use super::ber::{self, Malformed, Reader, tag};
use super::oid::Oid;
use super::value::Value;

/// Names in one message. The largest poller we know, Zabbix, asks for 128 at once.
pub const BINDINGS_MAX: usize = 256;

/// Bytes of a community.
pub const COMMUNITY_BYTES_MAX: usize = 255;

/// The dialect of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// RFC 1157: a missing name fails the whole question.
    V1,
    /// RFC 1901: a missing name is an exception in its place.
    V2c,
}

impl Version {
    const fn number(self) -> i32 {
        match self {
            Self::V1 => 0,
            Self::V2c => 1,
        }
    }

    const fn of(number: i32) -> Result<Self, Malformed> {
        match number {
            0 => Ok(Self::V1),
            1 => Ok(Self::V2c),
            _ => Err(Malformed::Version),
        }
    }
}

/// What a question wants of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Their values.
    Get,
    /// The names that follow them, with values.
    GetNext,
    /// Several names that follow; v2c only (RFC 3416 §4.2.3).
    GetBulk {
        /// This many names at the front want one follower each.
        non_repeaters: usize,
        /// This many followers for each of the others.
        max_repetitions: usize,
    },
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its dialect.
    pub version: Version,
    /// Its password, in clear; at most [`COMMUNITY_BYTES_MAX`].
    pub community: Vec<u8>,
    /// Comes back in the answer.
    pub request_id: i32,
    /// What it wants.
    pub ask: Ask,
    /// Of which names; at most [`BINDINGS_MAX`].
    pub names: Vec<Oid>,
}

/// Why a question has no proper answer (RFC 1157 §4.1.1, RFC 3416 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The answer doesn't fit into a datagram.
    TooBig,
    /// v1: the name with this place, from 1, is not there or is the last.
    NoSuchName(usize),
    /// The agent can't.
    General,
    /// An agent of another kind gave this status and place.
    Other(i32, i32),
}

impl Failed {
    fn numbers(self) -> (i32, i32) {
        match self {
            Self::TooBig => (1, 0),
            Self::NoSuchName(place) => (2, i32::try_from(place).unwrap_or(i32::MAX)),
            Self::General => (5, 0),
            Self::Other(status, place) => (status, place),
        }
    }

    fn of(status: i32, place: i32) -> Option<Self> {
        Some(match (status, place) {
            (0, 0) => return None,
            (1, 0) => Self::TooBig,
            (2, 0..) => Self::NoSuchName(usize::try_from(place).unwrap_or(usize::MAX)),
            (5, 0) => Self::General,
            _ => Self::Other(status, place),
        })
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The question's.
    pub version: Version,
    /// The question's.
    pub community: Vec<u8>,
    /// The question's.
    pub request_id: i32,
    /// Why there are no values, if so.
    pub failed: Option<Failed>,
    /// Names with their values; at most [`BINDINGS_MAX`].
    pub bindings: Vec<(Oid, Value)>,
}

/// A message before its two numbers mean anything.
struct Raw {
    version: Version,
    community: Vec<u8>,
    operation: u8,
    request_id: i32,
    numbers: (i32, i32),
    bindings: Vec<(Oid, Value)>,
}

impl Raw {
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut outer = Reader::new(bytes);
        let mut message = Reader::new(outer.expect(tag::SEQUENCE)?);
        outer.end()?;
        let version = Version::of(message.integer()?)?;
        let community = message.expect(tag::OCTET_STRING)?;
        if community.len() > COMMUNITY_BYTES_MAX {
            return Err(Malformed::TooMuch);
        }
        let (operation, content) = message.next()?;
        message.end()?;
        if !matches!(
            operation,
            tag::GET | tag::GET_NEXT | tag::GET_BULK | tag::RESPONSE
        ) {
            return Err(Malformed::Operation);
        }
        let mut content = Reader::new(content);
        let request_id = content.integer()?;
        let numbers = (content.integer()?, content.integer()?);
        let bindings = parse_bindings(content.expect(tag::SEQUENCE)?)?;
        content.end()?;
        Ok(Self {
            version,
            community: community.to_vec(),
            operation,
            request_id,
            numbers,
            bindings,
        })
    }
}

fn parse_bindings(bytes: &[u8]) -> Result<Vec<(Oid, Value)>, Malformed> {
    let mut list = Reader::new(bytes);
    let mut bindings = Vec::new();
    while !list.is_empty() {
        if bindings.len() == BINDINGS_MAX {
            return Err(Malformed::TooMuch);
        }
        let mut binding = Reader::new(list.expect(tag::SEQUENCE)?);
        let name = Oid::parse(binding.expect(tag::OBJECT_ID)?)?;
        let (tag, content) = binding.next()?;
        binding.end()?;
        bindings.push((name, Value::parse(tag, content)?));
    }
    Ok(bindings)
}

fn write_message<'a>(
    (version, community): (Version, &[u8]),
    (operation, request_id, numbers): (u8, i32, (i32, i32)),
    bindings: impl Iterator<Item = (&'a Oid, &'a Value)>,
) -> Vec<u8> {
    let mut out = Vec::new();
    let integer = |out: &mut Vec<u8>, value: i32| {
        ber::write_signed(out, tag::INTEGER, i64::from(value));
    };
    ber::write(&mut out, tag::SEQUENCE, |out| {
        integer(out, version.number());
        ber::write(out, tag::OCTET_STRING, |out| {
            out.extend_from_slice(community)
        });
        ber::write(out, operation, |out| {
            integer(out, request_id);
            integer(out, numbers.0);
            integer(out, numbers.1);
            ber::write(out, tag::SEQUENCE, |out| {
                for (name, value) in bindings {
                    ber::write(out, tag::SEQUENCE, |out| {
                        name.write(out);
                        value.write(out);
                    });
                }
            });
        });
    });
    out
}

impl Question {
    /// Reads a datagram.
    ///
    /// # Errors
    /// It is no question in v1 or v2c that we know.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let raw = Raw::parse(bytes)?;
        let ask = match (raw.operation, raw.version) {
            (tag::GET, _) => Ask::Get,
            (tag::GET_NEXT, _) => Ask::GetNext,
            // A number below 0 means 0 (RFC 3416 §4.2.3).
            (tag::GET_BULK, Version::V2c) => Ask::GetBulk {
                non_repeaters: usize::try_from(raw.numbers.0).unwrap_or(0),
                max_repetitions: usize::try_from(raw.numbers.1).unwrap_or(0),
            },
            _ => return Err(Malformed::Operation),
        };
        Ok(Self {
            version: raw.version,
            community: raw.community,
            request_id: raw.request_id,
            ask,
            names: raw.bindings.into_iter().map(|(name, _)| name).collect(),
        })
    }

    /// The question as a datagram.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let number = |number| i32::try_from(number).unwrap_or(i32::MAX);
        let (operation, numbers) = match self.ask {
            Ask::Get => (tag::GET, (0, 0)),
            Ask::GetNext => (tag::GET_NEXT, (0, 0)),
            Ask::GetBulk {
                non_repeaters,
                max_repetitions,
            } => (
                tag::GET_BULK,
                (number(non_repeaters), number(max_repetitions)),
            ),
        };
        write_message(
            (self.version, &self.community),
            (operation, self.request_id, numbers),
            self.names.iter().map(|name| (name, &Value::Null)),
        )
    }
}

impl Answer {
    /// Reads a datagram.
    ///
    /// # Errors
    /// It is no answer in v1 or v2c.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let raw = Raw::parse(bytes)?;
        if raw.operation != tag::RESPONSE {
            return Err(Malformed::Operation);
        }
        Ok(Self {
            version: raw.version,
            community: raw.community,
            request_id: raw.request_id,
            failed: Failed::of(raw.numbers.0, raw.numbers.1),
            bindings: raw.bindings,
        })
    }

    /// The answer as a datagram.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers = self.failed.map_or((0, 0), Failed::numbers);
        write_message(
            (self.version, &self.community),
            (tag::RESPONSE, self.request_id, numbers),
            self.bindings.iter().map(|(name, value)| (name, value)),
        )
    }
}
