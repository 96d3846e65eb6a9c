//! What parsing a request head costs: `cargo run --release --example parse_cost -p wire`.
//!
//! Prints nanoseconds per head, the best of several rounds, on whatever else the machine does.

use std::hint::black_box;
use std::time::Instant;

use wire::Target;
use wire::http1::{Limits, RequestHead, check_host, may_reuse, parse_request, request_framing};
use wire::target::UriWhitespace;

const SHORT: &str = "GET http://127.0.0.1:8080/600.bin HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: wrk/4.2\r\nAccept: */*\r\n\r\n";
const BROWSER: &str = "GET http://www.example.com/assets/site.css?v=17 HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\nAccept: text/css,*/*;q=0.1\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\nReferer: http://www.example.com/\r\nConnection: keep-alive\r\nCookie: session=0123456789abcdef\r\n\r\n";

/// Short rounds, so that some of them run undisturbed.
const ROUNDS: usize = 3000;
const HEADS: u32 = 500;

fn best_ns(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..HEADS).for_each(|_| work());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(HEADS)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

#[expect(clippy::print_stdout, reason = "that is what it is for")]
fn main() {
    let limits = Limits::default();
    let mut head = RequestHead::new();
    let mut target = Target::new();
    for (name, text) in [("short", SHORT), ("browser", BROWSER)] {
        let bytes = text.as_bytes();
        let parse = best_ns(|| {
            parse_request(black_box(bytes), &limits, &mut head).ok();
        });
        let decide = best_ns(|| {
            let head = black_box(&head);
            black_box((request_framing(head).ok(), check_host(head).ok()));
            black_box(may_reuse(head.version, &head.fields));
        });
        let normalise = best_ns(|| {
            target
                .set_absolute(black_box(head.target()), UriWhitespace::Strip)
                .ok();
        });
        println!(
            "{name} ({} bytes): parse {parse:.0} ns, framing + Host + reuse {decide:.0} ns, target {normalise:.0} ns",
            bytes.len()
        );
    }
}
