//! SNMP v1 and v2c as an agent needs it (RFC 1157, RFC 1901, RFC 3416): questions that read, and
//! their answers. What sets values, traps, informs or speaks v3 doesn't parse; nobody here would
//! know an answer. `admin::snmp` uses it.

mod ber;
mod message;
mod oid;
mod value;

pub use ber::Malformed;
pub use message::{Answer, Ask, BINDINGS_MAX, COMMUNITY_BYTES_MAX, Failed, Question, Version};
pub use oid::{ARCS_MAX, NotAnOid, Oid};
pub use value::Value;

/// What parses as a question or an answer survives being written and parsed again.
///
/// # Panics
/// When it doesn't.
pub fn fuzz(data: &[u8]) {
    if let Ok(question) = Question::parse(data) {
        assert_eq!(Question::parse(&question.to_bytes()), Ok(question));
    }
    if let Ok(answer) = Answer::parse(data) {
        assert_eq!(Answer::parse(&answer.to_bytes()), Ok(answer));
    }
}

#[cfg(test)]
mod tests;
