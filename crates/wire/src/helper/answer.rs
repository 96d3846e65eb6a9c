//! What a helper says.

use super::{legacy, pairs};

/// Pairs in one answer, at most.
pub const PAIRS_MAX: usize = 256;

/// The result word of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `OK`; also `AF` of NTLM and Negotiate.
    Ok,
    /// `ERR`: no. Also `NA` of NTLM and Negotiate.
    Err,
    /// `BH`: the helper could not find out.
    Bh,
    /// `TT`: a challenge, in the pair `token`; the handshake goes on with the same child.
    Tt,
}

impl Verdict {
    /// As helpers write it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Err => "ERR",
            Self::Bh => "BH",
            Self::Tt => "TT",
        }
    }
}

/// Which older forms a line may have, beside those of today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// None. Basic, external ACLs, certificates.
    Plain,
    /// 32 hexadecimal digits alone are the pair `ha1`.
    Digest,
    /// `TT blob`, `AF user`, `NA reason`, `BH reason`.
    Ntlm,
    /// `TT token`, `AF token user`, `NA reason`, `BH reason`.
    Negotiate,
    /// Nothing at all, or a URL: the pair `rewrite-url`; `30x:URL`: `status` and `url`.
    UrlRewrite,
    /// Nothing at all, or a URL: the pair `store-id`.
    StoreId,
}

impl Dialect {
    /// Every one.
    pub const ALL: &'static [Self] = &[
        Self::Plain,
        Self::Digest,
        Self::Ntlm,
        Self::Negotiate,
        Self::UrlRewrite,
        Self::StoreId,
    ];
}

/// One `key=value` of an answer, decoded. A value may hold any byte but NUL written as `%00`:
/// check it before it goes anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Letters, digits, `-` and `_`.
    pub key: Vec<u8>,
    /// Without quotes and escapes.
    pub value: Vec<u8>,
}

/// A helper's answer, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The result word.
    pub verdict: Verdict,
    /// In the helper's order; a key may come more than once, and may be unknown.
    pub pairs: Vec<Pair>,
    /// What comes after the pairs, as it is; empty when nothing does.
    pub rest: Vec<u8>,
}

/// Why a line is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It begins with none of the result words, and this kind of helper has no form without.
    #[error("no result word")]
    NoVerdict,
    /// A quote isn't closed.
    #[error("a quote is not closed")]
    OpenQuote,
    /// More than [`PAIRS_MAX`].
    #[error("too many pairs")]
    TooManyPairs,
    /// `TT` without a token, or `AF` without a user.
    #[error("nothing after the result word")]
    Empty,
}

impl Answer {
    /// Parses a line without channel and terminator.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &[u8], dialect: Dialect) -> Result<Self, Malformed> {
        let line = line.trim_ascii();
        let length = line.iter().take_while(|b| !b.is_ascii_whitespace()).count();
        let (word, rest) = line.split_at_checked(length).unwrap_or((line, b""));
        let verdict = match (word, dialect) {
            (b"OK", _) => Verdict::Ok,
            (b"ERR", _) => Verdict::Err,
            (b"BH", _) => Verdict::Bh,
            (b"TT", _) => Verdict::Tt,
            (b"AF", Dialect::Ntlm | Dialect::Negotiate) => Verdict::Ok,
            (b"NA", Dialect::Ntlm | Dialect::Negotiate) => Verdict::Err,
            _ => return legacy::bare(line, dialect),
        };
        let mut answer = Self::new(verdict);
        let rest = pairs::take(
            legacy::after(word, rest, dialect, &mut answer)?,
            &mut answer.pairs,
        )?;
        if verdict == Verdict::Bh && !rest.is_empty() {
            if answer.pairs.len() == PAIRS_MAX {
                return Err(Malformed::TooManyPairs);
            }
            answer.push("message", rest);
        } else {
            answer.rest = rest.to_vec();
        }
        if verdict == Verdict::Tt && answer.get("token").is_none() {
            return Err(Malformed::Empty);
        }
        Ok(answer)
    }

    /// An answer without pairs.
    #[must_use]
    pub const fn new(verdict: Verdict) -> Self {
        Self {
            verdict,
            pairs: Vec::new(),
            rest: Vec::new(),
        }
    }

    /// The first value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        let pair = self.pairs.iter().find(|p| p.key == key.as_bytes())?;
        Some(&pair.value)
    }

    /// Every value of a key, in order; `group` and `tag` may come more than once.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let same = self.pairs.iter().filter(move |p| p.key == key.as_bytes());
        same.map(|pair| pair.value.as_slice())
    }

    pub(super) fn push(&mut self, key: &str, value: &[u8]) {
        self.pairs.push(Pair {
            key: key.into(),
            value: value.to_vec(),
        });
    }

    /// The answer as a helper of today writes it, without terminator. Values that hold a terminator
    /// other than LF don't survive.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = self.verdict.word().as_bytes().to_vec();
        for pair in &self.pairs {
            line.push(b' ');
            pairs::write(pair, &mut line);
        }
        if !self.rest.is_empty() {
            line.push(b' ');
            line.extend_from_slice(&self.rest);
        }
        line
    }
}
