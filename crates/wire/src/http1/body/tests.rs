use super::super::Relaxed;
use super::*;

const LIMITS: Limits = Limits {
    head_bytes_max: 1000,
    fields_max: 10,
    relaxed: Relaxed::Off,
};

/// Content, or the fault, of a chunked body; the same at once and byte by byte.
fn chunked(body: &str) -> Result<String, BadBody> {
    let whole = decode(body.as_bytes(), &LIMITS, usize::MAX);
    let bytes = decode(body.as_bytes(), &LIMITS, 1);
    assert_eq!(whole.as_ref().ok(), bytes.as_ref().ok(), "{body:?}");
    whole.map(|(content, ..)| String::from_utf8_lossy(&content).into_owned())
}

#[test]
fn chunks_give_their_content_by_reference() {
    let body = b"5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\nnext";
    let mut decoder = BodyDecoder::new(Framing::Chunked, &LIMITS);
    assert_eq!(decoder.step(body), Ok(Step::Data { skip: 3, len: 5 }));
    assert_eq!(decoder.step(&body[8..]), Ok(Step::Data { skip: 9, len: 6 }));
    assert_eq!(decoder.step(&body[23..]), Ok(Step::End { consumed: 7 }));
    assert_eq!(decoder.step(b"next"), Ok(Step::End { consumed: 0 }));
    assert!(decoder.is_done());
}

#[test]
fn valid_chunk_lines_are_taken() {
    for (body, expected) in [
        ("0\r\n\r\n", ""),
        ("000\r\n\r\n", ""),
        ("0000000000000005\r\nhello\r\n0\r\n\r\n", "hello"),
        ("A\r\n0123456789\r\n0;x\r\n\r\n", "0123456789"),
        (
            "1;a\r\nx\r\n1;a=b;c=\"d;\\\"\\\\ e\"\r\ny\r\n0\r\n\r\n",
            "xy",
        ),
        ("1 ; a = b\r\nx\r\n0 ;z\r\n\r\n", "x"),
    ] {
        assert_eq!(chunked(body), Ok(expected.to_owned()), "{body:?}");
    }
}

#[test]
fn chunk_sizes_are_plain_hex_and_fit() {
    for bad in [
        "",
        "0x5",
        "+5",
        "-5",
        "_",
        "5_",
        "5g",
        "g",
        " 5",
        "\t5",
        "00000000000000005",
        "FFFFFFFFFFFFFFFF",
        "8000000000000000",
        "10000000000000005",
        "5\0",
        ";a",
    ] {
        assert_eq!(
            chunked(&format!("{bad}\r\nhello\r\n0\r\n\r\n")),
            Err(BadBody::ChunkSize),
            "{bad:?}"
        );
    }
    assert_eq!(chunked("5\nhello\r\n0\r\n\r\n"), Err(BadBody::LineEnd));
    assert_eq!(chunked("5\rhello\r\n0\r\n\r\n"), Err(BadBody::LineEnd));
}

#[test]
fn chunk_data_ends_with_crlf() {
    for end in ["X\r\n", "XX", "\n", "\r", "\r\r\n", ""] {
        assert_eq!(
            chunked(&format!("5\r\nhello{end}0\r\n\r\n")),
            Err(BadBody::LineEnd),
            "{end:?}"
        );
    }
}

#[test]
fn chunk_extensions_are_checked_and_bounded() {
    for bad in [
        "5;",
        "5;;a",
        "5;=b",
        "5;a=",
        "5;a=\"b",
        "5;a b",
        "5 ",
        "5;a=b c",
        "5;\n",
        "5;a\n",
        "5;a\rb",
        "5;a=\"\r\n\"",
        "5;a=\"\0\"",
        "5;a\0",
        "5;a=\"b\"c",
        "5;a,b",
        "5 a",
    ] {
        assert!(
            chunked(&format!("{bad}\r\nhello\r\n0\r\n\r\n")).is_err(),
            "{bad:?}"
        );
    }
    let long = |count| format!("5;{}\r\nhello\r\n0\r\n\r\n", "a".repeat(count));
    assert!(chunked(&long(4000)).is_ok());
    assert_eq!(chunked(&long(5000)), Err(BadBody::ChunkExtension));
    let many = format!("1;{}\r\nx\r\n", "a".repeat(1000)).repeat(30);
    assert_eq!(chunked(&many), Err(BadBody::TooMuchOverhead));
    let tiny = format!("{}0\r\n\r\n", "1;a\r\nx\r\n".repeat(50_000));
    assert_eq!(chunked(&tiny).map(|content| content.len()), Ok(50_000));
}

