//! Numbers in as few bytes as they need: seven bits in each, the lowest first; the highest bit says that there are more.

/// Bytes of the largest number.
const BYTES_MAX: u32 = 10;

/// Appends it.
pub(super) fn write(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

/// The same of a number that may be below 0: small ones of either sign take few bytes.
pub(super) fn write_signed(number: i64, out: &mut Vec<u8>) {
    write((number << 1 ^ number >> 63).cast_unsigned(), out);
}

/// The number that `rest` begins with.
pub(super) fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..BYTES_MAX {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// See [`write_signed`].
pub(super) fn take_signed(rest: &mut &[u8]) -> Option<i64> {
    let bits = take(rest)?;
    Some((bits >> 1).cast_signed() ^ -((bits & 1).cast_signed()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(number: u64, shift in 0..64_u32, signed: i64) {
            let mut out = Vec::new();
            write(number >> shift, &mut out);
            prop_assert!(out.len() <= (70 - shift as usize) / 7 + 1);
            write_signed(signed >> shift, &mut out);
            let mut rest = out.as_slice();
            prop_assert_eq!(take(&mut rest), Some(number >> shift));
            prop_assert_eq!(take_signed(&mut rest), Some(signed >> shift));
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn what_has_no_end_is_no_number() {
        assert_eq!(take(&mut &[0x80; 20][..]), None);
        assert_eq!(take(&mut &[0x80][..]), None);
        for number in [i64::MIN, -1, 0, 1, i64::MAX] {
            let mut out = Vec::new();
            write_signed(number, &mut out);
            assert_eq!(take_signed(&mut out.as_slice()), Some(number));
        }
    }
}
