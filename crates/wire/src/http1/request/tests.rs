use http::Method;

use super::*;
use crate::FieldId;

fn parse(text: &str, relaxed: Relaxed) -> (Result<Parsed, BadRequest>, RequestHead) {
    let mut head = RequestHead::new();
    let limits = Limits {
        relaxed,
        ..Limits::default()
    };
    (parse_request(text.as_bytes(), &limits, &mut head), head)
}

/// The outcome in strict mode and in relaxed mode.
fn check(text: &str, strict: Result<(), BadRequest>, relaxed: Result<(), BadRequest>) {
    for (mode, expected) in [(Relaxed::Off, strict), (Relaxed::On, relaxed)] {
        let (parsed, head) = parse(text, mode);
        match expected {
            Ok(()) => {
                assert_eq!(
                    parsed,
                    Ok(Parsed::Complete(text.len())),
                    "{text:?} {mode:?}"
                );
                assert_eq!(head.irregular(), strict.is_err(), "{text:?} {mode:?}");
            }
            Err(error) => assert_eq!(parsed, Err(error), "{text:?} {mode:?}"),
        }
    }
}

fn check_both(text: &str, expected: Result<(), BadRequest>) {
    check(text, expected, expected);
}

#[test]
fn a_head_is_taken_apart_in_order_and_letter_case() {
    let text = "GET /a?b=c HTTP/1.1\r\nHOST: a.example\r\nx-Odd:  \t v  w \t\r\nEmpty:\r\n\r\nrest";
    let (parsed, head) = parse(text, Relaxed::Off);
    assert_eq!(parsed, Ok(Parsed::Complete(text.len() - 4)));
    assert_eq!(
        (&head.method, head.target(), head.version),
        (&Method::GET, &b"/a?b=c"[..], Version::H11)
    );
    let lines: Vec<_> = head
        .fields
        .iter()
        .map(|line| (line.id, line.name, line.value))
        .collect();
    assert_eq!(
        lines,
        [
            (FieldId::Host, &b"HOST"[..], &b"a.example"[..]),
            (FieldId::Other, b"x-Odd", b"v  w"),
            (FieldId::Other, b"Empty", b""),
        ]
    );
    assert!(!head.irregular());
}

#[test]
fn every_cut_of_a_head_is_partial() {
    let text = "\r\nPOST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nEmpty:\r\n\r\n";
    for end in 0..text.len() {
        assert_eq!(
            parse(text.get(..end).expect("ASCII"), Relaxed::Off).0,
            Ok(Parsed::Partial),
            "{end}"
        );
    }
    check_both(text, Ok(()));
}

#[test]
fn the_request_line_has_exactly_single_spaces() {
    for bad in [
        "GET  / HTTP/1.1",
        "GET /  HTTP/1.1",
        " GET / HTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET\t/ HTTP/1.1",
        "GET /\tHTTP/1.1",
        "GET / \tHTTP/1.1",
        "GET /",
        "GET",
        "GET ",
        "GET  HTTP/1.1",
        "G(T / HTTP/1.1",
        "GET /a\u{1}b HTTP/1.1",
        "GET /a\0b HTTP/1.1",
        "GET /a\rb HTTP/1.1",
        "GET /a\u{7f}b HTTP/1.1",
        "GET / HTTP/1.1 HTTP/1.1",
    ] {
        for mode in [Relaxed::Off, Relaxed::On] {
            let (parsed, _) = parse(&format!("{bad}\r\nHost: a\r\n\r\n"), mode);
            assert_eq!(
                parsed.map_err(BadRequest::status),
                Err(400),
                "{bad:?} {mode:?}"
            );
        }
    }
}

