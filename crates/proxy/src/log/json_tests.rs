use jiff::tz::TimeZone;
use proptest::prelude::*;
use serde_json::Value;

use super::super::line::RFC_3339;
use super::*;
use crate::record::{Hierarchy, Marks, ResultTag};

fn record() -> Record {
    let mut record = Record::new("192.0.2.1:40000".parse().unwrap());
    record.begin(1_000_000_000);
    record.finish(1_012_900_000, 1_785_000_000_007);
    record.status = 200;
    record.head_bytes = 300;
    record.body_bytes = 600;
    record.request_bytes = 77;
    record.tag(ResultTag::MemHit);
    record.set_content_type(b"text/html; charset=utf-8");
    record
}

fn facts(record: &Record) -> LogFacts<'_> {
    LogFacts {
        method: b"GET",
        version: "1.1",
        ..LogFacts::unreadable(record, b"http://example.com/a?")
    }
}

fn line(facts: &LogFacts<'_>) -> String {
    let mut out = Vec::new();
    write(
        &mut out,
        facts,
        &mut LocalTime::in_form(TimeZone::UTC, RFC_3339),
    );
    String::from_utf8(out).unwrap()
}

/// The bytes that a string of a line stands for, as docs/logging.md says.
fn bytes(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    for char in value.as_str().unwrap().chars() {
        match u32::from(char) {
            code @ 0xEF80..=0xEFFF => bytes.push(u8::try_from(code & 0xFF).unwrap()),
            _ => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

#[test]
fn a_hit() {
    assert_eq!(
        line(&facts(&record())),
        r#"{"time":"2026-07-25T17:20:00.007Z","elapsed_us":12900,"client":"192.0.2.1","client_port":40000,"result":"TCP_MEM_HIT","hit":true,"status":200,"request_bytes":77,"reply_bytes":900,"reply_head_bytes":300,"method":"GET","url":"http://example.com/a?","version":"1.1","hierarchy":"HIER_NONE","media_type":"text/html"}"#
    );
}

#[test]
fn a_miss_tells_of_its_hop() {
    let mut record = record();
    record.tag(ResultTag::Miss);
    record.mark(Marks::ABORTED);
    record.set_user(b"alice");
    record.went(
        Hierarchy::Direct,
        HopName::Ip("2001:db8::7".parse().unwrap()),
    );
    record.talk.port = 80;
    record.talk.status = 200;
    record.talk.attempts = 2;
    record.talk.began_ns = 1_000;
    record.talk.answered_ns = 9_000;
    let line: Value = serde_json::from_str(&line(&facts(&record))).unwrap();
    let told = |name: &str| line[name].clone();
    assert_eq!(told("result"), "TCP_MISS_ABORTED");
    assert_eq!(told("hit"), false);
    assert_eq!(told("user"), "alice");
    assert_eq!(told("hop"), "2001:db8::7");
    assert_eq!(
        (told("hop_port"), told("hop_status")),
        (80.into(), 200.into())
    );
    assert_eq!((told("hop_attempts"), told("hop_us")), (2.into(), 8.into()));
}

#[test]
fn no_text_ends_its_string_or_the_line() {
    let check = |value: &[u8], expected: &str| {
        let mut out = Vec::new();
        push_string(&mut out, value);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    };
    check(b"plain", r#""plain""#);
    check(b"a\"b\\c", r#""a\"b\\c""#);
    check(b"\r\n\t\x00\x1b\x7f", r#""\r\n\t\u0000\u001b\u007f""#);
    check("ä\u{2028}😀".as_bytes(), r#""\u00e4\u2028\ud83d\ude00""#);
    check(b"\xff\xc3(", r#""\uefff\uefc3(""#);
    check("\u{ef80}".as_bytes(), r#""\uefee\uefbe\uef80""#);
}

proptest! {
    #[test]
    fn a_line_is_an_object_that_gives_back_what_was_sent(
        method: Vec<u8>, url: Vec<u8>, user: Vec<u8>, content_type: Vec<u8>, referer: Vec<u8>,
        agent: Vec<u8>, host: String, detail: String, elapsed_ns: u64,
        unix_ms in 0_i64..253_402_300_799_999, status: u16, bytes_sent: u64,
    ) {
        let mut record = record();
        record.begin(0);
        record.finish(elapsed_ns, unix_ms);
        record.set_user(&user);
        record.set_content_type(&content_type);
        record.status = status;
        record.body_bytes = bytes_sent;
        record.error_detail = detail.clone().into();
        record.went(Hierarchy::Direct, HopName::Host(host.clone().into()));
        let shown = line(&LogFacts {
            method: &method, url: &url, referer: &referer, user_agent: &agent, ..facts(&record)
        });
        prop_assert!(shown.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        let line: Value = serde_json::from_str(&shown).unwrap();
        for (name, sent) in [
            ("method", &*method), ("url", &url), ("user", &user), ("referer", &referer),
            ("user_agent", &agent), ("hop", host.as_bytes()), ("error_detail", detail.as_bytes()),
        ] {
            match line.get(name) {
                Some(value) => prop_assert_eq!(bytes(value), sent),
                None => prop_assert!(sent.is_empty()),
            }
        }
        prop_assert_eq!(&line["status"], status);
        prop_assert_eq!(&line["elapsed_us"], elapsed_ns / 1000);
        prop_assert_eq!(&line["reply_bytes"], bytes_sent);
    }
}
