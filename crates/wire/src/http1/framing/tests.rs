use super::super::{Limits, Parsed, parse_request, parse_response};
use super::*;

fn request(version: &str, lines: &str) -> Result<Framing, BadRequest> {
    let mut head = RequestHead::new();
    let text = format!("POST / {version}\r\nHost: a\r\n{lines}\r\n");
    let parsed = parse_request(text.as_bytes(), &Limits::default(), &mut head)?;
    assert_eq!(parsed, Parsed::Complete(text.len()));
    request_framing(&head)
}

fn response(method: &Method, line: &str, lines: &str) -> Result<Framing, BadResponse> {
    let mut head = ResponseHead::new();
    let text = format!("{line}\r\n{lines}\r\n");
    let parsed = parse_response(text.as_bytes(), &Limits::default(), &mut head)?;
    assert_eq!(parsed, Parsed::Complete(text.len()));
    response_framing(method, &head)
}

#[test]
fn requests_are_framed_by_what_they_declare() {
    let check = |lines, expected| assert_eq!(request("HTTP/1.1", lines), Ok(expected), "{lines}");
    check("", Framing::None);
    check("Content-Length: 0\r\n", Framing::Length(0));
    check("Content-Length: 5\r\n", Framing::Length(5));
    check("Content-Length: 005\r\n", Framing::Length(5));
    check(
        "Content-Length: 9223372036854775807\r\n",
        Framing::Length(i64::MAX as u64),
    );
    check(
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        Framing::Length(5),
    );
    check("Transfer-Encoding: chunked\r\n", Framing::Chunked);
    check("transfer-encoding: CHUNKED \r\n", Framing::Chunked);
}

#[test]
fn lengths_are_digits_and_agree() {
    for bad in [
        "",
        "+5",
        "-5",
        "0x5",
        "5.0",
        "5e0",
        "\u{ff15}",
        "5 0",
        "5,",
        "5, 6",
        "\"5\"",
        "9223372036854775808",
        "18446744073709551621",
        "99999999999999999999999",
    ] {
        assert_eq!(
            request("HTTP/1.1", &format!("Content-Length: {bad}\r\n")),
            Err(BadRequest::ContentLength),
            "{bad}"
        );
        let answered = response(
            &Method::GET,
            "HTTP/1.1 200 OK",
            &format!("Content-Length: {bad}\r\n"),
        );
        assert_eq!(answered, Err(BadResponse::ContentLength), "{bad}");
    }
    let differing = "Content-Length: 5\r\nContent-Length: 6\r\n";
    assert_eq!(
        request("HTTP/1.1", differing),
        Err(BadRequest::ContentLength)
    );
    for bad in ["5\0", "\u{b}5", "5\u{c}"] {
        assert_eq!(
            request("HTTP/1.1", &format!("Content-Length: {bad}\r\n")),
            Err(BadRequest::FieldValue)
        );
    }
}

#[test]
fn a_list_of_equal_lengths_is_taken_from_origins_only() {
    let list = "Content-Length: 5, 5\r\n";
    assert_eq!(request("HTTP/1.1", list), Err(BadRequest::ContentLength));
    let answered = response(&Method::GET, "HTTP/1.1 200 OK", list);
    assert_eq!(answered, Ok(Framing::Length(5)));
    let twice = response(&Method::GET, "HTTP/1.1 200 OK", &format!("{list}{list}"));
    assert_eq!(twice, Ok(Framing::Length(5)));
    let differing = response(&Method::GET, "HTTP/1.1 200 OK", "Content-Length: 5, 6\r\n");
    assert_eq!(differing, Err(BadResponse::ContentLength));
}