#[test]
fn versions_other_than_one_are_refused_with_505() {
    let check = |version: &str, expected| {
        let (parsed, _) = parse(&format!("GET / {version}\r\nHost: a\r\n\r\n"), Relaxed::On);
        assert_eq!(parsed.err().map(BadRequest::status), expected, "{version}");
    };
    for version in ["HTTP/1.0", "HTTP/1.1", "HTTP/1.2", "HTTP/1.9"] {
        check(version, None);
    }
    for version in ["HTTP/0.9", "HTTP/2.0", "HTTP/3.1"] {
        check(version, Some(505));
    }
    for version in [
        "HTTP/1.10",
        "http/1.1",
        "HTTP/1",
        "HTTP/1.",
        "HTTP/11",
        "HTTP/2",
        "HTTP/-1.1",
        "FTP/1.1",
    ] {
        check(version, Some(400));
    }
    assert_eq!(
        parse("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Relaxed::On).0,
        Err(BadRequest::UnsupportedVersion)
    );
}

#[test]
fn field_lines_are_refused_by_the_letter() {
    let check = |line: &str, expected| {
        check_both(
            &format!("GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n"),
            Err(expected),
        )
    };
    for line in [
        "X : a",
        "X\t: a",
        " X: a",
        "\tX: a",
        "X",
        ": a",
        "X(: a",
        "X/: a",
        "X\": a",
        "X\u{e9}: a",
        "X\0: a",
        "X y: a",
        "X: a\r\n b",
        "X: a\r\n\tb",
        "X: a\r\n \r\nY: b",
    ] {
        check(line, BadRequest::FieldName);
    }
    for line in [
        "X: a\0b",
        "X: a\u{1}b",
        "X: a\u{7f}",
        "X: a\rb",
        "X: \u{b}a",
        "X: a\u{c}",
        "X: a\r",
    ] {
        check(line, BadRequest::FieldValue);
    }
    check_both(
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        Err(BadRequest::FieldName),
    );
    check_both(
        "GET / HTTP/1.1\r\n\tHost: a\r\n\r\n",
        Err(BadRequest::FieldName),
    );
}

#[test]
fn bare_lf_is_taken_only_when_relaxed_and_throughout() {
    let end = Err(BadRequest::LineEnd);
    check("GET / HTTP/1.1\nHost: a\n\n", end, Ok(()));
    check("GET / HTTP/1.0\n\n", end, Ok(()));
    check("\nGET / HTTP/1.0\n\n", end, Ok(()));
    for mixed in [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\nHost: a\nX: b\r\n\n",
        "GET / HTTP/1.1\r\n\n",
        "GET / HTTP/1.1\n\r\n",
    ] {
        check_both(mixed, end);
    }
}

#[test]
fn spaces_in_a_target_are_taken_only_when_relaxed_and_single() {
    check(
        "GET /a b c HTTP/1.1\r\nHost: a\r\n\r\n",
        Err(BadRequest::Target),
        Ok(()),
    );
    check_both(
        "GET /a  b HTTP/1.1\r\nHost: a\r\n\r\n",
        Err(BadRequest::Target),
    );
    check_both(
        "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n",
        Err(BadRequest::Target),
    );
    check_both(
        "GET / HTTP/1.1 x HTTP/1.1\r\nHost: a\r\n\r\n",
        Err(BadRequest::Target),
    );
}

#[test]
fn a_few_empty_lines_before_the_request_line_are_skipped() {
    check_both("\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Ok(()));
    check_both(
        "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        Err(BadRequest::RequestLine),
    );
    check_both(
        "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        Err(BadRequest::LineEnd),
    );
}

#[test]
fn what_is_no_request_is_refused_before_its_line_ends() {
    check_both("\u{16}\u{3}\u{1}\u{2}", Err(BadRequest::Method));
    check_both("GET /\u{1}", Err(BadRequest::RequestLine));
    check_both(&"A".repeat(40), Err(BadRequest::MethodTooLong));
}

#[test]
fn limits_are_told_apart_by_status() {
    let check = |text: String, limits: Limits, expected: Result<Parsed, u16>| {
        let mut head = RequestHead::new();
        let parsed = parse_request(text.as_bytes(), &limits, &mut head);
        assert_eq!(parsed.map_err(BadRequest::status), expected);
    };
    let limits = Limits {
        head_bytes_max: 100,
        fields_max: 40,
        ..Limits::default()
    };
    check(format!("GET /{}", "a".repeat(100)), limits, Err(414));
    check(
        format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(100)),
        limits,
        Err(431),
    );
    check("\r\n".repeat(2), limits, Ok(Parsed::Partial));
    let exact = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(77));
    assert_eq!(exact.len(), 100);
    check(exact.clone(), limits, Ok(Parsed::Complete(100)));
    check(
        exact,
        Limits {
            head_bytes_max: 99,
            ..limits
        },
        Err(431),
    );
    let many = |count: usize| format!("GET / HTTP/1.1\r\n{}\r\n", "a:b\r\n".repeat(count));
    let limits = Limits {
        fields_max: 40,
        ..Limits::default()
    };
    check(many(33), limits, Ok(Parsed::Complete(many(33).len())));
    check(many(40), limits, Ok(Parsed::Complete(many(40).len())));
    check(many(41), limits, Err(431));
    check(
        many(6),
        Limits {
            fields_max: 5,
            ..limits
        },
        Err(431),
    );
}

