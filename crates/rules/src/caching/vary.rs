//! Which requests a stored response may answer: the fields that its Vary names must be as they were
//! (RFC 9111 §4.1). Values are compared after joining lines and dropping white space that means nothing.

use smallvec::SmallVec;
use wire::{FieldId, Fields};

/// The request fields that a stored response was selected by. Plain when it has no Vary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Vary(Option<Box<[u8]>>);

/// Names that are compared for each variant at a lookup.
const NAMES_MAX: usize = 32;

/// Ends each name and each value.
const END: u8 = 0;
/// Begins the value of a field that was absent.
const ABSENT: u8 = 1;
/// Begins the value of a field that was there.
const PRESENT: u8 = 2;
/// Ends the names; the values follow in the same order. None of the four can be part of a field.
const VALUES: u8 = 3;

type Bytes = SmallVec<[u8; 256]>;

impl Vary {
    /// What the response's Vary makes of the request; `None` for `*`, which no request matches, and for more names than
    /// are compared.
    pub fn of(reply: &Fields, request: &Fields) -> Option<Self> {
        if !reply.has(FieldId::Vary) {
            return Some(Self(None));
        }
        let mut names: Vec<Vec<u8>> = reply
            .list(FieldId::Vary)
            .map(<[u8]>::to_ascii_lowercase)
            .collect();
        if names.iter().any(|name| name == b"*") {
            return None;
        }
        names.sort_unstable();
        names.dedup();
        if names.len() > NAMES_MAX {
            return None;
        }
        if names.is_empty() {
            return Some(Self(None));
        }
        let mut key = Bytes::new();
        for name in &names {
            key.extend_from_slice(name);
            key.push(END);
        }
        key.push(VALUES);
        for name in &names {
            write_value(name, request, &mut key);
        }
        Some(Self(Some(key.as_slice().into())))
    }

    /// Does it answer every request?
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.0.is_none()
    }

    /// May it answer this request?
    #[inline]
    pub fn matches(&self, request: &Fields) -> bool {
        self.is_plain() || Selector::of(request).selects(self)
    }

    /// From what [`Vary::as_bytes`] gave.
    pub fn from_bytes(key: &[u8]) -> Self {
        Self((!key.is_empty()).then(|| key.into()))
    }

    /// The names that it compares; empty when plain.
    pub fn selector(&self) -> &[u8] {
        names_of(self.as_bytes())
    }

    /// The fields, for people: name, and value where there was one.
    pub fn fields(&self) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let names = self.selector();
        let values = self.as_bytes().get(names.len()..).unwrap_or_default();
        let names = names.split(|byte| matches!(*byte, END | VALUES));
        let values = values.split(|byte| *byte == END);
        let fields = names.filter(|name| !name.is_empty()).zip(values);
        fields
            .map(|(name, value)| {
                let value = value.strip_prefix(&[PRESENT]).map(<[u8]>::to_vec);
                (name.to_vec(), value)
            })
            .collect()
    }

    /// The key itself, for variants to be told apart; empty when plain.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// A request that is compared with several stored responses. Most of a URL are selected by the same fields: the request's
/// values of these are worked out once.
#[derive(Debug)]
pub struct Selector<'r> {
    request: &'r Fields,
    /// What a response to this request would be kept for, by the names that were looked at last.
    key: Bytes,
    /// Bytes of these names.
    names: usize,
}

impl<'r> Selector<'r> {
    /// For a request with these fields.
    pub fn of(request: &'r Fields) -> Self {
        Self {
            request,
            key: Bytes::new(),
            names: 0,
        }
    }

    /// May a response that was selected so answer the request?
    #[inline]
    pub fn selects(&mut self, vary: &Vary) -> bool {
        match &vary.0 {
            None => true,
            Some(key) => **key == *self.key_by(key),
        }
    }

    /// What a response to this request would be kept for if it was selected by the same fields. Empty when plain.
    pub fn name(&mut self, vary: &Vary) -> &[u8] {
        match &vary.0 {
            None => &[],
            Some(key) => self.key_by(key),
        }
    }

