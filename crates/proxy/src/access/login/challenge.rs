//! What a client is told that has to log in: the offers, in the order of the file (RFC 9110 §11.6.1, §11.7.1).

use std::sync::Arc;

use config::auth::Scheme as Kind;
use wire::Fields;
use wire::field::FieldId;

use super::{Attempt, Logins, Refused, Scheme, Way, offer};
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Side};
use crate::flow::Received;

/// The offers that go with a page, and what the log is told.
#[derive(Clone, Debug)]
pub struct Challenge {
    offers: Vec<Vec<u8>>,
    /// As whom the client tried.
    pub(crate) user: Option<Arc<str>>,
    /// The connection ends with the reply (`keep_alive off`).
    pub(crate) close: bool,
}

/// All offers.
pub(super) fn all(
    cx: &Context,
    logins: &Logins,
    received: &Received<'_>,
    user: Option<Arc<str>>,
) -> Failure {
    let schemes = offer::to(cx, logins, received).iter();
    let close = schemes.clone().any(|scheme| match scheme.config.scheme {
        Kind::Ntlm(options) | Kind::Negotiate(options) => !options.keep_alive,
        Kind::Basic(_) | Kind::Digest(_) => false,
    });
    let offers = schemes.map(|scheme| scheme.offer(received, false));
    let challenge = Challenge {
        offers: offers.collect(),
        user,
        close,
    };
    failure(received, challenge)
}

/// What follows from a login that failed.
pub(super) fn after(
    cx: &Context,
    logins: &Logins,
    attempt: &Attempt<'_>,
    refused: Refused,
) -> Failure {
    let (scheme, received) = (attempt.scheme, attempt.received);
    let (offer, user) = match refused {
        Refused::Told(user, message) => {
            received.learnt.note(|notes| notes.set("message", &message));
            return all(cx, logins, received, user);
        }
        Refused::Wrong(user) | Refused::Unknown(user) => return all(cx, logins, received, user),
        Refused::Stale(user) => (scheme.offer(received, true), user),
        Refused::Continue(token) => {
            let name: &[u8] = match scheme.config.scheme {
                Kind::Ntlm(_) => b"NTLM ",
                Kind::Basic(_) | Kind::Digest(_) | Kind::Negotiate(_) => b"Negotiate ",
            };
            ([name, &token].concat(), None)
        }
    };
    let challenge = Challenge {
        offers: vec![offer],
        user,
        close: false,
    };
    failure(received, challenge)
}

/// An accelerator stands in for the origin: 401 rather than 407.
fn failure(received: &Received<'_>, challenge: Challenge) -> Failure {
    let mut failure = Failure::new(FailureKind::CacheAccessDenied, Side::Client);
    if received.connection.port.accel().is_some() {
        failure.status_override = Some(401);
    }
    failure.challenge = Some(Box::new(challenge));
    failure
}

impl Challenge {
    /// For a page of our own that has a password.
    pub(crate) fn of_page(name: &str) -> Self {
        let mut offer = b"Basic realm=".to_vec();
        push_quoted(name, &mut offer);
        Self {
            offers: vec![offer],
            user: None,
            close: false,
        }
    }

    /// Adds the offers to a reply.
    pub(crate) fn write(&self, status: u16, fields: &mut Fields) {
        let id = match status {
            401 => FieldId::WwwAuthenticate,
            _ => FieldId::ProxyAuthenticate,
        };
        self.offers
            .iter()
            .for_each(|offer| fields.push_id(id, offer));
    }
}

impl Scheme {
    fn offer(&self, received: &Received<'_>, stale: bool) -> Vec<u8> {
        match (&self.way, &self.config.scheme) {
            (Way::Digest(digest), _) => {
                let mut offer = b"Digest realm=".to_vec();
                push_quoted(&self.config.realm, &mut offer);
                let nonce = digest.nonce(received.now.mono_ns);
                offer.extend(format!(", nonce=\"{nonce}\", qop=\"auth\", stale={stale}").bytes());
                offer
            }
            (Way::Basic(_), _) => {
                let mut offer = b"Basic realm=".to_vec();
                push_quoted(&self.config.realm, &mut offer);
                if self.config.utf8 {
                    offer.extend_from_slice(b", charset=\"UTF-8\"");
                }
                offer
            }
            (Way::Handshake(_), Kind::Ntlm(_)) => b"NTLM".to_vec(),
            (Way::Handshake(_), _) => b"Negotiate".to_vec(),
        }
    }
}

/// A quoted string (RFC 9110 §5.6.4). Squid writes quotes as they are, which clients refuse.
fn push_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' || byte == b'\\' {
            out.push(b'\\');
        }
        out.push(if byte.is_ascii_control() { b' ' } else { byte });
    }
    out.push(b'"');
}

/// What a login that was good has to say to the client: the helper's last token, or the next nonce
/// (RFC 4559 §5, RFC 7616 §3.5).
pub(crate) fn add_fields(received: &Received<'_>, fields: &mut Fields) {
    if let Some(info) = received.connection.login.take_info() {
        let id = match received.connection.port.accel() {
            Some(_) => FieldId::AuthenticationInfo,
            None => FieldId::ProxyAuthenticationInfo,
        };
        fields.push_id(id, &info);
    }
}
