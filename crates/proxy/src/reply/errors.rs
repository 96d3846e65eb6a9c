//! Error pages: a page per [`FailureKind`], with Squid's `%` codes.
//!
//! The pages of `errors/` are built in; `error_directory` may replace any of them. They are split
//! into literal text and codes when they are loaded, and what doesn't depend on the request is
//! filled in then, so that a refused request costs little more than a hit. Whatever comes from
//! the client or the network is escaped; header fields and credentials are never shown.

mod builtin;
mod code;
mod escape;
mod template;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::{fs, io};

use config::Config;

pub use self::template::Fixed;
use self::template::Template;
use crate::failure::{Failure, FailureKind};

/// Largest custom page that is read, in bytes.
const PAGE_BYTES_MAX: u64 = 1 << 20;

/// What the pages are made from.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Custom pages (`error_directory`).
    pub directory: Option<PathBuf>,
    /// Style sheet for the built-in pages (`err_page_stylesheet`).
    pub stylesheet: Option<PathBuf>,
    /// What is the same for all requests.
    pub fixed: Fixed,
}

/// A page or style sheet that could not be read; the built-in one is used.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {reason}", path = path.display())]
pub struct Unreadable {
    /// Which file or directory.
    pub path: PathBuf,
    /// Why.
    pub reason: io::Error,
}

/// What a page shows of one transaction.
#[derive(Clone, Copy, Debug)]
pub struct PageFacts<'a> {
    /// Which page.
    pub kind: FailureKind,
    /// The rule that refused; `None` when no rule matched.
    pub rule: Option<&'a str>,
    /// System error number; 0 when none.
    pub errno: i32,
    /// What the client may know of the cause: the resolver's or the TLS stack's words.
    pub message: &'a str,
    /// The request's method; empty when unknown. So are the others.
    pub method: &'a [u8],
    /// The request's normalised URL.
    pub url: &'a [u8],
    /// Its scheme.
    pub scheme: &'a str,
    /// Its host.
    pub host: &'a [u8],
    /// Its port; 0 when unknown.
    pub port: u16,
    /// Its path and query.
    pub path: &'a [u8],
    /// The user that logged in.
    pub user: &'a [u8],
    /// The client's address.
    pub client: IpAddr,
    /// The address that the client connected to.
    pub local: SocketAddr,
    /// The hop's address, when one was tried.
    pub server: Option<IpAddr>,
    /// The time as an HTTP date: the reply's `Date`.
    pub date: &'a [u8],
    /// The time in milliseconds since 1970.
    pub unix_ms: i64,
}

impl<'a> PageFacts<'a> {
    /// The page of `failure`, with nothing known of the request yet.
    pub fn new(failure: &'a Failure, client: IpAddr, local: SocketAddr) -> Self {
        Self {
            kind: failure.kind,
            rule: failure.rule.as_deref(),
            errno: failure.errno.unwrap_or(0),
            message: "",
            method: b"",
            url: b"",
            scheme: "",
            host: b"",
            port: 0,
            path: b"",
            user: b"",
            client,
            local,
            server: None,
            date: b"",
            unix_ms: 0,
        }
    }
}

/// All error pages, ready to be filled in.
#[derive(Debug)]
pub struct ErrorPages {
    /// In the order of [`FailureKind`].
    pages: Vec<Page>,
}

#[derive(Debug)]
struct Page {
    kind: FailureKind,
    template: Template,
    built_in: bool,
    /// `ERR_ACCESS_DENIED 0`: all but the errno that a failure may bring.
    squid_error: String,
}

impl ErrorPages {
    /// Loads the pages that `config` asks for. What can't be read is told to the cache log.
    pub fn load(config: &Config, hostname: &str) -> Self {
        let software = if config.httpd_suppress_version_string {
            "squall".to_owned()
        } else {
            concat!("squall/", env!("CARGO_PKG_VERSION")).to_owned()
        };
        let options = Options {
            directory: config.error_directory.clone(),
            stylesheet: None,
            fixed: Fixed {
                hostname: hostname.to_owned(),
                software,
                admin: config.cache_mgr.clone(),
                ..Fixed::default()
            },
        };
        let (pages, unreadable) = Self::read(&options);
        for unreadable in unreadable {
            tracing::error!("{unreadable}");
        }
        pages
    }

    /// Reads all pages. What can't be read is returned beside them.
    pub fn read(options: &Options) -> (Self, Vec<Unreadable>) {
        let mut unreadable = Vec::new();
        let mut fixed = options.fixed.clone();
        if let Some(path) = &options.stylesheet {
            match read_file(path) {
                Ok(text) => fixed.stylesheet = text,
                Err(reason) => unreadable.push(Unreadable {
                    path: path.clone(),
                    reason,
                }),
            }
        }
        if let Some(path) = &options.directory
            && let Err(reason) = fs::read_dir(path)
        {
            unreadable.push(Unreadable {
                path: path.clone(),
                reason,
            });
        }
        let pages = FailureKind::all()
            .map(|kind| {
                let custom = options
                    .directory
                    .as_deref()
                    .and_then(|directory| custom(directory, kind, &mut unreadable));
                let built_in = custom.is_none();
                let source = custom.unwrap_or_else(|| builtin::page(kind));
                Page {
                    kind,
                    template: Template::parse(&source, kind, &fixed),
                    built_in,
                    squid_error: format!("{} 0", kind.page()),
                }
            })
            .collect();
        (Self { pages }, unreadable)
    }

    /// Appends the page.
    pub fn render(&self, facts: &PageFacts<'_>, out: &mut Vec<u8>) {
        if let Some(page) = self.page(facts.kind) {
            page.template.render(facts, out);
        }
    }

    /// Gives the header fields that go with the page, in order: name and value.
    pub fn fields(&self, kind: FailureKind, errno: i32, mut give: impl FnMut(&'static str, &[u8])) {
        let Some(page) = self.page(kind) else { return };
        give("Content-Type", b"text/html;charset=utf-8");
        if errno == 0 {
            give("X-Squid-Error", page.squid_error.as_bytes());
        } else {
            give(
                "X-Squid-Error",
                format!("{} {errno}", kind.page()).as_bytes(),
            );
        }
        give("X-Content-Type-Options", b"nosniff");
        if page.built_in {
            give("Vary", b"Accept-Language");
            give("Content-Language", b"en");
        }
    }

    fn page(&self, kind: FailureKind) -> Option<&Page> {
        let page = self.pages.get(kind as usize)?;
        debug_assert_eq!(page.kind, kind, "pages are in the order of the kinds");
        Some(page)
    }
}

/// The operator's own page of that kind, if there is one.
fn custom(directory: &Path, kind: FailureKind, unreadable: &mut Vec<Unreadable>) -> Option<String> {
    let path = directory.join(kind.page());
    match read_file(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(reason) => {
            unreadable.push(Unreadable { path, reason });
            None
        }
    }
}

fn read_file(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > PAGE_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

#[cfg(test)]
mod tests;
