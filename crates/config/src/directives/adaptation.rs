//! Directives: ICAP and eCAP.

use super::{Row, not_yet, not_yet_even_off, row};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("icap_enable", &[], ["on/off", "off", "3.0"], "turn ICAP on", not_yet("ICAP")),
    row("icap_connect_timeout", &[], ["time", "none", "3.0"], "connect timeout", not_yet("ICAP")),
    row("icap_io_timeout", &[], ["time", "read_timeout", "3.0"], "I/O timeout", not_yet("ICAP")),
    row("icap_service_failure_limit", &[], ["N [in time]", "10", "3.0"], "failures before a service is down", not_yet("ICAP")),
    row("icap_service_revival_delay", &[], ["seconds", "180", "3.0"], "wait before retrying OPTIONS", not_yet("ICAP")),
    row("icap_preview_enable", &[], ["on/off", "on", "3.0"], "use Preview", not_yet("ICAP")),
    row("icap_preview_size", &[], ["N", "-1 = no preview", "3.0"], "default preview size", not_yet_even_off("ICAP")),
    row("icap_206_enable", &[], ["on/off", "on", "3.2"], "ICAP 206 extension", not_yet("ICAP")),
    row("icap_default_options_ttl", &[], ["seconds", "60", "3.0"], "OPTIONS TTL default", not_yet("ICAP")),
    row("icap_persistent_connections", &[], ["on/off", "on", "3.0"], "keep-alive to ICAP", not_yet("ICAP")),
    row("adaptation_send_client_ip", &["icap_send_client_ip"], ["on/off", "off", "3.0"], "send the client address to ICAP", not_yet("ICAP")),
    row("adaptation_send_username", &["icap_send_client_username"], ["on/off", "off", "3.0"], "send the user name to ICAP", not_yet("ICAP")),
    row("icap_client_username_header", &[], ["name", "X-Client-Username", "3.0"], "header that carries the user name to ICAP", not_yet("ICAP")),
    row("icap_client_username_encode", &[], ["on/off", "off", "3.0"], "encode the user name in base64", not_yet("ICAP")),
    row("icap_service", &[], ["id point [opts] uri", "none", "3.0"], "declare ICAP service (also accepts 3.0 form \"id point bypass uri\")", not_yet("ICAP")),
    row("icap_class", &[], ["class service..", "none", "3.0"], "deprecated service set (still in real configs)", not_yet("ICAP")),
    row("icap_access", &[], ["class allow/deny acl..", "none", "3.0"], "deprecated form of adaptation_access", not_yet("ICAP")),
    row("ecap_enable", &[], ["on/off", "off", "3.1"], "turn eCAP on", not_yet("eCAP")),
    row("ecap_service", &[], ["id point [opts] uri", "none", "3.1"], "declare eCAP service", not_yet("eCAP")),
    row("loadable_modules", &[], ["path..", "none", "3.1"], "load eCAP modules", not_yet("eCAP")),
    row("adaptation_service_set", &[], ["set svc..", "none", "3.1"], "ordered redundant services", not_yet("adaptation")),
    row("adaptation_service_chain", &[], ["chain svc..", "none", "3.1"], "sequential services", not_yet("adaptation")),
    row("adaptation_access", &[], ["svc allow/deny acl..", "allow all", "3.1"], "which traffic is adapted", not_yet("adaptation")),
    row("adaptation_service_iteration_limit", &[], ["N", "16", "3.1"], "loop guard", not_yet("adaptation")),
    row("adaptation_masterx_shared_names", &[], ["header", "none", "3.1"], "shared metadata name", not_yet("adaptation")),
    row("adaptation_meta", &[], ["name value [acl..]", "none", "3.2"], "extra ICAP header", not_yet("adaptation")),
    row("icap_retry", &[], ["allow/deny acl..", "deny all", "3.1"], "which failures are retried", not_yet("adaptation")),
    row("icap_retry_limit", &[], ["N", "0", "3.1"], "retry cap", not_yet("adaptation")),
];
