//! Answers questions from the tree (RFC 1157 §4.1, RFC 3416 §4.2).

use wire::snmp::{Answer, Ask, BINDINGS_MAX, Failed, Oid, Question, Value, Version};

use super::figures::Figures;
use super::tree::{self, Missing};

/// Bytes of an answer: what Squid takes too, and more than the answer to the largest poller. A bulk
/// answer ends where it would grow beyond.
pub(super) const ANSWER_BYTES_MAX: usize = 4096;

/// A name with its value, or with the exception that stands for it.
type Binding = (Oid, Value);

/// The datagram that answers.
pub(super) fn answer(question: &Question, figures: &Figures) -> Vec<u8> {
    let names = question.names.iter();
    let bindings: Vec<Binding> = match question.ask {
        Ask::Get => names.map(|name| look_up(figures, name)).collect(),
        Ask::GetNext => names.map(|name| follow(figures, name)).collect(),
        Ask::GetBulk {
            non_repeaters,
            max_repetitions,
        } => return bulk(question, figures, non_repeaters, max_repetitions),
    };
    if question.version == Version::V1
        && let Some(place) = bindings.iter().position(is_exception)
    {
        return refuse(question, Failed::NoSuchName(place + 1));
    }
    let bytes = write(question, bindings);
    if bytes.len() > ANSWER_BYTES_MAX {
        return refuse(question, Failed::TooBig);
    }
    bytes
}

fn look_up(figures: &Figures, name: &Oid) -> Binding {
    let value = match tree::value(figures, name) {
        Ok(value) => value,
        Err(Missing::Object) => Value::NoSuchObject,
        Err(Missing::Instance) => Value::NoSuchInstance,
    };
    (name.clone(), value)
}

fn follow(figures: &Figures, name: &Oid) -> Binding {
    tree::next(figures, name).unwrap_or_else(|| (name.clone(), Value::EndOfMibView))
}

/// One follower for the first names, several for each of the others, as many as have room.
fn bulk(
    question: &Question,
    figures: &Figures,
    non_repeaters: usize,
    max_repetitions: usize,
) -> Vec<u8> {
    let once = non_repeaters.min(question.names.len());
    let (once, repeated) = question.names.split_at(once);
    let mut bindings: Vec<Binding> = once.iter().map(|name| follow(figures, name)).collect();
    let mut row = repeated.to_vec();
    for _ in 0..max_repetitions {
        let room = BINDINGS_MAX.saturating_sub(bindings.len());
        let next: Vec<Binding> = row
            .iter()
            .take(room)
            .map(|name| follow(figures, name))
            .collect();
        if next.is_empty() {
            break;
        }
        row = next.iter().map(|(name, _)| name.clone()).collect();
        let is_over = next.iter().all(is_exception);
        bindings.extend(next);
        if is_over {
            break;
        }
    }
    let mut bytes = write(question, bindings.clone());
    while bytes.len() > ANSWER_BYTES_MAX && !bindings.is_empty() {
        let share = bindings.len() * ANSWER_BYTES_MAX / bytes.len();
        bindings.truncate(share.min(bindings.len() - 1));
        bytes = write(question, bindings.clone());
    }
    bytes
}

const fn is_exception((_, value): &Binding) -> bool {
    matches!(
        value,
        Value::NoSuchObject | Value::NoSuchInstance | Value::EndOfMibView
    )
}

fn write(question: &Question, bindings: Vec<Binding>) -> Vec<u8> {
    to_bytes(question, None, bindings)
}

/// v1 wants the question's names back, v2c nothing when the answer is too big (RFC 3416 §4.2.1).
fn refuse(question: &Question, failed: Failed) -> Vec<u8> {
    let names = question.names.iter();
    let bindings = match question.version {
        Version::V1 => names.map(|name| (name.clone(), Value::Null)).collect(),
        Version::V2c => Vec::new(),
    };
    to_bytes(question, Some(failed), bindings)
}

