//! A response's head as it lies on disk. Of a small response it is the larger part of what is stored beside the body, and most of
//! it is what all heads have: such pieces take a byte, dates five.
//!
//! | byte | what |
//! | --- | --- |
//! | 1 | a date follows: seconds since 1970, 4 bytes |
//! | 2 | a byte follows that stands for itself |
//! | 128 and more | a piece |
//! | others | stand for themselves |
//!
//! Before all of that stands how many bytes it is when it is written out.

use wire::value::date::{self, DATE_BYTES};

use super::number;

const DATE: u8 = 1;
const PLAIN: u8 = 2;
const PIECE: u8 = 128;
/// No head of a response that is stored is larger.
const BYTES_MAX: u64 = 1 << 20;

/// In the order of their bytes. A change to them is another format.
#[rustfmt::skip]
const PIECES: [&[u8]; 110] = [
    b"\r\n",
    b"\r\nAccept-Ranges: ",
    b"\r\nAccess-Control-Allow-Credentials: ",
    b"\r\nAccess-Control-Allow-Headers: ",
    b"\r\nAccess-Control-Allow-Methods: ",
    b"\r\nAccess-Control-Allow-Origin: ",
    b"\r\nAccess-Control-Expose-Headers: ",
    b"\r\nAge: ",
    b"\r\nAlt-Svc: ",
    b"\r\nCDN-Cache-Control: ",
    b"\r\nCache-Control: ",
    b"\r\nCache-Tag: ",
    b"\r\nContent-Disposition: ",
    b"\r\nContent-Encoding: ",
    b"\r\nContent-Language: ",
    b"\r\nContent-Length: ",
    b"\r\nContent-Location: ",
    b"\r\nContent-MD5: ",
    b"\r\nContent-Security-Policy: ",
    b"\r\nContent-Type: ",
    b"\r\nCross-Origin-Resource-Policy: ",
    b"\r\nDate: ",
    b"\r\nETag: ",
    b"\r\nExpires: ",
    b"\r\nLast-Modified: ",
    b"\r\nLink: ",
    b"\r\nP3P: ",
    b"\r\nPragma: ",
    b"\r\nReferrer-Policy: ",
    b"\r\nServer: ",
    b"\r\nSet-Cookie: ",
    b"\r\nStrict-Transport-Security: ",
    b"\r\nSurrogate-Key: ",
    b"\r\nTiming-Allow-Origin: ",
    b"\r\nVary: ",
    b"\r\nVia: ",
    b"\r\nX-Cache: ",
    b"\r\nX-Content-Type-Options: ",
    b"\r\nX-Frame-Options: ",
    b"\r\nX-Powered-By: ",
    b"\r\nX-XSS-Protection: ",
    b"\r\naccept-ranges: ",
    b"\r\naccess-control-allow-origin: ",
    b"\r\nage: ",
    b"\r\nalt-svc: ",
    b"\r\ncache-control: ",
    b"\r\ncontent-encoding: ",
    b"\r\ncontent-length: ",
    b"\r\ncontent-type: ",
    b"\r\ncross-origin-resource-policy: ",
    b"\r\ndate: ",
    b"\r\netag: ",
    b"\r\nexpires: ",
    b"\r\nlast-modified: ",
    b"\r\nserver: ",
    b"\r\nstrict-transport-security: ",
    b"\r\nvary: ",
    b"\r\nvia: ",
    b"\r\nx-content-type-options: ",
    b"*",
    b", immutable",
    b", must-revalidate",
    b", public",
    b"31536000",
    b"3600",
    b"604800",
    b"86400",
    b"; charset=UTF-8",
    b"; charset=utf-8",
    b";charset=UTF-8",
    b";charset=utf-8",
    b"Accept-Encoding",
    b"Apache",
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 301 Moved Permanently",
    b"HTTP/1.1 404 Not Found",
    b"application/javascript",
    b"application/json",
    b"application/octet-stream",
    b"application/pdf",
    b"application/x-javascript",
    b"application/xml",
    b"application/zip",
    b"audio/mpeg",
    b"br",
    b"bytes",
    b"cross-origin",
    b"font/woff",
    b"font/woff2",
    b"gzip",
    b"image/avif",
    b"image/gif",
    b"image/jpeg",
    b"image/png",
    b"image/svg+xml",
    b"image/webp",
    b"max-age=",
    b"nginx",
    b"no-cache",
    b"nosniff",
    b"private, max-age=",
    b"public",
    b"public, max-age=",
    b"text/css",
    b"text/html",
    b"text/javascript",
    b"text/plain",
    b"text/xml",
    b"video/mp2t",
    b"video/mp4",
];

