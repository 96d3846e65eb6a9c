//! Lists of strings (RFC 9651 §3.1, §3.3.3): `Cache-Groups` and `Cache-Group-Invalidation` (RFC 9875).

use std::fmt;

use sfv::visitor::{
    EntryVisitor, Ignored, InnerListVisitor, ItemVisitor, ListVisitor, ParameterVisitor,
};
use sfv::{BareItemFromInput, Parser};

use crate::Fields;

/// The strings of a field, their parameters aside. None when the field isn't a list of strings and nothing else: then it
/// says nothing.
pub fn strings(fields: &Fields, name: &[u8]) -> Vec<String> {
    let mut value = Vec::new();
    for line in fields.all_named(name) {
        if !value.is_empty() {
            value.extend_from_slice(b", ");
        }
        value.extend_from_slice(line);
    }
    if value.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let parsed = Parser::new(&value).parse_list_with_visitor(Strings(&mut found));
    match parsed {
        Ok(()) => found,
        Err(_) => Vec::new(),
    }
}

struct Strings<'s>(&'s mut Vec<String>);

#[derive(Debug)]
struct NotAString;

impl fmt::Display for NotAString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a string")
    }
}

impl std::error::Error for NotAString {}

impl<'de> ListVisitor<'de> for Strings<'_> {
    type Out = ();
    type Error = NotAString;

    fn entry(&mut self) -> Result<impl EntryVisitor<'de>, NotAString> {
        Ok(Member(self.0))
    }

    fn finish(self) -> Result<(), NotAString> {
        Ok(())
    }
}

struct Member<'s>(&'s mut Vec<String>);

impl<'de> EntryVisitor<'de> for Member<'_> {
    type Error = NotAString;

    fn item(self) -> Result<impl ItemVisitor<'de>, NotAString> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'de>, NotAString> {
        Err::<Ignored, _>(NotAString)
    }
}

impl<'de> ItemVisitor<'de> for Member<'_> {
    type Out = ();
    type Error = NotAString;

    fn bare_item(
        self,
        item: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = ()>, NotAString> {
        let BareItemFromInput::String(string) = item else {
            return Err(NotAString);
        };
        self.0.push(string.as_str().to_owned());
        Ok(Ignored)
    }
}

/// Any value parses or not.
///
/// # Panics
/// On a string that RFC 9651 doesn't allow: a bug.
pub fn fuzz(data: &[u8]) {
    let mut fields = Fields::new();
    fields.push(b"Cache-Groups", data);
    let strings = strings(&fields, b"Cache-Groups");
    assert!(strings.iter().all(|string| string.is_ascii()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(lines: &[&str], expected: &[&str]) {
        let mut fields = Fields::new();
        for line in lines {
            fields.push(b"cache-groups", line.as_bytes());
        }
        assert_eq!(strings(&fields, b"Cache-Groups"), expected, "{lines:?}");
    }

    #[test]
    fn strings_are_read_and_parameters_left() {
        check(&[], &[]);
        check(&[""], &[]);
        check(&[r#""a""#], &["a"]);
        check(&[r#""a", "b c";p=1"#, r#""d\"e""#], &["a", "b c", "d\"e"]);
    }

    #[test]
    fn what_is_no_list_of_strings_says_nothing() {
        for line in [
            "a",
            r#""a", b"#,
            r#""a", ("b")"#,
            r#""a"#,
            r#""a",,"b""#,
            "1",
            "\"\u{e9}\"",
        ] {
            check(&[line], &[]);
        }
    }

    proptest! {
        #[test]
        fn any_value_is_read_or_not(data in proptest::collection::vec(any::<u8>(), 0..40)) {
            fuzz(&data);
        }
    }
}
