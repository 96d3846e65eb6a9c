use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use http::Method;
use net::clock::{Clock, Now};
use proptest::prelude::*;
use rules::Learnt;
use wire::http1::{Framing, RequestHead, ResponseHead};
use wire::target::{Target, UriWhitespace};

use super::*;
use crate::access::ConnectionLogin;
use crate::fetch::Pinned;
use crate::flow::{Connection, Received};
use crate::log::LogFacts;
use crate::plan::{PortMode, PortPlan};
use crate::record::{Hierarchy, HopName, Record, ResultTag};

/// What Squid 5.7 was asked with to give the expectations below.
const ODD: &[u8] = b"q\"uo [br] 100% \\ back";

struct Case {
    connection: Connection,
    head: RequestHead,
    target: Target,
    learnt: Learnt,
    record: Record,
}

impl Case {
    fn new(odd: &[u8]) -> Self {
        let client: SocketAddr = "192.0.2.7:42670".parse().unwrap();
        let port = PortPlan {
            name: "3128".to_owned(),
            mode: PortMode::Forward,
            connection_auth: true,
        };
        let mut head = RequestHead::new();
        head.method = Method::GET;
        head.set_target(b"http://127.0.0.1:18099/a/b%20c?x=1");
        head.fields.push(b"X-Odd", odd);
        head.fields.push(b"X-List", b"one, bb=2, cc;two=3");
        let mut target = Target::new();
        target
            .set_absolute(b"http://127.0.0.1:18099/a/b%20c?x=1", UriWhitespace::Strip)
            .unwrap();
        let mut record = Record::new(client);
        record.begin(0);
        record.tag(ResultTag::Miss);
        record.went(Hierarchy::Direct, HopName::Ip("127.0.0.1".parse().unwrap()));
        record.status = 200;
        record.request_bytes = 218;
        record.head_bytes = 291;
        record.body_bytes = 11;
        record.set_content_type(b"text/plain; charset=x");
        record.finish(447_965_012, 1_795_183_000_944);
        let mut reply = ResponseHead::with_status(200);
        reply.set_reason(b"OK");
        reply.fields.push(b"X-Odd", odd);
        record.keep_reply(&reply);
        Self {
            connection: Connection {
                client,
                local: "192.0.2.1:3128".parse().unwrap(),
                port: Rc::new(port),
                notes: RefCell::default(),
                login: ConnectionLogin::default(),
                pinned: Pinned::default(),
                visit: None,
                seat: None,
            },
            head,
            target,
            learnt: Learnt::default(),
            record,
        }
    }

