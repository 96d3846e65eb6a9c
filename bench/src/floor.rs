//! The floor: answers of one size, ready to send. What it costs is what the kernel costs.

use std::borrow::Cow;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::engine::{Answer, serve};

/// How the floor answers.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Port on 127.0.0.1
    #[arg(long)]
    port: u16,
    /// Bytes of content
    #[arg(long)]
    size: usize,
    /// Different answers, sent in turn, as a cache would have them in different places of its memory
    #[arg(long, default_value_t = 1)]
    pool: usize,
    /// Closes the connection after each answer
    #[arg(long)]
    close: bool,
    /// Status line
    #[arg(long, default_value = "200 OK")]
    status: String,
}

/// Serves until it is killed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let connection = if options.close { "close" } else { "keep-alive" };
    // The size of the head is that of a cache's answer.
    let mut all = Vec::new();
    let mut ends = vec![0];
    for number in 0..options.pool.max(1) {
        let head = format!(
            "HTTP/1.1 {}\r\nServer: floor\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\
             Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nCache-Control: public, max-age=86400\r\n\
             Content-Type: application/octet-stream\r\nContent-Length: {}\r\nAge: 1\r\nVia: 1.1 floor\r\n\
             Connection: {connection}\r\n\r\n",
            options.status, options.size
        );
        all.extend(head.as_bytes());
        all.extend(testkit::Pattern::new(&number.to_string(), options.size as u64).to_vec());
        ends.push(all.len());
    }
    let all: &'static [u8] = all.leak();
    let answers: Vec<&'static [u8]> = ends
        .windows(2)
        .filter_map(|pair| all.get(*pair.first()?..*pair.last()?))
        .collect();
    let mut turn = answers.iter().cycle();
    let close = options.close;
    serve(options.port, move |_| {
        let bytes = turn.next().copied().unwrap_or_default();
        Answer {
            bytes: Cow::Borrowed(bytes),
            close,
            after: Duration::ZERO,
        }
    })
}
