//! Datagrams of real tools, hostile ones, and any.

use proptest::prelude::*;

use super::*;

/// `snmpget -v2c -c public HOST .1.3.6.1.4.1.3495.1.1.3.0`, as net-snmp sends it.
const GET: &[u8] =
    b"\x30\x2b\x02\x01\x01\x04\x06public\xa0\x1e\x02\x04\x1a\x2b\x3c\x4d\x02\x01\x00\
    \x02\x01\x00\x30\x10\x30\x0e\x06\x0a\x2b\x06\x01\x04\x01\x9b\x27\x01\x01\x03\x05\x00";

fn uptime() -> Oid {
    Oid::new(&[1, 3, 6, 1, 4, 1, 3495, 1, 1, 3]).unwrap()
}

#[test]
fn a_question_of_a_real_tool_is_read() {
    let question = Question::parse(GET).unwrap();
    let expected = Question {
        version: Version::V2c,
        community: b"public".to_vec(),
        request_id: 0x1a2b_3c4d,
        ask: Ask::Get,
        names: vec![uptime()],
    };
    assert_eq!(question, expected);
    assert_eq!(question.to_bytes(), GET);
}

#[test]
fn an_answer_has_the_bytes_that_a_tool_expects() {
    let answer = Answer {
        version: Version::V1,
        community: b"c".to_vec(),
        request_id: -1,
        failed: Some(Failed::NoSuchName(3)),
        bindings: vec![(uptime(), Value::Ticks(0x8000_0000))],
    };
    let expected = b"\x30\x28\x02\x01\x00\x04\x01c\xa2\x20\x02\x01\xff\x02\x01\x02\x02\x01\x03\
        \x30\x15\x30\x13\x06\x0a\x2b\x06\x01\x04\x01\x9b\x27\x01\x01\x03\x43\x05\x00\x80\x00\x00\x00";
    assert_eq!(answer.to_bytes(), expected);
    assert_eq!(Answer::parse(&answer.to_bytes()), Ok(answer));
}

fn check(bytes: &[u8], expected: Malformed) {
    assert_eq!(Question::parse(bytes), Err(expected));
}

/// `GET` with the byte at `place` another.
fn with(place: usize, byte: u8) -> Vec<u8> {
    let mut bytes = GET.to_vec();
    bytes[place] = byte;
    bytes
}

#[test]
fn what_is_cut_or_too_long_is_refused() {
    for length in 0..GET.len() {
        check(&GET[..length], Malformed::Truncated);
    }
    check(&[GET, b"\0"].concat(), Malformed::Surplus);
}

#[test]
fn lengths_that_lie_are_refused() {
    check(&with(1, 0x80), Malformed::Length);
    check(&with(1, 0x85), Malformed::Length);
    check(&with(1, 0x2a), Malformed::Surplus);
    check(b"\x30\x84\xff\xff\xff\xff", Malformed::Truncated);
}

#[test]
fn other_versions_and_operations_are_refused() {
    check(&with(4, 3), Malformed::Version);
    for operation in [0xa2, 0xa3, 0xa4, 0xa6, 0xa7, 0xa8] {
        check(&with(13, operation), Malformed::Operation);
    }
    let mut bulk_v1 = with(13, 0xa5);
    bulk_v1[4] = 0;
    check(&bulk_v1, Malformed::Operation);
}

#[test]
fn a_name_that_is_too_long_is_refused() {
    let name = |arcs: usize| {
        let arcs: Vec<u32> = [1, 3].into_iter().chain((0..).take(arcs - 2)).collect();
        Oid::new(&arcs)
    };
    assert_eq!(name(ARCS_MAX + 1), Err(NotAnOid));
    let question = Question {
        names: vec![name(ARCS_MAX).unwrap()],
        ..Question::parse(GET).unwrap()
    };
    let bytes = question.to_bytes();
    assert_eq!(Question::parse(&bytes), Ok(question));
    // CVE-2025-59362: a name of more parts than any table holds.
    let long = [&[0x2b_u8][..], &[1; ARCS_MAX]].concat();
    assert_eq!(Oid::parse(&long), Err(Malformed::ObjectId));
    for content in [
        &b""[..],
        b"\x2b\x80\x01",
        b"\x2b\x81",
        b"\x2b\x90\x80\x80\x80\x00",
    ] {
        assert_eq!(Oid::parse(content), Err(Malformed::ObjectId), "{content:?}");
    }
}

