//! Path and query as they are kept: as sent, but visible ASCII only (RFC 3986 §3.3, §3.4).
//!
//! Nothing is decoded and no dot segment resolved: `%2F`, `//` and `/..` mean what the origin
//! says they mean. A `%` without two digits stays too, as browsers send it and origins take it.

use super::{BadTarget, UriWhitespace};

/// Appends path and query up to a fragment.
pub(super) fn push_path(
    path: &[u8],
    ws: UriWhitespace,
    out: &mut Vec<u8>,
) -> Result<(), BadTarget> {
    // The usual case in one pass that compiles to vector instructions.
    let plain = path.iter().fold(true, |plain, &byte| {
        plain & (byte > b' ') & (byte < 0x7f) & (byte != b'#')
    });
    if plain {
        out.extend_from_slice(path);
        return Ok(());
    }
    for &byte in path {
        match byte {
            b'#' => break,
            b' ' | b'\t' => match ws {
                UriWhitespace::Strip => {}
                UriWhitespace::Deny => return Err(BadTarget::Path),
                UriWhitespace::Allow | UriWhitespace::Encode => push_encoded(byte, out),
                UriWhitespace::Chop => break,
            },
            0..=0x1f | 0x7f => return Err(BadTarget::Path),
            0x80.. => push_encoded(byte, out),
            _ => out.push(byte),
        }
    }
    Ok(())
}

fn push_encoded(byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(percent_encoding::percent_encode_byte(byte).as_bytes());
}