#[test]
fn equal_lengths_are_merged_and_others_left() {
    let check = |lines: &str, expected: &[&str]| {
        let (parsed, head) = parse(
            &format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n"),
            Relaxed::Off,
        );
        assert!(matches!(parsed, Ok(Parsed::Complete(_))), "{lines}");
        let lengths: Vec<_> = head.fields.get_all(FieldId::ContentLength).collect();
        assert_eq!(
            lengths,
            expected
                .iter()
                .map(|text| text.as_bytes())
                .collect::<Vec<_>>()
        );
    };
    check("Content-Length: 5\r\ncontent-length: 5\r\n", &["5"]);
    check("Content-Length: 5, 5\r\n", &["5, 5"]);
    check("Content-Length: 5, 6\r\n", &["5, 6"]);
    check("Content-Length: 5\r\nContent-Length: 6\r\n", &["5", "6"]);
    check("Content-Length: 5,\r\n", &["5,"]);
}

#[test]
fn names_that_resemble_framing_fields_are_refused() {
    for name in [
        "Content_Length",
        "content.length",
        "ContentLength",
        "-Content-Length",
        "Transfer_Encoding",
        "Transfer-Encoding~",
    ] {
        check_both(
            &format!("GET / HTTP/1.1\r\nHost: a\r\n{name}: 5\r\n\r\n"),
            Err(BadRequest::FramingLookalike),
        );
    }
    check_both(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Content-Length: 5\r\nContent-Lengths: 5\r\n\r\n",
        Ok(()),
    );
}

#[test]
fn a_reused_head_takes_no_new_memory() {
    let text = "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nUser-Agent: x\r\n\r\n";
    let mut head = RequestHead::new();
    parse_request(text.as_bytes(), &Limits::default(), &mut head).expect("valid");
    let (held, target) = (head.fields.memory_bytes(), head.target().as_ptr());
    for _ in 0..10 {
        parse_request(text.as_bytes(), &Limits::default(), &mut head).expect("valid");
    }
    assert_eq!(
        (head.fields.memory_bytes(), head.target().as_ptr()),
        (held, target)
    );
}

#[test]
fn parsing_again_is_worth_it_only_after_a_line_end() {
    let limits = Limits::default();
    assert!(!worth(b"GET / HT", 3, &limits));
    assert!(worth(b"GET / HTTP/1.1\r\n", 8, &limits));
    assert!(worth(
        b"GET / HT",
        3,
        &Limits {
            head_bytes_max: 8,
            ..limits
        }
    ));
    fn worth(buf: &[u8], seen: usize, limits: &Limits) -> bool {
        super::super::worth_parsing(buf, seen, limits)
    }
}
