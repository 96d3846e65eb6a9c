//! Directives: names that newer Squids no longer have.

use super::{Area, Kind, Row, not_yet, obsolete, only, row, translated};
use crate::readers::{accelerator, header, log, old, old_log, peer, pool, rewrite, tls};

const ACCEL: &str =
    "Use accel of http_port and originserver of cache_peer; a warning at the end has the lines.";
const UNUSED: &str = "It has no use any more; remove it.";

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("announce_file", &[], Kind::Unread, ["", ""], only("2.5", "5"), "nothing any more", obsolete(UNUSED)),
    row("announce_host", &[], Kind::Unread, ["", ""], only("2.5", "5"), "nothing any more", obsolete(UNUSED)),
    row("announce_period", &[], Kind::Unread, ["", ""], only("2.5", "5"), "nothing any more", obsolete(UNUSED)),
    row("announce_port", &[], Kind::Unread, ["", ""], only("2.5", "5"), "nothing any more", obsolete(UNUSED)),
    row("authenticate_ip_shortcircuit_access", &[], Kind::AccessList, ["allow/deny acl..", ""], only("2.7", "2.7"), "2.7: ACL for the per-IP auth cache", not_yet(Area::Authentication)),
    row("authenticate_ip_shortcircuit_ttl", &[], Kind::Time, ["time", ""], only("2.7", "2.7"), "2.7: cache auth per IP", not_yet(Area::Authentication)),
    row("balance_on_multiple_ip", &[], Kind::Unread, ["", ""], only("2.5", "3.5"), "nothing any more", obsolete(UNUSED)),
    row("broken_vary_encoding", &[], Kind::AccessList, ["allow/deny acl..", ""], only("2.6", "2.7"), "2.6/2.7 only: split variants on Accept-Encoding for matching replies", not_yet(Area::Caching)),
    row("cache_dns_program", &[], Kind::Unread, ["", ""], only("2.5", "3.4"), "nothing any more (external dnsserver)", obsolete(UNUSED)),
    row("cache_host_domain", &[], Kind::Lines(&[Kind::Word, Kind::Words]), ["peer [!]domain..", ""], only("2.5", "3.5"), "as cache_peer_domain", translated("Use cache_peer_access with a dstdomain ACL, as is done now.", peer::cache_peer_domain)),
    row("cache_peer_domain", &[], Kind::Lines(&[Kind::Word, Kind::Words]), ["peer [!]domain..", ""], only("2.5", "3.5"), "translate to dstdomain ACL + cache_peer_access", translated("Use cache_peer_access with a dstdomain ACL, as is done now.", peer::cache_peer_domain)),
    row("cache_vary", &[], Kind::OnOff, ["on/off", ""], only("2.6", "2.7"), "2.6/2.7: off = do not store Vary", not_yet(Area::Caching)),
    row("chunked_request_body_max_size", &[], Kind::Unread, ["", ""], only("3.0", "3.1"), "nothing any more", obsolete(UNUSED)),
    row("dns_children", &[], Kind::Unread, ["", ""], only("2.5", "3.4"), "nothing any more", obsolete(UNUSED)),
    row("dns_testnames", &[], Kind::Unread, ["", ""], only("2.5", "3.0"), "nothing any more", obsolete(UNUSED)),
    row("dns_v4_fallback", &[], Kind::Unread, ["", ""], only("3.1", "3.1"), "nothing any more", obsolete(UNUSED)),
    row("dns_v4_first", &[], Kind::OnOff, ["on/off", ""], only("3.1", "4"), "ignore, or keep as \"prefer A records\"", translated("It is still honoured.", |draft, line| { draft.config.dns_v4_first = line.on_off()?; Ok(()) })),
    row("emulate_httpd_log", &[], Kind::OnOff, ["on/off", ""], only("2.5", "3.1"), "on = access_log format common", translated("Write the format `common` on access_log.", log::emulate_httpd_log)),
    row("error_map", &[], Kind::Lines(&[Kind::Word, Kind::Words]), ["url status..", ""], only("2.6", "2.7"), "2.6/2.7: replace error bodies from a URL", not_yet(Area::ErrorPages)),
    row("esi_parser", &[], Kind::Unread, ["", ""], only("3.0", "6"), "nothing any more", obsolete(UNUSED)),
    row("extension_methods", &[], Kind::Unread, ["", ""], only("2.5", "3.0"), "nothing any more", obsolete(UNUSED)),
    row("external_refresh_check", &[], Kind::Words, ["[opts] FORMAT helper", ""], only("2.7", "2.7"), "2.7: helper FRESH/STALE", not_yet(Area::Caching)),
    row("forward_log", &[], Kind::Unread, ["", ""], only("2.5", "3.1"), "nothing any more", obsolete("Use access_log with an ACL.")),
    row("ftp_list_width", &[], Kind::Unread, ["", ""], only("2.5", "3.1"), "nothing any more", obsolete(UNUSED)),
    row("header_access", &[], Kind::Lines(&[Kind::Word, Kind::AccessList]), ["header allow/deny acl..", ""], only("2.5", "2.7"), "request_header_access + reply_header_access", translated("Use request_header_access and reply_header_access; both are set.", header::header_access)),
    row("hierarchy_stoplist", &[], Kind::Words, ["words", ""], only("2.5", "3.4"), "URL substrings that go direct", translated("Use always_direct; the words are still honoured.", |draft, line| { draft.config.hierarchy_stoplist.extend(line.words()); Ok(()) })),
    row("httpd_accel_host", &[], Kind::Word, ["host/virtual", ""], only("2.5", "2.5"), "2.5 accelerator: translate to http_port accel + cache_peer originserver", translated(ACCEL, accelerator::host)),
    row("httpd_accel_no_pmtu_disc", &[], Kind::OnOff, ["on/off", ""], only("2.5", "2.7"), "http_port disable-pmtu-discovery", translated("Use disable-pmtu-discovery= of http_port.", old::httpd_accel_no_pmtu_disc)),
    row("httpd_accel_port", &[], Kind::Word, ["port/virtual", ""], only("2.5", "2.5"), "as httpd_accel_host", translated(ACCEL, accelerator::port)),
    row("httpd_accel_single_host", &[], Kind::OnOff, ["on/off", ""], only("2.5", "2.5"), "as httpd_accel_host", translated(ACCEL, accelerator::single_host)),
    row("httpd_accel_uses_host_header", &[], Kind::OnOff, ["on/off", ""], only("2.5", "2.5"), "on = vhost", translated(ACCEL, accelerator::uses_host_header)),
    row("httpd_accel_with_proxy", &[], Kind::OnOff, ["on/off", ""], only("2.5", "2.5"), "on = forward proxy too", translated(ACCEL, accelerator::with_proxy)),
    row("ident_lookup_access", &[], Kind::Unread, ["", ""], only("2.5", "6"), "nothing any more (Ident removed in 7; 7 rejects it)", obsolete("Ident is not asked any more; remove it.")),
    row("ident_timeout", &[], Kind::Unread, ["", ""], only("2.5", "6"), "nothing any more", obsolete("Ident is not asked any more; remove it.")),
    row("ie_refresh", &[], Kind::Unread, ["", ""], only("2.5", "3.5"), "nothing any more", obsolete(UNUSED)),
    row("ignore_expect_100", &[], Kind::Unread, ["", ""], only("2.7", "3.1"), "nothing any more", obsolete(UNUSED)),
    row("ignore_ims_on_miss", &[], Kind::OnOff, ["on/off", ""], only("2.7", "2.7"), "inverse of cache_miss_revalidate", translated("Use cache_miss_revalidate, which is the opposite.", old::ignore_ims_on_miss)),
    row("incoming_rate", &[], Kind::Unread, ["", ""], only("2.7", "2.7"), "nothing any more", obsolete(UNUSED)),
    row("location_rewrite_concurrency", &[], Kind::Number, ["N", ""], only("2.6", "2.7"), "concurrency= of location_rewrite_children", translated("Use concurrency= of location_rewrite_children.", pool::location_rewrite_concurrency)),
    row("log_access", &[], Kind::AccessList, ["allow/deny acl..", ""], only("2.6", "3.3"), "ACL for logging: fold into access_log", translated("Write its ACLs at the end of the access_log line.", old_log::log_access)),
    row("log_fqdn", &[], Kind::OnOff, ["on/off", ""], only("2.5", "3.1"), "log %>A", obsolete("Use a logformat with %>A.")),
    row("log_icap", &[], Kind::AccessList, ["allow/deny acl..", ""], only("3.1", "3.3"), "fold into icap_log", obsolete("Write its ACLs at the end of the icap_log line.")),
    row("log_ip_on_direct", &[], Kind::Unread, ["", ""], only("2.5", "3.1"), "nothing any more", obsolete(UNUSED)),
    row("maximum_single_addr_tries", &[], Kind::Number, ["N", ""], only("2.5", "3.1"), "connect_retries", translated("Use connect_retries, which counts one less.", old::maximum_single_addr_tries)),
    row("mcast_miss_addr", &[], Kind::Unread, ["", ""], only("2.5", "6"), "nothing any more", obsolete(UNUSED)),
    row("mcast_miss_encode_key", &[], Kind::Unread, ["", ""], only("2.5", "6"), "nothing any more", obsolete(UNUSED)),
    row("mcast_miss_port", &[], Kind::Unread, ["", ""], only("2.5", "6"), "nothing any more", obsolete(UNUSED)),
    row("mcast_miss_ttl", &[], Kind::Unread, ["", ""], only("2.5", "6"), "nothing any more", obsolete(UNUSED)),
    row("redirect_concurrency", &[], Kind::Number, ["N", ""], only("2.6", "3.1"), "as url_rewrite_concurrency", translated("Use concurrency= of url_rewrite_children.", pool::url_rewrite_concurrency)),
    row("referer_log", &[], Kind::File, ["file", ""], only("2.5", "3.1"), "access_log format referrer", translated("Use access_log with the format `referrer`.", old_log::referrer_log)),
    row("referrer_log", &[], Kind::File, ["file", ""], only("2.6", "3.1"), "access_log format referrer", translated("Use access_log with the format `referrer`.", old_log::referrer_log)),
    row("refresh_stale_hit", &[], Kind::Time, ["time", ""], only("2.6", "2.7"), "2.6/2.7: serve stale while one refresh runs (useful in accelerators)", not_yet(Area::Caching)),
    row("request_entities", &[], Kind::Unread, ["", ""], only("2.5", "5"), "nothing any more", obsolete(UNUSED)),
    row("server_http11", &[], Kind::Unread, ["", ""], only("2.7", "2.7"), "nothing any more", obsolete(UNUSED)),
    row("sslproxy_cafile", &[], Kind::File, ["file", ""], only("2.6", "3.5"), "tls_outgoing_options cafile=", translated("Use tls_outgoing_options cafile=.", tls::sslproxy)),
    row("sslproxy_capath", &[], Kind::File, ["file", ""], only("2.6", "3.5"), "tls_outgoing_options capath=", translated("Use tls_outgoing_options capath=.", tls::sslproxy)),
    row("sslproxy_cipher", &[], Kind::Word, ["ciphers", ""], only("2.6", "3.5"), "tls_outgoing_options cipher=", translated("Use tls_outgoing_options cipher=.", tls::sslproxy)),
    row("sslproxy_client_certificate", &[], Kind::File, ["file", ""], only("2.6", "3.5"), "tls_outgoing_options cert=", translated("Use tls_outgoing_options cert=.", tls::sslproxy)),
    row("sslproxy_client_key", &[], Kind::File, ["file", ""], only("2.6", "3.5"), "tls_outgoing_options key=", translated("Use tls_outgoing_options key=.", tls::sslproxy)),
    row("sslproxy_flags", &[], Kind::Word, ["flags", ""], only("2.6", "3.5"), "tls_outgoing_options flags=", translated("Use tls_outgoing_options flags=.", tls::sslproxy)),
    row("sslproxy_options", &[], Kind::Word, ["options", ""], only("2.6", "3.5"), "tls_outgoing_options options=", translated("Use tls_outgoing_options options=.", tls::sslproxy)),
    row("sslproxy_version", &[], Kind::Number, ["N", ""], only("2.6", "3.5"), "tls_outgoing_options version=", translated("Use tls_outgoing_options min-version=.", tls::sslproxy)),
    row("storeurl_access", &[], Kind::AccessList, ["allow/deny acl..", ""], only("2.7", "2.7"), "store_id_access", translated("Use store_id_access.", rewrite::storeurl_access)),
    row("storeurl_rewrite_concurrency", &[], Kind::Number, ["N", ""], only("2.7", "2.7"), "concurrency= of store_id_children", translated("Use concurrency= of store_id_children.", pool::store_id_concurrency)),
    row("update_headers", &[], Kind::Unread, ["", ""], only("2.7", "2.7"), "nothing any more", obsolete(UNUSED)),
    row("upgrade_http0.9", &[], Kind::Unread, ["", ""], only("2.7", "2.7"), "nothing any more", obsolete(UNUSED)),
    row("url_rewrite_concurrency", &[], Kind::Number, ["N", ""], only("2.6", "3.1"), "concurrency= of url_rewrite_children", translated("Use concurrency= of url_rewrite_children.", pool::url_rewrite_concurrency)),
    row("useragent_log", &[], Kind::File, ["file", ""], only("2.5", "3.1"), "access_log format useragent", translated("Use access_log with the format `useragent`.", old_log::useragent_log)),
    row("wais_relay_host", &[], Kind::Unread, ["", ""], only("2.5", "2.5"), "nothing any more", obsolete(UNUSED)),
    row("wais_relay_port", &[], Kind::Unread, ["", ""], only("2.5", "2.5"), "nothing any more", obsolete(UNUSED)),
    row("wccp_incoming_address", &[], Kind::Address, ["address", ""], only("2.5", "2.5"), "wccp_address", obsolete("Use wccp_address.")),
    row("wccp_outgoing_address", &[], Kind::Address, ["address", ""], only("2.5", "2.5"), "wccp_address", obsolete("Use wccp_address.")),
    row("zero_buffers", &[], Kind::Unread, ["", ""], only("2.7", "2.7"), "nothing any more", obsolete(UNUSED)),
    row("zph_local", &[], Kind::Number, ["N", ""], only("2.7", "2.7"), "qos_flows local-hit", obsolete("Use qos_flows.")),
    row("zph_mode", &[], Kind::Word, ["off/tos/priority/option", ""], only("2.7", "2.7"), "qos_flows tos/mark", obsolete("Use qos_flows.")),
    row("zph_option", &[], Kind::Number, ["N", ""], only("2.7", "2.7"), "qos_flows", obsolete("Use qos_flows.")),
    row("zph_parent", &[], Kind::Number, ["N", ""], only("2.7", "2.7"), "qos_flows parent-hit", obsolete("Use qos_flows.")),
    row("zph_sibling", &[], Kind::Number, ["N", ""], only("2.7", "2.7"), "qos_flows sibling-hit", obsolete("Use qos_flows.")),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directives::Status;
    use crate::parse;

    /// What a text says, without its findings and line numbers.
    fn meaning(text: &str) -> String {
        let mut config =
            parse(text, "test").unwrap_or_else(|problems| panic!("{text}: {problems}"));
        config.warnings.clear();
        let whole = format!("{config:?}");
        let mut parts = whole.split("line: ");
        let mut plain = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            plain.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
        plain
    }

    fn check(old: &str, new: &str) {
        assert_eq!(meaning(old), meaning(new), "{old}");
    }

    #[test]
    fn old_lines_say_what_their_successors_say() {
        check("cache_access_log /a", "access_log /a");
        check("http_access2 deny all", "adapted_http_access deny all");
        check("no_cache deny all", "cache deny all");
        check(
            "emulate_httpd_log on\naccess_log /a",
            "access_log /a common",
        );
        check(
            "access_log /a\nreferer_log /r",
            "access_log /a\naccess_log /r referrer",
        );
        check(
            "access_log /a\nreferrer_log /r",
            "access_log /a\naccess_log /r referrer",
        );
        check(
            "access_log /a\nuseragent_log /u",
            "access_log /a\naccess_log /u useragent",
        );
        check(
            "header_access Via deny all",
            "request_header_access Via deny all\nreply_header_access Via deny all",
        );
        check("ignore_ims_on_miss on", "cache_miss_revalidate off");
        check("maximum_single_addr_tries 3", "connect_retries 2");
        check("sslproxy_cafile /a", "tls_outgoing_options cafile=/a");
        check("sslproxy_capath /a", "tls_outgoing_options capath=/a");
        check("sslproxy_cipher ALL", "tls_outgoing_options cipher=ALL");
        check(
            "sslproxy_options NO_SSLv2",
            "tls_outgoing_options options=NO_SSLv2",
        );
        check(
            "reply_body_max_size 10 MB allow all",
            "reply_body_max_size 10 MB all",
        );
        check(
            "redirect_concurrency 3",
            "url_rewrite_children 20 concurrency=3",
        );
        check(
            "url_rewrite_concurrency 3",
            "url_rewrite_children 20 concurrency=3",
        );
        check(
            "storeurl_rewrite_concurrency 3",
            "store_id_children 20 concurrency=3",
        );
        check("storeurl_rewrite_program /x", "store_id_program /x");
        check("acl manager proto cache_object", "");
        check("http_port 80 vhost", "http_port 80 accel vhost");
        check(
            "http_port 80 defaultsite=a",
            "http_port 80 accel defaultsite=a",
        );
        check("http_port 80 vport=81", "http_port 80 accel vport=81");
        check(
            "http_port 80\nhttpd_accel_host a\nhttpd_accel_port 81",
            "http_port 80 accel no-vhost defaultsite=a vport=81\n\
             cache_peer a parent 81 0 no-query originserver",
        );
        check(
            "http_port 3128\nhttpd_accel_host virtual\nhttpd_accel_port 80",
            "http_port 3128 accel vport=80 allow-direct",
        );
    }

    /// So do Squids that no longer have the name.
    #[test]
    fn a_wrong_value_of_an_old_name_leaves_the_line_out() {
        for row in ROWS {
            let text = format!("{} !?", row.name);
            assert!(parse(&text, "test").is_ok(), "{text}");
        }
    }

    #[test]
    fn each_name_here_has_a_last_squid() {
        for row in ROWS {
            assert!(row.versions.until.is_some(), "{}", row.name);
            assert_ne!(row.status, Status::Done, "{}", row.name);
        }
    }

    #[test]
    fn a_key_may_come_before_its_certificate() {
        for text in [
            "https_port 443 accel key=/k cert=/c",
            "http_port 3128 ssl-bump key=/k cert=/c",
            "sslproxy_client_key /k\nsslproxy_client_certificate /c",
        ] {
            assert!(parse(text, "test").is_ok(), "{text}");
        }
    }
}
