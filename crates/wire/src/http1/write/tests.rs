use super::*;

#[test]
fn heads_are_written_from_the_model() {
    let mut fields = Fields::new();
    fields.push(b"hOST", b"a.example");
    fields.push(b"X", b"a\r\nSet-Cookie: b");
    let mut out = Vec::new();
    write_request_head(&Method::GET, b"/", &fields, &mut out);
    assert_eq!(
        out,
        b"GET / HTTP/1.1\r\nhOST: a.example\r\nX: a  Set-Cookie: b\r\n\r\n"
    );
    check_sent_head(&out);
    let mut out = Vec::new();
    write_status_line(404, reason_phrase(404).as_bytes(), &mut out);
    assert_eq!(out, b"HTTP/1.1 404 Not Found\r\n");
    assert_eq!(reason_phrase(799), "");
}

#[test]
fn a_sent_head_is_exactly_one_strict_head() {
    for good in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\n",
    ] {
        assert!(is_strict_head(good.as_bytes()), "{good}");
    }
    for bad in [
        "",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nx",
        "GET / HTTP/1.1\r\nHost: a\r\n",
        "HTTP/1.1 200 OK\n\n",
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        assert!(!is_strict_head(bad.as_bytes()), "{bad}");
    }
}

#[test]
fn chunk_heads_are_hex_without_leading_zeros() {
    for (len, expected) in [
        (1, "1\r\n"),
        (10, "a\r\n"),
        (256, "100\r\n"),
        (0x1234_abcd, "1234abcd\r\n"),
    ] {
        let mut out = Vec::new();
        write_chunk_head(len, &mut out);
        assert_eq!(out, expected.as_bytes());
    }
}