#[test]
fn transfer_encoding_is_one_chunked_or_nothing() {
    for bad in [
        "",
        "xchunked",
        "chunkedx",
        "chunk ed",
        "\"chunked\"",
        "'chunked'",
        "chunked;a=b",
        "chunked,",
        ",chunked",
        "chunked, chunked",
        "chunked, gzip",
        "xchunked",
        "identity",
        "\u{a0}chunked",
        "chunked\u{a0}",
        "gzip;q=1, chunked",
    ] {
        assert_eq!(
            request("HTTP/1.1", &format!("Transfer-Encoding: {bad}\r\n")),
            Err(BadRequest::TransferEncoding),
            "{bad}"
        );
        let answered = response(
            &Method::GET,
            "HTTP/1.1 200 OK",
            &format!("Transfer-Encoding: {bad}\r\n"),
        );
        assert_eq!(answered, Err(BadResponse::TransferEncoding), "{bad}");
    }
    // RFC 9112 §6.3: such a request has no end, such a response ends with its connection.
    for coded in ["gzip", "x-a, deflate"] {
        let line = format!("Transfer-Encoding: {coded}\r\n");
        assert_eq!(
            request("HTTP/1.1", &line),
            Err(BadRequest::TransferEncoding)
        );
        let answered = response(&Method::GET, "HTTP/1.1 200 OK", &line);
        assert_eq!(answered, Ok(Framing::UntilClose), "{coded}");
    }
    let unknown = request("HTTP/1.1", "Transfer-Encoding: gzip, chunked\r\n");
    assert_eq!(unknown, Err(BadRequest::UnknownCoding));
    assert_eq!(BadRequest::UnknownCoding.status(), 501);
    let twice = "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n";
    assert_eq!(
        request("HTTP/1.1", twice),
        Err(BadRequest::TransferEncoding)
    );
    for bad in ["\u{b}chunked", "chunked\u{c}", "chunked\0"] {
        assert_eq!(
            request("HTTP/1.1", &format!("Transfer-Encoding: {bad}\r\n")),
            Err(BadRequest::FieldValue)
        );
    }
    let old = request("HTTP/1.0", "Transfer-Encoding: chunked\r\n");
    assert_eq!(old, Err(BadRequest::CodingInOldVersion));
    let old = response(
        &Method::GET,
        "HTTP/1.0 200 OK",
        "Transfer-Encoding: chunked\r\n",
    );
    assert_eq!(old, Err(BadResponse::CodingInOldVersion));
}

#[test]
fn length_with_transfer_encoding_is_refused_in_any_order() {
    for both in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: x\r\nContent-Length: 0\r\n",
    ] {
        assert_eq!(
            request("HTTP/1.1", both),
            Err(BadRequest::LengthAndCoding),
            "{both}"
        );
        let answered = response(&Method::GET, "HTTP/1.1 200 OK", both);
        assert_eq!(answered, Err(BadResponse::LengthAndCoding), "{both}");
    }
}

#[test]
fn responses_without_a_body_by_rule_have_none() {
    let check = |method, line, lines, expected| {
        assert_eq!(
            response(&method, line, lines),
            Ok(expected),
            "{line} {lines}"
        );
    };
    let length = "Content-Length: 5\r\n";
    check(Method::HEAD, "HTTP/1.1 200 OK", length, Framing::None);
    check(
        Method::HEAD,
        "HTTP/1.1 200 OK",
        "Transfer-Encoding: chunked\r\n",
        Framing::None,
    );
    check(
        Method::GET,
        "HTTP/1.1 304 Not Modified",
        length,
        Framing::None,
    );
    check(
        Method::GET,
        "HTTP/1.1 204 No Content",
        length,
        Framing::None,
    );
    check(Method::GET, "HTTP/1.1 100 Continue", length, Framing::None);
    check(Method::GET, "HTTP/1.1 103 Early Hints", "", Framing::None);
    check(
        Method::GET,
        "HTTP/1.1 101 Switching Protocols",
        length,
        Framing::Tunnel,
    );
    check(Method::CONNECT, "HTTP/1.1 200 OK", length, Framing::Tunnel);
    check(Method::CONNECT, "HTTP/1.1 299 Odd", "", Framing::Tunnel);
    check(
        Method::CONNECT,
        "HTTP/1.1 403 Forbidden",
        length,
        Framing::Length(5),
    );
    check(Method::GET, "HTTP/1.1 200 OK", "", Framing::UntilClose);
    check(
        Method::GET,
        "HTTP/1.1 200 OK",
        "Transfer-Encoding: chunked\r\n",
        Framing::Chunked,
    );
    check(Method::GET, "HTTP/1.0 200 OK", length, Framing::Length(5));
}

#[test]
fn fields_of_another_response_still_have_to_be_valid() {
    let bad = response(&Method::HEAD, "HTTP/1.1 200 OK", "Content-Length: -5\r\n");
    assert_eq!(bad, Err(BadResponse::ContentLength));
}
