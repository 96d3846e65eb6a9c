//! POSIX extended regular expressions, as glibc reads them for Squid, into the syntax of the `regex` crate
//! (bytes mode, no Unicode). Also finds text that any match must contain, so that a set can be filtered at once.

/// A translated pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated {
    /// The pattern for `regex::bytes` with Unicode off and `.` matching newlines.
    pub regex: String,
    /// One text per alternative, of which a match must contain at least one; empty when there is no such list.
    pub required: Vec<Vec<u8>>,
    /// Holds `\d` or another escape that POSIX takes for the bare letter.
    pub letter_escape: Option<char>,
}

/// Why a pattern can't be used. The texts are those of the C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEre {
    /// A repetition with nothing before it.
    #[error("Invalid preceding regular expression")]
    Repetition,
    /// `[` without its `]`.
    #[error("Unmatched [, [^, [:, [., or [=")]
    Bracket,
    /// `(` without its `)`.
    #[error("Unmatched ( or \\(")]
    Group,
    /// `{` without its `}`.
    #[error("Unmatched \\{{")]
    Brace,
    /// What stands in braces isn't a count.
    #[error("Invalid content of \\{{\\}}")]
    Count,
    /// A range whose end comes before its start.
    #[error("Invalid range end")]
    Range,
    /// `[:name:]` with a name that isn't one.
    #[error("Invalid character class name")]
    ClassName,
    /// `[.name.]` with a name that isn't one byte.
    #[error("Invalid collation character")]
    Collation,
    /// Ends in a backslash.
    #[error("Trailing backslash")]
    Backslash,
    /// `\1` to `\9`.
    #[error("back-references are not supported")]
    BackReference,
    /// Counts of one pattern multiply to more than the engine takes.
    #[error("Regular expression too big")]
    TooBig,
}

/// Highest count in braces (RE_DUP_MAX of glibc).
const COUNT_MAX: u32 = 0x7fff;
/// Shorter texts aren't worth a filter.
const REQUIRED_BYTES_MIN: usize = 3;

/// Translates one pattern.
///
/// # Errors
/// The pattern isn't an extended regular expression, or refers back to a group.
pub fn translate(pattern: &str) -> Result<Translated, BadEre> {
    let mut t = Translator::new(pattern.as_bytes());
    while let Some(byte) = t.next() {
        t.token(byte)?;
    }
    t.finish()
}

/// What a repetition would apply to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Atom {
    /// Nothing that can be repeated: a start, an anchor.
    None,
    Literal,
    Other,
    Repeated,
}

struct Translator<'p> {
    input: &'p [u8],
    at: usize,
    out: String,
    groups: Vec<usize>,
    atom: Atom,
    atom_start: usize,
    run: Vec<u8>,
    best: Vec<u8>,
    required: Option<Vec<Vec<u8>>>,
    letter_escape: Option<char>,
}

