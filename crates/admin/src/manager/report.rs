//! A page in both forms.

use proxy::internal::{Answer, Ask};
use serde::Serialize;
use serde_json::Value;

use super::{JSON, TEXT};

/// A page in both forms.
#[derive(Debug, Clone)]
pub struct Report {
    /// As Squid writes it.
    pub text: Vec<u8>,
    /// The same for programs.
    pub data: Value,
}

impl Report {
    /// A page, from its struct and its text.
    pub fn new(data: &impl Serialize, text: impl Into<Vec<u8>>) -> Self {
        Self {
            text: text.into(),
            data: serde_json::to_value(data).unwrap_or(Value::Null),
        }
    }

    /// The form that the client would like to have.
    pub(super) fn answer(self, ask: &Ask<'_>) -> Answer {
        let (media_type, content) = if wants_json(ask) {
            let mut json = serde_json::to_vec_pretty(&self.data).unwrap_or_default();
            json.push(b'\n');
            (JSON, json)
        } else {
            (TEXT, self.text)
        };
        Answer {
            status: 200,
            media_type,
            fields: Vec::new(),
            content,
        }
    }
}

/// Said in the URL, or by the one media type that the client names.
fn wants_json(ask: &Ask<'_>) -> bool {
    let named = |name: &str| ask.query.split('&').any(|pair| pair == name);
    let accepted = ask.accept.trim_ascii();
    named("format=json") || accepted.starts_with(JSON.as_bytes()) && !named("format=text")
}
