//! ACLs whose values lie in files: what is accepted, and how findings name their lines.

use config::{Problems, Severity};

use crate::testing::{Scene, compile as compiled};
use crate::{List, Rules};

/// Rules that allow what the list has, and the name of the list.
fn listed(acl: &str, list: &[u8]) -> (Result<Rules, Problems>, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("list.txt");
    std::fs::write(&path, list).unwrap();
    let path = path.display().to_string();
    let rules = compiled(&format!("acl x {acl} \"{path}\"\nhttp_access allow x\n"));
    (rules, path)
}

fn check(acl: &str, list: &[u8], url: &str, expected: bool) {
    let rules = listed(acl, list)
        .0
        .unwrap_or_else(|problems| panic!("{problems}"));
    let scene = Scene::new(url).from("10.1.2.3");
    let answer = rules.check(List::HttpAccess, &scene.facts());
    assert_eq!(answer.is_allow(), expected, "{acl} {list:?} {url}");
}

/// Severity and message of each finding, files by their last part.
fn found(acl: &str, list: &[u8]) -> Vec<(Severity, String)> {
    let (rules, path) = listed(acl, list);
    let problems = match rules {
        Ok(rules) => rules.warnings,
        Err(problems) => problems.0,
    };
    let said = problems.into_iter().map(|problem| {
        assert_eq!((&*problem.place.file, problem.place.line), ("test.conf", 1));
        assert_eq!(
            problem.text,
            format!("acl x {} \"{path}\"", acl.split(' ').next().unwrap())
        );
        (problem.severity, problem.message.replace(&path, "list.txt"))
    });
    said.collect()
}

#[test]
fn domains_of_a_list_overlap_without_a_word() {
    let list =
        b"# blocked\r\n.example.com\r\nwww.example.com\r\n\r\n  Example.COM \r\n.www.example.com";
    assert!(found("dstdomain", list).is_empty());
    check("dstdomain -n", list, "http://a.www.example.com/", true);
    check("dstdomain -n", list, "http://example.com/", true);
    check("dstdomain -n", list, "http://example.org/", false);
    check(
        "dstdomain -n",
        b"example.com\n",
        "http://www.example.com/",
        false,
    );
}

#[test]
fn addresses_of_a_list_overlap_without_a_word() {
    let list = b"10.0.0.0/8\n10.1.0.0/16 # the office\n10.0.0.0/8\n";
    assert!(found("src", list).is_empty());
    check("src", list, "http://example.com/", true);
}

#[test]
fn case_switches_of_a_list_hold_for_what_follows() {
    let list = b"one\n-i\ntwo\n+i\nthree\n";
    for (path, expected) in [
        ("one", true),
        ("ONE", false),
        ("TWO", true),
        ("three", true),
        ("THREE", false),
    ] {
        check(
            "url_regex",
            list,
            &format!("http://x.test/{path}"),
            expected,
        );
    }
}

#[test]
fn findings_name_the_line_of_the_list() {
    let fatal = |text: &str| vec![(Severity::Fatal, text.to_owned())];
    assert_eq!(
        found("src", b"# x\n10.0.0.0/33\n"),
        fatal("list.txt line 2: Bad host/IP: '10.0.0.0/33'")
    );
    assert_eq!(
        found("port", b"80 # web\n\nhttp\n"),
        fatal("list.txt line 3: Invalid port value: 'http'")
    );
    assert_eq!(
        found("url_regex", b"ok\n(a)\\1\n"),
        fatal(
            "list.txt line 2: invalid regular expression: back-references are not supported: '(a)\\1'"
        )
    );
}

/// As in Squid 5.7, which takes these lists.
#[test]
fn values_that_match_nothing_are_left_out() {
    let said = found("dstdomain", b"*.a.test\n.\nexample.com shop\nb.test\n");
    let expected = [
        "list.txt line 1: '*.a.test' matches no name; write '.a.test'",
        "list.txt line 2: '.' is no domain name: it matches nothing",
        "list.txt line 3: 'example.com shop' is no domain name: it matches nothing",
    ];
    assert_eq!(
        said,
        expected.map(|text| (Severity::Warning, text.to_owned()))
    );
    let said = found("url_regex", b"[abc\nok\n*x\n");
    let expected = [
        "list.txt line 1: Skipping regular expression. Compile failed: '[abc': Unmatched [, [^, [:, [., or [=",
        "list.txt line 3: Skipping regular expression. Compile failed: '*x': Invalid preceding regular expression",
    ];
    assert_eq!(
        said,
        expected.map(|text| (Severity::Error, text.to_owned()))
    );
    check("url_regex", b"[abc\nok\n", "http://x.test/ok", true);
}

#[test]
fn a_list_of_rubbish_is_told_in_part_and_counted() {
    let list = "http no number\n".repeat(1000);
    let said = found("port", list.as_bytes());
    assert_eq!(said.len(), 51);
    assert_eq!(
        said[49].1,
        "list.txt line 50: Invalid port value: 'http no number'"
    );
    assert_eq!(
        said[50],
        (
            Severity::Fatal,
            "acl x has 950 more findings like these".to_owned()
        )
    );
    let worse = "a b\n".repeat(60) + &"c d\n".repeat(40);
    let said = found("dstdomain", worse.as_bytes());
    assert_eq!(
        said[50],
        (
            Severity::Warning,
            "acl x has 50 more findings like these".to_owned()
        )
    );
}

#[test]
fn a_list_of_too_many_regular_expressions_says_what_to_do() {
    let list = (0..20_100).map(|n| format!("plain{n}\nxyz[0-9]+{n}\n"));
    let said = found("url_regex", list.collect::<String>().as_bytes());
    assert_eq!(said.len(), 1);
    let (severity, message) = &said[0];
    assert_eq!(*severity, Severity::Fatal);
    assert!(
        message
            .starts_with("list.txt line 40002: too many regular expressions: of 40200, 20100 are"),
        "{message}"
    );
    assert!(
        message.contains("at most 20000") && message.contains("dstdomain"),
        "{message}"
    );
}
