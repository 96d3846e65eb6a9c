//! Directives: error pages and icons.

use super::{Row, checked, done, not_yet, not_yet_even_off, row, set};
use crate::readers::lists;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("icon_directory", &[], ["dir", "@ICON_DIR@", "≤2.5"], "FTP listing icons", not_yet("icons")),
    row("global_internal_static", &[], ["on/off", "on", "2.6"], "serve /squid-internal-static/ for any host", not_yet("icons")),
    row("short_icon_urls", &[], ["on/off", "on", "≤2.5"], "short icon URLs", not_yet("icons")),
    row("error_directory", &[], ["dir", "none (language by Accept-Language)", "≤2.5"], "custom error pages (disables language negotiation)", set!(error_directory, path)),
    row("error_default_language", &[], ["lang", "none (English)", "3.1"], "fallback language", not_yet("error pages")),
    row("error_log_languages", &[], ["on/off", "on", "3.1"], "log negotiated languages", not_yet("error pages")),
    row("err_page_stylesheet", &[], ["path", "@CONFIG_DIR@/errorpage.css", "3.1"], "CSS for error pages", not_yet("error pages")),
    row("err_html_text", &[], ["text", "none", "≤2.5"], "%L text in pages", not_yet("error pages")),
    row("email_err_data", &[], ["on/off", "off", "3.0"], "include details in mailto (on until 7.1, off since 7.2)", not_yet("error pages")),
    row("deny_info", &[], ["page/URL/TCP_RESET/NNN:page acl", "none", "≤2.5"], "response for a denying ACL with %u %H", checked(done(lists::deny_info), not_yet_even_off("error pages"))),
];
