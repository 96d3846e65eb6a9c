//! Basic: with and without a helper, and what is remembered of passwords.

use std::process::Command;
use std::thread;
use std::time::Duration;

use testkit::{Program, Signal, until};

use super::{FAKE, basic, door, origin, try_as};
use crate::support::{Entry, client};

/// The connection stays open over a 407; the user is in the log; a rule that denies a user asks for another one.
#[test]
fn basic_from_challenge_to_log() {
    let origin = origin();
    let program = door(FAKE, &[]);
    let mut client = client(&program);
    let url = origin.url("/");
    assert_eq!(client.get(&url).status, 407);
    assert_eq!(try_as(&mut client, &url, &basic("Bob:secret")).text(), "in");
    assert_eq!(origin.last().field("Proxy-Authorization"), None);
    assert_eq!(
        client.get(&url).status,
        407,
        "each request says who it is from"
    );
    assert_eq!(
        try_as(&mut client, "http://127.0.0.1:81/", &basic("bob:secret")).status,
        407
    );
    let logged = program.wait_for_log_lines(4);
    let seen: Vec<(String, String)> = logged
        .iter()
        .map(|line| Entry::of(line))
        .map(|entry| (entry.result, entry.user))
        .collect();
    let own = |result: &str, user: &str| (result.to_owned(), user.to_owned());
    let expected = [
        own("TCP_DENIED/407", "-"),
        own("TCP_MISS/200", "bob"),
        own("TCP_DENIED/407", "-"),
        own("TCP_DENIED/407", "bob"),
    ];
    assert_eq!(seen, expected);
    assert!(!program.read("access.log").contains("secret"));
    assert!(!program.read("cache.log").contains("secret"));
}

/// What isn't a name with a password is challenged and reaches no helper.
#[test]
fn strange_credentials() {
    let origin = origin();
    let helper = "while read -r line; do echo \"$line\" >> $1; echo OK; done";
    let conf = "auth_param basic program /bin/sh {dir}/helper {dir}/asked";
    let program = door(conf, &[("helper", helper)]);
    let mut client = client(&program);
    let url = origin.url("/");
    for credentials in [
        "Basic",
        "Basic !",
        "Basic Ym9i",
        "Bearer x",
        "x",
        &basic("bob:"),
        &basic(":x"),
        &basic("a\nb:x"),
        &basic("a\r\nOK:x"),
        &basic("a:x\0y"),
        "Digest username=\"x\"",
        "NTLM TlRMTVNTUAAB",
    ] {
        assert_eq!(
            try_as(&mut client, &url, credentials).status,
            407,
            "{credentials}"
        );
    }
    assert_eq!(program.read("asked"), "");
    assert_eq!(try_as(&mut client, &url, &basic("a b%:p\"w ö")).status, 200);
    assert_eq!(program.read("asked"), "a%20b%25 p%22w%20%C3%B6\n");
    assert_eq!(origin.total(), 1);
}

/// A password is asked about once, however many come with it at the same time, and again when its time is over or
/// another one came; a wrong one is asked about each time.
#[test]
fn what_is_known_is_not_asked_again() {
    let origin = origin();
    let conf = "auth_param basic program /bin/sh {dir}/helper {dir}/asked
auth_param basic children 5
auth_param basic credentialsttl 2 seconds";
    let helper = "while read -r line; do echo \"$line\" >> $1; sleep 0.3; case $line in *' wrong') echo ERR;; *) echo OK group=staff;; esac; done";
    let program = door(conf, &[("helper", helper)]);
    let url = origin.url("/");
    let asked = || program.read("asked").lines().count();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                assert_eq!(
                    try_as(&mut client(&program), &url, &basic("bob:pw")).status,
                    200
                )
            });
        }
    });
    assert_eq!(asked(), 1);
    let mut client = client(&program);
    let mut status = |pair: &str| try_as(&mut client, &url, &basic(pair)).status;
    assert_eq!((status("bob:pw"), asked()), (200, 1));
    assert_eq!((status("bob:wrong"), asked()), (407, 2));
    assert_eq!((status("bob:wrong"), asked()), (407, 3));
    assert_eq!((status("bob:pw"), asked()), (200, 3));
    assert_eq!((status("bob:new"), asked()), (200, 4));
    assert_eq!(
        (status("bob:pw"), asked()),
        (200, 5),
        "the old password isn't taken on trust"
    );
    thread::sleep(Duration::from_secs(2));
    assert_eq!((status("bob:pw"), asked()), (200, 6));
}

