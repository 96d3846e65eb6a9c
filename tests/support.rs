//! What several modules of these tests share: the access log's line taken apart, and usual programs.

use testkit::{Client, Program};

/// A forward proxy for everyone, with these lines more.
pub(crate) fn forward(conf: &str) -> Program {
    Program::start(&format!("http_access allow all\n{conf}"))
}

/// An accelerator on its `{port}` for the origins in `conf`.
pub(crate) fn accelerator(options: &str, conf: &str) -> Program {
    Program::start(&format!(
        "http_port 127.0.0.1:{{port}} accel {options}\nhttp_access allow all\n{conf}"
    ))
}

/// A client of the program.
pub(crate) fn client(program: &Program) -> Client {
    Client::connect(program.addr())
}

/// The ten fields of a native access log line.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) time: String,
    pub(crate) elapsed: String,
    pub(crate) client: String,
    pub(crate) result: String,
    pub(crate) bytes: u64,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) user: String,
    pub(crate) hierarchy: String,
    pub(crate) kind: String,
}

impl Entry {
    /// Takes a line apart; panics unless it has ten fields.
    pub(crate) fn of(line: &str) -> Self {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [
            time,
            elapsed,
            client,
            result,
            bytes,
            method,
            url,
            user,
            hierarchy,
            kind,
        ] = fields[..]
        else {
            panic!("not ten fields: {line:?}");
        };
        let own = str::to_owned;
        Self {
            time: own(time),
            elapsed: own(elapsed),
            client: own(client),
            result: own(result),
            bytes: bytes.parse().unwrap(),
            method: own(method),
            url: own(url),
            user: own(user),
            hierarchy: own(hierarchy),
            kind: own(kind),
        }
    }
}

/// The first `count` result codes of the access log, in order.
pub(crate) fn results(program: &Program, count: usize) -> Vec<String> {
    let lines = program.wait_for_log_lines(count);
    lines
        .iter()
        .take(count)
        .map(|line| Entry::of(line).result)
        .collect()
}
