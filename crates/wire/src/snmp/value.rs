//! What a name stands for.

use super::ber::{self, Malformed, tag};
use super::oid::Oid;

/// A value with its type (RFC 2578 §7, RFC 3416 §3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing: in questions.
    Null,
    /// `INTEGER`, `Integer32`.
    Integer(i32),
    /// `OCTET STRING`.
    Octets(Vec<u8>),
    /// `OBJECT IDENTIFIER`.
    ObjectId(Oid),
    /// `IpAddress`: IPv4.
    IpAddress([u8; 4]),
    /// `Counter32`; wraps.
    Counter(u32),
    /// `Gauge32`.
    Gauge(u32),
    /// `TimeTicks`: hundredths of a second; wraps.
    Ticks(u32),
    /// `Counter64`; not in v1.
    Counter64(u64),
    /// Exception of v2c: the agent doesn't know the name.
    NoSuchObject,
    /// Exception of v2c: the agent knows the name, but not this row.
    NoSuchInstance,
    /// Exception of v2c: no name follows.
    EndOfMibView,
}

impl Value {
    pub(super) fn parse(found: u8, content: &[u8]) -> Result<Self, Malformed> {
        let narrow = || {
            let wide = ber::unsigned(content)?;
            u32::try_from(wide).map_err(|_| Malformed::Number)
        };
        let nothing = |value| match content {
            [] => Ok(value),
            _ => Err(Malformed::Surplus),
        };
        Ok(match found {
            tag::NULL => nothing(Self::Null)?,
            tag::INTEGER => Self::Integer(ber::signed(content)?),
            tag::OCTET_STRING => Self::Octets(content.to_vec()),
            tag::OBJECT_ID => Self::ObjectId(Oid::parse(content)?),
            tag::IP_ADDRESS => Self::IpAddress(content.try_into().map_err(|_| Malformed::Number)?),
            tag::COUNTER32 => Self::Counter(narrow()?),
            tag::GAUGE32 => Self::Gauge(narrow()?),
            tag::TIME_TICKS => Self::Ticks(narrow()?),
            tag::COUNTER64 => Self::Counter64(ber::unsigned(content)?),
            tag::NO_SUCH_OBJECT => nothing(Self::NoSuchObject)?,
            tag::NO_SUCH_INSTANCE => nothing(Self::NoSuchInstance)?,
            tag::END_OF_MIB_VIEW => nothing(Self::EndOfMibView)?,
            _ => return Err(Malformed::Tag),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => ber::write(out, tag::NULL, |_| ()),
            Self::Integer(value) => ber::write_signed(out, tag::INTEGER, i64::from(*value)),
            Self::Octets(octets) => {
                ber::write(out, tag::OCTET_STRING, |out| out.extend_from_slice(octets));
            }
            Self::ObjectId(oid) => oid.write(out),
            Self::IpAddress(octets) => ber::write(out, tag::IP_ADDRESS, |out| out.extend(octets)),
            Self::Counter(value) => ber::write_unsigned(out, tag::COUNTER32, u64::from(*value)),
            Self::Gauge(value) => ber::write_unsigned(out, tag::GAUGE32, u64::from(*value)),
            Self::Ticks(value) => ber::write_unsigned(out, tag::TIME_TICKS, u64::from(*value)),
            Self::Counter64(value) => ber::write_unsigned(out, tag::COUNTER64, *value),
            Self::NoSuchObject => ber::write(out, tag::NO_SUCH_OBJECT, |_| ()),
            Self::NoSuchInstance => ber::write(out, tag::NO_SUCH_INSTANCE, |_| ()),
            Self::EndOfMibView => ber::write(out, tag::END_OF_MIB_VIEW, |_| ()),
        }
    }
}
