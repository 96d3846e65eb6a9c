//! Directives: threads, the process and its names.

use super::{Row, checked, done, no_effect, not_yet_even_off, row, set};
use crate::readers::simple;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("workers", &[], ["N", "1", "3.2"], "number of worker threads; here, without a line, one per core; needs restart to change", done(simple::workers)),
    row("cpu_affinity_map", &[], ["process_numbers=P,.. cores=C,..", "OS decides", "3.2"], "pin process k to core; cores counted from 1; several lines merge", done(simple::cpu_affinity_map)),
    row("shared_memory_locking", &[], ["on/off", "off", "4"], "mlock shared segments at start", no_effect("workers are threads of one process")),
    row("hopeless_kid_revival_delay", &[], ["time", "1 hour", "4"], "how long a crash-looping kid stays down", no_effect("workers are threads of one process")),
    row("cache_mgr", &[], ["email", "webmaster", "≤2.5"], "admin contact shown in error pages (%w)", set!(cache_mgr, text_word)),
    row("mail_from", &[], ["email", "none", "2.6"], "sender of crash mail", no_effect("no mail is sent after a crash")),
    row("mail_program", &[], ["cmd", "mail", "2.6"], "mailer for crash mail", no_effect("no mail is sent after a crash")),
    row("cache_effective_user", &[], ["user", "@CACHE_EFFECTIVE_USER@", "≤2.5"], "user to run as", set!(cache_effective_user, optional_text)),
    row("cache_effective_group", &[], ["group", "user's groups", "≤2.5"], "group to run as", set!(cache_effective_group, optional_text)),
    row("httpd_suppress_version_string", &[], ["on/off", "off", "2.6"], "hide version", set!(httpd_suppress_version_string, on_off)),
    row("visible_hostname", &[], ["name", "system name", "≤2.5"], "name used in errors, Via, Cache-Status", set!(visible_hostname, optional_text)),
    row("unique_hostname", &[], ["name", "= visible_hostname", "≤2.5"], "unique name for loop detection", set!(unique_hostname, optional_text)),
    row("hostname_aliases", &[], ["names", "none", "≤2.5"], "other names of this cache", checked(done(simple::hostname_aliases), not_yet_even_off("HTTP"))),
    row("umask", &[], ["octal", "027", "2.6"], "minimum umask", set!(umask, count)),
];
