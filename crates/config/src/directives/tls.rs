//! Directives: TLS, SSL-bump and certificates.

use super::{Area, Kind, OFF, Row, checked, done, not_yet, refused_unless, row, since};
use crate::readers::tls;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("tls_outgoing_options", &[], Kind::Words, ["k=v ..", "min-version=1.0"], since("4"), "TLS settings for origin connections (disable, cert, key, cipher, min-version, options, cafile, capath, crlfile, flags, default-ca, domain)", checked(done(tls::tls_outgoing_options), not_yet(Area::Tls))),
    row("ssl_unclean_shutdown", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "skip TLS close-notify errors", not_yet(Area::Tls)),
    row("ssl_engine", &[], Kind::Word, ["name", "none"], since("2.6"), "OpenSSL engine", refused_unless("OpenSSL engines are C libraries, which are not loaded here; cryptography is built in", OFF)),
    row("sslproxy_session_ttl", &[], Kind::Number, ["seconds", "300"], since("3.5"), "server-side TLS session cache TTL", not_yet(Area::Tls)),
    row("sslproxy_session_cache_size", &[], Kind::Size, ["size", "2 MB"], since("3.5"), "server-side TLS session cache size", not_yet(Area::Tls)),
    row("sslproxy_foreign_intermediate_certs", &[], Kind::File, ["file", "none"], since("3.5"), "extra intermediates for incomplete chains", not_yet(Area::Tls)),
    row("sslproxy_cert_sign_hash", &[], Kind::Word, ["hash", "none"], since("3.5"), "digest for generated certificates", not_yet(Area::Tls)),
    row("ssl_bump", &[], Kind::Lines(&[Kind::OneOf(&["peek", "stare", "splice", "bump", "terminate", "client-first", "server-first", "none", "allow", "deny"]), Kind::Acls]), ["action acl..", "splice (tunnel)"], since("3.1"), "TLS interception decision per step: peek, stare, splice, bump, terminate, client-first, server-first, none", not_yet(Area::Tls)),
    row("sslproxy_cert_error", &[], Kind::AccessList, ["allow/deny acl..", "deny all"], since("3.1"), "tolerate origin certificate errors", not_yet(Area::Tls)),
    row("sslproxy_cert_sign", &[], Kind::Lines(&[Kind::OneOf(&["signTrusted", "signUntrusted", "signSelf"]), Kind::Acls]), ["signTrusted/signUntrusted/signSelf acl..", "none"], since("3.3"), "which CA signs the mimicked certificate", not_yet(Area::Tls)),
    row("sslproxy_cert_adapt", &[], Kind::Lines(&[Kind::Word, Kind::Acls]), ["setValidAfter/setValidBefore/setCommonName acl..", "none"], since("3.3"), "adjust the mimicked certificate", not_yet(Area::Tls)),
    row("sslpassword_program", &[], Kind::Word, ["program", "none"], since("2.6"), "supplies key passphrases", not_yet(Area::Tls)),
    row("sslcrtd_program", &[], Kind::Text, ["cmd", "@SSL_CRTD@ -s @SSL_DB_DIR@ -M 4MB"], since("3.1"), "certificate generator helper (security_file_certgen -s db -M size)", not_yet(Area::Tls)),
    row("sslcrtd_children", &[], Kind::Pool, ["N [startup= idle= concurrency= queue-size=]", "32 startup=5 idle=1"], since("3.1"), "size of the pool of certificate helpers", not_yet(Area::Tls)),
    row("sslcrtvalidator_program", &[], Kind::Text, ["[ttl=][cache=] cmd", "none"], since("3.4"), "origin certificate validator helper", not_yet(Area::Tls)),
    row("sslcrtvalidator_children", &[], Kind::Pool, ["N [opts]", "32 startup=5 idle=1 concurrency=1"], since("3.4"), "size of the pool of certificate validators", not_yet(Area::Tls)),
];
