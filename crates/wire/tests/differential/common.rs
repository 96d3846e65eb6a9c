//! Requests for the differential tests, and what we make of them.

use std::fs;
use std::path::Path;

use http::Method;
use wire::http1::{
    BodyDecoder, Framing, Limits, Parsed, RequestHead, Step, parse_request, request_framing,
};

/// A request as a recipient understood it; no body when that was cut or broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) body: Option<Vec<u8>>,
}

/// What we make of the bytes of a connection.
pub(crate) fn ours(bytes: &[u8], limits: &Limits) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut head = RequestHead::new();
    let mut rest = bytes;
    while let Ok(Parsed::Complete(consumed)) = parse_request(rest, limits, &mut head) {
        rest = &rest[consumed..];
        let Ok(framing) = request_framing(&head) else {
            break;
        };
        let body = body(framing, limits, &mut rest);
        let is_cut = body.is_none();
        let target = String::from_utf8_lossy(head.target()).into_owned();
        seen.push(Seen {
            method: head.method.clone(),
            target,
            body,
        });
        if is_cut || head.method == Method::CONNECT {
            break;
        }
    }
    seen
}

fn body(framing: Framing, limits: &Limits, rest: &mut &[u8]) -> Option<Vec<u8>> {
    let mut decoder = BodyDecoder::new(framing, limits);
    let mut content = Vec::new();
    loop {
        let (skip, len, done) = match decoder.step(rest).ok()? {
            Step::Data { skip, len } => (skip, len, false),
            Step::End { consumed } => (consumed, 0, true),
            Step::NeedMore { .. } => return None,
        };
        content.extend_from_slice(&rest[skip..skip + len]);
        *rest = &rest[skip + len..];
        if done {
            return Some(content);
        }
    }
}

/// Every framing field in every spelling we know of, alone and in pairs, before two bodies that
/// read differently by length and by chunks; and the seeds of the request fuzzer.
pub(crate) fn requests() -> Vec<Vec<u8>> {
    let lines = [
        "",
        "X: y\r\n",
        "Content-Length: 5\r\n",
        "content-length:5\r\n",
        "Content-Length: 0\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5,5\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: 6\r\n",
        "Content-Length:\r\n",
        "Content-Length: 5 \r\n",
        "Content-Length:\t5\r\n",
        "Content-Length: \x0b5\r\n",
        "Content-Length: 5\x0c\r\n",
        "Content-Length: 5\0\r\n",
        "Content-Length : 5\r\n",
        "Content-Length: 5 5\r\n",
        "Content-Length: \"5\"\r\n",
        "Content-Length: 9223372036854775808\r\n",
        "Content-Length: 18446744073709551621\r\n",
        "Content-Length: 5\n",
        "Content-Length: \r\n 5\r\n",
        " Content-Length: 5\r\n",
        "Content_Length: 5\r\n",
        "X: y\rContent-Length: 5\r\n",
        "Content-Length\r\n",
        "Transfer-Encoding: chunked\r\n",
        "transfer-encoding:CHUNKED\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
        "Transfer-Encoding: chunked\x0c\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding: chunked;a=b\r\n",
        "Transfer-Encoding:\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "Transfer-Encoding: chunked\n",
        "Transfer-Encoding: chunked\0\r\n",
        "Transfer_Encoding: chunked\r\n",
        "X: y\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: ,chunked\r\n",
        "Transfer-Encoding: \u{a0}chunked\r\n",
        ": y\r\n",
        "X y: z\r\n",
        "X: \x01\r\n",
    ];
    let bodies = [
        "",
        "5\r\nhello\r\n0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n",
    ];
    let mut requests = seeds();
    for line in [
        "POST / HTTP/1.1",
        "GET /x HTTP/1.1",
        "POST / HTTP/1.0",
        "POST / HTTP/1.2",
        "POST  / HTTP/1.1",
        "POST /\tx HTTP/1.1",
        "POST / HTTP/2.0",
        "P(ST / HTTP/1.1",
    ] {
        for (at, one) in lines.iter().enumerate() {
            for two in lines.iter().skip(at) {
                for body in bodies {
                    requests
                        .push(format!("{line}\r\nHost: a\r\n{one}{two}\r\n{body}").into_bytes());
                }
            }
        }
    }
    requests
}

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/request");
    let files = fs::read_dir(folder).expect("the corpus of the request fuzzer");
    let read = |file: std::io::Result<fs::DirEntry>| fs::read(file.expect("a file").path());
    files
        .map(|file| read(file).expect("a readable file"))
        .collect()
}
