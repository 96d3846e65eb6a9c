//! `http_headers`: which fields come, in requests that go to a hop and in the answers. Hits are not counted: they are to
//! cost nothing.

use proxy::internal::WorkerReport;
use proxy::tally::FieldTally;
use serde::Serialize;
use wire::FieldId;

use super::Report;
use super::forward::sum;
use super::share::ratio;
use crate::Scene;

#[derive(Serialize)]
struct Page {
    requests: Part,
    replies: Part,
}

#[derive(Serialize)]
struct Part {
    messages: u64,
    fields: Vec<Field>,
}

#[derive(Serialize)]
struct Field {
    name: &'static str,
    count: u64,
    per_message: Option<f64>,
}

pub(super) fn report(_: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    let all = sum(workers);
    let page = Page {
        requests: Part::of(&all.requests),
        replies: Part::of(&all.replies),
    };
    Report::new(&page, page.text())
}

impl Page {
    fn text(&self) -> String {
        let mut text = String::new();
        self.requests.write("request", &mut text);
        self.replies.write("reply", &mut text);
        text + &format!(
            "Headers Parsed: {} + {} = {}\nHdr Fields Parsed: {}\n",
            self.requests.messages,
            self.replies.messages,
            self.requests.messages + self.replies.messages,
            self.requests.lines() + self.replies.lines()
        )
    }
}

impl Part {
    fn of(tally: &FieldTally) -> Self {
        let ids = FieldId::all().map(|id| (id, id.name()));
        let ids = ids.chain([(FieldId::Other, "Other:")]);
        let fields = ids.map(|(id, name)| Field {
            name,
            count: tally.lines(id),
            per_message: ratio(tally.lines(id), tally.messages),
        });
        Self {
            messages: tally.messages,
            fields: fields.collect(),
        }
    }

    fn lines(&self) -> u64 {
        self.fields.iter().map(|field| field.count).sum()
    }

    fn write(&self, what: &str, text: &mut String) {
        *text += &format!(
            "\nHeader Stats: {what}\n\nField type distribution\nid\t {:<20}\t count\t #/header\n",
            "name"
        );
        for (id, field) in self.fields.iter().enumerate() {
            let share = field.per_message.unwrap_or(-1.0);
            *text += &format!(
                "{id:2}\t {:<20}\t {:5}\t {share:6.2}\n",
                field.name, field.count
            );
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_a_line() {
        let field = |name, count, per_message| Field {
            name,
            count,
            per_message,
        };
        let page = Page {
            requests: Part {
                messages: 42,
                fields: vec![
                    field("Accept", 42, Some(1.0)),
                    field("Other:", 2, Some(2.0 / 42.0)),
                ],
            },
            replies: Part {
                messages: 0,
                fields: vec![field("Age", 0, None)],
            },
        };
        let expected = "
Header Stats: request

Field type distribution
id\t name                \t count\t #/header
 0\t Accept              \t    42\t   1.00
 1\t Other:              \t     2\t   0.05


Header Stats: reply

Field type distribution
id\t name                \t count\t #/header
 0\t Age                 \t     0\t  -1.00

Headers Parsed: 42 + 0 = 42
Hdr Fields Parsed: 44
";
        assert_eq!(page.text(), expected);
    }
}
