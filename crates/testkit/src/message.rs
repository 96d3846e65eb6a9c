//! Message heads and bodies, read strictly: what RFC 9112 forbids to send is an error here.

use std::fmt;

use crate::bytes::Hasher;

/// The head of a request or a response, as it came.
#[derive(Clone, PartialEq, Eq)]
pub struct Head {
    /// Every byte of it, from the start line to the blank line.
    pub raw: Vec<u8>,
    /// The request line or the status line.
    pub start: String,
    /// The fields in their order and letter case; bytes that aren't ASCII as Latin-1.
    pub fields: Vec<(String, String)>,
}

impl Head {
    /// Reads a whole head; says what is wrong with it otherwise.
    pub(crate) fn parse(raw: &[u8]) -> Result<Self, String> {
        let wrong = |what: &str| format!("{what} in head {:?}", String::from_utf8_lossy(raw));
        let text: String = raw.iter().map(|byte| char::from(*byte)).collect();
        let text = text
            .strip_suffix("\r\n\r\n")
            .ok_or_else(|| wrong("no blank line"))?;
        let mut lines = text.split("\r\n");
        let start = lines.next().unwrap_or_default().to_owned();
        let fields = lines
            .map(parse_field)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| wrong("a bad field"))?;
        let bare = |line: &str| line.contains(['\r', '\n', '\0']);
        if bare(&start) || fields.iter().any(|(_, value)| bare(value)) {
            return Err(wrong("a bare CR, LF or NUL"));
        }
        Ok(Self {
            raw: raw.to_vec(),
            start,
            fields,
        })
    }

    /// The value of the first field of this name, whatever its letter case.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.all(name).into_iter().next()
    }

    /// The values of all fields of this name.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<&str> {
        let same = self
            .fields
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        same.map(|(_, value)| value.as_str()).collect()
    }

    /// Does a comma-separated list of fields of this name hold `token`?
    #[must_use]
    pub fn has(&self, name: &str, token: &str) -> bool {
        let all = self.all(name);
        let mut elements = all.iter().flat_map(|value| value.split(','));
        elements.any(|element| element.trim().eq_ignore_ascii_case(token))
    }

    /// How the body that follows is framed, if the head says so.
    pub(crate) fn framing(&self) -> Result<Option<Framing>, String> {
        let (lengths, codings) = (self.all("Content-Length"), self.all("Transfer-Encoding"));
        match (lengths.as_slice(), codings.as_slice()) {
            ([], []) => Ok(None),
            ([], [coding]) if coding.eq_ignore_ascii_case("chunked") => Ok(Some(Framing::Chunked)),
            ([length], [])
                if !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                let length = length
                    .parse()
                    .map_err(|_| format!("Content-Length {length}"))?;
                Ok(Some(Framing::Length(length)))
            }
            _ => Err(format!(
                "ambiguous framing: Content-Length {lengths:?}, Transfer-Encoding {codings:?}"
            )),
        }
    }
}

/// One field line; none if it is folded, or its name isn't a token.
pub(crate) fn parse_field(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let good = !name.is_empty() && name.bytes().all(token);
    good.then(|| (name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.raw))
    }
}

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

/// A body as it was received: counted and hashed whole, kept up to a limit.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The first bytes, up to the reader's limit.
    pub kept: Vec<u8>,
    /// How many bytes of content came.
    pub len: u64,
    /// The trailer fields of a chunked body.
    pub trailers: Vec<(String, String)>,
    /// The number of chunks with content.
    pub chunks: usize,
    hasher: Hasher,
}

impl Body {
    /// What [`hash`](crate::hash) gives for the content.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hasher.finish()
    }

    pub(crate) fn take(&mut self, piece: &[u8], keep: usize) {
        self.len += piece.len() as u64;
        self.hasher.update(piece);
        let room = keep.saturating_sub(self.kept.len());
        self.kept.extend(piece.iter().take(room));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(fields: &str) -> Result<Option<Framing>, String> {
        Head::parse(format!("HTTP/1.1 200 OK\r\n{fields}\r\n").as_bytes())?.framing()
    }

    #[test]
    fn a_head_keeps_order_and_case() {
        let head =
            Head::parse(b"GET / HTTP/1.1\r\nhOST: a\r\nVia: 1.1 b, 1.0 c\r\nvia: 1.1 d\r\n\r\n")
                .unwrap();
        assert_eq!(head.start, "GET / HTTP/1.1");
        assert_eq!(
            head.fields.first().unwrap(),
            &("hOST".to_owned(), "a".to_owned())
        );
        assert_eq!(head.all("VIA"), ["1.1 b, 1.0 c", "1.1 d"]);
        assert!(head.has("Via", "1.0 C") && head.has("Via", "1.1 d") && !head.has("Via", "1.1"));
    }

    #[test]
    fn bad_heads_are_refused() {
        for bad in [
            "A\r\nB : c\r\n\r\n",
            "A\r\nB: c\r\n d\r\n\r\n",
            "A\nB: c\r\n\r\n",
            "A\r\nB: c\rd\r\n\r\n",
            "A\r\n",
        ] {
            assert!(Head::parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn framing_must_be_plain() {
        assert_eq!(framing(""), Ok(None));
        assert_eq!(
            framing("Content-Length: 7\r\n"),
            Ok(Some(Framing::Length(7)))
        );
        assert_eq!(
            framing("Transfer-Encoding: Chunked\r\n"),
            Ok(Some(Framing::Chunked))
        );
        for bad in [
            "Content-Length: +7",
            "Content-Length: 7\r\nContent-Length: 7",
            "Transfer-Encoding: gzip, chunked",
        ] {
            assert!(framing(&format!("{bad}\r\n")).is_err(), "{bad}");
        }
        assert!(framing("Content-Length: 7\r\nTransfer-Encoding: chunked\r\n").is_err());
    }
}
