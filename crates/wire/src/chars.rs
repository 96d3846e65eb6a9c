//! Character classes of RFC 9110 §5.6 that several parsers share.

/// `tchar` of RFC 9110 §5.6.2 as a table.
static TCHAR: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte: u8 = 0;
    while byte < 128 {
        #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
        {
            table[byte as usize] = byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'!' | b'#'
                        | b'$'
                        | b'%'
                        | b'&'
                        | b'\''
                        | b'*'
                        | b'+'
                        | b'-'
                        | b'.'
                        | b'^'
                        | b'_'
                        | b'`'
                        | b'|'
                        | b'~'
                );
        }
        byte += 1;
    }
    table
};

/// Is the byte allowed in a token?
pub(crate) fn is_tchar(byte: u8) -> bool {
    TCHAR.get(usize::from(byte)).copied().unwrap_or(false)
}

/// Is this a non-empty token (RFC 9110 §5.6.2)?
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| is_tchar(byte))
}

/// May the byte stand in a field value (RFC 9110 §5.5)? Everything but controls; HTAB may.
pub(crate) fn is_field_value_byte(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Are all bytes allowed in a field value? Eight are looked at together; only where a control is among them, each by
/// itself.
pub(crate) fn is_field_value(bytes: &[u8]) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().all(|word| {
        let bytes = u64::from_le_bytes(*word);
        let is_del = bytes ^ (0x7f * EACH);
        let below_space = bytes.wrapping_sub(0x20 * EACH) & !bytes;
        let del = is_del.wrapping_sub(EACH) & !is_del;
        (below_space | del) & HIGH == 0 || word.iter().all(|&byte| is_field_value_byte(byte))
    }) && rest.iter().all(|&byte| is_field_value_byte(byte))
}

/// Optional white space of HTTP: SP and HTAB, nothing else.
pub(crate) fn is_ows(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// The slice without OWS at either end. Unlike `trim_ascii` it leaves VT, FF, CR and LF alone.
pub(crate) fn trim_ows(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_ows(*first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && is_ows(*last)
    {
        bytes = rest;
    }
    bytes
}

/// `1*DIGIT` as a number; `None` for anything else, and when it doesn't fit.
pub(crate) fn decimal(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0_u64, |sum, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// `1*DIGIT` as a number that stops at `u64::MAX`; `None` when it isn't all digits.
pub(crate) fn decimal_saturating(bytes: &[u8]) -> Option<u64> {
    let all_digits = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    all_digits.then(|| decimal(bytes).unwrap_or(u64::MAX))
}

/// Splits at the first occurrence of `at`: the bytes before and after it.
pub(crate) fn split_once(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let (before, from) = bytes.split_at_checked(memchr::memchr(at, bytes)?)?;
    Some((before, from.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_is_what_its_bytes_are(
            bytes in prop::collection::vec(
                prop_oneof![Just(b'a'), Just(b' '), Just(b'\t'), Just(0x80), any::<u8>()], 0..20
            ),
        ) {
            let each = bytes.iter().all(|&byte| is_field_value_byte(byte));
            prop_assert_eq!(is_field_value(&bytes), each);
        }
    }
}
