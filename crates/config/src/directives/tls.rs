//! Directives: TLS, SSL-bump and certificates.

use super::{Row, no_effect, not_yet, row};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("tls_outgoing_options", &[], ["k=v ..", "min-version=1.0", "4"], "TLS settings for origin connections (disable, cert, key, cipher, min-version, options, cafile, capath, crlfile, flags, default-ca, domain)", not_yet("TLS")),
    row("ssl_unclean_shutdown", &[], ["on/off", "off", "≤2.5"], "skip TLS close-notify errors", not_yet("TLS")),
    row("ssl_engine", &[], ["name", "none", "2.6"], "OpenSSL engine", no_effect("cryptography is built in")),
    row("sslproxy_session_ttl", &[], ["seconds", "300", "3.5"], "server-side TLS session cache TTL", not_yet("TLS")),
    row("sslproxy_session_cache_size", &[], ["size", "2 MB", "3.5"], "server-side TLS session cache size", not_yet("TLS")),
    row("sslproxy_foreign_intermediate_certs", &[], ["file", "none", "3.5"], "extra intermediates for incomplete chains", not_yet("TLS")),
    row("sslproxy_cert_sign_hash", &[], ["hash", "none", "3.5"], "digest for generated certificates", not_yet("TLS")),
    row("ssl_bump", &[], ["action acl..", "splice (tunnel)", "3.1"], "TLS interception decision per step: peek, stare, splice, bump, terminate, client-first, server-first, none", not_yet("TLS")),
    row("sslproxy_cert_error", &[], ["allow/deny acl..", "deny all", "3.1"], "tolerate origin certificate errors", not_yet("TLS")),
    row("sslproxy_cert_sign", &[], ["signTrusted/signUntrusted/signSelf acl..", "none", "3.3"], "which CA signs the mimicked certificate", not_yet("TLS")),
    row("sslproxy_cert_adapt", &[], ["setValidAfter/setValidBefore/setCommonName acl..", "none", "3.3"], "adjust the mimicked certificate", not_yet("TLS")),
    row("sslpassword_program", &[], ["program", "none", "2.6"], "supplies key passphrases", not_yet("TLS")),
    row("sslcrtd_program", &[], ["cmd", "@SSL_CRTD@ -s @SSL_DB_DIR@ -M 4MB", "3.1"], "certificate generator helper (security_file_certgen -s db -M size)", not_yet("TLS")),
    row("sslcrtd_children", &[], ["N [startup= idle= concurrency= queue-size=]", "32 startup=5 idle=1", "3.1"], "size of the pool of certificate helpers", not_yet("TLS")),
    row("sslcrtvalidator_program", &[], ["[ttl=][cache=] cmd", "none", "3.4"], "origin certificate validator helper", not_yet("TLS")),
    row("sslcrtvalidator_children", &[], ["N [opts]", "32 startup=5 idle=1 concurrency=1", "3.4"], "size of the pool of certificate validators", not_yet("TLS")),
];
