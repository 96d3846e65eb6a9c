//! `basic_ldap_auth`, `digest_ldap_auth` and `ext_ldap_group_acl` with OpenLDAP's server.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use testkit::{Origin, Program, Reply, Request, free_port};

use super::{RULES, Server, curl, curl_as, installed, open_dir, run};
use crate::support::Entry;

const SLAPD: &str = "/usr/sbin/slapd";

/// Bob and Ann; only Bob is of the staff.
const PEOPLE: &str = "dn: dc=example
objectClass: dcObject
objectClass: organization
dc: example
o: example

dn: cn=bob,dc=example
objectClass: person
cn: bob
sn: bob
userPassword: secret
description: The house:a53b9e57734924fd71e674d52e6e0d0f

dn: cn=ann,dc=example
objectClass: person
cn: ann
sn: ann
userPassword: secret

dn: cn=staff,dc=example
objectClass: groupOfNames
cn: staff
member: cn=bob,dc=example
";

/// A directory server with these people on a port of ours.
struct Directory {
    _server: Server,
    dir: TempDir,
    url: String,
}

impl Directory {
    fn start() -> Option<Self> {
        let helper = "/usr/lib/squid/basic_ldap_auth";
        if !installed(&[SLAPD, "/usr/sbin/slapadd", helper]) {
            return None;
        }
        let dir = open_dir();
        let path = |name: &str| dir.path().join(name).display().to_string();
        std::fs::create_dir(path("db")).unwrap();
        let conf = format!(
            "include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {}
database mdb
directory {}
suffix dc=example
",
            path("pid"),
            path("db")
        );
        std::fs::write(path("slapd.conf"), conf).unwrap();
        std::fs::write(path("people"), PEOPLE).unwrap();
        run(Command::new("/usr/sbin/slapadd").args([
            "-f",
            &path("slapd.conf"),
            "-l",
            &path("people"),
        ]));
        let port = free_port();
        let url = format!("ldap://127.0.0.1:{port}");
        // With -d it stays in the foreground.
        let mut command = Command::new(SLAPD);
        command.args(["-d", "0", "-h", &url, "-f", &path("slapd.conf")]);
        let server = Server::start(&mut command, port);
        Some(Self {
            _server: server,
            dir,
            url,
        })
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }
}

fn origin() -> Origin {
    Origin::start(|_: &Request| Reply::ok("in"))
}

/// A login by the directory, and a group of it.
#[test]
fn users_and_groups() {
    let Some(directory) = Directory::start() else {
        return;
    };
    let url = &directory.url;
    let origin = origin();
    let program = Program::start(&format!(
        "auth_param basic program /usr/lib/squid/basic_ldap_auth -v 3 -b dc=example -f cn=%s -H {url}
external_acl_type group %LOGIN /usr/lib/squid/ext_ldap_group_acl -v 3 -b dc=example \
         -B dc=example -F cn=%s -f (&(cn=%g)(member=%u)) -H {url}
acl staff external group staff
acl inner urlpath_regex ^/inner
http_access deny inner !staff all
{RULES}"
    ));
    for (user, path, status) in [
        ("bob:secret", "/", "200"),
        ("ann:secret", "/", "200"),
        ("bob:wrong", "/", "407"),
        ("eve:secret", "/", "407"),
        ("*:secret", "/", "407"),
        ("bob:secret", "/inner", "200"),
        ("ann:secret", "/inner", "403"),
    ] {
        let seen = curl_as(&program, user, &origin.url(path));
        assert_eq!(seen, status, "{user} {path}");
    }
    let line = program.wait_for_log(|line| line.contains("/inner") && line.contains("/403"));
    assert_eq!(Entry::of(&line).user, "ann");
    assert!(directory.path().exists());
}

/// Digest by a hash that the directory has.
#[test]
fn digest() {
    let Some(directory) = Directory::start() else {
        return;
    };
    let origin = origin();
    let program = Program::start(&format!(
        "auth_param digest program /usr/lib/squid/digest_ldap_auth -v 3 -b dc=example -u cn -A description \
         -e -l : -H {}
auth_param digest realm The house
{RULES}",
        directory.url
    ));
    let proxy = format!("http://{}", program.addr());
    for (user, expected) in [
        ("bob:secret", "200"),
        ("bob:wrong", "407"),
        ("eve:x", "407"),
    ] {
        let args = ["-x", &proxy, "--proxy-digest", "-U", user];
        let (status, told) = curl(&origin.url("/"), &args, &[]);
        assert_eq!(status, expected, "{user}: {told}");
    }
}