#[test]
fn more_names_than_allowed_are_refused() {
    let ask = |names: usize| Question {
        names: vec![uptime(); names],
        ..Question::parse(GET).unwrap()
    };
    let most = ask(BINDINGS_MAX);
    assert_eq!(Question::parse(&most.to_bytes()), Ok(most));
    check(&ask(BINDINGS_MAX + 1).to_bytes(), Malformed::TooMuch);
}

#[test]
fn names_are_ordered_as_they_are_walked() {
    let oid = |arcs: &[u32]| Oid::new(arcs).unwrap();
    let sorted = [
        oid(&[0, 0]),
        oid(&[1, 3]),
        oid(&[1, 3, 6]),
        oid(&[1, 3, 6, 9]),
        oid(&[1, 3, 6, 10]),
        oid(&[2, 999]),
    ];
    assert!(sorted.is_sorted());
    assert_eq!(sorted[3].to_string(), ".1.3.6.9");
}

fn oid() -> impl Strategy<Value = Oid> {
    let rest = prop::collection::vec(any::<u32>(), 0..ARCS_MAX - 2);
    (0..3_u32, 0..40_u32, rest).prop_map(|(first, second, rest)| {
        let arcs: Vec<u32> = [first, second].into_iter().chain(rest).collect();
        Oid::new(&arcs).unwrap()
    })
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::Integer),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Value::Octets),
        oid().prop_map(Value::ObjectId),
        any::<[u8; 4]>().prop_map(Value::IpAddress),
        any::<u32>().prop_map(Value::Counter),
        any::<u32>().prop_map(Value::Gauge),
        any::<u32>().prop_map(Value::Ticks),
        any::<u64>().prop_map(Value::Counter64),
        Just(Value::NoSuchObject),
        Just(Value::NoSuchInstance),
        Just(Value::EndOfMibView),
    ]
}

fn failed() -> impl Strategy<Value = Option<Failed>> {
    prop_oneof![
        Just(None),
        Just(Some(Failed::TooBig)),
        Just(Some(Failed::General)),
        (0..999_usize).prop_map(|place| Some(Failed::NoSuchName(place))),
    ]
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V1), Just(Version::V2c)]
}

prop_compose! {
    fn answer()(
        version in version(),
        community in prop::collection::vec(any::<u8>(), 0..=COMMUNITY_BYTES_MAX),
        request_id in any::<i32>(),
        failed in failed(),
        bindings in prop::collection::vec((oid(), value()), 0..9),
    ) -> Answer {
        Answer { version, community, request_id, failed, bindings }
    }
}

proptest! {
    #[test]
    fn an_answer_survives_the_wire(answer in answer()) {
        prop_assert_eq!(Answer::parse(&answer.to_bytes()), Ok(answer));
    }

    #[test]
    fn a_question_survives_the_wire(
        answer in answer(),
        bulk in any::<Option<(u16, u16)>>(),
    ) {
        let ask = match (bulk, answer.version) {
            (Some((non_repeaters, max_repetitions)), Version::V2c) => Ask::GetBulk {
                non_repeaters: non_repeaters.into(),
                max_repetitions: max_repetitions.into(),
            },
            (Some(_), Version::V1) => Ask::GetNext,
            (None, _) => Ask::Get,
        };
        let question = Question {
            version: answer.version,
            community: answer.community,
            request_id: answer.request_id,
            ask,
            names: answer.bindings.into_iter().map(|(name, _)| name).collect(),
        };
        prop_assert_eq!(Question::parse(&question.to_bytes()), Ok(question));
    }

    #[test]
    fn any_bytes_parse_or_do_not(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz(&bytes);
    }
}
