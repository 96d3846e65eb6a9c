//! Bytes ⇄ messages: HTTP/1 heads, framing and bodies, request targets, field values, the lines
//! of helper programs, and SNMP.
//!
//! Used by every crate that sees a message. Nothing here does I/O, starts a task, or reads a
//! clock; each parser takes bytes and gives a value or an error, and never panics on input.
//! Follows RFC 9110, RFC 9111 (directives) and RFC 9112, strict by default.
//!
//! Each parser has a `fuzz` function: any bytes either fail to parse, or give a value that
//! survives being written and parsed again. The targets in `fuzz/` and the corpus tests call it.

pub mod field;
pub mod helper;
pub mod http1;
pub mod snmp;
pub mod target;
pub mod value;

mod chars;

pub use field::{FieldId, FieldLine, Fields};
pub use target::Target;
