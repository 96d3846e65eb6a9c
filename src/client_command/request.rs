//! The request, as squidclient writes it.

use std::fs;
use std::io::Write as _;

use anyhow::{Context as _, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::words::Words;
use crate::version::OURS;

/// The longest content that is sent, bytes.
const CONTENT_BYTES_MAX: u64 = 64 << 20;

/// Head and content.
pub(super) fn write(words: &Words) -> anyhow::Result<Vec<u8>> {
    let url = target(words);
    let method = method(words);
    for text in [&url, &method] {
        let clean = text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() || byte >= 0x80);
        ensure!(
            clean && !text.is_empty(),
            "{text:?} can't stand in a request line"
        );
    }
    if words.version == "-" {
        return Ok(format!("{method} {url}\r\n").into_bytes());
    }
    let content = content(words)?;
    let mut out = Vec::new();
    write!(out, "{method} {url} HTTP/{}\r\n", words.version)?;
    let mut field = |name: &str, value: &str| {
        ensure!(
            !value.contains(['\r', '\n']),
            "{name} can't have several lines"
        );
        Ok(write!(out, "{name}: {value}\r\n")?)
    };
    if let Some(host) = host(words, &url) {
        field("Host", host)?;
    }
    let ours = format!("squall-client/{OURS}");
    match words.user_agent.as_deref() {
        None => field("User-Agent", &ours)?,
        Some("") => {}
        Some(agent) => field("User-Agent", agent)?,
    }
    if words.reload {
        field("Cache-Control", "no-cache")?;
    }
    if let Some(content) = &content {
        field("Content-Length", &content.len().to_string())?;
    }
    if !words.no_accept {
        field("Accept", "*/*")?;
    }
    if let Some(since) = words.modified_since {
        let mut date = Vec::new();
        wire::value::date::write(since, &mut date);
        field("If-Modified-Since", &String::from_utf8(date)?)?;
    }
    if let Some(hops) = words.hops {
        field("Max-Forwards", &hops.to_string())?;
    }
    let proxy = (&words.proxy_user, &words.proxy_password);
    for (name, login) in [
        ("Proxy-Authorization", proxy),
        ("Authorization", (&words.user, &words.password)),
    ] {
        if let (Some(user), password) = login {
            let password = password.as_deref().unwrap_or_default();
            let token = BASE64_STANDARD.encode(format!("{user}:{password}"));
            field(name, &format!("Basic {token}"))?;
        }
    }
    field(
        "Connection",
        if words.keep_alive {
            "keep-alive"
        } else {
            "close"
        },
    )?;
    if let Some(fields) = &words.fields {
        out.extend(unescaped(fields));
        if !out.ends_with(b"\n") {
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(b"\r\n");
    out.extend(content.unwrap_or_default());
    Ok(out)
}

/// `mgr:` is a page of the cache manager; Squid of every version knows this spelling of it but the latest.
fn target(words: &Words) -> String {
    let Some(page) = words.url().strip_prefix("mgr:") else {
        return words.url().to_owned();
    };
    let host = words.host();
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    match &words.proxy_password {
        Some(password) if !page.contains('@') => format!("cache_object://{host}/{page}@{password}"),
        _ => format!("cache_object://{host}/{page}"),
    }
}

fn method(words: &Words) -> String {
    let usual = if words.hops.is_some() { "TRACE" } else { "GET" };
    words.method.clone().unwrap_or_else(|| usual.to_owned())
}

/// What `Host` says: what `-j` says, or the URL.
fn host<'w>(words: &'w Words, url: &'w str) -> Option<&'w str> {
    if let Some(host) = &words.host_field {
        return Some(host);
    }
    if method(words) == "CONNECT" {
        return Some(url);
    }
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.rsplit('@').next().filter(|host| !host.is_empty())
}

fn content(words: &Words) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(path) = &words.content else {
        return Ok(None);
    };
    let name = path.display();
    let length = fs::metadata(path).with_context(|| format!("{name}"))?.len();
    if length > CONTENT_BYTES_MAX {
        bail!("{name}: longer than {CONTENT_BYTES_MAX} bytes");
    }
    fs::read(path).with_context(|| format!("{name}")).map(Some)
}

/// `\n` is a line end as HTTP has it, with or without an `\r` before it.
fn unescaped(text: &str) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let plain = match letter {
            '\\' => match letters.next() {
                Some('n') if out.ends_with(b"\r") => "\n".to_owned(),
                Some('n') => "\r\n".to_owned(),
                Some('r') => "\r".to_owned(),
                Some('t') => "\t".to_owned(),
                Some(other) => other.to_string(),
                None => "\\".to_owned(),
            },
            other => other.to_string(),
        };
        out.extend_from_slice(plain.as_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::words::tests::words;
    use super::*;

    fn check(line: &[&str], expected: &[&str]) {
        let written = write(&words(line)).unwrap();
        let text = String::from_utf8(written).unwrap();
        let lines: Vec<&str> = text.trim_end_matches("\r\n").split("\r\n").collect();
        assert_eq!(lines, expected, "{line:?}");
    }

    #[test]
    fn a_page_of_the_manager_is_asked_for_as_old_squids_know_it() {
        check(
            &["-A", "x", "mgr:info"],
            &[
                "GET cache_object://localhost/info HTTP/1.0",
                "Host: localhost",
                "User-Agent: x",
                "Accept: */*",
                "Connection: close",
            ],
        );
        let password = target(&words(&["-w", "secret", "-h", "::1", "mgr:info"]));
        assert_eq!(password, "cache_object://[::1]/info@secret");
        let own = target(&words(&["-w", "secret", "mgr:config@other"]));
        assert_eq!(own, "cache_object://localhost/config@other");
    }

    #[test]
    fn options_become_fields() {
        check(
            &[
                "-a",
                "-A",
                "",
                "-r",
                "-k",
                "-u",
                "user",
                "-w",
                "pass",
                "-i",
                "0",
                "-V",
                "1.1",
                "-H",
                "X-One: 1\\r\\nX-Two: 2\\n",
                "http://u@example.com:81/a",
            ],
            &[
                "GET http://u@example.com:81/a HTTP/1.1",
                "Host: example.com:81",
                "Cache-Control: no-cache",
                "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT",
                "Proxy-Authorization: Basic dXNlcjpwYXNz",
                "Connection: keep-alive",
                "X-One: 1",
                "X-Two: 2",
            ],
        );
        check(
            &["-a", "-A", "", "-t", "2", "-j", "h", "http://a/"],
            &[
                "TRACE http://a/ HTTP/1.0",
                "Host: h",
                "Max-Forwards: 2",
                "Connection: close",
            ],
        );
        check(&["-V", "-", "http://a/"], &["GET http://a/"]);
    }

    #[test]
    fn what_would_break_the_request_line_is_refused() {
        for url in ["http://a/ b", "http://a/\r\nX: 1", ""] {
            assert!(write(&words(&[url])).is_err(), "{url}");
        }
        assert!(write(&words(&["-A", "a\nb", "http://a/"])).is_err());
    }
}
