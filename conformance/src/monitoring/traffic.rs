//! The traffic that both programs see: of every kind that a counter tells from others.

use testkit::{Client, Origin, Program, Reply, Request, free_port};

/// Requests for each of the cached paths.
const TIMES: usize = 4;
/// Cached paths.
const PATHS: usize = 6;
/// Bytes of their content, so that kilobytes count.
const CONTENT_BYTES: usize = 10_000;

/// An origin, and a port where nobody is.
pub(super) struct Traffic {
    origin: Origin,
    nobody: u16,
}

impl Traffic {
    pub(super) fn start() -> Self {
        Self {
            origin: Origin::start(answer),
            nobody: free_port(),
        }
    }

    /// Sends all of it, one request after the other on one connection.
    pub(super) fn send(&self, program: &Program) {
        let mut client = Client::connect(program.addr());
        for path in 0..PATHS {
            for _ in 0..TIMES {
                drop(client.get(&self.origin.url(&format!("/cached/{path}"))));
            }
        }
        let cached = self.origin.url("/cached/0");
        let conditional = [("If-Modified-Since", "Fri, 20 Nov 2099 12:00:00 GMT")];
        drop(client.request("GET", &cached, &conditional));
        drop(client.request("HEAD", &cached, &[]));
        for path in ["/uncached", "/uncached", "/error", "/missing"] {
            drop(client.get(&self.origin.url(path)));
        }
        drop(client.request(
            "POST",
            &self.origin.url("/post"),
            &[("Content-Length", "0")],
        ));
        drop(client.get("http://refused.test/"));
        drop(client.get(&format!("http://127.0.0.1:{}/", self.nobody)));
    }
}

fn answer(request: &Request) -> Reply {
    let content = vec![b'x'; CONTENT_BYTES];
    match request.target.as_str() {
        "/uncached" => Reply::ok(content).field("Cache-Control", "no-store"),
        "/error" => Reply::new("500 Internal Server Error"),
        "/missing" => Reply::new("404 Not Found").field("Cache-Control", "no-store"),
        "/post" => Reply::ok("done"),
        _ => Reply::ok(content)
            .field("Cache-Control", "max-age=3600")
            .field("Last-Modified", "Fri, 20 Nov 2020 12:00:00 GMT"),
    }
}
