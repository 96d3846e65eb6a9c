//! The web server behind every proxy. `/count` says how many requests there have been, itself not counted; `/kept`
//! how many bytes of content that may be kept went out.
//!
//! | path | answer |
//! | --- | --- |
//! | `/bytes/SIZE/NAME`, `/once/SIZE/NAME` | may be kept; the latter is asked for once |
//! | `/vary/SIZE/NAME` | may be kept, and varies by `User-Agent` |
//! | `/page/SIZE/NAME` | says nothing of its lifetime |
//! | `/fresh/SIZE/NAME` | may not be kept |
//!
//! With `/after/MS` at the end the answer is held back for so many milliseconds.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::engine::{Answer, serve};

/// Answers up to this size are kept ready.
const SMALL: usize = 4 << 10;

/// How the origin serves.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Options {
    /// Port on 127.0.0.1
    #[arg(long)]
    pub(crate) port: u16,
}

/// Serves until it is killed.
pub(crate) fn run(port: u16) -> Result<()> {
    let mut count: u64 = 0;
    let mut kept: u64 = 0;
    let mut made: HashMap<String, Vec<u8>> = HashMap::new();
    serve(port, move |head| {
        let head = String::from_utf8_lossy(head);
        let target = head.split(' ').nth(1).unwrap_or_default();
        let path = target.split_once("://").map_or(target, |(_, rest)| {
            rest.split_at(rest.find('/').unwrap_or(0)).1
        });
        let close = head.to_ascii_lowercase().contains("\r\nconnection: close")
            || head.contains(" HTTP/1.0\r\n");
        let told = match path {
            "/count" => Some(count),
            "/kept" => Some(kept),
            _ => None,
        };
        if let Some(told) = told {
            let (content, close) = (format!("{told}\n"), true);
            return Answer {
                bytes: render("200 OK", NOT_KEPT, content.as_bytes(), close),
                close,
                after: Duration::ZERO,
            };
        }
        count += 1;
        // Answers that are asked for again and again are made once.
        if let Some(bytes) = made.get(path)
            && !close
        {
            let bytes = Cow::Owned(bytes.clone());
            let after = Duration::ZERO;
            return Answer {
                bytes,
                close,
                after,
            };
        }
        let mut words = path.split('/').skip(1);
        let (kind, size) = (
            words.next().unwrap_or_default(),
            words.next().and_then(|size| size.parse().ok()),
        );
        let (cache, status) = match (kind, size) {
            ("bytes" | "once", Some(_)) => (KEPT, "200 OK"),
            ("vary", Some(_)) => (VARYING, "200 OK"),
            ("page", Some(_)) => ("", "200 OK"),
            ("fresh", Some(_)) => (NOT_KEPT, "200 OK"),
            _ => (NOT_KEPT, "404 Not Found"),
        };
        let content = testkit::Pattern::new(path, size.unwrap_or(0)).to_vec();
        if cache == KEPT {
            kept += content.len() as u64;
        }
        let after = path.rsplit_once("/after/");
        let after = after.and_then(|(_, millis)| millis.parse().ok());
        let after = Duration::from_millis(after.unwrap_or(0));
        let bytes = render(status, cache, &content, close);
        if !close && content.len() <= SMALL && kind != "once" && after.is_zero() {
            made.insert(path.to_owned(), bytes.to_vec());
        }
        Answer {
            bytes,
            close,
            after,
        }
    })
}

/// What they say to caches.
const KEPT: &str =
    "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nCache-Control: public, max-age=86400\r\n";
const VARYING: &str = "Vary: User-Agent\r\nCache-Control: public, max-age=86400\r\n";
const NOT_KEPT: &str =
    "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nCache-Control: no-store\r\n";

fn render(status: &str, cache: &str, content: &[u8], close: bool) -> Cow<'static, [u8]> {
    let date = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT");
    let connection = if close { "close" } else { "keep-alive" };
    let head = format!(
        "HTTP/1.1 {status}\r\nServer: origin\r\nDate: {date}\r\n{cache}\
         Content-Type: application/octet-stream\r\nContent-Length: {}\r\n\
         Connection: {connection}\r\n\r\n",
        content.len()
    );
    Cow::Owned([head.as_bytes(), content].concat())
}
