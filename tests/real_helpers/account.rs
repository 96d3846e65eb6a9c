//! `basic_getpwnam_auth`: accounts of the system, here of a system of our own.

use std::process::Command;

use testkit::{Origin, Program, Reply, Request};

use super::{RULES, curl_as, installed};
use crate::support::Entry;

const HELPER: &str = "/usr/lib/squid/basic_getpwnam_auth";

/// Puts our accounts in the place of the system's, for itself alone, and becomes the helper.
const WRAPPER: &str = "exec unshare -rm sh -c '
mount --bind \"$1/passwd\" /etc/passwd && mount --bind \"$1/shadow\" /etc/shadow && exec \"$0\"' \"$1\" \"$2\"
";

/// May we have a file system of our own? Not in every container.
fn may_unshare() -> bool {
    let tried = Command::new("unshare").args(["-rm", "true"]).status();
    let may = tried.is_ok_and(|status| status.success());
    if !may {
        println!("unshare isn't allowed here");
    }
    may
}

/// A user of the system logs in with the system's password.
#[test]
fn getpwnam() {
    if !installed(&[HELPER]) || !may_unshare() {
        return;
    }
    let origin = Origin::start(|_: &Request| Reply::ok("in"));
    let hash = Command::new("openssl")
        .args(["passwd", "-6", "secret"])
        .output()
        .unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap();
    let shadow = format!(
        "root:*:1:0:99999:7:::\nbob:{}:1:0:99999:7:::\n",
        hash.trim()
    );
    let passwd = "root:x:0:0::/:/bin/sh\nbob:x:1001:1001::/:/bin/sh\n";
    let conf = format!("auth_param basic program /bin/sh {{dir}}/helper {HELPER} {{dir}}\n{RULES}");
    let program = Program::builder(&conf)
        .file("passwd", passwd)
        .file("shadow", shadow)
        .file("helper", WRAPPER)
        .start();
    for (user, status) in [
        ("bob:secret", "200"),
        ("bob:wrong", "407"),
        ("eve:secret", "407"),
    ] {
        assert_eq!(curl_as(&program, user, &origin.url("/")), status, "{user}");
    }
    let line = program.wait_for_log(|line| line.contains("/200"));
    assert_eq!(Entry::of(&line).user, "bob");
}