#[test]
fn padded_sizes_are_taken_only_when_relaxed() {
    let body = b"5  \r\nhello\r\n0   \r\n\r\n";
    assert_eq!(decode(body, &LIMITS, 1), Err(BadBody::ChunkExtension));
    let relaxed = Limits {
        relaxed: Relaxed::On,
        ..LIMITS
    };
    assert_eq!(
        decode(body, &relaxed, 1).map(|(content, ..)| content),
        Ok(b"hello".to_vec())
    );
}

#[test]
fn trailers_are_kept_without_those_that_decide_something() {
    let trailer = "X-Sum: 1\r\nHost: b\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nAuthorization: x\r\nSet-Cookie: y\r\nConnection: close\r\nETag: \"a\"\r\n";
    let (_, trailers, _) =
        decode(format!("0\r\n{trailer}\r\n").as_bytes(), &LIMITS, 1).expect("valid");
    let names: Vec<_> = trailers.iter().map(|line| line.name).collect();
    assert_eq!(names, [&b"X-Sum"[..], b"ETag"]);
}

#[test]
fn bad_trailers_are_refused() {
    for bad in [
        "X",
        "X : a\r\n",
        " X: a\r\n",
        "X: a\r\n b\r\n",
        "X: a\n",
        "X: \0\r\n",
        ": a\r\n",
        "\r",
        "X: a\rb\r\n",
        "\n",
    ] {
        assert!(chunked(&format!("0\r\n{bad}\r\n")).is_err(), "{bad:?}");
    }
    let long = format!("0\r\nX: {}\r\n\r\n", "a".repeat(1000));
    assert_eq!(chunked(&long), Err(BadBody::TrailerTooLarge));
    let many = format!("0\r\n{}\r\n", "a:\r\n".repeat(11));
    assert_eq!(chunked(&many), Err(BadBody::TrailerTooLarge));
}

#[test]
fn lengths_count_down_and_end_exactly() {
    let mut decoder = BodyDecoder::new(Framing::Length(5), &LIMITS);
    assert_eq!(decoder.remaining(), Some(5));
    assert_eq!(decoder.step(b"hel"), Ok(Step::Data { skip: 0, len: 3 }));
    assert_eq!(decoder.step(b""), Ok(Step::NeedMore { consumed: 0 }));
    assert_eq!(decoder.at_eof(), Err(BadBody::Cut));
    assert_eq!(decoder.step(b"loGET"), Ok(Step::Data { skip: 0, len: 2 }));
    assert_eq!(decoder.step(b"GET"), Ok(Step::End { consumed: 0 }));
    assert_eq!((decoder.at_eof(), decoder.remaining()), (Ok(()), Some(0)));
}

#[test]
fn only_a_body_until_close_may_end_with_the_connection() {
    let end = |framing, body: &[u8]| {
        let mut decoder = BodyDecoder::new(framing, &LIMITS);
        decoder.step(body).expect("valid so far");
        decoder.at_eof()
    };
    assert_eq!(end(Framing::None, b""), Ok(()));
    assert_eq!(end(Framing::Length(0), b""), Ok(()));
    assert_eq!(end(Framing::UntilClose, b"x"), Ok(()));
    assert_eq!(end(Framing::Tunnel, b"x"), Ok(()));
    assert_eq!(end(Framing::Length(2), b"x"), Err(BadBody::Cut));
    for cut in [
        "",
        "5",
        "5\r\n",
        "5\r\nhello",
        "5\r\nhello\r\n",
        "0",
        "0\r\n",
        "0\r\n\r",
        "0\r\nX: a\r\n",
    ] {
        assert_eq!(chunked(cut), Err(BadBody::Cut), "{cut:?}");
    }
}
