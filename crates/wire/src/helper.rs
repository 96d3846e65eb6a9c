//! The line protocols of helper programs: authenticators, external ACLs, URL rewriters, store-ID
//! and certificate helpers. `proxy::helpers` reads and writes the lines; stations word the
//! questions and give the answers their meaning.
//!
//! A question is `[channel SP] words`, an answer `[channel SP] verdict [key=value …] [rest]`.
//! Forms that older helpers speak become the present form here, so that nobody else knows them.

mod answer;
mod legacy;
mod lines;
mod pairs;
mod quote;

pub use answer::{Answer, Dialect, Malformed, PAIRS_MAX, Pair, Verdict};
pub use lines::{Lines, TooLong, split_channel, write_question};
pub use quote::{Quoting, quote};

/// Bytes arrive in pieces, become lines, and each line an answer or none: in whichever pieces, the
/// lines are the same. A decoded answer survives being written in today's form and parsed again.
///
/// # Panics
/// When it doesn't.
pub fn fuzz(data: &[u8]) {
    let (Some(&first), rest) = (data.first(), data.get(1..).unwrap_or_default()) else {
        return;
    };
    let in_pieces = split(rest, usize::from(first) + 1);
    assert_eq!(in_pieces, split(rest, rest.len().max(1)));
    for line in &in_pieces {
        let bare = split_channel(line).map_or(line.as_slice(), |(_, rest)| rest);
        for dialect in Dialect::ALL {
            if let Ok(answer) = Answer::parse(bare, *dialect) {
                let again = Answer::parse(&answer.to_line(), Dialect::Plain);
                assert_eq!(again.as_ref(), Ok(&answer), "{dialect:?}");
            }
        }
    }
    for style in Quoting::ALL {
        let mut out = Vec::new();
        quote(*style, rest, &mut out);
        assert!(!out.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0)));
    }
}

/// The lines of `bytes` when they come `size` at a time, up to one that is too long.
fn split(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut lines = Lines::new(b'\n', 64);
    let mut found = Vec::new();
    for piece in bytes.chunks(size) {
        lines.push(piece);
        loop {
            match lines.next_line() {
                Ok(Some(line)) => found.push(line.to_vec()),
                Ok(None) => break,
                Err(TooLong) => return found,
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
