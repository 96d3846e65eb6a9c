//! Single requests: to see that a server answers rightly, and to fill its cache before the load.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// What came back.
pub(crate) struct Probed {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) content: Vec<u8>,
}

/// Asks 127.0.0.1:`port` for a path, on a connection of its own.
pub(crate) fn get(port: u16, path: &str) -> Result<Probed> {
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&addr, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: www.bench.test\r\nConnection: close\r\n\r\n"
    )?;
    let mut all = Vec::new();
    stream.read_to_end(&mut all)?;
    let end = memchr::memmem::find(&all, b"\r\n\r\n").context("no whole head")?;
    let (head, content) = all.split_at(end + 4);
    let head = String::from_utf8_lossy(head).into_owned();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .context("no status")?;
    Ok(Probed {
        status,
        content: content.to_vec(),
        head,
    })
}

/// How many requests the origin on `port` has answered.
pub(crate) fn origin_count(port: u16) -> Result<u64> {
    origin_number(port, "/count")
}

/// How many bytes of content that may be kept it has sent.
pub(crate) fn origin_kept_bytes(port: u16) -> Result<u64> {
    origin_number(port, "/kept")
}

fn origin_number(port: u16, path: &str) -> Result<u64> {
    let content = get(port, path)?.content;
    Ok(String::from_utf8_lossy(&content).trim().parse()?)
}

/// Asks once for each path, and insists on this status and, if given, this size of content.
pub(crate) fn expect(port: u16, paths: &[String], status: u16, size: Option<usize>) -> Result<()> {
    for path in paths {
        let probed = get(port, path).with_context(|| format!("GET {path}"))?;
        if probed.status != status || size.is_some_and(|size| size != probed.content.len()) {
            bail!(
                "GET {path} gave {} bytes with\n{}",
                probed.content.len(),
                probed.head
            );
        }
    }
    Ok(())
}
