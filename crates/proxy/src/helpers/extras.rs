//! `url_rewrite_extras`, `store_id_extras`: the words behind the URL in a question.

use wire::helper::{Quoting, quote};

use crate::flow::Received;

/// Compiled extras.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extras(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    ClientAddress,
    ClientName,
    ClientPort,
    LocalAddress,
    LocalPort,
    User,
    Method,
    Note(String),
}

impl Extras {
    /// Compiles a text.
    ///
    /// # Errors
    /// It names what can't be told.
    pub(crate) fn compile(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, code)) = rest.split_once('%') {
            parts.push(Part::Text(before.to_owned()));
            let (part, after) = part(code).ok_or_else(|| format!("no such code: '%{code}'"))?;
            parts.push(part);
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        Ok(Self(parts))
    }

    /// Appends a blank and the words; nothing if there are none.
    pub(crate) fn write(&self, received: &Received<'_>, out: &mut Vec<u8>) {
        if !self.0.is_empty() {
            out.push(b' ');
        }
        for part in &self.0 {
            part.write(received, out);
        }
    }
}

/// Codes by name, longer ones before those that they begin with.
const CODES: &[(&str, Part)] = &[
    (">a", Part::ClientAddress),
    (">A", Part::ClientName),
    (">p", Part::ClientPort),
    (">la", Part::LocalAddress),
    (">lp", Part::LocalPort),
    ("la", Part::LocalAddress),
    ("lp", Part::LocalPort),
    ("un", Part::User),
    ("ul", Part::User),
    (">rm", Part::Method),
    ("rm", Part::Method),
];

fn part(code: &str) -> Option<(Part, &str)> {
    if let Some(rest) = code.strip_prefix('%') {
        return Some((Part::Text("%".to_owned()), rest));
    }
    if let Some((name, rest)) = code
        .strip_prefix("note{")
        .and_then(|rest| rest.split_once('}'))
    {
        return Some((Part::Note(name.to_owned()), rest));
    }
    let known = |(name, part): &(&str, Part)| Some((part.clone(), code.strip_prefix(name)?));
    CODES.iter().find_map(known)
}

impl Part {
    fn write(&self, received: &Received<'_>, out: &mut Vec<u8>) {
        let connection = received.connection;
        let learnt = received.learnt;
        match self {
            Self::Text(text) => out.extend_from_slice(text.as_bytes()),
            Self::ClientAddress => show(out, connection.client.ip()),
            Self::ClientPort => show(out, connection.client.port()),
            Self::LocalAddress => show(out, connection.local.ip()),
            Self::LocalPort => show(out, connection.local.port()),
            Self::ClientName => word(out, learnt.client_name().unwrap_or_default()),
            Self::User => word(out, learnt.user().map_or("", |user| user)),
            Self::Method => word(out, received.head.method.as_str()),
            Self::Note(name) => {
                let all = learnt.notes(|notes| notes.all(name).collect::<Vec<_>>().join(","));
                word(out, &all.unwrap_or_default());
            }
        }
    }
}

fn show(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    out.extend_from_slice(value.to_string().as_bytes());
}

/// What isn't known is `-`.
fn word(out: &mut Vec<u8>, value: &str) {
    match value {
        "" => out.push(b'-'),
        _ => quote(Quoting::Url, value.as_bytes(), out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_codes_and_what_is_between() {
        let compiled = Extras::compile("%>a/%>A 5%% %note{urlgroup}").unwrap();
        let text = |text: &str| Part::Text(text.to_owned());
        assert_eq!(
            compiled.0,
            [
                Part::ClientAddress,
                text("/"),
                Part::ClientName,
                text(" 5"),
                text("%"),
                text(" "),
                Part::Note("urlgroup".to_owned())
            ]
        );
        assert_eq!(Extras::compile(""), Ok(Extras::default()));
        assert!(Extras::compile("%>a %nonsense").is_err());
    }
}
