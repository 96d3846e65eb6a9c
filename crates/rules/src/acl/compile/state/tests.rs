//! ACLs that go by what is learnt, asked through compiled configurations.

use crate::facts::{Facts, HopFacts, Question, ReplyFacts};
use crate::learnt::{Learnt, Notes};
use crate::testing::{Scene, compile, fields, rules};
use crate::{Answer, List};

/// Does `acl x …` match?
fn asked(acl: &str, facts: &Facts<'_>) -> Result<bool, Question> {
    let rules = rules(&format!(
        "acl x {acl}\nhttp_access allow x\nhttp_access deny all\n"
    ));
    match rules.check(List::HttpAccess, facts) {
        Answer::Allow(_) => Ok(true),
        Answer::Deny(_) => Ok(false),
        Answer::Ask(question) => Err(question),
    }
}

fn check(acl: &str, scene: &Scene, expected: bool) {
    assert_eq!(asked(acl, &scene.facts()), Ok(expected), "{acl}");
}

fn scene(learn: impl FnOnce(&Learnt)) -> Scene {
    let scene = Scene::new("http://www.example.com/");
    learn(&scene.learnt);
    scene
}

#[test]
fn a_user_is_asked_for_and_then_compared() {
    let nobody = scene(|_| {});
    for acl in [
        "proxy_auth REQUIRED",
        "proxy_auth_regex ^a",
        "max_user_ip 2",
    ] {
        assert_eq!(asked(acl, &nobody.facts()), Err(Question::User), "{acl}");
    }
    let ann = scene(|learnt| learnt.learn_user("Ann".into()));
    check("proxy_auth REQUIRED", &ann, true);
    check("proxy_auth bob Ann", &ann, true);
    check("proxy_auth ann", &ann, false);
    check("proxy_auth -i ann", &ann, true);
    check("proxy_auth_regex ^a", &ann, false);
    check("proxy_auth_regex -i ^a", &ann, true);
}

#[test]
fn connections_and_addresses_are_counted_above_the_limit() {
    let nobody = scene(|_| {});
    let question = Err(Question::ClientConnections);
    assert_eq!(asked("maxconn 2", &nobody.facts()), question);
    let user = scene(|learnt| learnt.learn_user("ann".into()));
    let question = Err(Question::UserAddresses);
    assert_eq!(asked("max_user_ip 2", &user.facts()), question);
    for (count, expected) in [(2, false), (3, true)] {
        let scene = scene(|learnt| {
            learnt.learn_user("ann".into());
            learnt.learn_user_addresses(count);
            learnt.learn_client_connections(count);
        });
        check("max_user_ip 2", &scene, expected);
        check("max_user_ip -s 2", &scene, expected);
        check("maxconn 2", &scene, expected);
    }
}

#[test]
fn hardware_addresses_are_asked_for_or_read_off_the_address() {
    let nobody = scene(|_| {});
    assert_eq!(
        asked("arp 00:1b:21:ab:0c:ff", &nobody.facts()),
        Err(Question::ClientMac)
    );
    let known = scene(|learnt| learnt.learn_client_mac(Some([0, 0x1b, 0x21, 0xab, 0xc, 0xff])));
    check("arp 00:1b:21:ab:0c:ff", &known, true);
    check("arp 00:1b:21:ab:0c:fe", &known, false);
    check(
        "arp 00:1b:21:ab:0c:ff",
        &scene(|learnt| learnt.learn_client_mac(None)),
        false,
    );
    let scene = nobody.from("fe80::21b:21ff:feab:cff");
    check("eui64 02-1b-21-ff-fe-ab-0c-ff", &scene, true);
    check("eui64 02-1b-21-ff-fe-ab-0c-fe", &scene, false);
}

#[test]
fn an_external_acl_is_asked_by_its_index() {
    let rules = rules(
        "external_acl_type class %SRC /bin/cat\nacl one port 80\nacl ext external class a b\nhttp_access allow ext\nhttp_access deny all",
    );
    let scene = scene(|_| {});
    let Answer::Ask(Question::External(index)) = rules.check(List::HttpAccess, &scene.facts())
    else {
        panic!("nothing is asked");
    };
    let (class, args) = rules.external(index).unwrap();
    assert_eq!((class, args), ("class", &["a".into(), "b".into()][..]));
    assert_eq!(rules.external(0), None);
    scene.learnt.learn_external(index, true);
    let Answer::Allow(Some(rule)) = rules.check(List::HttpAccess, &scene.facts()) else {
        panic!("it isn't allowed");
    };
    assert!(rules.asks_login(rule, |class| class == "class"));
    assert!(!rules.asks_login(rule, |_| false));
    // Asked in vain, it is as an ACL that isn't built.
    let vain = super::tests::scene(|learnt| learnt.fail_external(index));
    assert!(!rules.check(List::HttpAccess, &vain.facts()).is_allow());
}

