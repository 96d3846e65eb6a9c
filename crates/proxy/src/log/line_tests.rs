use std::net::SocketAddr;

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::super::Options;
use super::*;
use crate::record::{Hierarchy, ResultTag};

fn record() -> Record {
    let client: SocketAddr = "192.0.2.1:40000".parse().unwrap();
    let mut record = Record::new(client);
    record.begin(1_000_000_000);
    record.finish(1_012_900_000, 1_785_000_000_007);
    record.status = 200;
    record.head_bytes = 300;
    record.body_bytes = 600;
    record.tag(ResultTag::MemHit);
    record.set_content_type(b"text/html; charset=utf-8");
    record
}

fn facts(record: &Record) -> LogFacts<'_> {
    LogFacts {
        record,
        client: record.client,
        method: b"GET",
        url: b"http://example.com/a?b=c",
        version: "1.1",
        referer: b"http://ref.example/",
        user_agent: b"curl/8 \"x\"",
        request: None,
    }
}

fn shown(format: &Format, facts: &LogFacts<'_>, options: &Options) -> String {
    let mut out = Vec::new();
    let mut clocks = Clocks::of(TimeZone::UTC);
    format.write(&mut out, facts, &Show::new(options), &mut clocks);
    String::from_utf8(out).unwrap()
}

fn line(format: &Format, facts: &LogFacts<'_>, strip_query_terms: bool) -> String {
    let options = Options {
        strip_query_terms,
        ..Options::default()
    };
    shown(format, facts, &options)
}

#[test]
fn a_hit_in_the_native_format() {
    assert_eq!(
        line(&Format::Native, &facts(&record()), true),
        "1785000000.007     12 192.0.2.1 TCP_MEM_HIT/200 900 GET http://example.com/a? - \
         HIER_NONE/- text/html\n"
    );
}

#[test]
fn a_query_is_kept_when_asked() {
    let shown = line(&Format::Native, &facts(&record()), false);
    assert!(shown.contains(" http://example.com/a?b=c "));
}

#[test]
fn a_miss_names_its_hop_and_its_user() {
    let mut record = record();
    record.tag(ResultTag::Miss);
    record.mark(Marks::COLLAPSED);
    record.mark(Marks::ABORTED);
    record.set_user(b"al ice");
    record.went(
        Hierarchy::RoundrobinParent,
        HopName::Ip("2001:db8::7".parse().unwrap()),
    );
    record.set_content_type(b"");
    assert_eq!(
        line(&Format::Native, &facts(&record), true),
        "1785000000.007     12 192.0.2.1 TCP_CF_MISS_ABORTED/200 900 GET http://example.com/a? \
         al%20ice ROUNDROBIN_PARENT/2001:db8::7 -\n"
    );
}

#[test]
fn a_request_that_cannot_be_read_still_has_ten_fields() {
    let mut record = record();
    record.unreadable();
    record.status = 400;
    record.set_content_type(b"text/html;charset=utf-8");
    let facts = LogFacts::unreadable(&record, crate::log::INVALID_REQUEST);
    assert_eq!(
        line(&Format::Native, &facts, true),
        "1785000000.007     12 192.0.2.1 NONE_NONE/400 900 - error:invalid-request - \
         HIER_NONE/- text/html\n"
    );
}

#[test]
fn a_tunnel_has_no_query_and_a_missing_status_has_three_digits() {
    let mut record = record();
    record.tag(ResultTag::Tunnel);
    record.status = 0;
    let facts = LogFacts {
        method: b"CONNECT",
        url: b"example.com:443",
        ..facts(&record)
    };
    assert!(
        line(&Format::Native, &facts, true)
            .contains(" TCP_TUNNEL/000 900 CONNECT example.com:443 - ")
    );
}

#[test]
fn marks_come_in_squids_order() {
    let mut record = record();
    record.tag(ResultTag::Miss);
    record.mark(Marks::ABORTED);
    record.mark(Marks::TIMED_OUT);
    record.mark(Marks::IGNORED);
    assert!(
        line(&Format::Native, &facts(&record), true)
            .contains(" TCP_MISS_IGNORED_TIMEDOUT_ABORTED/200 ")
    );
}

