//! ACLs whose answer comes from a helper: how it is asked, what it may say, how long that holds, and what becomes of
//! requests when it doesn't answer. The helpers of Debian's squid-common take part.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;
use testkit::{Origin, Program, Reply, Request, Signal, until};

use crate::support::{Entry, client};

/// Says `OK` to what has `yes` in it, `BH` to what has `broken`, nothing to what has `hang`, else `ERR`; the first word
/// behind the channel decides. Writes every question into the file that it is named.
const HELPER: &str = r#"#!/bin/sh
while read -r line; do
    echo "$line" >> "$1"
    case "$line" in
        *hang*) ;;
        *broken*) echo "BH" ;;
        *yes*) echo 'OK user=bob tag=t1 group=a group=b log="x y" k_=v message="all well"' ;;
        *) echo 'ERR message="not for <you>"' ;;
    esac
done
"#;

/// The same for one with channels, which answers in pairs and in the wrong order.
const CHANNELS: &str = r#"#!/bin/sh
while read -r one a; do
    echo "$a" >> "$1"
    read -r two b
    echo "$b" >> "$1"
    echo "$two OK user=$b"
    echo "$one OK user=$a"
done
"#;

fn origin() -> Origin {
    Origin::start(|_: &Request| Reply::ok("x"))
}

/// A directory that helpers may write to, whoever they run as.
fn open_dir() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    dir
}