fn to_bytes(question: &Question, failed: Option<Failed>, bindings: Vec<Binding>) -> Vec<u8> {
    let answer = Answer {
        version: question.version,
        community: question.community.clone(),
        request_id: question.request_id,
        failed,
        bindings,
    };
    answer.to_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::figures;
    use super::*;

    fn oid(below: &[u32]) -> Oid {
        Oid::new(&[&[1, 3, 6, 1, 4, 1, 3495, 1], below].concat()).unwrap()
    }

    fn ask(version: Version, ask: Ask, names: &[&[u32]]) -> Answer {
        let question = Question {
            version,
            community: b"public".to_vec(),
            request_id: 7,
            ask,
            names: names.iter().map(|below| oid(below)).collect(),
        };
        let bytes = answer(&question, &figures());
        assert!(bytes.len() <= ANSWER_BYTES_MAX);
        let answer = Answer::parse(&bytes).unwrap();
        assert_eq!(
            (answer.request_id, &answer.community[..]),
            (7, &b"public"[..])
        );
        answer
    }

    #[test]
    fn v2c_says_in_place_what_is_missing() {
        let names: [&[u32]; 3] = [&[1, 3, 0], &[1, 9, 0], &[1, 3, 1]];
        let answer = ask(Version::V2c, Ask::Get, &names);
        assert_eq!(answer.failed, None);
        let values: Vec<_> = answer
            .bindings
            .into_iter()
            .map(|(_, value)| value)
            .collect();
        assert_eq!(
            values,
            [
                Value::Ticks(360_000),
                Value::NoSuchObject,
                Value::NoSuchInstance
            ]
        );
    }

    #[test]
    fn v1_fails_as_a_whole() {
        let answer = ask(Version::V1, Ask::Get, &[&[1, 3, 0], &[1, 9, 0]]);
        assert_eq!(answer.failed, Some(Failed::NoSuchName(2)));
        let names = [
            (oid(&[1, 3, 0]), Value::Null),
            (oid(&[1, 9, 0]), Value::Null),
        ];
        assert_eq!(answer.bindings, names);
        let end = ask(Version::V1, Ask::GetNext, &[&[6]]);
        assert_eq!(end.failed, Some(Failed::NoSuchName(1)));
    }

    #[test]
    fn a_bulk_answer_repeats_the_later_names() {
        let many = Ask::GetBulk {
            non_repeaters: 1,
            max_repetitions: 2,
        };
        let answer = ask(Version::V2c, many, &[&[1, 1], &[1], &[2, 5]]);
        let names: Vec<_> = answer.bindings.into_iter().map(|(name, _)| name).collect();
        let expected: [&[u32]; 5] = [
            &[1, 1, 0],
            &[1, 1, 0],
            &[2, 5, 1, 0],
            &[1, 2, 0],
            &[2, 5, 2, 0],
        ];
        assert!(names.iter().eq(expected.map(oid).iter()), "{names:?}");
    }

    #[test]
    fn a_bulk_answer_stops_at_the_end_and_at_its_size() {
        let endless = Ask::GetBulk {
            non_repeaters: 0,
            max_repetitions: usize::MAX,
        };
        let all = ask(Version::V2c, endless, &[&[]]);
        assert!(all.bindings.len() > 100, "{}", all.bindings.len());
        let end = ask(Version::V2c, endless, &[&[5, 2, 2, 10]]);
        assert_eq!(
            end.bindings.last().map(|(_, value)| value),
            Some(&Value::EndOfMibView)
        );
        let wide = vec![&[2_u32, 1][..]; BINDINGS_MAX];
        assert!(!ask(Version::V2c, endless, &wide).bindings.is_empty());
        assert!(ask(Version::V2c, endless, &[]).bindings.is_empty());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let names = vec![&[2_u32, 1, 0][..]; BINDINGS_MAX];
        for version in [Version::V1, Version::V2c] {
            let question = Question {
                version,
                community: Vec::new(),
                request_id: 1,
                ask: Ask::Get,
                names: names.iter().map(|below| oid(below)).collect(),
            };
            let answer = Answer::parse(&answer(&question, &figures())).unwrap();
            assert_eq!(answer.failed, Some(Failed::TooBig));
        }
    }
}
