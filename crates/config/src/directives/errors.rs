//! Directives: error pages and icons.

use super::{Area, Kind, Row, done, not_yet, row, set, since};
use crate::readers::{deny_info, simple};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("icon_directory", &[], Kind::File, ["dir", "@ICON_DIR@"], since("2.5"), "FTP listing icons", not_yet(Area::Ftp)),
    row("global_internal_static", &[], Kind::OnOff, ["on/off", "on"], since("2.6"), "serve /squid-internal-static/ for any host", not_yet(Area::Ftp)),
    row("short_icon_urls", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "short icon URLs", not_yet(Area::Ftp)),
    row("error_directory", &[], Kind::File, ["dir", "none (language by Accept-Language)"], since("2.5"), "custom error pages (disables language negotiation)", set!(error_directory, path)),
    row("error_default_language", &[], Kind::Word, ["lang", "none (English)"], since("3.1"), "fallback language", set!(error_default_language, optional_text)),
    row("error_log_languages", &[], Kind::OnOff, ["on/off", "on"], since("3.1"), "log negotiated languages", set!(error_log_languages, on_off)),
    row("err_page_stylesheet", &[], Kind::File, ["path", "@CONFIG_DIR@/errorpage.css"], since("3.1"), "CSS for error pages", set!(err_page_stylesheet, file_place)),
    row("err_html_text", &[], Kind::Text, ["text", "none"], since("2.5"), "%L text in pages", done(simple::err_html_text)),
    row("email_err_data", &[], Kind::OnOff, ["on/off", "off"], since("3.0"), "include details in mailto (on until 7.1, off since 7.2)", set!(email_err_data, on_off)),
    row("deny_info", &[], Kind::Lines(&[Kind::Word, Kind::Words]), ["page/URL/TCP_RESET/NNN:page acl", "none"], since("2.5"), "response for a denying ACL with %u %H", done(deny_info::deny_info)),
];
