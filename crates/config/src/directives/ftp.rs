//! Directives: FTP.

use super::{Area, Kind, Row, not_yet, row, since};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("ftp_user", &[], Kind::Word, ["string", "Squid@"], since("2.5"), "anonymous FTP password", not_yet(Area::Ftp)),
    row("ftp_passive", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "use passive FTP", not_yet(Area::Ftp)),
    row("ftp_epsv_all", &[], Kind::OnOff, ["on/off", "off"], since("3.1"), "send EPSV ALL", not_yet(Area::Ftp)),
    row("ftp_epsv", &[], Kind::AccessList, ["allow/deny acl..", "none"], since("3.1"), "when EPSV may be used", not_yet(Area::Ftp)),
    row("ftp_eprt", &[], Kind::OnOff, ["on/off", "on"], since("3.1"), "use EPRT", not_yet(Area::Ftp)),
    row("ftp_sanitycheck", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "check FTP data-channel peer", not_yet(Area::Ftp)),
    row("ftp_telnet_protocol", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "telnet-escape FTP control channel", not_yet(Area::Ftp)),
];
