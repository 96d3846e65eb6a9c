//! The part of the Basic Encoding Rules (X.690) that SNMP uses: tag, definite length, content.

/// Tags of SNMP (RFC 2578, RFC 3416).
pub(super) mod tag {
    pub(in crate::snmp) const INTEGER: u8 = 0x02;
    pub(in crate::snmp) const OCTET_STRING: u8 = 0x04;
    pub(in crate::snmp) const NULL: u8 = 0x05;
    pub(in crate::snmp) const OBJECT_ID: u8 = 0x06;
    pub(in crate::snmp) const SEQUENCE: u8 = 0x30;
    pub(in crate::snmp) const IP_ADDRESS: u8 = 0x40;
    pub(in crate::snmp) const COUNTER32: u8 = 0x41;
    pub(in crate::snmp) const GAUGE32: u8 = 0x42;
    pub(in crate::snmp) const TIME_TICKS: u8 = 0x43;
    pub(in crate::snmp) const COUNTER64: u8 = 0x46;
    pub(in crate::snmp) const NO_SUCH_OBJECT: u8 = 0x80;
    pub(in crate::snmp) const NO_SUCH_INSTANCE: u8 = 0x81;
    pub(in crate::snmp) const END_OF_MIB_VIEW: u8 = 0x82;
    pub(in crate::snmp) const GET: u8 = 0xa0;
    pub(in crate::snmp) const GET_NEXT: u8 = 0xa1;
    pub(in crate::snmp) const RESPONSE: u8 = 0xa2;
    pub(in crate::snmp) const GET_BULK: u8 = 0xa5;
}

/// Octets of a length after the first. Nobody writes more than four, and 64 KiB is the most that a
/// datagram holds.
const LENGTH_OCTETS_MAX: usize = 4;

/// Why a datagram isn't a message that we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A value lies beyond the end of what holds it.
    #[error("a value is cut short")]
    Truncated,
    /// Bytes follow what should be the last value.
    #[error("bytes follow the message")]
    Surplus,
    /// A length without an end, or of too many octets.
    #[error("a length has a form that SNMP doesn't use")]
    Length,
    /// Another type than the message has at this place.
    #[error("a value has the wrong type")]
    Tag,
    /// A number is empty or too large for its type.
    #[error("a number is out of range")]
    Number,
    /// A name is empty, too long, or its parts are too large.
    #[error("an object identifier is malformed")]
    ObjectId,
    /// Neither v1 nor v2c.
    #[error("neither SNMP v1 nor v2c")]
    Version,
    /// Neither a question that reads nor an answer.
    #[error("an operation other than reading")]
    Operation,
    /// More names, or a longer community, than allowed.
    #[error("too many names, or too long a community")]
    TooMuch,
}

/// Takes values off the front of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next value's tag and content.
    pub(super) fn next(&mut self) -> Result<(u8, &'a [u8]), Malformed> {
        let (&tag, rest) = self.rest.split_first().ok_or(Malformed::Truncated)?;
        let (&first, rest) = rest.split_first().ok_or(Malformed::Truncated)?;
        let (length, rest) = match usize::from(first) {
            short @ 0..0x80 => (short, rest),
            long => read_length(long & 0x7f, rest)?,
        };
        let (content, rest) = rest.split_at_checked(length).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok((tag, content))
    }

    /// The content of the next value, which has this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Result<&'a [u8], Malformed> {
        match self.next()? {
            (found, content) if found == tag => Ok(content),
            _ => Err(Malformed::Tag),
        }
    }

    /// The next value, a signed number of 32 bits.
    pub(super) fn integer(&mut self) -> Result<i32, Malformed> {
        signed(self.expect(tag::INTEGER)?)
    }

    pub(super) const fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed::Surplus)
        }
    }
}

/// A length of `octets` octets; 0 of them would mean that it has no end.
fn read_length(octets: usize, rest: &[u8]) -> Result<(usize, &[u8]), Malformed> {
    if octets == 0 || octets > LENGTH_OCTETS_MAX {
        return Err(Malformed::Length);
    }
    let (octets, rest) = rest.split_at_checked(octets).ok_or(Malformed::Truncated)?;
    let length = octets
        .iter()
        .fold(0_u64, |sum, &octet| sum << 8 | u64::from(octet));
    let length = usize::try_from(length).map_err(|_| Malformed::Length)?;
    Ok((length, rest))
}

/// Two's complement, of whichever length that a number of 32 bits may have.
pub(super) fn signed(content: &[u8]) -> Result<i32, Malformed> {
    let (&first, _) = content.split_first().ok_or(Malformed::Number)?;
    if content.len() > 8 {
        return Err(Malformed::Number);
    }
    let sign = if first < 0x80 { 0 } else { -1 };
    let value = content
        .iter()
        .fold(sign, |sum: i64, &octet| sum << 8 | i64::from(octet));
    i32::try_from(value).map_err(|_| Malformed::Number)
}

/// A number without sign; a leading zero octet keeps its highest bit from being one.
pub(super) fn unsigned(content: &[u8]) -> Result<u64, Malformed> {
    let digits = match content {
        [] | [0x80..=0xff, ..] => return Err(Malformed::Number),
        [0, digits @ ..] => digits,
        digits => digits,
    };
    if digits.len() > 8 {
        return Err(Malformed::Number);
    }
    Ok(digits
        .iter()
        .fold(0, |sum, &octet| sum << 8 | u64::from(octet)))
}

/// Appends a value with its shortest length.
pub(super) fn write(out: &mut Vec<u8>, tag: u8, content: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let start = out.len();
    content(out);
    let length = out.len() - start;
    let octets = length.to_be_bytes();
    let skip = octets.iter().take_while(|&&octet| octet == 0).count();
    let significant = octets.into_iter().skip(skip);
    if length < 0x80 {
        let [short, ..] = length.to_le_bytes();
        out.insert(start, short);
    } else {
        let [count, ..] = (octets.len() - skip).to_le_bytes();
        let length = [0x80 | count].into_iter().chain(significant);
        drop(out.splice(start..start, length));
    }
}

/// Appends a signed number in as few octets as show its sign.
pub(super) fn write_signed(out: &mut Vec<u8>, tag: u8, value: i64) {
    let octets = value.to_be_bytes();
    let filler = if value < 0 { 0xff } else { 0 };
    let redundant = |pair: &[u8]| matches!(pair, [first, second] if *first == filler && (second ^ filler) < 0x80);
    let skip = octets.windows(2).take_while(|pair| redundant(pair)).count();
    write(out, tag, |out| out.extend(octets.into_iter().skip(skip)));
}

/// Appends a number without sign.
pub(super) fn write_unsigned(out: &mut Vec<u8>, tag: u8, value: u64) {
    match i64::try_from(value) {
        Ok(value) => write_signed(out, tag, value),
        Err(_) => write(out, tag, |out| {
            out.push(0);
            out.extend(value.to_be_bytes());
        }),
    }
}