/// A reload that leaves the lines as they are keeps what is known.
#[test]
fn a_reload_keeps_what_is_known() {
    let origin = origin();
    let helper = "while read -r line; do echo \"$line\" >> $1; echo OK; done";
    let program = door(
        "auth_param basic program /bin/sh {dir}/helper {dir}/asked",
        &[("helper", helper)],
    );
    let url = origin.url("/");
    let mut client = client(&program);
    assert_eq!(try_as(&mut client, &url, &basic("bob:pw")).status, 200);
    let conf = program.read("squid.conf");
    for (add, asked) in [("# nothing new\n", 1), ("auth_param basic realm new\n", 2)] {
        program.write("squid.conf", format!("{add}{conf}"));
        let before = program.read("cache.log").matches("Reconfigured.").count();
        program.signal(Signal::HUP);
        until("a reload", || {
            (program.read("cache.log").matches("Reconfigured.").count() > before).then_some(())
        });
        assert_eq!(try_as(&mut client, &url, &basic("bob:pw")).status, 200);
        assert_eq!(program.read("asked").lines().count(), asked, "{add}");
    }
}

/// `basic_ncsa_auth` is read here, and runs only for hashes that we don't do; a changed file holds at once for those
/// who aren't known.
#[test]
fn password_files() {
    let origin = origin();
    let conf = "auth_param basic program {helpers}/basic_ncsa_auth {dir}/passwd\nauth_param basic credentialsttl 1 second";
    let hash = |kind: &str, word: &str| {
        let made = Command::new("openssl")
            .args(["passwd", kind, word])
            .output()
            .unwrap();
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    let passwd = format!(
        "bob:{}\nann:{}\njim:{}\n",
        hash("-apr1", "a"),
        hash("-6", "b"),
        hash("-5", "c")
    );
    let program = door(conf, &[("passwd", &passwd)]);
    let url = origin.url("/");
    let mut client = client(&program);
    let mut status = |pair: &str| try_as(&mut client, &url, &basic(pair)).status;
    for (pair, expected) in [
        ("bob:a", 200),
        ("ann:b", 200),
        ("JIM:c", 200),
        ("bob:b", 407),
        ("eve:a", 407),
    ] {
        assert_eq!(status(pair), expected, "{pair}");
    }
    assert_eq!(children(&program), 0, "no helper was needed");
    // The crypt(3) of old: the program is asked, which is said to know it.
    program.write("passwd", "old:rqXexS6ZhobKA\n");
    assert_eq!(status("eve:a"), 407);
    assert_eq!(status("old:wrong"), 407);
    assert_eq!(children(&program), 1);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(status("bob:a"), 407, "he is no longer in the file");
}

/// Processes that the program has started.
fn children(program: &Program) -> usize {
    let pid = program.pid();
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of = |task: std::fs::DirEntry| {
        std::fs::read_to_string(task.path().join("children")).unwrap_or_default()
    };
    tasks
        .map(|task| of(task.unwrap()).split_whitespace().count())
        .sum()
}

/// `key_extras` goes to the helper, and makes another login of the same name and password.
#[test]
fn key_extras() {
    let origin = origin();
    let conf = "auth_param basic program /bin/sh {dir}/helper {dir}/asked\nauth_param basic key_extras \"%>a %{X-Site}>h\"";
    let helper = "while read -r line; do echo \"$line\" >> $1; echo OK; done";
    let program = door(conf, &[("helper", helper)]);
    let url = origin.url("/");
    let credentials = basic("bob:pw");
    let mut client = client(&program);
    for site in ["a b", "a b", "c"] {
        let fields = [("Proxy-Authorization", &*credentials), ("X-Site", site)];
        assert_eq!(client.request("GET", &url, &fields).status, 200);
    }
    assert_eq!(
        program.read("asked"),
        "bob pw 127.0.0.1 a%20b\nbob pw 127.0.0.1 c\n"
    );
}