#[test]
fn what_external_acls_and_rewriters_say_is_in_the_notes() {
    let said = scene(|learnt| {
        learnt.note(|notes| {
            notes.add("user", "Ann");
            notes.add("tag", "red");
            notes.add("urlgroup", "g");
            notes.add("list", "a;b,c");
            notes.add("list", "d");
        });
    });
    for (acl, expected) in [
        ("ext_user REQUIRED", true),
        ("ext_user Ann", true),
        ("ext_user_regex ^A", true),
        ("ext_user_regex ^B", false),
        ("tag blue red", true),
        ("tag blue", false),
        ("urlgroup g", true),
        ("urlgroup h", false),
        ("note list", true),
        ("note list d", true),
        ("note list c", false),
        ("note -m list c", true),
        ("note -m=;, list b", true),
        ("note other", false),
        ("note list e", false),
    ] {
        check(acl, &said, expected);
    }
    check("ext_user REQUIRED", &scene(|_| {}), false);
}

#[test]
fn annotations_are_made_once_and_always_match() {
    let rules = rules(
        "acl one annotate_transaction a=1 b+=x\nacl two annotate_client -m=; b+=y c=2\n\
         acl user proxy_auth REQUIRED\nhttp_access deny one two !user\nhttp_access allow one",
    );
    let scene = scene(|_| {});
    let facts = scene.facts();
    assert_eq!(
        rules.check(List::HttpAccess, &facts),
        Answer::Ask(Question::User)
    );
    scene.learnt.learn_user("ann".into());
    assert!(rules.check(List::HttpAccess, &facts).is_allow());
    let noted = |notes: &Notes| {
        let all: Vec<String> = notes
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        all.join(" ")
    };
    assert_eq!(scene.learnt.notes(noted).unwrap(), "a=1 b=x;y c=2");
    let kept = scene.learnt.client_notes().unwrap();
    assert_eq!(noted(&kept), "b=y c=2");
    let next = Learnt::with_client_notes(&kept);
    assert_eq!(next.notes(noted).unwrap(), "b=y c=2");
}

#[test]
fn errors_replies_and_hops_are_known_when_they_are_there() {
    let scene = scene(|_| {});
    let mut facts = scene.facts();
    let early = [
        ("squid_error ERR_ACCESS_DENIED", false),
        ("has response", false),
        ("has request", true),
        ("hier_code HIER_NONE", true),
        ("peername p", false),
    ];
    for (acl, expected) in early {
        assert_eq!(asked(acl, &facts), Ok(expected), "{acl}");
    }
    let none = fields(&[]);
    facts.error = Some("ERR_ACCESS_DENIED");
    facts.reply = Some(ReplyFacts {
        status: 403,
        fields: &none,
    });
    facts.hop = Some(HopFacts {
        peer: Some("p"),
        code: "SINGLE_PARENT",
    });
    for (acl, before) in early {
        assert_eq!(
            asked(acl, &facts),
            Ok(!before || acl == "has request"),
            "{acl}"
        );
    }
}

/// What Squid 5.7 says of plain HTTP; of TLS types, what its sources are documented to say.
#[test]
fn types_about_encryption_have_the_answer_of_plain_http() {
    let scene = scene(|_| {});
    for (acl, expected) in [
        ("transaction_initiator client", true),
        ("transaction_initiator internal", false),
        ("at_step SslBump1", true),
        ("at_step SslBump2 SslBump3", false),
        ("ssl::server_name .example.com", true),
        ("ssl::server_name www.example.org", false),
        ("ssl::server_name --server-provided .example.com", false),
        ("ssl::server_name --server-provided none", true),
        ("ssl::server_name_regex example", true),
        ("connections_encrypted", false),
        ("user_cert CN x", false),
        ("server_cert_fingerprint 00:11", false),
    ] {
        check(acl, &scene, expected);
    }
    check("urllogin ^u", &Scene::new("ftp://u:p@example.com/"), true);
    check("urllogin ^x", &Scene::new("ftp://u:p@example.com/"), false);
    check("urllogin .", &Scene::new("ftp://example.com/"), false);
}

#[test]
fn bad_values_are_refused_as_in_squid() {
    for (acl, message) in [
        ("maxconn 0", "'0' is not a number above 0"),
        ("max_user_ip x", "'x' is not a number above 0"),
        ("note", "no name of a note"),
        ("annotate_client x", "'x' is not KEY=VALUE or KEY+=VALUE"),
        ("squid_error 403", "Unknown error type '403'"),
        (
            "has request response",
            "multiple components not supported for \"has\" acl",
        ),
        ("has body", "'body' is no value of has"),
        ("at_step four", "'four' is no value of at_step"),
    ] {
        let problems = compile(&format!("acl x {acl}\n")).unwrap_err();
        let found = problems.0.iter().any(|problem| problem.message == message);
        assert!(found, "{acl}: {problems}");
    }
}

/// A line that can't apply is asked all the same when that leaves a trace.
#[test]
fn annotations_are_made_by_lines_that_never_apply() {
    let rules = rules(
        "acl mark annotate_transaction seen=1\nacl marked note seen\n\
         http_access deny mark !all\nhttp_access allow marked",
    );
    let scene = scene(|_| {});
    assert!(rules.check(List::HttpAccess, &scene.facts()).is_allow());
}
