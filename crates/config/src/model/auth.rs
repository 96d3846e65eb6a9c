//! How users log in: the schemes of `auth_param` lines.

use std::time::Duration;

use super::access::AclRef;
use super::helper::Pool;
use crate::problem::Place;

/// A scheme with all its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthScheme {
    /// Which one, with what only that one has.
    pub scheme: Scheme,
    /// Program and arguments; empty without a line: then the scheme isn't offered.
    pub program: Vec<String>,
    /// How many helpers.
    pub children: Pool,
    /// What the user is told to log in to. NTLM and Negotiate don't tell.
    pub realm: String,
    /// Format of what is added to each question; empty is nothing.
    pub key_extras: String,
    /// Names and passwords that aren't UTF-8 are taken for ISO 8859-1, and helpers get UTF-8.
    pub utf8: bool,
    /// The line that names the program, or the first.
    pub place: Place,
}

/// An `auth_schemes` line: which schemes are offered, in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthOffer {
    /// Names as written; `ALL` stands for all of them.
    pub schemes: Vec<String>,
    /// All must match; none means: always.
    pub acls: Vec<AclRef>,
    /// Where it is written.
    pub place: Place,
}

/// An authentication scheme, and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// RFC 7617.
    Basic(Basic),
    /// RFC 7616.
    Digest(Digest),
    /// Of Windows; the connection logs in.
    Ntlm(Handshake),
    /// RFC 4559; the connection logs in.
    Negotiate(Handshake),
}

/// `auth_param basic`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Basic {
    /// A password is asked about again after this long.
    pub credentialsttl: Duration,
    /// `Joe` and `joe` are two users.
    pub casesensitive: bool,
    /// Users without a password are asked about (2.x).
    pub blankpassword: bool,
}

/// `auth_param digest`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// How often old nonces are looked for.
    pub nonce_garbage_interval: Duration,
    /// A nonce is good for so long.
    pub nonce_max_duration: Duration,
    /// Requests with one nonce.
    pub nonce_max_count: u32,
    /// The count of a nonce goes up by one each time.
    pub nonce_strictness: bool,
    /// The count of a nonce goes up.
    pub check_nonce_count: bool,
    /// Clients that digest a POST as a GET are let in.
    pub post_workaround: bool,
}

/// `auth_param ntlm` and `negotiate`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The connection stays open after the first challenge.
    pub keep_alive: bool,
}

const HOUR: Duration = Duration::from_secs(3600);

impl Scheme {
    /// The scheme of that name, with its defaults.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "basic" => Self::Basic(Basic {
                credentialsttl: HOUR * 2,
                casesensitive: false,
                blankpassword: false,
            }),
            "digest" => Self::Digest(Digest {
                nonce_garbage_interval: HOUR / 12,
                nonce_max_duration: HOUR / 2,
                nonce_max_count: 50,
                nonce_strictness: false,
                check_nonce_count: true,
                post_workaround: false,
            }),
            "ntlm" => Self::Ntlm(Handshake { keep_alive: true }),
            "negotiate" => Self::Negotiate(Handshake { keep_alive: true }),
            _ => return None,
        })
    }

    /// As `auth_param` and `auth_schemes` call it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Basic(_) => "basic",
            Self::Digest(_) => "digest",
            Self::Ntlm(_) => "ntlm",
            Self::Negotiate(_) => "negotiate",
        }
    }
}

impl AuthScheme {
    pub(crate) fn new(scheme: Scheme, place: &Place) -> Self {
        let realm = match scheme {
            Scheme::Basic(_) => "Squid proxy-caching web server",
            Scheme::Digest(_) | Scheme::Ntlm(_) | Scheme::Negotiate(_) => "",
        };
        Self {
            scheme,
            program: Vec::new(),
            children: Pool::default(),
            realm: realm.to_owned(),
            key_extras: String::new(),
            utf8: false,
            place: place.clone(),
        }
    }

    /// Is all there that it takes? Squid doesn't offer a scheme before.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let has_realm = match self.scheme {
            Scheme::Basic(_) | Scheme::Digest(_) => !self.realm.is_empty(),
            Scheme::Ntlm(_) | Scheme::Negotiate(_) => true,
        };
        has_realm && !self.program.is_empty()
    }
}
