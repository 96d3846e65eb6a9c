//! A stored response, in a line.

use jiff::Timestamp;
use proxy::flow::Summary;
use proxy::log::push_url;

/// Text of unknown origin, for a field of a line.
pub(super) fn escaped(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    push_url(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

/// In UTC; `-` for what is no time.
fn time(secs: Option<i64>) -> String {
    let time = secs.and_then(|secs| Timestamp::from_second(secs).ok());
    time.map_or_else(|| "-".to_owned(), |time| time.to_string())
}

/// `200 1234 2026-11-20T10:00:00Z 2026-11-20T11:00:00Z text/html`
pub(super) fn facts(summary: &Summary, body_bytes: u64) -> String {
    let until = match summary.is_purged {
        true => "purged".to_owned(),
        false => time(Some(summary.fresh_until)),
    };
    let media_type = summary.content_type.split(|byte| *byte == b';').next();
    let media_type = escaped(media_type.unwrap_or_default().trim_ascii());
    let (status, date) = (summary.status, time(summary.date));
    format!("{status} {body_bytes:>10} {date:20} {until:20} {media_type}")
}

/// `accept-encoding=gzip accept-language`: those without a value were absent.
pub(super) fn selection(summary: &Summary) -> String {
    let fields = summary.selected_by.iter().map(|(name, value)| {
        let name = escaped(name);
        match value {
            Some(value) => format!("{name}={}", escaped(value)),
            None => name,
        }
    });
    fields.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_whole_whatever_is_stored() {
        let summary = Summary {
            status: 200,
            date: Some(0),
            fresh_until: i64::MIN,
            last_modified: None,
            content_type: b"text/\x1b[2Jplain; charset=x".to_vec(),
            selected_by: vec![
                (b"accept".to_vec(), Some(b"a\nb".to_vec())),
                (b"cookie".to_vec(), None),
            ],
            is_purged: false,
            head: Vec::new(),
        };
        let facts = facts(&summary, 12);
        let words: Vec<&str> = facts.split_whitespace().collect();
        let expected = ["200", "12", "1970-01-01T00:00:00Z", "-", "text/%1B[2Jplain"];
        assert_eq!(words, expected);
        assert_eq!(selection(&summary), "accept=a%0Ab cookie");
    }
}
