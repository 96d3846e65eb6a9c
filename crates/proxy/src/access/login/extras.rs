//! `key_extras`: what is added to a question, and makes another login of the same name and password.

use wire::helper::{Quoting, quote};

use crate::flow::Received;

/// A format, ready for use.
#[derive(Debug, Default)]
pub(super) struct Extras(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    /// `%>a`, `%>p`
    ClientAddress,
    ClientPort,
    /// `%>la`, `%>lp`
    LocalAddress,
    LocalPort,
    /// `%{Name}>h`
    Field(Box<str>),
}

/// The codes, longest first.
const CODES: [(&str, Part); 4] = [
    (">la", Part::LocalAddress),
    (">lp", Part::LocalPort),
    (">a", Part::ClientAddress),
    (">p", Part::ClientPort),
];

impl Extras {
    /// Reads a format.
    ///
    /// # Errors
    ///
    /// Names what isn't known.
    pub(super) fn compile(format: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = format;
        while let Some((text, after)) = rest.split_once('%') {
            push_text(text, &mut parts);
            rest = match after.strip_prefix('%') {
                Some(after) => {
                    push_text("%", &mut parts);
                    after
                }
                None => {
                    code(after, &mut parts).ok_or_else(|| format!("unknown code '%{after}'"))?
                }
            };
        }
        push_text(rest, &mut parts);
        Ok(Self(parts))
    }

    /// Appends a blank and the values.
    pub(super) fn write(&self, received: &Received<'_>, out: &mut Vec<u8>) {
        if self.0.is_empty() {
            return;
        }
        let connection = received.connection;
        out.push(b' ');
        for part in &self.0 {
            match part {
                Part::Text(text) => quote(Quoting::Raw, text.as_bytes(), out),
                Part::ClientAddress => out.extend(connection.client.ip().to_string().bytes()),
                Part::ClientPort => out.extend(connection.client.port().to_string().bytes()),
                Part::LocalAddress => out.extend(connection.local.ip().to_string().bytes()),
                Part::LocalPort => out.extend(connection.local.port().to_string().bytes()),
                Part::Field(name) => {
                    let found = received.head.fields.get_name(name.as_bytes());
                    match found.filter(|value| !value.is_empty()) {
                        Some(value) => quote(Quoting::Url, value, out),
                        None => out.push(b'-'),
                    }
                }
            }
        }
    }
}

fn push_text(text: &str, parts: &mut Vec<Part>) {
    if !text.is_empty() {
        parts.push(Part::Text(text.into()));
    }
}

/// Takes a code; gives what comes after it.
fn code<'t>(text: &'t str, parts: &mut Vec<Part>) -> Option<&'t str> {
    if let Some(named) = text.strip_prefix('{') {
        let (name, after) = named.split_once('}')?;
        let after = after.strip_prefix(">h")?;
        parts.push(Part::Field(name.into()));
        return Some(after);
    }
    for (word, part) in CODES {
        if let Some(after) = text.strip_prefix(word) {
            parts.push(part);
            return Some(after);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_text_and_codes() {
        let expected = [
            Part::Text("a=".into()),
            Part::ClientAddress,
            Part::Text("/".into()),
            Part::LocalPort,
            Part::Text(" ".into()),
            Part::Field("X-Site".into()),
        ];
        assert_eq!(
            Extras::compile("a=%>a/%>lp %{X-Site}>h").unwrap().0,
            expected
        );
        assert_eq!(Extras::compile("%%").unwrap().0, [Part::Text("%".into())]);
        for bad in ["%", "%>", "%x", "%{X", "%{X}", "%{X}<h"] {
            assert!(Extras::compile(bad).is_err(), "{bad}");
        }
    }
}
