//! Regular expressions that stand for a few plain texts: `ads\.`, `^https?://(www\.)?example\.com/`, `(^|\.)example\.net$`.
//! Most lines of real block lists are such, and plain texts are cheap in any number. What is not recognised here goes
//! to [`ere`](super::ere), which also says what is wrong with it.

/// A text, perhaps bound to the start or the end of what is searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Literal {
    /// The bytes; not empty.
    pub(crate) text: Vec<u8>,
    /// Written with `^`.
    pub(crate) at_start: bool,
    /// Written with `$`.
    pub(crate) at_end: bool,
}

/// Texts that one pattern may stand for.
const TEXTS_MAX: usize = 16;
/// Longest text.
const TEXT_BYTES_MAX: usize = 1024;
/// Groups within groups.
const DEPTH_MAX: u8 = 8;

/// The texts of which a match is one, or `None` when the pattern says more than that.
pub(crate) fn literals(pattern: &[u8]) -> Option<Vec<Literal>> {
    let mut reader = Reader {
        rest: pattern,
        depth: 0,
    };
    let texts = reader.alternatives()?;
    let whole = reader.rest.is_empty() && texts.iter().all(|literal| !literal.text.is_empty());
    whole.then_some(texts)
}

struct Reader<'p> {
    rest: &'p [u8],
    depth: u8,
}

impl Reader<'_> {
    fn eat(&mut self, text: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Branches between bars, up to the end or to the parenthesis that closes the group.
    fn alternatives(&mut self) -> Option<Vec<Literal>> {
        let mut all = self.branch()?;
        while self.eat(b"|") {
            all.append(&mut self.branch()?);
        }
        (all.len() <= TEXTS_MAX).then_some(all)
    }

    fn branch(&mut self) -> Option<Vec<Literal>> {
        let mut texts = vec![Literal::default()];
        // Whatever comes before or after may be anything: the same as not to ask. Groups may have neighbours.
        if self.depth == 0 && !self.eat(b"^.*") {
            self.eat(b".*");
        }
        while let Some((&byte, rest)) = self.rest.split_first() {
            if matches!(byte, b'|' | b')') {
                break;
            }
            if self.depth == 0 && self.eat(b".*") {
                self.eat(b"$");
                return matches!(self.rest.first(), None | Some(b'|')).then_some(texts);
            }
            self.rest = rest;
            let piece = match byte {
                b'(' => self.group()?,
                b'^' | b'$' => vec![Literal {
                    text: Vec::new(),
                    at_start: byte == b'^',
                    at_end: byte == b'$',
                }],
                _ => {
                    let one = self.character(byte)?;
                    if !self.repeats() {
                        append(&mut texts, one)?;
                        continue;
                    }
                    vec![Literal {
                        text: vec![one],
                        ..Literal::default()
                    }]
                }
            };
            texts = joined(&texts, &self.perhaps_optional(piece, byte)?)?;
        }
        Some(texts)
    }

    /// The piece with the operator behind it: `?` makes it optional, others say more than we do.
    fn perhaps_optional(&mut self, mut piece: Vec<Literal>, first: u8) -> Option<Vec<Literal>> {
        if !matches!(first, b'^' | b'$') && self.eat(b"?") {
            piece.push(Literal::default());
        }
        (!self.repeats()).then_some(piece)
    }

    fn repeats(&self) -> bool {
        matches!(self.rest.first(), Some(b'*' | b'+' | b'?' | b'{'))
    }

    fn group(&mut self) -> Option<Vec<Literal>> {
        self.depth += 1;
        let inner = (self.depth <= DEPTH_MAX).then(|| self.alternatives())??;
        self.depth -= 1;
        self.eat(b")").then_some(inner)
    }

    /// The one byte that stands here: itself, behind a backslash, or alone in brackets.
    fn character(&mut self, byte: u8) -> Option<u8> {
        match byte {
            b'*' | b'+' | b'?' | b'{' | b'.' => None,
            b'[' => match *self.rest {
                [one, b']', ref rest @ ..] if !matches!(one, b'^' | b'[' | b']') => {
                    self.rest = rest;
                    Some(one)
                }
                _ => None,
            },
            b'\\' => {
                let (&escaped, rest) = self.rest.split_first()?;
                self.rest = rest;
                let special = escaped.is_ascii_alphanumeric()
                    || matches!(escaped, b'<' | b'>' | b'`' | b'\'');
                (!special).then_some(escaped)
            }
            _ => Some(byte),
        }
    }
}

/// The most usual piece: one byte behind each text.
fn append(texts: &mut [Literal], byte: u8) -> Option<()> {
    for literal in texts {
        if literal.at_end || literal.text.len() == TEXT_BYTES_MAX {
            return None;
        }
        literal.text.push(byte);
    }
    Some(())
}

/// Each of the first followed by each of the second.
fn joined(first: &[Literal], second: &[Literal]) -> Option<Vec<Literal>> {
    if first.len() * second.len() > TEXTS_MAX {
        return None;
    }
    let mut all = Vec::with_capacity(first.len() * second.len());
    for left in first {
        for right in second {
            let misplaced =
                right.at_start && !left.text.is_empty() || left.at_end && !right.text.is_empty();
            if misplaced || left.text.len() + right.text.len() > TEXT_BYTES_MAX {
                return None;
            }
            all.push(Literal {
                text: [&*left.text, &*right.text].concat(),
                at_start: left.at_start || right.at_start,
                at_end: left.at_end || right.at_end,
            });
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, expected: &[&str]) {
        let found = literals(pattern.as_bytes()).map(|texts| {
            let written = texts.iter().map(|literal| {
                let text = String::from_utf8_lossy(&literal.text);
                let start = if literal.at_start { "^" } else { "" };
                let end = if literal.at_end { "$" } else { "" };
                format!("{start}{text}{end}")
            });
            written.collect::<Vec<_>>()
        });
        assert_eq!(found.unwrap_or_default(), expected, "{pattern}");
    }

    #[test]
    fn plain_texts_are_found_behind_their_operators() {
        check("ads", &["ads"]);
        check(r"ads[.]ex\.com/\?x", &["ads.ex.com/?x"]);
        check(r"^https?://ads\.", &["^https://ads.", "^http://ads."]);
        check(r"(^|\.)ex\.net$", &["^ex.net$", ".ex.net$"]);
        check("(www|ftp)?x|y", &["wwwx", "ftpx", "x", "y"]);
        check(r"\.(gif|jpe?g)$", &[".gif$", ".jpeg$", ".jpg$"]);
        check("^.*banner.*", &["banner"]);
        check(".*banner.*$", &["banner"]);
        check("^é]}$", &["^é]}$"]);
    }

    #[test]
    fn what_says_more_is_left_to_the_engine() {
        for pattern in [
            "",
            "^",
            "a*",
            "a+b",
            "a.b",
            "a{2}",
            "[ab]",
            "a.*b",
            "(.*a)b",
            "a|",
            "()",
            "(a",
            "a)",
            "a\\",
            r"\d",
            r"\<a",
            r"(a)\1",
            "a??",
            "a^b",
            "a$b",
            "^*a",
            "*a",
            "(a?b?c?){2}",
            "a?b?c?d?e?f",
            "[^a]",
            "[[:alpha:]]",
            "(((((((((a)))))))))",
        ] {
            check(pattern, &[]);
        }
    }
}
