//! Directives: threads, the process and its names.

use super::{Kind, Row, done, no_effect, row, set, since};
use crate::readers::simple;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("workers", &[], Kind::Number, ["N", "1"], since("3.2"), "number of worker threads; here, without a line, one per core; changes on reload", done(simple::workers)),
    row("cpu_affinity_map", &[], Kind::Form, ["process_numbers=P,.. cores=C,..", "OS decides"], since("3.2"), "pin process k to core; cores counted from 1; several lines merge", done(simple::cpu_affinity_map)),
    row("shared_memory_locking", &[], Kind::OnOff, ["on/off", "off"], since("4"), "mlock shared segments at start", no_effect("workers are threads of one process")),
    row("hopeless_kid_revival_delay", &[], Kind::Time, ["time", "1 hour"], since("4"), "how long a crash-looping kid stays down", no_effect("workers are threads of one process")),
    row("cache_mgr", &[], Kind::Word, ["email", "webmaster"], since("2.5"), "admin contact shown in error pages (%w)", set!(cache_mgr, text_word)),
    row("mail_from", &[], Kind::Word, ["email", "none"], since("2.6"), "sender of crash mail", no_effect("who starts the program sees that it ended; no mail is sent")),
    row("mail_program", &[], Kind::Text, ["cmd", "mail"], since("2.6"), "mailer for crash mail", no_effect("who starts the program sees that it ended; no mail is sent")),
    row("cache_effective_user", &[], Kind::Word, ["user", "@CACHE_EFFECTIVE_USER@"], since("2.5"), "user to run as", set!(cache_effective_user, optional_text)),
    row("cache_effective_group", &[], Kind::Word, ["group", "user's groups"], since("2.5"), "group to run as", set!(cache_effective_group, optional_text)),
    row("httpd_suppress_version_string", &[], Kind::OnOff, ["on/off", "off"], since("2.6"), "hide version", set!(httpd_suppress_version_string, on_off)),
    row("visible_hostname", &[], Kind::Word, ["name", "system name"], since("2.5"), "name used in errors, Via, Cache-Status", set!(visible_hostname, optional_text)),
    row("unique_hostname", &[], Kind::Word, ["name", "= visible_hostname"], since("2.5"), "unique name for loop detection", set!(unique_hostname, optional_text)),
    row("hostname_aliases", &[], Kind::Words, ["names", "none"], since("2.5"), "other names of this cache", done(simple::hostname_aliases)),
    row("umask", &[], Kind::Number, ["octal", "027"], since("2.6"), "minimum umask", set!(umask, count)),
];
