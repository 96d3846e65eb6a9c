//! What a hop is told of logins (`cache_peer login=`). Credentials never go where no line sends them.
//!
//! | `login=` | to a proxy: `Proxy-Authorization` | to an `originserver`: `Authorization` |
//! | --- | --- | --- |
//! | none | none | none |
//! | `user:password` | these | these |
//! | `*:password` | the user with this password | the user with this password |
//! | `PASS` | the client's, else an external ACL's | the client's, else an external ACL's |
//! | `PROXYPASS` | the same | the client's, else its Basic `Proxy-Authorization`, else an external ACL's |
//! | `PASSTHRU` | the client's | the client's |
//!
//! `Authorization` goes on to origins that the URL names, and through proxies, as the client sent it;
//! `Proxy-Authorization` never reaches an origin.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use config::peer::PeerLogin;
use percent_encoding::percent_decode_str;
use rules::ExternalLogin;
use wire::Fields;
use wire::field::FieldId;
use wire::http1::ResponseHead;

use crate::fetch::pin::Bond;
use crate::flow::Received;
use crate::hops::Hop;

/// Makes the request's fields tell the hop what it is to know.
pub(super) fn apply(received: &Received<'_>, hop: &Hop, fields: &mut Fields) {
    let Some(peer) = &hop.peer else {
        return;
    };
    let id = if hop.is_proxy() {
        FieldId::ProxyAuthorization
    } else {
        FieldId::Authorization
    };
    match &peer.config.options.login {
        PeerLogin::PassThru => {}
        PeerLogin::Pass | PeerLogin::ProxyPass if fields.has(id) => {}
        PeerLogin::Pass => from_external(received, id, fields),
        PeerLogin::ProxyPass => match received.head.fields.get(FieldId::ProxyAuthorization) {
            Some(value) if scheme(value).eq_ignore_ascii_case(b"Basic") => fields.set(id, value),
            Some(_) | None => from_external(received, id, fields),
        },
        PeerLogin::None | PeerLogin::Negotiate(_) => {
            fields.remove(id);
        }
        PeerLogin::Basic(pair) => {
            let pair: Vec<u8> = percent_decode_str(pair).collect();
            fields.set(id, &basic(&pair));
        }
        PeerLogin::UserWith(behind) => {
            let named = received.learnt.external_login().user;
            let user = named.as_ref().or(received.learnt.user());
            let user = user.map_or("-", |user| user);
            let pair: Vec<u8> = user.bytes().chain(percent_decode_str(behind)).collect();
            fields.set(id, &basic(&pair));
        }
    }
}

/// The login that an external ACL named, if it named all of it.
fn from_external(received: &Received<'_>, id: FieldId, fields: &mut Fields) {
    let ExternalLogin {
        user: Some(user),
        password: Some(password),
    } = received.learnt.external_login()
    else {
        return;
    };
    fields.set(id, &basic(&[user.as_bytes(), b":", &password].concat()));
}

/// Schemes by which a connection logs in, not a request: whoever gets that connection next is taken for the user.
const OF_CONNECTIONS: [&[u8]; 3] = [b"NTLM", b"Negotiate", b"Kerberos"];

fn is_of_connections(value: &[u8]) -> bool {
    let mut names = OF_CONNECTIONS.iter();
    names.any(|name| scheme(value).eq_ignore_ascii_case(name))
}

fn scheme(value: &[u8]) -> &[u8] {
    let mut words = value.split(u8::is_ascii_whitespace);
    words.next().unwrap_or_default()
}

/// Does the request log a connection to the hop in? Then it must not be one from the pool, nor go there.
pub(super) fn bond(received: &Received<'_>, hop: &Hop) -> Option<Bond> {
    let says = |id| received.head.fields.get_all(id).any(is_of_connections);
    if hop.passes_proxy_authorization() && says(FieldId::ProxyAuthorization) {
        return Some(Bond::to_hop(received, hop));
    }
    let to_origin = hop.passes_authorization() && says(FieldId::Authorization);
    to_origin.then(|| Bond::to_origin(received, hop))
}

/// Does the hop say something of the client's login to it, which is for nobody else?
pub(super) fn is_about(hop: &Hop, answer: &Fields) -> bool {
    let ids = [FieldId::ProxyAuthenticate, FieldId::ProxyAuthenticationInfo];
    hop.passes_proxy_authorization() && ids.iter().any(|id| answer.has(*id))
}

/// May the client go on with the connection on which this answer came (`connection-auth=` of port and peer)? A proxy
/// of which nothing is known has to say that it does the same.
pub(super) fn may_pin(
    received: &Received<'_>,
    hop: &Hop,
    answer: &ResponseHead,
    is_pinned: bool,
) -> bool {
    let peer = hop.peer.as_ref().map(|peer| &peer.config.options);
    let by_peer = peer.is_none_or(|peer| match peer.connection_auth {
        Some(known) => known,
        None => {
            let fields = &answer.fields;
            is_pinned
                || peer.originserver
                || answer.status != 401
                || fields.has_token(FieldId::ProxySupport, SESSION_BASED)
        }
    });
    received.connection.port.connection_auth && by_peer
}

/// In `Proxy-Support`: a login over several requests finds the same connection again (RFC 4559 §6).
const SESSION_BASED: &[u8] = b"Session-Based-Authentication";

/// Takes such schemes out of a hop's offers, where they can't work.
pub(super) fn drop_offers(fields: &mut Fields) {
    let offers = [FieldId::WwwAuthenticate, FieldId::ProxyAuthenticate];
    fields.retain(|line| !(offers.contains(&line.id) && is_of_connections(line.value)));
}

/// Tells a client of a proxy that an origin's offer of such a scheme will work.
pub(crate) fn announce(received: &Received<'_>, fields: &mut Fields) {
    let is_proxy = received.connection.port.accel().is_none();
    let id = FieldId::WwwAuthenticate;
    if is_proxy && fields.get_all(id).any(is_of_connections) {
        fields.set(FieldId::ProxySupport, SESSION_BASED);
        fields.set(FieldId::Connection, b"Proxy-Support");
    }
}

fn basic(pair: &[u8]) -> Vec<u8> {
    let mut value = b"Basic ".to_vec();
    value.extend(STANDARD.encode(pair).bytes());
    value
}