fn script(dir: &Path, text: &str) -> String {
    let path = dir.join("helper");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// A proxy that lets in what the helper likes: `class` is the line of its class up to the program.
fn program(dir: &Path, class: &str, data: &str, conf: &str) -> Program {
    let helper = script(dir, HELPER);
    let asked = dir.join("asked");
    Program::start(&format!(
        "external_acl_type liked {class} {helper} {}\nacl liked external liked {data}\n\
         http_access allow liked\nhttp_access deny all\n{conf}",
        asked.display()
    ))
}

fn asked(dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join("asked")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The helper's yes and no decide; each question is asked once for as long as the answer holds.
#[test]
fn a_helper_decides_and_is_asked_once() {
    let dir = open_dir();
    let origin = origin();
    let program = program(dir.path(), "ttl=60 %PATH %METHOD %DATA", "a%b", "");
    let mut client = client(&program);
    for _ in 0..3 {
        assert_eq!(client.get(&origin.url("/yes")).status, 200);
        assert_eq!(client.get(&origin.url("/no")).status, 403);
    }
    assert_eq!(asked(dir.path()), ["/yes GET a%25b", "/no GET a%25b"]);
}

/// `ttl=0` asks for every request.
#[test]
fn answers_that_hold_for_no_time_are_asked_for_anew() {
    let dir = open_dir();
    let origin = origin();
    let program = program(dir.path(), "ttl=0 %PATH", "", "");
    let mut client = client(&program);
    for _ in 0..3 {
        assert_eq!(client.get(&origin.url("/yes")).status, 200);
    }
    assert_eq!(asked(dir.path()), ["/yes -"; 3]);
}

/// A yes holds for `ttl`, a no for `negative_ttl`; within `grace` it still holds, and is asked for anew.
#[test]
fn answers_hold_as_long_as_they_are_said_to() {
    for (options, path, status) in [
        ("ttl=1 negative_ttl=600", "/yes", 200),
        ("ttl=600 negative_ttl=1", "/no", 403),
        ("ttl=600 grace=100", "/yes", 200),
        ("ttl=600 negative_ttl=600 grace=100", "/no", 403),
    ] {
        let dir = open_dir();
        let origin = origin();
        let program = program(dir.path(), &format!("{options} %PATH"), "", "");
        let mut client = client(&program);
        assert_eq!(client.get(&origin.url(path)).status, status, "{options}");
        assert!(
            asked(dir.path()).len() == 1 || options.contains("grace"),
            "{options}"
        );
        until("the question once more", || {
            assert_eq!(client.get(&origin.url(path)).status, status, "{options}");
            (asked(dir.path()).len() > 1).then_some(())
        });
    }
}

/// What the helper says beside its answer is logged.
#[test]
fn what_a_helper_tells_is_logged() {
    let dir = open_dir();
    let origin = origin();
    let program = program(
        dir.path(),
        "%PATH",
        "",
        "note mine \"by rule\" liked
logformat told %rm %un %ue %et %ea \"%note{group}\" %note{k_} %note{mine} %>Hs
access_log stdio:{dir}/told.log told
access_log stdio:{dir}/access.log squid",
    );
    let mut client = client(&program);
    client.get(&origin.url("/yes"));
    client.get(&origin.url("/no"));
    let lines = until("two lines", || {
        let text = program.read("told.log");
        (text.lines().count() == 2).then(|| text.lines().map(str::to_owned).collect::<Vec<_>>())
    });
    assert_eq!(
        lines,
        [
            "GET bob bob t1 x%20y \"a,b\" v by%20rule 200",
            "GET - - - - \"-\" - - 403",
        ]
    );
    let entry = Entry::of(&program.wait_for_log_lines(1).remove(0));
    assert_eq!(entry.user, "bob");
}

/// A helper that can't say, that ends or that isn't there lets nobody in, whichever way the rule is written.
#[test]
fn what_cannot_be_found_out_opens_nothing() {
    let dir = open_dir();
    let origin = origin();
    let helper = script(dir.path(), HELPER);
    let log = dir.path().join("asked");
    for (command, path) in [
        (format!("{helper} {}", log.display()), "/broken"),
        ("/bin/false".to_owned(), "/yes"),
        ("/nowhere/helper".to_owned(), "/yes"),
    ] {
        for rule in ["allow c", "deny !c", "deny c"] {
            let program = Program::start(&format!(
                "external_acl_type c %PATH {command}\nacl c external c\nhttp_access {rule}\n{}",
                if rule.starts_with("deny") {
                    "http_access allow all"
                } else {
                    ""
                }
            ));
            let answer = client(&program).get(&origin.url(path));
            assert_eq!(answer.status, 403, "{command} {rule}");
        }
    }
}

/// Many clients with one question: it is asked once. With channels the answers may come in any order.
#[test]
fn channels() {
    let dir = open_dir();
    let origin = origin();
    let helper = script(dir.path(), CHANNELS);
    let program = Program::start(&format!(
        "external_acl_type c children-max=1 concurrency=10 %{{X-Key}}>h {helper} {}
acl c external c
http_access allow c
logformat told %{{X-Key}}>h %ue
access_log stdio:{{dir}}/told.log told",
        dir.path().join("asked").display()
    ));
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (program, url) = (&program, origin.url(&format!("/{number}")));
            scope.spawn(move || {
                let key = format!("k{}", number % 2);
                let answer = client(program).request("GET", &url, &[("X-Key", &key)]);
                assert_eq!(answer.status, 200);
            });
        }
    });
    let text = until("eight lines", || {
        let text = program.read("told.log");
        (text.lines().count() == 8).then_some(text)
    });
    for line in text.lines() {
        let (key, user) = line.split_once(' ').unwrap();
        assert_eq!(key, user);
    }
    assert_eq!(asked(dir.path()).len(), 2);
}

/// A reload leaves a class that is the same as it is: its helpers go on, and what they said still holds.
#[test]
fn a_reload_keeps_what_is_the_same() {
    let dir = open_dir();
    let origin = origin();
    let program = program(dir.path(), "%PATH", "", "");
    let get = |path: &str| client(&program).get(&origin.url(path)).status;
    assert_eq!(get("/yes"), 200);
    program.signal(Signal::HUP);
    until("the reload", || {
        program
            .read("cache.log")
            .contains("Reconfigured.")
            .then_some(())
    });
    assert_eq!(get("/yes"), 200);
    assert_eq!(asked(dir.path()), ["/yes -"]);
}

