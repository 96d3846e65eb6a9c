//! `active_requests`: requests that are being answered now, on all workers.

use proxy::internal::{TransactionReport, WorkerReport};
use serde::Serialize;

use super::Report;
use crate::Scene;

/// Requests that are listed.
const REQUESTS_MAX: usize = 10_000;

#[derive(Serialize)]
struct Request {
    worker: u64,
    connection: usize,
    remote: String,
    local: String,
    method: String,
    uri: String,
    requests_on_connection: u64,
    bytes_out: u64,
    started: f64,
    seconds: f64,
}

pub(super) fn report(scene: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    let now = &scene.ask.now;
    let requests = workers.iter().flat_map(|report| {
        let transactions = report.transactions.iter();
        transactions.map(|one| Request::of(report.worker, one, now.mono_ns, now.unix_ms))
    });
    let requests: Vec<_> = requests.take(REQUESTS_MAX).collect();
    Report::new(&requests, text(&requests))
}

fn text(requests: &[Request]) -> String {
    let mut text = String::new();
    for request in requests {
        request.write(&mut text);
    }
    text
}

impl Request {
    fn of(worker: u64, one: &TransactionReport, now_ns: u64, unix_ms: i64) -> Self {
        let age = now_ns.saturating_sub(one.started_ns);
        let seconds = std::time::Duration::from_nanos(age).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of our time")]
        let now = unix_ms as f64 / 1000.0;
        Self {
            worker,
            connection: one.connection,
            remote: one.client.to_string(),
            local: one.local.to_string(),
            method: one.method.clone(),
            uri: one.url.clone(),
            requests_on_connection: one.requests_before + 1,
            bytes_out: one.bytes_out,
            started: now - seconds,
            seconds,
        }
    }

    /// Squid names a connection and a stored response by where they lie in memory; here it is worker and number.
    fn write(&self, text: &mut String) {
        *text += &format!("Connection: {}/{}\n", self.worker, self.connection);
        *text += &format!("\tremote: {}\n\tlocal: {}\n", self.remote, self.local);
        *text += &format!("\tnrequests: {}\n", self.requests_on_connection);
        *text += &format!("uri {}\nmethod {}\n", self.uri, self.method);
        *text += &format!("out.offset 0, out.size {}\n", self.bytes_out);
        *text += &format!(
            "start {:.6} ({:.6} seconds ago)\n\n",
            self.started, self.seconds
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_shown_as_in_squid() {
        let one = TransactionReport {
            connection: 4,
            client: "127.0.0.1:55340".parse().unwrap(),
            local: "127.0.0.1:39291".parse().unwrap(),
            method: "GET".into(),
            url: "http://a.test/slow".into(),
            started_ns: 500_000_000,
            bytes_out: 7,
            requests_before: 0,
        };
        let request = Request::of(1, &one, 1_500_000_000, 1_795_214_804_000);
        let expected = "\
Connection: 1/4
\tremote: 127.0.0.1:55340
\tlocal: 127.0.0.1:39291
\tnrequests: 1
uri http://a.test/slow
method GET
out.offset 0, out.size 7
start 1795214803.000000 (1.000000 seconds ago)

";
        assert_eq!(text(&[request]), expected);
    }
}
