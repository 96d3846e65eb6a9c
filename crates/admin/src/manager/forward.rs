//! `forward`: answers of hops by status and try. `via_headers`, `forw_headers`: what requests that went to a hop had in
//! `Via` and `X-Forwarded-For`.

use proxy::internal::WorkerReport;
use proxy::tally::{TRIES_MAX, Tally, ValueTally};
use serde::Serialize;

use super::Report;
use super::share::visible;
use crate::Scene;

#[derive(Serialize)]
struct Row {
    /// 0: no answer.
    status: u16,
    tries: Vec<u64>,
}

/// `forward`
pub(super) fn report(_: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    let rows = sum(workers)
        .forwarded
        .into_iter()
        .map(|(status, tries)| Row {
            status,
            tries: tries.to_vec(),
        });
    let rows: Vec<_> = rows.collect();
    Report::new(&rows, text(&rows))
}

/// What all workers have counted.
pub(super) fn sum(workers: &[WorkerReport]) -> Tally {
    workers.iter().fold(Tally::default(), |mut sum, report| {
        sum.add(&report.tally);
        sum
    })
}

fn text(rows: &[Row]) -> String {
    let mut text = String::from("Status");
    for number in 1..=TRIES_MAX {
        text += &format!("\ttry#{number}");
    }
    text.push('\n');
    for row in rows {
        text += &format!("{:3}", row.status);
        for count in &row.tries {
            text += &format!("\t{count}");
        }
        text.push('\n');
    }
    text
}

#[derive(Serialize)]
struct Value {
    value: String,
    count: u64,
}

/// `via_headers`
pub(super) fn via(_: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    values(&sum(workers).via)
}

/// `forw_headers`
pub(super) fn forwarded_for(_: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    values(&sum(workers).forwarded_for)
}

fn values(tally: &ValueTally) -> Report {
    let values = tally.values.iter().map(|(value, count)| Value {
        value: shown(value),
        count: *count,
    });
    let mut values: Vec<_> = values.collect();
    values.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value)));
    if tally.others > 0 {
        values.push(Value {
            value: "(others)".to_owned(),
            count: tally.others,
        });
    }
    let text = values.iter().fold(String::new(), |text, value| {
        text + &format!("{:9} {}\n", value.count, value.value)
    });
    Report::new(&values, text)
}

/// Spaces stay, as they part the elements.
fn shown(value: &[u8]) -> String {
    let words = value.split(|byte| *byte == b' ').map(visible);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn the_text_is_squids() {
        let mut tries = vec![0; TRIES_MAX];
        tries[0] = 5;
        tries[1] = 1;
        let row = Row { status: 200, tries };
        let expected = "\
Status\ttry#1\ttry#2\ttry#3\ttry#4\ttry#5\ttry#6\ttry#7\ttry#8\ttry#9\ttry#10
200\t5\t1\t0\t0\t0\t0\t0\t0\t0\t0
";
        assert_eq!(text(&[row]), expected);
    }

    #[test]
    fn values_come_by_their_number_and_in_their_line() {
        let tally = ValueTally {
            values: HashMap::from([
                (b"1.1 a (x)".to_vec().into(), 2),
                (b"1.0 b\n\x1b".to_vec().into(), 30),
            ]),
            others: 7,
        };
        let text = String::from_utf8(values(&tally).text).unwrap();
        let expected = "       30 1.0 b%0A%1B\n        2 1.1 a (x)\n        7 (others)\n";
        assert_eq!(text, expected);
    }
}