    fn received(&self) -> Received<'_> {
        Received {
            connection: &self.connection,
            head: &self.head,
            target: &self.target,
            asked: None,
            framing: Framing::None,
            learnt: &self.learnt,
            now: Now {
                unix_ms: 1_795_183_000_944,
                ..Clock::new().now()
            },
        }
    }

    /// The line of a log.
    fn line(&self, text: &str) -> String {
        let received = self.received();
        let facts = LogFacts {
            method: b"GET",
            version: "1.1",
            request: Some(&received),
            ..LogFacts::unreadable(&self.record, self.target.url())
        };
        let format = Format::compile(text, Dialect::Logformat).unwrap();
        let mut out = Vec::new();
        let mut clock = LocalTime::new(TimeZone::UTC);
        format.render_by(&Scene::of_log(&facts, true), &mut clock, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The question to a helper.
    fn question(&self, text: &str, quoting: Quoting, data: &[&str]) -> Vec<u8> {
        let data: Vec<Box<str>> = data.iter().map(|word| (*word).into()).collect();
        let received = self.received();
        let call = AclCall {
            name: "x1",
            data: &data,
        };
        let mut out = Vec::new();
        let format = Format::compile(text, Dialect::ExternalAcl(quoting)).unwrap();
        format.render(&Scene::of_request(&received).with_acl(call), &mut out);
        out
    }
}

#[test]
fn codes_show_what_squid_shows() {
    let case = Case::new(ODD);
    for (text, expected) in [
        ("%>a %>p %la %>lp", "192.0.2.7 42670 192.0.2.1 3128"),
        ("%<a %<A %<la %<p", "127.0.0.1 127.0.0.1 - -"),
        ("%ts.%03tu %tS", "1795183000.944 1795183000.497"),
        (
            "[%tl] %tg %{%Y}tl",
            "[20/Nov/2026:13:56:40 +0000] 20/Nov/2026:13:56:40 2026",
        ),
        ("%6tr %tr %3.4tr", "   447 447 447.9650"),
        ("%rm %ru %rv", "GET http://127.0.0.1:18099/a/b%20c? 1.1"),
        (
            "%>ru %>rs %>rd %>rP %rp",
            "http://127.0.0.1:18099/a/b%20c?x=1 http 127.0.0.1 18099 /a/b%20c?x=1",
        ),
        ("%Ss/%03>Hs %Sh %mt", "TCP_MISS/200 HIER_DIRECT text/plain"),
        ("%st %>st %<st %<sh %<sH", "520 218 302 291 11"),
        ("%un %ul %ue %et %ea %ui", "- - - - - -"),
        ("%err_code %err_detail %note %note{k}", "- - - -"),
        (
            "%>h{X-List:bb} %{X-List:;two}>h %>h{X-List:2} %>h{No}",
            "2 3 - -",
        ),
        ("%%x 100%% %http::>h{X-List:bb}", "%x 100% 2"),
        ("%ssl::>sni %adapt::all_trs %icap::tt", "- - -"),
        ("a%byte{65}b", "aAb"),
    ] {
        assert_eq!(case.line(text), expected, "{text}");
    }
    assert!(
        case.line("%<h")
            .starts_with("HTTP/1.1%20200%20OK%0D%0AX-Odd:")
    );
}

/// The column of each encoding of one field.
#[test]
fn values_are_encoded_for_their_place() {
    let case = Case::new(ODD);
    for code in [">h{X-Odd}", "<h{X-Odd}"] {
        for (text, expected) in [
            ("<%CODE>", "<q%22uo%20%5Bbr%5D%20100%%20%5C%20back>"),
            ("q=\"%CODE\" x", "q=\"q\\\"uo [br] 100% \\\\ back\" x"),
            ("b=[%CODE] x", "b=[q\"uo %5bbr%5d 100%25 \\\\ back] x"),
            ("%#CODE", "q%22uo%20%5Bbr%5D%20100%25%20%5C%20back"),
            ("%/CODE", "\"q\\\"uo [br] 100% \\\\ back\""),
            ("%'CODE", "q\"uo [br] 100% \\ back"),
            ("%3.4CODE", "q%22"),
        ] {
            let text = text.replace("CODE", code);
            assert_eq!(case.line(&text), expected, "{text}");
        }
    }
}

#[test]
fn columns_are_padded_and_cut() {
    let case = Case::new(ODD);
    for (text, expected) in [
        (
            "%12>a|%-12>a|%012>a|%3.4>a",
            "   192.0.2.7|192.0.2.7   |   192.0.2.7|192.",
        ),
        (
            "%12>p|%-12>p|%012>p|%3.4>p",
            "       42670|42670       |000000042670|42670",
        ),
        ("%12ui|%-12ui", "-|-"),
        ("%3.5tl", "20/No"),
    ] {
        assert_eq!(case.line(text), expected, "{text}");
    }
}

/// What Squid 5.7 asked its helpers.
#[test]
fn questions_are_worded_as_squid_words_them() {
    let case = Case::new(ODD);
    for (text, quoting, data, expected) in [
        (
            "%SRC %URI %METHOD %>{X-Odd} %ACL %DATA %SRCPORT",
            Quoting::Url,
            &["arg1", "a%g", "arg two"][..],
            "192.0.2.7 http://127.0.0.1:18099/a/b%20c?x=1 GET \
             q%22uo%20%5Bbr%5D%20100%%20%5C%20back x1 arg1 a%25g arg%20two 42670",
        ),
        (
            "%MYADDR %MYPORT %PROTO %PATH %DST %PORT %EXT_USER %% %USER_CERT_CN",
            Quoting::Url,
            &[],
            "192.0.2.1 3128 http /a/b%20c?x=1 127.0.0.1 18099 - % - -",
        ),
        (
            "%SRC %>{X-List:bb} %<{X-Odd} %20>a",
            Quoting::Shell,
            &["arg1", "a%g", "arg two"],
            "192.0.2.7 2 -            192.0.2.7 arg1 a%g \"arg two\"",
        ),
        (
            "%'>ha{X-Odd} %DATA",
            Quoting::Url,
            &[],
            "q\"uo [br] 100% \\ back -",
        ),
    ] {
        let asked = case.question(text, quoting, data);
        assert_eq!(String::from_utf8(asked).unwrap(), expected, "{text}");
    }
}

#[test]
fn annotations_are_shown_alone_or_all() {
    let case = Case::new(ODD);
    case.learnt.note(|notes| {
        for (name, value) in [
            ("user", "bob"),
            ("group", "g1"),
            ("group", "g2"),
            ("tag", "t"),
        ] {
            notes.add(name, value);
        }
    });
    for (text, expected) in [
        ("%un %ul %ue %et", "bob - bob t"),
        ("%note{group} %note{group:;} %note{none}", "g1,g2 g1;g2 -"),
        (
            "\"%note\"",
            "\"user: bob\\r\\ngroup: g1\\r\\ngroup: g2\\r\\ntag: t\\r\\n\"",
        ),
    ] {
        assert_eq!(case.line(text), expected, "{text}");
    }
}

#[test]
fn what_no_squid_knows_is_an_error() {
    for text in [
        "%q",
        "%",
        "%>h{X",
        "%byte",
        "%byte{0}",
        "%byte{300}",
        "%NOSUCH",
        "%SRC",
    ] {
        assert!(Format::compile(text, Dialect::Logformat).is_err(), "{text}");
    }
    let error = Format::compile("%NOSUCH x", Dialect::ExternalAcl(Quoting::Url)).unwrap_err();
    assert_eq!(error.to_string(), "Unsupported %code: '%NOSUCH x'");
}

proptest! {
    /// Whatever a client sends, and whatever helpers say of it.
    #[test]
    fn no_bytes_break_a_line(odd: Vec<u8>, note: String) {
        let case = Case::new(&odd);
        case.learnt.note(|notes| notes.add("user", &note));
        for text in ["%>h{X-Odd} %un", "\"%>h{X-Odd}\" [%>h]", "%'>h{X-Odd} %/note %#ue", "%-9.3note"] {
            let line = case.line(text);
            prop_assert!(!line.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t'), "{line:?}");
            for quoting in [Quoting::Url, Quoting::Shell] {
                let asked = case.question("%>{X-Odd} %un %EXT_USER", quoting, &[&note, "b"]);
                prop_assert!(!asked.iter().any(u8::is_ascii_control) || quoting == Quoting::Shell);
                prop_assert!(!asked.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0)));
                if quoting == Quoting::Url {
                    let words = asked.split(|byte| *byte == b' ').count();
                    prop_assert_eq!(words, 5);
                }
            }
        }
    }

    #[test]
    fn any_text_compiles_or_does_not(text: String, more in "[%{}a-z><.:0-9\"\\[#/-]{0,40}") {
        for text in [text, more] {
            for dialect in [Dialect::Logformat, Dialect::ExternalAcl(Quoting::Shell)] {
                drop(Format::compile(&text, dialect));
            }
        }
    }
}