    /// The request's own key by the names of another.
    fn key_by(&mut self, other: &[u8]) -> &[u8] {
        let known = self.key.get(..self.names).unwrap_or_default();
        if known.is_empty() || !other.starts_with(known) {
            let names = names_of(other);
            self.names = names.len();
            self.key.clear();
            self.key.extend_from_slice(names);
            let each = names.split(|byte| matches!(*byte, END | VALUES));
            for name in each.filter(|name| !name.is_empty()) {
                write_value(name, self.request, &mut self.key);
            }
        }
        &self.key
    }
}

/// The names of a key, with their end.
fn names_of(key: &[u8]) -> &[u8] {
    let end = key.iter().position(|byte| *byte == VALUES);
    key.get(..=end.unwrap_or(key.len())).unwrap_or(key)
}

/// Appends the field's presence and its normalised value, and ends it.
fn write_value(name: &[u8], request: &Fields, out: &mut Bytes) {
    let mut values = request.all_named(name).peekable();
    if values.peek().is_none() {
        out.extend_from_slice(&[ABSENT, END]);
        return;
    }
    out.push(PRESENT);
    for (at, value) in values.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let start = out.len();
        normalise(value, out);
        if is_caseless(name)
            && let Some(value) = out.get_mut(start..)
        {
            value.make_ascii_lowercase();
        }
    }
    out.push(END);
}

/// Fields whose values are the same in any case (RFC 9110 §12.5.2 to §12.5.4).
fn is_caseless(name: &[u8]) -> bool {
    matches!(
        name,
        b"accept-charset" | b"accept-encoding" | b"accept-language"
    )
}