impl<'p> Translator<'p> {
    fn new(input: &'p [u8]) -> Self {
        Self {
            input,
            at: 0,
            out: String::with_capacity(input.len() + 16),
            groups: Vec::new(),
            atom: Atom::None,
            atom_start: 0,
            run: Vec::new(),
            best: Vec::new(),
            required: Some(Vec::new()),
            letter_escape: None,
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn token(&mut self, byte: u8) -> Result<(), BadEre> {
        match byte {
            b'(' => {
                self.break_run();
                self.groups.push(self.out.len());
                self.out.push_str("(?:");
                self.atom = Atom::None;
            }
            b')' => match self.groups.pop() {
                Some(start) => {
                    self.out.push(')');
                    self.atom = Atom::Other;
                    self.atom_start = start;
                }
                None => self.literal(byte),
            },
            b'|' => {
                self.break_run();
                self.close_branch();
                self.out.push('|');
                self.atom = Atom::None;
            }
            b'^' => self.anchor("^"),
            b'$' => self.anchor("$"),
            b'*' => self.repeat("*", 0)?,
            b'+' => self.repeat("+", 1)?,
            b'?' => self.repeat("?", 0)?,
            b'{' => self.interval()?,
            b'.' => self.other("."),
            b'[' => {
                let class = self.bracket()?;
                self.other(&class);
            }
            b'\\' => self.escape()?,
            _ => self.literal(byte),
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), BadEre> {
        match self.next().ok_or(BadEre::Backslash)? {
            b'w' => self.other("[0-9A-Za-z_]"),
            b'W' => self.other("[^0-9A-Za-z_]"),
            b's' => self.other(r"[\t-\r ]"),
            b'S' => self.other(r"[^\t-\r ]"),
            b'b' => self.anchor(r"\b"),
            b'B' => self.anchor(r"\B"),
            b'<' => self.anchor(r"\b{start}"),
            b'>' => self.anchor(r"\b{end}"),
            b'`' => self.anchor(r"\A"),
            b'\'' => self.anchor(r"\z"),
            b'1'..=b'9' => return Err(BadEre::BackReference),
            byte => {
                if byte.is_ascii_alphabetic() {
                    self.letter_escape = Some(char::from(byte));
                }
                self.literal(byte);
            }
        }
        Ok(())
    }

    fn literal(&mut self, byte: u8) {
        self.atom_start = self.out.len();
        self.atom = Atom::Literal;
        if byte.is_ascii_alphanumeric() {
            self.out.push(char::from(byte));
        } else {
            push_byte(&mut self.out, byte);
        }
        if self.groups.is_empty() {
            self.run.push(byte);
        }
    }

    fn other(&mut self, text: &str) {
        self.break_run();
        self.atom_start = self.out.len();
        self.atom = Atom::Other;
        self.out.push_str(text);
    }

    fn anchor(&mut self, text: &str) {
        self.break_run();
        self.atom = Atom::None;
        self.out.push_str(text);
    }

    fn repeat(&mut self, operator: &str, at_least: u32) -> Result<(), BadEre> {
        // An operator behind this one repeats the repetition, and may do so no times at all.
        let optional = at_least == 0 || matches!(self.peek(), Some(b'*' | b'+' | b'?' | b'{'));
        match self.atom {
            Atom::None => return Err(BadEre::Repetition),
            // Here a second operator repeats the repetition; in the target syntax it would make it lazy.
            Atom::Repeated => {
                self.out.insert_str(self.atom_start, "(?:");
                self.out.push(')');
            }
            Atom::Literal if optional => {
                self.run.pop();
            }
            Atom::Literal | Atom::Other => {}
        }
        self.break_run();
        self.out.push_str(operator);
        self.atom = Atom::Repeated;
        Ok(())
    }

    fn interval(&mut self) -> Result<(), BadEre> {
        if self.atom == Atom::None {
            return Err(BadEre::Repetition);
        }
        let low = self.count()?;
        let high = if self.eat(b',') { self.count()? } else { low };
        let one_number = self.input.get(self.at.wrapping_sub(1)) != Some(&b',');
        match self.next() {
            Some(b'}') => {}
            None => return Err(BadEre::Brace),
            Some(_) => return Err(BadEre::Count),
        }
        let operator = match (low, high) {
            (None, None) => return Err(BadEre::Count),
            (Some(low), None) => format!("{{{low},}}"),
            (None, Some(high)) => format!("{{0,{high}}}"),
            (Some(low), Some(high)) if low > high => return Err(BadEre::Count),
            (Some(low), Some(high)) if one_number && low == high => format!("{{{low}}}"),
            (Some(low), Some(high)) => format!("{{{low},{high}}}"),
        };
        self.repeat(&operator, low.unwrap_or(0).min(1))
    }

    fn count(&mut self) -> Result<Option<u32>, BadEre> {
        let mut count = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            let next = count.unwrap_or(0) * 10 + u32::from(digit - b'0');
            if next > COUNT_MAX {
                return Err(BadEre::TooBig);
            }
            count = Some(next);
            self.at += 1;
        }
        Ok(count)
    }

    /// Reads a bracket expression, after its `[`, into a class of the target syntax.
    fn bracket(&mut self) -> Result<String, BadEre> {
        let mut class = String::from(if self.eat(b'^') { "[^" } else { "[" });
        let mut first = true;
        loop {
            let byte = self.next().ok_or(BadEre::Bracket)?;
            if byte == b']' && !first {
                break;
            }
            first = false;
            if byte == b'[' && self.eat(b':') {
                class.push_str(class_named(self.named(b':')?).ok_or(BadEre::ClassName)?);
                continue;
            }
            let low = self.member(byte)?;
            let is_range = self.peek() == Some(b'-')
                && self.input.get(self.at + 1).is_some_and(|end| *end != b']');
            if !is_range {
                push_byte(&mut class, low);
                continue;
            }
            self.at += 1;
            let end = self.next().ok_or(BadEre::Bracket)?;
            let high = self.member(end)?;
            if low > high {
                return Err(BadEre::Range);
            }
            push_byte(&mut class, low);
            class.push('-');
            push_byte(&mut class, high);
            let further = self.peek() == Some(b'-')
                && self.input.get(self.at + 1).is_some_and(|end| *end != b']');
            if further {
                return Err(BadEre::Range);
            }
        }
        class.push(']');
        Ok(class)
    }

    /// A byte of a bracket expression, or the one byte of `[.x.]` or `[=x=]`.
    fn member(&mut self, byte: u8) -> Result<u8, BadEre> {
        let Some(kind @ (b'.' | b'=')) = self.peek().filter(|_| byte == b'[') else {
            return Ok(byte);
        };
        self.at += 1;
        match self.named(kind)? {
            [one] => Ok(*one),
            _ => Err(BadEre::Collation),
        }
    }

    /// The name up to `:]`, `.]` or `=]`.
    fn named(&mut self, kind: u8) -> Result<&'p [u8], BadEre> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let length = rest
            .windows(2)
            .position(|two| two == [kind, b']'])
            .ok_or(BadEre::Bracket)?;
        self.at += length + 2;
        Ok(rest.get(..length).unwrap_or_default())
    }

    /// The text seen so far ends here; keep it if it is the longest of its alternative.
    fn break_run(&mut self) {
        if self.run.len() > self.best.len() {
            std::mem::swap(&mut self.best, &mut self.run);
        }
        self.run.clear();
    }

    /// An alternative ends: without a long enough text in each, there is nothing to filter by.
    fn close_branch(&mut self) {
        if !self.groups.is_empty() {
            return;
        }
        let best = std::mem::take(&mut self.best);
        if best.len() < REQUIRED_BYTES_MIN {
            self.required = None;
        } else if let Some(required) = &mut self.required {
            required.push(best);
        }
    }

    fn finish(mut self) -> Result<Translated, BadEre> {
        if !self.groups.is_empty() {
            return Err(BadEre::Group);
        }
        self.break_run();
        self.close_branch();
        Ok(Translated {
            regex: self.out,
            required: self.required.unwrap_or_default(),
            letter_escape: self.letter_escape,
        })
    }
}

fn push_byte(out: &mut String, byte: u8) {
    use std::fmt::Write;
    // Writing to a String can't fail.
    write!(out, "\\x{byte:02x}").ok();
}

fn class_named(name: &[u8]) -> Option<&'static str> {
    Some(match name {
        b"alpha" => "A-Za-z",
        b"digit" => "0-9",
        b"alnum" => "0-9A-Za-z",
        b"upper" => "A-Z",
        b"lower" => "a-z",
        b"space" => r"\t-\r ",
        b"blank" => r"\t ",
        b"punct" => r"!-/:-@\[-`{-~",
        b"print" => " -~",
        b"graph" => "!-~",
        b"cntrl" => r"\x00-\x1f\x7f",
        b"xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, text: &str, ignore_case: bool) -> bool {
        let translated = translate(pattern).unwrap_or_else(|bad| panic!("{pattern}: {bad}"));
        regex::bytes::RegexBuilder::new(&translated.regex)
            .unicode(false)
            .dot_matches_new_line(true)
            .case_insensitive(ignore_case)
            .build()
            .unwrap_or_else(|bad| panic!("{pattern} -> {}: {bad}", translated.regex))
            .is_match(text.as_bytes())
    }

    #[test]
    fn patterns_mean_what_the_c_library_says() {
        // Pattern, text, answer of glibc's regexec.
        for (pattern, text, expected) in [
            ("a)", "a)", true),
            ("()", "x", true),
            ("a||b", "x", true),
            (r"\d", "d", true),
            (r"\d", "1", false),
            (r"\w+", "ab_", true),
            (r"\<a", "b a", true),
            ("a**", "x", true),
            ("^a+?b", "b", true),
            ("^a{2}{3}$", "aaaaaa", true),
            ("^a{2}{3}$", "aaaaa", false),
            ("a{,3}b", "aab", true),
            ("[]a]", "]", true),
            ("[^]a]", "]", false),
            (r"[a\]]", "a]", true),
            (r"[a\]]", r"\]", true),
            ("[[:alpha:]]", "1", false),
            ("(|a)b", "b", true),
            ("a$b", "a$b", false),
            ("a^b", "a^b", false),
            (r"\(a\)", "(a)", true),
            (r"\/", "/", true),
            (r"^\.$", ".", true),
            (r"^\.$", "x", false),
            ("[[.-.]]", "-", true),
            ("[[=a=]]", "a", true),
            (r"a\{2", "a{2", true),
            ("[a-]", "-", true),
            ("[--/]", ".", true),
            ("(^a|b)*c", "c", true),
            ("^.$", "\n", true),
            ("^a$", "a\n", false),
            (
                r"^http://([^/]*\.)?example\.com/",
                "http://www.example.com/x",
                true,
            ),
            (
                r"^http://([^/]*\.)?example\.com/",
                "http://www.example.org/x",
                false,
            ),
            ("\\.(gif|jpe?g)(\\?.*)?$", "/a.jpg?x=1", true),
            ("é+x", "é\u{a9}x", false),
        ] {
            assert_eq!(
                matches(pattern, text, false),
                expected,
                "{pattern} on {text}"
            );
        }
    }

    #[test]
    fn ignoring_case_holds_inside_negated_brackets() {
        assert!(matches("^HTTP", "http", true));
        assert!(!matches("^[^a]$", "A", true));
        assert!(matches("^[[:upper:]]$", "a", true));
    }

    #[test]
    fn what_the_c_library_refuses_is_refused() {
        for (pattern, expected) in [
            ("*a", BadEre::Repetition),
            ("a|*b", BadEre::Repetition),
            ("^*a", BadEre::Repetition),
            ("(+a)", BadEre::Repetition),
            ("{a", BadEre::Repetition),
            ("a{", BadEre::Brace),
            ("a{1", BadEre::Brace),
            ("a{1,", BadEre::Brace),
            ("a{x}", BadEre::Count),
            ("a{2,1}", BadEre::Count),
            ("a{40000}", BadEre::TooBig),
            ("[a", BadEre::Bracket),
            ("[z-a]", BadEre::Range),
            ("[a-c-e]", BadEre::Range),
            ("[[:foo:]]", BadEre::ClassName),
            ("[[.hyphen.]]", BadEre::Collation),
            ("(a", BadEre::Group),
            ("a\\", BadEre::Backslash),
            (r"(a)\1", BadEre::BackReference),
        ] {
            assert_eq!(translate(pattern), Err(expected), "{pattern}");
        }
    }

    #[test]
    fn text_that_a_match_must_contain_is_found() {
        let required = |pattern: &str| {
            let texts = translate(pattern).unwrap().required;
            texts
                .into_iter()
                .map(|text| String::from_utf8(text).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            required(r"^https?://[^/]+/squid-internal-mgr/"),
            ["/squid-internal-mgr/"]
        );
        assert_eq!(required(r"^cache_object://"), ["cache_object://"]);
        assert_eq!(required("abcd*"), ["abc"]);
        assert_eq!(required("abcd+e"), ["abcd"]);
        assert_eq!(required("abcd+?e"), ["abc"]);
        assert_eq!(required("abcd{2}*e"), ["abc"]);
        assert_eq!(required("(abcd)"), Vec::<String>::new());
        assert_eq!(required("^abcd|x[0-9]efgh"), ["abcd", "efgh"]);
        assert_eq!(required("abcd|x"), Vec::<String>::new());
        assert_eq!(translate(r"\d").unwrap().letter_escape, Some('d'));
    }

    proptest! {
        #[test]
        fn anything_translates_to_a_pattern_that_compiles_or_is_refused(pattern in "[ab.*+?{}()|^$\\\\\\[\\]0-9,:=-]{0,14}") {
            if let Ok(translated) = translate(&pattern) {
                let built = regex::bytes::RegexBuilder::new(&translated.regex).unicode(false).build();
                prop_assert!(
                    !matches!(built, Err(regex::Error::Syntax(_))),
                    "{} -> {}: {:?}", pattern, translated.regex, built
                );
            }
        }

        #[test]
        fn a_match_contains_a_required_text(pattern in "[abc(|)*+?.]{3,12}", text in "[abc]{0,16}") {
            if let Ok(translated) = translate(&pattern) {
                let regex = regex::bytes::RegexBuilder::new(&translated.regex).unicode(false).build().unwrap();
                if !translated.required.is_empty() && regex.is_match(text.as_bytes()) {
                    let found = translated.required.iter().any(|t| memchr::memmem::find(text.as_bytes(), t).is_some());
                    prop_assert!(found, "{} on {}: {:?}", pattern, text, translated.required);
                }
            }
        }
    }
}
