//! Directives: ICAP and eCAP.

use super::{
    Area, Kind, OFF, Row, checked, done, not_yet, not_yet_even_off, refused_unless, row, since,
};
use crate::readers::simple;

/// Where a service is asked.
const POINT: Kind = Kind::OneOf(&[
    "reqmod_precache",
    "reqmod_postcache",
    "respmod_precache",
    "respmod_postcache",
]);
const PLUG_INS: &str = "eCAP modules are C++ libraries, which are not loaded here; an ICAP service can do the same work";

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("icap_enable", &[], Kind::OnOff, ["on/off", "off"], since("3.0"), "turn ICAP on", not_yet(Area::Icap)),
    row("icap_connect_timeout", &[], Kind::Time, ["time", "none"], since("3.0"), "connect timeout", not_yet(Area::Icap)),
    row("icap_io_timeout", &[], Kind::Time, ["time", "read_timeout"], since("3.0"), "I/O timeout", not_yet(Area::Icap)),
    row("icap_service_failure_limit", &[], Kind::Once(&[Kind::Number, Kind::Words]), ["N [in time]", "10"], since("3.0"), "failures before a service is down", checked(done(simple::icap_service_failure_limit), not_yet(Area::Icap))),
    row("icap_service_revival_delay", &[], Kind::Number, ["seconds", "180"], since("3.0"), "wait before retrying OPTIONS", not_yet(Area::Icap)),
    row("icap_preview_enable", &[], Kind::OnOff, ["on/off", "on"], since("3.0"), "use Preview", not_yet(Area::Icap)),
    row("icap_preview_size", &[], Kind::Number, ["N", "-1 = no preview"], since("3.0"), "default preview size", not_yet_even_off(Area::Icap)),
    row("icap_206_enable", &[], Kind::OnOff, ["on/off", "on"], since("3.2"), "ICAP 206 extension", not_yet(Area::Icap)),
    row("icap_default_options_ttl", &[], Kind::Number, ["seconds", "60"], since("3.0"), "OPTIONS TTL default", not_yet(Area::Icap)),
    row("icap_persistent_connections", &[], Kind::OnOff, ["on/off", "on"], since("3.0"), "keep-alive to ICAP", not_yet(Area::Icap)),
    row("adaptation_send_client_ip", &["icap_send_client_ip"], Kind::OnOff, ["on/off", "off"], since("3.0"), "send the client address to ICAP", not_yet(Area::Icap)),
    row("adaptation_send_username", &["icap_send_client_username"], Kind::OnOff, ["on/off", "off"], since("3.0"), "send the user name to ICAP", not_yet(Area::Icap)),
    row("icap_client_username_header", &[], Kind::Word, ["name", "X-Client-Username"], since("3.0"), "header that carries the user name to ICAP", not_yet(Area::Icap)),
    row("icap_client_username_encode", &[], Kind::OnOff, ["on/off", "off"], since("3.0"), "encode the user name in base64", not_yet(Area::Icap)),
    row("icap_service", &[], Kind::Lines(&[Kind::Word, POINT, Kind::Words]), ["id point [opts] uri", "none"], since("3.0"), "declare ICAP service (also accepts 3.0 form \"id point bypass uri\")", not_yet(Area::Icap)),
    row("icap_class", &[], Kind::Lines(&[Kind::Word, Kind::Words]), ["class service..", "none"], since("3.0"), "deprecated service set (still in real configs)", not_yet(Area::Icap)),
    row("icap_access", &[], Kind::Lines(&[Kind::Word, Kind::AccessList]), ["class allow/deny acl..", "none"], since("3.0"), "deprecated form of adaptation_access", not_yet(Area::Icap)),
    row("ecap_enable", &[], Kind::OnOff, ["on/off", "off"], since("3.1"), "turn eCAP on", refused_unless(PLUG_INS, OFF)),
    row("ecap_service", &[], Kind::Lines(&[Kind::Word, POINT, Kind::Words]), ["id point [opts] uri", "none"], since("3.1"), "declare eCAP service", refused_unless(PLUG_INS, OFF)),
    row("loadable_modules", &[], Kind::Words, ["path..", "none"], since("3.1"), "load eCAP modules", refused_unless(PLUG_INS, OFF)),
    row("adaptation_service_set", &[], Kind::Lines(&[Kind::Word, Kind::Words]), ["set svc..", "none"], since("3.1"), "ordered redundant services", not_yet(Area::Icap)),
    row("adaptation_service_chain", &[], Kind::Lines(&[Kind::Word, Kind::Words]), ["chain svc..", "none"], since("3.1"), "sequential services", not_yet(Area::Icap)),
    row("adaptation_access", &[], Kind::Lines(&[Kind::Word, Kind::AccessList]), ["svc allow/deny acl..", "allow all"], since("3.1"), "which traffic is adapted", not_yet(Area::Icap)),
    row("adaptation_service_iteration_limit", &[], Kind::Number, ["N", "16"], since("3.1"), "loop guard", not_yet(Area::Icap)),
    row("adaptation_masterx_shared_names", &[], Kind::Word, ["header", "none"], since("3.1"), "shared metadata name", not_yet(Area::Icap)),
    row("adaptation_meta", &[], Kind::Lines(&[Kind::Word, Kind::Quoted, Kind::Acls]), ["name value [acl..]", "none"], since("3.2"), "extra ICAP header", not_yet(Area::Icap)),
    row("icap_retry", &[], Kind::AccessList, ["allow/deny acl..", "deny all"], since("3.1"), "which failures are retried", not_yet(Area::Icap)),
    row("icap_retry_limit", &[], Kind::Number, ["N", "0"], since("3.1"), "retry cap", not_yet(Area::Icap)),
];
