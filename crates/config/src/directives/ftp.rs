//! Directives: FTP.

use super::{Row, not_yet, row};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("ftp_user", &[], ["string", "Squid@", "≤2.5"], "anonymous FTP password", not_yet("FTP")),
    row("ftp_passive", &[], ["on/off", "on", "≤2.5"], "use passive FTP", not_yet("FTP")),
    row("ftp_epsv_all", &[], ["on/off", "off", "3.1"], "send EPSV ALL", not_yet("FTP")),
    row("ftp_epsv", &[], ["allow/deny acl..", "none", "3.1"], "when EPSV may be used", not_yet("FTP")),
    row("ftp_eprt", &[], ["on/off", "on", "3.1"], "use EPRT", not_yet("FTP")),
    row("ftp_sanitycheck", &[], ["on/off", "on", "≤2.5"], "check FTP data-channel peer", not_yet("FTP")),
    row("ftp_telnet_protocol", &[], ["on/off", "on", "≤2.5"], "telnet-escape FTP control channel", not_yet("FTP")),
];
