//! `key=value` pairs of an answer.

use percent_encoding::percent_decode;

use super::answer::{Malformed, PAIRS_MAX, Pair};

/// Takes pairs off the front of `line`; what comes after the last of them is the rest.
pub(super) fn take<'a>(mut line: &'a [u8], pairs: &mut Vec<Pair>) -> Result<&'a [u8], Malformed> {
    loop {
        line = line.trim_ascii_start();
        let Some((key, after)) = key(line) else {
            return Ok(line);
        };
        let (value, after) = value(after)?;
        if pairs.len() == PAIRS_MAX {
            return Err(Malformed::TooManyPairs);
        }
        pairs.push(Pair {
            key: key.to_vec(),
            value,
        });
        line = after;
    }
}

/// A key and what comes after its `=`.
fn key(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = line.iter().take_while(|byte| is_key(byte)).count();
    let (key, after) = line.split_at_checked(length)?;
    let after = after.strip_prefix(b"=")?;
    (!key.is_empty()).then_some((key, after))
}

/// A value up to the next blank outside of quotes. `%XX` counts unless it begins with a quote, `\`
/// only inside quotes; quotes may begin anywhere. An open quote may be the sign of a lost end of
/// line, so it isn't guessed at, as Squid does.
fn value(line: &[u8]) -> Result<(Vec<u8>, &[u8]), Malformed> {
    let mut value = Vec::new();
    let mut quoted = false;
    let mut bytes = line.iter().enumerate();
    let mut end = line.len();
    while let Some((at, &byte)) = bytes.next() {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => {
                let (_, &escaped) = bytes.next().ok_or(Malformed::OpenQuote)?;
                value.push(unescape(escaped));
            }
            _ if byte.is_ascii_whitespace() && !quoted => {
                end = at;
                break;
            }
            _ => value.push(byte),
        }
    }
    if quoted {
        return Err(Malformed::OpenQuote);
    }
    if !line.starts_with(b"\"") {
        value = decode(&value);
    }
    Ok((value, line.get(end..).unwrap_or_default()))
}

fn unescape(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        _ => byte,
    }
}

/// `%XX` decoded; `%00` and what isn't hexadecimal stays.
fn decode(value: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(value.len());
    let mut pieces = value.split(|&byte| byte == b'%');
    decoded.extend_from_slice(pieces.next().unwrap_or_default());
    for piece in pieces {
        let escape = [b"%", piece].concat();
        if piece.starts_with(b"00") {
            decoded.extend(escape);
        } else {
            decoded.extend(percent_decode(&escape));
        }
    }
    decoded
}

/// Writes a value so that [`take`] reads the same.
pub(super) fn write(pair: &Pair, out: &mut Vec<u8>) {
    out.extend_from_slice(&pair.key);
    out.extend(b"=\"");
    for &byte in &pair.value {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
