//! What a hop is told of logins (`cache_peer login=`). Credentials never go where no line sends them.
//!
//! | `login=` | to a proxy: `Proxy-Authorization` | to an `originserver`: `Authorization` |
//! | --- | --- | --- |
//! | none | none | none |
//! | `user:password` | these | these |
//! | `*:password` | our user with this password | our user with this password |
//! | `PASS`, `PASSTHRU` | the client's | the client's |
//!
//! `Authorization` goes on to origins that the URL names, and through proxies, as the client sent it;
//! `Proxy-Authorization` never reaches an origin.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use config::peer::PeerLogin;
use percent_encoding::percent_decode_str;
use wire::Fields;
use wire::field::FieldId;

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
        PeerLogin::Pass | PeerLogin::PassThru => {}
        PeerLogin::None | PeerLogin::Negotiate(_) => {
            fields.remove(id);
        }
        PeerLogin::Basic(pair) => {
            let pair: Vec<u8> = percent_decode_str(pair).collect();
            fields.set(id, &basic(&pair));
        }
        PeerLogin::UserWith(password) => {
            let user = received.learnt.user().map_or("-", |user| user);
            let password = percent_decode_str(password);
            let pair: Vec<u8> = user.bytes().chain(*b":").chain(password).collect();
            fields.set(id, &basic(&pair));
        }
    }
}

/// Schemes by which a connection logs in, not a request: whoever gets that connection next is taken for the user.
const OF_CONNECTIONS: [&[u8]; 3] = [b"NTLM", b"Negotiate", b"Kerberos"];

fn is_of_connections(value: &[u8]) -> bool {
    let scheme = value.split(|byte| byte.is_ascii_whitespace()).next();
    let scheme = scheme.unwrap_or_default();
    OF_CONNECTIONS
        .iter()
        .any(|name| scheme.eq_ignore_ascii_case(name))
}

/// Does the request log a connection to the hop in? Then it must not be one from the pool, nor go there.
pub(super) fn binds(received: &Received<'_>, hop: &Hop) -> bool {
    let says = |id| received.head.fields.get_all(id).any(is_of_connections);
    says(FieldId::Authorization)
        || (hop.passes_proxy_authorization() && says(FieldId::ProxyAuthorization))
}

/// Takes such schemes out of a hop's offers: connections to hops are shared, so they can't work.
pub(super) fn drop_offers(fields: &mut Fields) {
    let offers = [FieldId::WwwAuthenticate, FieldId::ProxyAuthenticate];
    fields.retain(|line| !(offers.contains(&line.id) && is_of_connections(line.value)));
}

fn basic(pair: &[u8]) -> Vec<u8> {
    let mut value = b"Basic ".to_vec();
    value.extend(STANDARD.encode(pair).bytes());
    value
}