/// The line of a blocker: URL, method and user, fifty questions at a time; refused clients are sent elsewhere.
#[test]
fn a_url_blocker() {
    let dir = open_dir();
    let origin = origin();
    let blocker = "#!/bin/sh
while read -r channel url method user; do
    case \"$url\" in
        *blocked*) echo \"$channel ERR\" ;;
        *) echo \"$channel OK\" ;;
    esac
done
";
    let helper = script(dir.path(), blocker);
    let program = Program::start(&format!(
        "external_acl_type blocker ipv4 concurrency=50 children-startup=10 children-max=20 ttl=3 %URI %METHOD %un {helper} -http=http://127.0.0.1:1/
acl good external blocker
http_access deny !good
http_access allow all"
    ));
    let mut client = client(&program);
    assert_eq!(client.get(&origin.url("/fine?a=b")).status, 200);
    assert_eq!(client.get(&origin.url("/blocked")).status, 403);
}

/// A program of Debian's squid-common; `None`, with a word, where it isn't installed.
fn debian(name: &str) -> Option<String> {
    let path = format!("/usr/lib/squid/{name}");
    let is_there = Path::new(&path).exists();
    if !is_there {
        println!("{path} is not installed");
    }
    is_there.then_some(path)
}

/// `ext_file_userip_acl`: which user may come from which address.
#[test]
fn debian_file_userip() {
    let Some(helper) = debian("ext_file_userip_acl") else {
        return;
    };
    let dir = open_dir();
    let table = dir.path().join("table");
    std::fs::write(&table, "127.0.0.1 alice\n192.0.2.1 bob\n").unwrap();
    let origin = origin();
    let program = Program::start(&format!(
        "external_acl_type from %SRC %>{{X-User}} {helper} -f {}\nacl from external from\nhttp_access allow from",
        table.display()
    ));
    for (user, status) in [("alice", 200), ("bob", 403), ("a b", 403)] {
        let answer = client(&program).request("GET", &origin.url("/"), &[("X-User", user)]);
        assert_eq!(answer.status, status, "{user}");
    }
}

/// `ext_unix_group_acl`: is the user in one of these groups?
#[test]
fn debian_unix_group() {
    let Some(helper) = debian("ext_unix_group_acl") else {
        return;
    };
    let origin = origin();
    let program = Program::start(&format!(
        "external_acl_type group %>{{X-User}} {helper} -p\nacl group external group root daemon\nhttp_access allow group"
    ));
    for (user, status) in [("root", 200), ("nobody", 403), ("no such user", 403)] {
        let answer = client(&program).request("GET", &origin.url("/"), &[("X-User", user)]);
        assert_eq!(answer.status, status, "{user}");
    }
}

/// `ext_time_quota_acl`: a user has so many seconds a day.
#[test]
fn debian_time_quota() {
    let Some(helper) = debian("ext_time_quota_acl") else {
        return;
    };
    let dir = open_dir();
    let table = dir.path().join("quota");
    std::fs::write(&table, "alice 1h / 1d\nbob 0m / 1d\n").unwrap();
    let origin = origin();
    let program = Program::start(&format!(
        "external_acl_type quota ttl=0 children-max=1 %>{{X-User}} {helper} -b {} {}\nacl quota external quota\n\
         http_access allow quota",
        dir.path().join("db").display(),
        table.display()
    ));
    for (user, status) in [("alice", 200), ("bob", 403)] {
        let answer = client(&program).request("GET", &origin.url("/"), &[("X-User", user)]);
        assert_eq!(answer.status, status, "{user}");
    }
}

/// `helper-mux`: gives channels to a helper that has none.
#[test]
fn debian_helper_mux() {
    let Some(mux) = debian("helper-mux") else {
        return;
    };
    let dir = open_dir();
    let helper = script(dir.path(), HELPER);
    let origin = origin();
    let program = Program::start(&format!(
        "external_acl_type mux concurrency=10 children-max=1 %PATH {mux} {helper} {}\nacl mux external mux\nhttp_access allow mux",
        dir.path().join("asked").display()
    ));
    let mut client = client(&program);
    assert_eq!(client.get(&origin.url("/yes")).status, 200);
    assert_eq!(client.get(&origin.url("/no")).status, 403);
}