#[test]
fn the_web_server_formats() {
    let record = record();
    assert_eq!(
        line(&Format::Common, &facts(&record), true),
        "192.0.2.1 - - [25/Jul/2026:17:20:00 +0000] \"GET http://example.com/a? HTTP/1.1\" 200 900 \
         TCP_MEM_HIT:HIER_NONE\n"
    );
    assert_eq!(
        line(&Format::Combined, &facts(&record), true),
        "192.0.2.1 - - [25/Jul/2026:17:20:00 +0000] \"GET http://example.com/a? HTTP/1.1\" 200 900 \
         \"http://ref.example/\" \"curl/8 %22x%22\" TCP_MEM_HIT:HIER_NONE\n"
    );
    assert_eq!(
        line(&Format::Referrer, &facts(&record), true),
        "1785000000.007 192.0.2.1 http://ref.example/ http://example.com/a?\n"
    );
    assert_eq!(
        line(&Format::Useragent, &facts(&record), true),
        "192.0.2.1 [25/Jul/2026:17:20:00 +0000] \"curl/8 %22x%22\"\n"
    );
}

#[test]
fn each_built_in_format_has_its_name() {
    for (name, format) in [
        ("squid", Format::Native),
        ("common", Format::Common),
        ("combined", Format::Combined),
        ("referrer", Format::Referrer),
        ("useragent", Format::Useragent),
        ("json", Format::Json),
    ] {
        assert_eq!(Format::named(name), Some(format));
    }
    assert_eq!(Format::named("mine"), None);
}

#[test]
fn there_is_no_icap_to_tell_of() {
    let format = Format::named("icap_squid").unwrap();
    assert_eq!(
        line(&format, &facts(&record()), true),
        "1785000000.007 - 192.0.2.1 -/- - - - - -/- -\n"
    );
}

#[test]
fn a_mask_hides_clients_in_every_format() {
    let record = record();
    let custom = format::Format::compile("%>a %>A", Dialect::Logformat).unwrap();
    for format in [
        Format::Native,
        Format::Common,
        Format::Combined,
        Format::Referrer,
        Format::Useragent,
        Format::Json,
        Format::Custom(Arc::new(custom)),
    ] {
        let options = Options {
            client_netmask: Some([255, 255, 0, 0].into()),
            ..Options::default()
        };
        let shown = shown(&format, &facts(&record), &options);
        assert!(
            shown.contains("192.0.0.0") && !shown.contains("192.0.2"),
            "{shown}"
        );
    }
}

#[test]
fn heads_follow_a_line_in_brackets() {
    let mut record = record();
    let mut head = wire::http1::ResponseHead::with_status(200);
    head.fields.push(b"X-Odd", b"a]b%");
    record.keep_reply(&head);
    for (format, follows) in [
        (Format::Native, true),
        (Format::Common, true),
        (Format::Combined, true),
        (Format::Referrer, false),
        (Format::Json, false),
    ] {
        let options = Options {
            log_mime_hdrs: true,
            ..Options::default()
        };
        assert_eq!(format.shows_reply(&Show::new(&options)), follows);
        let shown = shown(&format, &facts(&record), &options);
        let heads = " [-] [HTTP/1.1 200 OK\\r\\nX-Odd: a%5db%25\\r\\n\\r\\n]\n";
        assert_eq!(shown.ends_with(heads), follows, "{shown}");
    }
}

proptest! {
    #[test]
    fn a_native_line_has_ten_fields_whatever_comes(
        method: Vec<u8>, url: Vec<u8>, user: Vec<u8>, content_type: Vec<u8>, host: String,
        elapsed_ns: u64, unix_ms in 0i64.., status: u16, bytes: u64,
    ) {
        let mut record = record();
        record.set_user(&user);
        record.set_content_type(&content_type);
        record.begin(0);
        record.finish(elapsed_ns, unix_ms);
        record.set_user(&user);
        record.set_content_type(&content_type);
        record.status = status;
        record.body_bytes = bytes;
        record.went(Hierarchy::Direct, HopName::Host(host.into()));
        let facts = LogFacts { method: &method, url: &url, ..facts(&record) };
        let shown = line(&Format::Native, &facts, false);
        prop_assert_eq!(shown.split_ascii_whitespace().count(), 10);
        prop_assert!(shown.ends_with('\n') && shown.lines().count() == 1);
    }

    #[test]
    fn quotes_in_a_web_server_line_are_its_own(url: Vec<u8>, agent: Vec<u8>) {
        let record = record();
        let facts = LogFacts { url: &url, user_agent: &agent, ..facts(&record) };
        let shown = line(&Format::Combined, &facts, false);
        prop_assert_eq!(shown.matches('"').count(), 6);
    }
}
