//! An origin each of whose answers is new, and says which it is: what a cache serves can be judged without knowing what
//! it stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use testkit::{Client, Failed, Origin, Pattern, Reply, Request, Response};

/// See the module. A path is `/BYTES/NAME`.
#[derive(Debug)]
pub(crate) struct Versions {
    origin: Origin,
    given: Arc<AtomicU64>,
}

impl Versions {
    pub(crate) fn start() -> Self {
        let given = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&given);
        let origin = Origin::start(move |request: &Request| {
            let version = counter.fetch_add(1, SeqCst) + 1;
            Reply::pattern(&body(&request.target, version))
                .field("X-Version", &version.to_string())
                .field("Cache-Control", "max-age=86400")
        });
        Self { origin, given }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        self.origin.url(path)
    }

    /// The latest version that was given.
    pub(crate) fn latest(&self) -> u64 {
        self.given.load(SeqCst)
    }

    /// The version of an answer, which is whole, and all of it of that version.
    #[track_caller]
    pub(crate) fn judge(&self, path: &str, answer: &Response) -> u64 {
        assert_eq!(answer.status, 200, "{path}");
        let version = answer.field("X-Version").and_then(|text| text.parse().ok());
        let version: u64 = version.unwrap_or_default();
        assert!((1..=self.latest()).contains(&version), "{path}: {version}");
        let (body, content) = (body(path, version), &answer.content);
        assert_eq!(content.len, body.len(), "{path} {version}");
        assert_eq!(content.hash(), body.hash(), "{path} {version}");
        version
    }

    /// The version that `client` gets.
    #[track_caller]
    pub(crate) fn fetch(&self, client: &mut Client, path: &str) -> u64 {
        let answer = client.get(&self.url(path));
        self.judge(path, &answer)
    }

    /// Whether `client` gets it without the origin's help.
    #[track_caller]
    pub(crate) fn is_hit(&self, client: &mut Client, path: &str) -> bool {
        let before = self.latest();
        self.fetch(client, path) <= before
    }
}

fn body(path: &str, version: u64) -> Pattern {
    let bytes = path.split('/').nth(1).and_then(|text| text.parse().ok());
    let bytes: u64 = bytes.unwrap_or_default();
    Pattern::new(&format!("{path} {version}"), bytes + version % 64)
}

/// What becomes of a request when the program may end at any moment.
pub(crate) fn ask(
    client: &mut Client,
    method: &str,
    url: &str,
    fields: &[(&str, &str)],
) -> Result<Response, Failed> {
    let fields = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let host = url.split('/').nth(2).unwrap_or_default();
    let head = format!(
        "{method} {url} HTTP/1.1\r\nHost: {host}\r\n{}\r\n",
        fields.collect::<String>()
    );
    let sent = client.connection().send(head.as_bytes());
    sent.map_err(|_| Failed::Closed)?;
    client.try_response_to(method)
}