/// Appends it.
pub(super) fn write(head: &[u8], out: &mut Vec<u8>) {
    number::write(head.len() as u64, out);
    let mut rest = head;
    // Pieces begin where lines do, and after one another.
    let mut may_be_piece = true;
    while let Some((byte, after)) = rest.split_first() {
        let here = may_be_piece || *byte == b'\r';
        let longer = here.then(|| shortened(rest, out)).flatten();
        may_be_piece = longer.is_some();
        rest = longer.unwrap_or(after);
        if !may_be_piece {
            if matches!(*byte, DATE | PLAIN | PIECE..) {
                out.push(PLAIN);
            }
            out.push(*byte);
        }
    }
}

/// Appends what stands for the beginning of `text`, if anything does, and gives the rest.
fn shortened<'t>(text: &'t [u8], out: &mut Vec<u8>) -> Option<&'t [u8]> {
    if let Some((code, rest)) = piece(text) {
        out.push(code);
        return Some(rest);
    }
    let (value, rest) = text.split_at_checked(DATE_BYTES)?;
    let secs = value.ends_with(b" GMT").then(|| date::parse(value))??;
    let mut again = Vec::with_capacity(DATE_BYTES);
    date::write(secs, &mut again);
    let secs = u32::try_from(secs).ok().filter(|_| again == value)?;
    out.push(DATE);
    out.extend_from_slice(&secs.to_le_bytes());
    Some(rest)
}

/// The longest piece that `text` begins with: its code, and the rest.
fn piece(text: &[u8]) -> Option<(u8, &[u8])> {
    let mut like = text;
    loop {
        // What `like` begins with isn't behind it, and what lies between begins with that too.
        let place = PIECES
            .partition_point(|piece| *piece <= like)
            .checked_sub(1)?;
        let piece = PIECES.get(place)?;
        if let Some(rest) = text.strip_prefix(*piece) {
            return Some((PIECE | u8::try_from(place).ok()?, rest));
        }
        let same = piece.iter().zip(like).take_while(|(a, b)| a == b).count();
        like = like.get(..same).filter(|like| !like.is_empty())?;
    }
}

/// What [`write`] wrote, all of it; `None` for anything else.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut rest = bytes;
    let length = number::take(&mut rest).filter(|length| *length <= BYTES_MAX)?;
    let length = usize::try_from(length).ok()?;
    let mut head = Vec::with_capacity(length);
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match *byte {
            DATE => {
                let (secs, after) = rest.split_first_chunk()?;
                date::write(u32::from_le_bytes(*secs).into(), &mut head);
                rest = after;
            }
            PLAIN => {
                let (byte, after) = rest.split_first()?;
                head.push(*byte);
                rest = after;
            }
            PIECE.. => head.extend_from_slice(PIECES.get(usize::from(byte - PIECE))?),
            _ => head.push(*byte),
        }
        if head.len() > length {
            return None;
        }
    }
    (head.len() == length).then_some(head)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(head: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write(head, &mut out);
        out
    }

    #[test]
    fn pieces_are_in_order() {
        assert!(PIECES.is_sorted_by(|one, other| one < other));
        for (place, piece) in PIECES.iter().enumerate() {
            assert_eq!(written(piece)[1..], [PIECE + u8::try_from(place).unwrap()]);
        }
    }

    #[test]
    fn a_usual_head_takes_a_third() {
        let head = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 21 Nov 2026 01:02:03 GMT\r\n\
            Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nETag: \"5f3c-18a\"\r\n\
            Cache-Control: public, max-age=86400\r\nContent-Type: text/html; charset=utf-8\r\n\
            X-Own: Thu, 01-Jan-2026 00:00:00 GMT\x01\x80\r\nContent-Length: 2345\r\n";
        let bytes = written(head);
        assert!(
            bytes.len() * 3 < head.len(),
            "{} of {}",
            bytes.len(),
            head.len()
        );
        assert_eq!(read(&bytes).unwrap(), head);
        assert!((0..bytes.len()).all(|end| read(&bytes[..end]).is_none()));
    }

    #[test]
    fn the_longest_piece_is_taken() {
        for (text, rest) in [
            ("text/htmlx", "x"),
            ("text/htm", "text/htm"),
            ("max-age=86", "86"),
            ("\r\nX-Cachet: 1", "X-Cachet: 1"),
            ("\r\nX-Cache: 1", "1"),
            ("", ""),
        ] {
            let left = piece(text.as_bytes()).map_or(text.as_bytes(), |(_, left)| left);
            assert_eq!(left, rest.as_bytes(), "{text}");
        }
    }

    /// Of lines, dates and anything.
    fn head() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(PIECES.to_vec()).prop_map(<[u8]>::to_vec);
        let date = any::<u32>().prop_map(|secs| {
            let mut out = Vec::new();
            date::write(secs.into(), &mut out);
            out
        });
        let any = prop::collection::vec(any::<u8>(), 0..8);
        prop::collection::vec(prop_oneof![piece, date, any], 0..20).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(head in head()) {
            prop_assert_eq!(read(&written(&head)), Some(head));
        }

        #[test]
        fn any_bytes_are_read_without_a_fault(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(head) = read(&bytes) {
                prop_assert!(read(&written(&head)) == Some(head));
            }
        }
    }
}
