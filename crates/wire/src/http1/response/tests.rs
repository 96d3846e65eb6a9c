use super::super::Relaxed;
use super::*;
use crate::FieldId;

fn parse(text: &str, relaxed: Relaxed) -> (Result<Parsed, BadResponse>, ResponseHead) {
    let mut head = ResponseHead::new();
    let limits = Limits {
        relaxed,
        ..Limits::default()
    };
    (parse_response(text.as_bytes(), &limits, &mut head), head)
}

fn refused(text: &str, expected: BadResponse) {
    for relaxed in [Relaxed::Off, Relaxed::On] {
        assert_eq!(
            parse(text, relaxed).0,
            Err(expected),
            "{text:?} {relaxed:?}"
        );
    }
}

#[test]
fn a_status_line_is_taken_apart() {
    let check = |line: &str, version, status, reason: &str| {
        let text = format!("{line}\r\nX: y\r\n\r\n");
        let (parsed, head) = parse(&text, Relaxed::Off);
        assert_eq!(parsed, Ok(Parsed::Complete(text.len())), "{line}");
        assert_eq!(
            (head.version, head.status, head.reason()),
            (version, status, reason.as_bytes())
        );
    };
    check("HTTP/1.1 200 OK", Version::H11, 200, "OK");
    check("HTTP/1.0 404 Not  Found", Version::H10, 404, "Not  Found");
    check("HTTP/1.1 200 ", Version::H11, 200, "");
    check("HTTP/1.1 200", Version::H11, 200, "");
    check("HTTP/1.7 999 Gr\u{fc}n", Version::H11, 999, "Gr\u{fc}n");
}

#[test]
fn what_is_no_status_line_is_refused() {
    for bad in [
        "HTTP/1.1 20 OK",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1  200 OK",
        "HTTP/1.1 099 No",
        "HTTP/1.1 +20 OK",
        "HTTP/1.1 200OK",
        "HTTP/1.1",
        "HTTP/1.1200 OK",
        "HTTP/1.x 200 OK",
        "HTTP/1.1\t200 OK",
        "HTTP/1.1 200 a\0b",
        "HTTP/1.1 200 a\rb",
    ] {
        refused(&format!("{bad}\r\n\r\n"), BadResponse::StatusLine);
    }
    for bad in [
        "<html>old</html>",
        "ICY 200 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "http/1.1 200 OK\r\n\r\n",
    ] {
        refused(bad, BadResponse::NotHttp);
    }
}

#[test]
fn every_cut_of_a_head_is_partial() {
    let text = "HTTP/1.1 200 OK\r\nA: b\r\nFolded: c\r\n d\r\nGap : e\r\n\r\n";
    for end in 0..text.len() {
        assert_eq!(
            parse(text.get(..end).expect("ASCII"), Relaxed::Off).0,
            Ok(Parsed::Partial),
            "{end}"
        );
    }
    assert_eq!(
        parse(text, Relaxed::Off).0,
        Ok(Parsed::Complete(text.len()))
    );
}

#[test]
fn folds_and_spaces_before_colons_are_mended() {
    let text = "HTTP/1.1 200 OK\r\nGap \t: a\r\nFolded: b\r\n c\r\n\td\r\nLate:\r\n e\r\n\r\nbody";
    let (parsed, head) = parse(text, Relaxed::Off);
    assert_eq!(parsed, Ok(Parsed::Complete(text.len() - 4)));
    assert!(head.irregular());
    let lines: Vec<_> = head
        .fields
        .iter()
        .map(|line| (line.name, line.value))
        .collect();
    let expected: [(&[u8], &[u8]); 3] =
        [(b"Gap", b"a"), (b"Folded", b"b   c  \td"), (b"Late", b"e")];
    assert_eq!(lines, expected);
}

#[test]
fn folds_that_someone_reads_otherwise_are_refused() {
    for fold in [
        " X: a",
        "X: a\r\n ",
        "X: a\r\n \t",
        "Content-Length: 5\r\n 0",
        "Content-Length:\r\n 5",
        "Transfer-Encoding:\r\n chunked",
        "Content-Length : 5",
        "Transfer-Encoding : chunked",
        "X",
        ": a",
        "X y: a",
    ] {
        refused(
            &format!("HTTP/1.1 200 OK\r\n{fold}\r\n\r\n"),
            BadResponse::FieldName,
        );
    }
    refused("HTTP/1.1 200 OK\r\nX: a\0\r\n\r\n", BadResponse::FieldValue);
    refused(
        "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
        BadResponse::FieldValue,
    );
    refused(
        "HTTP/1.1 200 OK\r\nX: a\r\n b\0\r\n\r\n",
        BadResponse::FieldValue,
    );
}

#[test]
fn bare_lf_is_taken_only_when_relaxed() {
    for text in [
        "HTTP/1.1 200 OK\nA: b\n\n",
        "HTTP/1.1 200 OK\r\nA: b\n\n",
        "HTTP/1.1 200 OK\r\nA: b\n c\r\n\r\n",
    ] {
        assert_eq!(
            parse(text, Relaxed::Off).0,
            Err(BadResponse::LineEnd),
            "{text:?}"
        );
        let (parsed, head) = parse(text, Relaxed::On);
        assert_eq!(parsed, Ok(Parsed::Complete(text.len())), "{text:?}");
        assert!(head.irregular());
    }
}

#[test]
fn large_heads_are_refused() {
    let limits = Limits {
        head_bytes_max: 50,
        fields_max: 3,
        ..Limits::default()
    };
    let mut head = ResponseHead::new();
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(50));
    assert_eq!(
        parse_response(long.as_bytes(), &limits, &mut head),
        Err(BadResponse::HeadTooLarge)
    );
    let many = "HTTP/1.1 200 OK\r\na:\r\na:\r\na:\r\na:\r\n\r\n";
    assert_eq!(
        parse_response(many.as_bytes(), &limits, &mut head),
        Err(BadResponse::TooManyFields)
    );
    assert!(BadResponse::TooManyFields.is_too_large());
    assert!(!head.fields.has(FieldId::Host));
}
