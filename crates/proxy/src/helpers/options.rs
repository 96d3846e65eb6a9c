//! What a pool is: kind of helper, command, numbers. Two pools with equal options are the same pool.

use std::ffi::OsString;
use std::time::Duration;

use wire::helper::Dialect;

/// The longest question in a line: Squid's buffers.
const LINE_BYTES_MAX: usize = 32 * 1024;

/// The longest question that carries certificates.
const CERTIFICATE_BYTES_MAX: usize = 256 * 1024;

/// What a pool's helpers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `auth_param basic program`
    BasicAuth,
    /// `auth_param digest program`
    DigestAuth,
    /// `auth_param ntlm program`
    NtlmAuth,
    /// `auth_param negotiate program`
    NegotiateAuth,
    /// `external_acl_type`
    ExternalAcl,
    /// `url_rewrite_program`
    UrlRewrite,
    /// `store_id_program`
    StoreId,
    /// `location_rewrite_program`
    LocationRewrite,
    /// `sslcrtd_program`
    CertGenerator,
    /// `sslcrtvalidator_program`
    CertValidator,
}

/// What is common to all helpers of a kind.
struct Row {
    /// As operators know it from Squid's log and manager pages.
    name: &'static str,
    dialect: Dialect,
    /// Ends a message, both ways.
    terminator: u8,
    question_bytes_max: usize,
    /// Do several questions belong together, and to one child?
    stateful: bool,
}

impl Row {
    const fn lines(name: &'static str, dialect: Dialect) -> Self {
        Self {
            name,
            dialect,
            terminator: b'\n',
            question_bytes_max: LINE_BYTES_MAX,
            stateful: false,
        }
    }

    const fn handshake(name: &'static str, dialect: Dialect) -> Self {
        Self {
            stateful: true,
            ..Self::lines(name, dialect)
        }
    }

    const fn certificates(name: &'static str) -> Self {
        Self {
            terminator: 1,
            question_bytes_max: CERTIFICATE_BYTES_MAX,
            ..Self::lines(name, Dialect::Plain)
        }
    }
}

impl Kind {
    const fn row(self) -> Row {
        match self {
            Self::BasicAuth => Row::lines("basicauthenticator", Dialect::Plain),
            Self::DigestAuth => Row::lines("digestauthenticator", Dialect::Digest),
            Self::NtlmAuth => Row::handshake("ntlmauthenticator", Dialect::Ntlm),
            Self::NegotiateAuth => Row::handshake("negotiateauthenticator", Dialect::Negotiate),
            Self::ExternalAcl => Row::lines("external_acl", Dialect::Plain),
            Self::UrlRewrite => Row::lines("redirector", Dialect::UrlRewrite),
            Self::StoreId => Row::lines("store_id", Dialect::StoreId),
            Self::LocationRewrite => Row::lines("location_rewriter", Dialect::UrlRewrite),
            Self::CertGenerator => Row::certificates("ssl_crtd"),
            Self::CertValidator => Row::certificates("ssl_crt_validator"),
        }
    }

    /// As operators know it from Squid's log and manager pages.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Do several questions belong together, so that a child is reserved for them?
    pub const fn is_stateful(self) -> bool {
        self.row().stateful
    }

    pub(super) const fn dialect(self) -> Dialect {
        self.row().dialect
    }

    pub(super) const fn terminator(self) -> u8 {
        self.row().terminator
    }

    pub(super) const fn question_bytes_max(self) -> usize {
        self.row().question_bytes_max
    }
}

/// `on-persistent-overload`: what becomes of questions when too many have waited for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overload {
    /// They are refused at once, until fewer wait.
    Refuse,
    /// Squid ends. We refuse them too, and say in the log that Squid would have ended: a slow helper
    /// is no reason to drop everybody's connections.
    Die,
}

/// How many processes a pool has (`…_children`, `children-…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Children {
    /// Greatest number.
    pub max: usize,
    /// Started at once, and kept.
    pub startup: usize,
    /// Started at least whenever no child is free.
    pub idle: usize,
    /// Questions that a child works on at a time, by channel; 0 is one, without channels.
    pub concurrency: usize,
    /// Questions that may wait before the pool counts as overloaded; twice `max` when unset.
    pub queue: Option<usize>,
    /// What follows when it stays overloaded.
    pub overload: Overload,
}

/// What makes a pool what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What its helpers are for.
    pub kind: Kind,
    /// Tells it from others of its kind: the name of an `external_acl_type`; else may be empty.
    pub name: String,
    /// Program and arguments. They go to the program as they are; no shell sees them.
    pub command: Vec<OsString>,
    /// How many processes.
    pub children: Children,
    /// Greatest time for an answer, waiting for a free child included; `None` is
    /// [`ANSWER_WAIT_MAX`](super::ANSWER_WAIT_MAX).
    pub timeout: Option<Duration>,
    /// A reserved child that isn't asked for so long may go to somebody who waits
    /// (`reservation-timeout`; Squid's default is 64 s).
    pub reservation: Duration,
}

impl Options {
    /// For a program and arguments, and a pool as a line describes it.
    pub(crate) fn new(kind: Kind, command: &[String], pool: &config::helper::Pool) -> Self {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            kind,
            name: String::new(),
            command: command.iter().map(Into::into).collect(),
            children: Children {
                max: number(pool.children),
                startup: number(pool.startup),
                idle: number(pool.idle),
                concurrency: number(pool.concurrency),
                queue: pool.queue_size.map(number),
                overload: match pool.overload {
                    config::helper::Overload::Die => Overload::Die,
                    config::helper::Overload::Err => Overload::Refuse,
                },
            },
            timeout: None,
            reservation: pool.reservation,
        }
    }

    /// Questions that a child may have at a time.
    pub(super) fn slots(&self) -> usize {
        match self.kind.is_stateful() {
            true => 1,
            false => self.children.concurrency.max(1),
        }
    }

    pub(super) fn has_channels(&self) -> bool {
        self.children.concurrency > 0 && !self.kind.is_stateful()
    }

    pub(super) fn children_max(&self) -> usize {
        self.children.max.max(1)
    }

    pub(super) fn queue_size(&self) -> usize {
        let twice = self.children_max().saturating_mul(2);
        self.children.queue.unwrap_or(twice)
    }

    pub(super) fn answer_wait(&self) -> Duration {
        self.timeout.unwrap_or(super::ANSWER_WAIT_MAX)
    }

    /// For log lines and metrics: `external_acl groups`.
    pub fn label(&self) -> String {
        format!("{} {}", self.kind.name(), self.name)
            .trim_end()
            .into()
    }
}
