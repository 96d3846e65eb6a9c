//! Where `squall top` gets its figures: `squall/live`, once a second, on a thread of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use admin::dashboard::live::Live;
use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::screen::Sort;
use crate::client_command::Wait;

/// The longest answer, bytes: ours is bounded to less.
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// From one question to the next, and the longest wait for an answer.
const EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(3);
/// Rows of lists: as many as a tall terminal shows.
const ROWS: usize = 50;

/// Whom to ask.
#[derive(Clone, Debug)]
pub(super) struct Source {
    wait: Wait,
    fields: String,
}

impl Source {
    pub(super) fn new(host: &str, port: u16, user: Option<&str>, password: Option<&str>) -> Self {
        let login = password.map(|password| {
            let token = format!("{}:{password}", user.unwrap_or_default());
            let token = BASE64_STANDARD.encode(token);
            format!("Authorization: Basic {token}\r\n")
        });
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let shown = if bare.contains(':') {
            format!("[{bare}]")
        } else {
            bare.to_owned()
        };
        Self {
            wait: Wait {
                host: bare.to_owned(),
                port,
                local: None,
                patience: PATIENCE,
            },
            fields: format!("Host: {shown}:{port}\r\n{}", login.unwrap_or_default()),
        }
    }

    /// How it goes now.
    ///
    /// # Errors
    /// Nobody answers, or not with that.
    pub(super) fn fetch(&self, sort: Sort) -> anyhow::Result<Live> {
        let by = match sort {
            Sort::Requests => "requests",
            Sort::Bytes => "bytes",
        };
        let request = format!(
            "GET /squid-internal-mgr/squall/live?by={by}&rows={ROWS} HTTP/1.0\r\n{}\r\n",
            self.fields
        );
        let mut answer = Vec::new();
        let exchange = self.wait.exchange(request.as_bytes(), |bytes| {
            if answer.len() + bytes.len() > ANSWER_BYTES_MAX {
                return Err(io::Error::other("too long an answer"));
            }
            answer.extend_from_slice(bytes);
            Ok(())
        })?;
        match exchange.status {
            200 => read(&answer).context("an answer that is no dashboard's"),
            401 => bail!("a password is needed (-W)"),
            403 => bail!("its access rules don't let us look"),
            404 => bail!("it has no such page: is it Squall?"),
            status => bail!("answered with status {status}"),
        }
    }
}

/// The content behind the head.
fn read(answer: &[u8]) -> anyhow::Result<Live> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let content = end.and_then(|end| answer.get(end + 4..));
    let content = content.context("no head")?;
    Ok(serde_json::from_slice(content)?)
}

/// What was learnt, or why not.
type News = Result<Live, String>;

/// The thread that asks, from outside. It ends when nobody listens.
#[derive(Debug)]
pub(super) struct Feed {
    news: Receiver<News>,
    by_bytes: Arc<AtomicBool>,
}

impl Feed {
    pub(super) fn start(source: Source, sort: Sort) -> anyhow::Result<Self> {
        let (sender, news) = mpsc::sync_channel(2);
        let by_bytes = Arc::new(AtomicBool::new(sort == Sort::Bytes));
        let wanted = Arc::clone(&by_bytes);
        let thread = thread::Builder::new().name("feed".to_owned());
        let thread = thread.spawn(move || ask(&source, &wanted, &sender));
        thread.context("cannot start a thread")?;
        Ok(Self { news, by_bytes })
    }

    /// All that came since the last look.
    pub(super) fn news(&self) -> impl Iterator<Item = News> {
        self.news.try_iter()
    }

    /// What to ask for from now on.
    pub(super) fn sort(&self, sort: Sort) {
        self.by_bytes.store(sort == Sort::Bytes, Relaxed);
    }
}

fn ask(source: &Source, by_bytes: &AtomicBool, sender: &SyncSender<News>) {
    loop {
        let sort = match by_bytes.load(Relaxed) {
            true => Sort::Bytes,
            false => Sort::Requests,
        };
        let news = source.fetch(sort).map_err(|error| format!("{error:#}"));
        // Who is slow to look misses some.
        if let Err(TrySendError::Disconnected(_)) = sender.try_send(news) {
            return;
        }
        thread::sleep(EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_behind_its_head_and_may_lack_what_we_know() {
        let live = read(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{\"now\":{\"requests\":2.5}}");
        assert!((live.map(|live| live.now.requests).unwrap_or_default() - 2.5).abs() < 1e-9);
        for garbage in [&b""[..], b"HTTP/1.1 200 OK\r\n\r\n", b"\r\n\r\n[1]"] {
            assert!(read(garbage).is_err());
        }
    }
}
