//! What belongs to one connection only: persistence and hop-by-hop fields (RFC 9110 §7.6.1,
//! RFC 9112 §9.3).

use super::Version;
use crate::{FieldId, Fields};

/// Fields that concern this connection only, always dropped before forwarding.
const HOP_BY_HOP: u128 = FieldId::Connection.bit()
    | FieldId::KeepAlive.bit()
    | FieldId::ProxyConnection.bit()
    | FieldId::Te.bit()
    | FieldId::Trailer.bit()
    | FieldId::TransferEncoding.bit()
    | FieldId::Upgrade.bit()
    | FieldId::Http2Settings.bit();

/// Fields that `Connection` can't take away: framing, routing, and what caches and loop checks
/// live by. Naming them there is an attack (RFC 9110 §7.6.1 forbids it to the sender).
const PROTECTED: u128 = FieldId::Host.bit()
    | FieldId::ContentLength.bit()
    | FieldId::ContentRange.bit()
    | FieldId::ContentEncoding.bit()
    | FieldId::ContentType.bit()
    | FieldId::CacheControl.bit()
    | FieldId::CdnCacheControl.bit()
    | FieldId::SurrogateControl.bit()
    | FieldId::Pragma.bit()
    | FieldId::Vary.bit()
    | FieldId::Age.bit()
    | FieldId::Date.bit()
    | FieldId::Expires.bit()
    | FieldId::ETag.bit()
    | FieldId::Via.bit()
    | FieldId::CdnLoop.bit()
    | FieldId::MaxForwards.bit()
    | FieldId::Authorization.bit()
    | FieldId::ProxyAuthorization.bit()
    | FieldId::ProxyAuthenticate.bit()
    | FieldId::SetCookie.bit();

/// What becomes of `Proxy-Authorization`, `Proxy-Authenticate` and their kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyAuth {
    /// The next hop shall see them (`login=PASS` and the like).
    Keep,
    /// They were meant for us, or came from a hop that has no business sending them.
    Drop,
}

/// May the connection carry another message after this one, by version and `Connection`?
///
/// `close` always wins. HTTP/1.0 needs a `keep-alive`, which `Proxy-Connection` may say too, as
/// old clients do to proxies. The body must have ended at a message boundary as well.
pub fn may_reuse(version: Version, fields: &Fields) -> bool {
    let says = |token| {
        fields.has_token(FieldId::Connection, token)
            || fields.has_token(FieldId::ProxyConnection, token)
    };
    !says(b"close") && (version == Version::H11 || says(b"keep-alive"))
}

/// Drops the fields that end at this hop, and those that `Connection` names, except the ones that
/// it must not touch. `Transfer-Encoding` goes too: the sender frames the message anew.
pub fn remove_hop_by_hop(fields: &mut Fields, proxy_auth: ProxyAuth) {
    let mut drop_ids = HOP_BY_HOP;
    if proxy_auth == ProxyAuth::Drop {
        drop_ids |= FieldId::ProxyAuthorization.bit()
            | FieldId::ProxyAuthenticate.bit()
            | FieldId::ProxyAuthenticationInfo.bit()
            | FieldId::ProxySupport.bit();
    }
    let mut drop_names: Vec<Vec<u8>> = Vec::new();
    for token in fields.list(FieldId::Connection) {
        match FieldId::of(token) {
            FieldId::Other if !is_option(token) => drop_names.push(token.to_ascii_lowercase()),
            FieldId::Other => {}
            id => drop_ids |= id.bit() & !PROTECTED,
        }
    }
    drop_names.sort_unstable();
    fields.retain(|line| {
        if line.id != FieldId::Other {
            return drop_ids & line.id.bit() == 0;
        }
        drop_names.is_empty() || {
            let name = line.name.to_ascii_lowercase();
            drop_names.binary_search(&name).is_err()
        }
    });
}

/// Connection options that name no field; no use looking for it.
fn is_option(token: &[u8]) -> bool {
    token.eq_ignore_ascii_case(b"close")
}

/// Any `Connection` value leaves framing alone and nothing hop-by-hop behind.
///
/// # Panics
/// When it doesn't.
pub fn fuzz(data: &[u8]) {
    let mut fields = Fields::new();
    let mut lines = data.split(|&byte| byte == b'\n');
    fields.push_id(FieldId::Connection, lines.next().unwrap_or_default());
    fields.push_id(FieldId::Host, b"a.example");
    fields.push_id(FieldId::ContentLength, b"5");
    fields.push_id(FieldId::KeepAlive, b"timeout=5");
    for line in lines {
        let (name, value) = crate::chars::split_once(line, b':').unwrap_or((line, b""));
        if crate::chars::is_token(name) {
            fields.push(name, value);
        }
    }
    let named: Vec<Vec<u8>> = fields
        .list(FieldId::Connection)
        .map(<[u8]>::to_vec)
        .collect();
    let hosts = fields.get_all(FieldId::Host).count();
    let lengths = fields.get_all(FieldId::ContentLength).count();
    may_reuse(Version::H10, &fields);
    remove_hop_by_hop(&mut fields, ProxyAuth::Drop);
    assert_eq!(fields.get_all(FieldId::Host).count(), hosts, "Host stays");
    assert_eq!(
        fields.get_all(FieldId::ContentLength).count(),
        lengths,
        "Content-Length stays"
    );
    for line in fields.iter() {
        assert_eq!(HOP_BY_HOP & line.id.bit(), 0, "nothing hop-by-hop is left");
        if line.id == FieldId::Other {
            let is_named = named
                .iter()
                .any(|name| name.eq_ignore_ascii_case(line.name));
            assert!(!is_named || is_option(line.name), "named fields are gone");
        }
    }
}

#[cfg(test)]
mod tests;