/// Drops white space around commas and shortens other runs to a space; quoted text stays as it is.
fn normalise(value: &[u8], out: &mut Bytes) {
    let (mut quoted, mut gap, start) = (false, false, out.len());
    for &byte in value {
        if !quoted && matches!(byte, b' ' | b'\t') {
            gap = true;
            continue;
        }
        let after_comma = out.len() == start || out.last() == Some(&b',');
        if std::mem::take(&mut gap) && !after_comma && byte != b',' {
            out.push(b' ');
        }
        quoted ^= byte == b'"';
        out.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fields(lines: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::new();
        for (name, value) in lines {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        fields
    }

    fn check(vary: &str, stored: &[(&str, &str)], asked: &[(&str, &str)], expected: bool) {
        let vary_of = Vary::of(&fields(&[("Vary", vary)]), &fields(stored)).unwrap();
        assert_eq!(
            vary_of.matches(&fields(asked)),
            expected,
            "{vary}: {stored:?} {asked:?}"
        );
    }

    #[test]
    fn without_vary_every_request_matches() {
        let vary = Vary::of(&Fields::new(), &fields(&[("Accept", "x")])).unwrap();
        assert!(vary.is_plain() && vary.matches(&Fields::new()));
        check("", &[], &[("Accept", "x")], true);
    }

    #[test]
    fn the_fields_can_be_named() {
        let request = fields(&[("Accept", "a, b"), ("Range", "x")]);
        let vary = Vary::of(&fields(&[("Vary", "Cookie, Accept")]), &request).unwrap();
        let named = [
            (b"accept".to_vec(), Some(b"a,b".to_vec())),
            (b"cookie".to_vec(), None),
        ];
        assert_eq!(vary.fields(), named);
        assert!(Vary::default().fields().is_empty());
    }

    #[test]
    fn an_asterisk_matches_no_request() {
        // RFC 9111 §4.1.
        for value in ["*", "Accept, *", " * "] {
            assert_eq!(
                Vary::of(&fields(&[("Vary", value)]), &Fields::new()),
                None,
                "{value}"
            );
        }
    }

    #[test]
    fn too_many_names_are_as_good_as_an_asterisk() {
        let names: Vec<String> = (0..500).map(|number| format!("A{number}")).collect();
        let vary = |count: usize| {
            Vary::of(
                &fields(&[("Vary", &names[..count].join(","))]),
                &fields(&[]),
            )
        };
        assert!(vary(NAMES_MAX).is_some());
        assert_eq!(vary(NAMES_MAX + 1), None);
    }

    #[test]
    fn the_named_fields_must_be_as_they_were() {
        // RFC 9111 §4.1.
        check(
            "Accept-Encoding",
            &[("Accept-Encoding", "gzip")],
            &[("accept-encoding", "gzip")],
            true,
        );
        check(
            "Accept-Encoding",
            &[("Accept-Encoding", "gzip")],
            &[("Accept-Encoding", "br")],
            false,
        );
        check(
            "accept-ENCODING",
            &[("Accept-Encoding", "gzip")],
            &[],
            false,
        );
        check("Accept-Encoding", &[], &[], true);
        check("Accept-Encoding", &[], &[("Accept-Encoding", "")], false);
        check(
            "A, B",
            &[("A", "1"), ("B", "2")],
            &[("B", "2"), ("A", "1"), ("C", "3")],
            true,
        );
        check(
            "A, B",
            &[("A", "1"), ("B", "2")],
            &[("A", "2"), ("B", "1")],
            false,
        );
    }

    #[test]
    fn lines_are_joined_and_white_space_is_dropped_where_it_means_nothing() {
        check("A", &[("A", "x, y")], &[("A", "x"), ("A", "y")], true);
        check("A", &[("A", "x ,\t y;q=1")], &[("A", "x,y;q=1")], true);
        check("A", &[("A", "x  y")], &[("A", "x y")], true);
        check("A", &[("A", "x y")], &[("A", "xy")], false);
        check("A", &[("A", "\"x , y\"")], &[("A", "\"x,y\"")], false);
    }

    #[test]
    fn requests_have_the_same_name_when_they_match() {
        let vary_of = fields(&[("Vary", "B, A")]);
        let (one, other) = (
            fields(&[("A", "1 ,2")]),
            fields(&[("a", "1"), ("A", "2"), ("C", "3")]),
        );
        let vary = Vary::of(&vary_of, &one).unwrap();
        assert_eq!(Selector::of(&other).name(&vary), vary.as_bytes());
        let empty = fields(&[("B", "")]);
        assert_ne!(Selector::of(&empty).name(&vary), vary.as_bytes());
        assert_eq!(Selector::of(&one).name(&Vary::default()), b"");
        let names = Vary::from_bytes(vary.selector());
        assert_eq!(Selector::of(&other).name(&names), vary.as_bytes());
        assert_eq!(Vary::from_bytes(vary.as_bytes()), vary);
    }

    #[test]
    fn a_request_is_compared_with_responses_selected_by_other_fields() {
        let request = fields(&[("A", "1"), ("AB", "2"), ("B", "3")]);
        let by = |names: &str, stored: &[(&str, &str)]| {
            Vary::of(&fields(&[("Vary", names)]), &fields(stored)).unwrap()
        };
        let mut selector = Selector::of(&request);
        for (names, stored, expected) in [
            ("A", [("A", "1")].as_slice(), true),
            ("A", &[("A", "2")], false),
            ("A, AB", &[("A", "1"), ("AB", "2")], true),
            ("A", &[("A", "1")], true),
            ("AB", &[("AB", "1")], false),
            ("AB", &[("AB", "2")], true),
            ("A, B", &[("A", "1"), ("B", "3")], true),
            ("C", &[], true),
            ("", &[], true),
            ("C", &[("C", "")], false),
        ] {
            let vary = by(names, stored);
            assert_eq!(selector.selects(&vary), expected, "{names} {stored:?}");
            assert_eq!(vary.matches(&request), expected, "{names} {stored:?}");
        }
    }

    proptest! {
        #[test]
        fn a_request_matches_its_own_key(names in prop::collection::vec("[ab]{1,2}", 1..4), values in prop::collection::vec(("[ab]{1,2}", "[x, \"]{0,8}"), 0..5)) {
            let mut request = Fields::new();
            for (name, value) in &values {
                request.push(name.as_bytes(), value.as_bytes());
            }
            let vary = Vary::of(&fields(&[("Vary", &names.join(","))]), &request).unwrap();
            prop_assert!(vary.matches(&request));
            let mut selector = Selector::of(&request);
            prop_assert_eq!(selector.name(&vary), vary.as_bytes());
        }
    }
}
