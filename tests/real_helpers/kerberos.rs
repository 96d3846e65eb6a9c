//! `negotiate_kerberos_auth` with a real KDC and a real client: curl gets a ticket for the proxy's service.

use std::io::Write as _;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use testkit::{Origin, Program, Reply, Request, free_port};

use super::{RULES, Server, curl, installed, open_dir, run};
use crate::support::{Entry, client, forward};

const HELPER: &str = "/usr/lib/squid/negotiate_kerberos_auth";
const REALM: &str = "TEST.EXAMPLE";

/// A realm with `bob` and the service `HTTP/localhost`, on a port of ours.
struct Realm {
    _kdc: Server,
    dir: TempDir,
}

impl Realm {
    fn start() -> Option<Self> {
        let tools = [
            "/usr/sbin/krb5kdc",
            "/usr/sbin/kdb5_util",
            "/usr/sbin/kadmin.local",
        ];
        if !installed(&tools) || !installed(&["/usr/bin/kinit", HELPER]) {
            return None;
        }
        let dir = open_dir();
        let path = |name: &str| dir.path().join(name).display().to_string();
        let port = free_port();
        let client = format!(
            "[libdefaults]
 default_realm = {REALM}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 rdns = false
 dns_canonicalize_hostname = false
[realms]
 {REALM} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 localhost = {REALM}
"
        );
        let server = format!(
            "[kdcdefaults]
 kdc_listen = 127.0.0.1:{port}
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {REALM} = {{
  database_name = {}
  key_stash_file = {}
 }}
",
            path("principal"),
            path("stash")
        );
        std::fs::write(path("krb5.conf"), client).unwrap();
        std::fs::write(path("kdc.conf"), server).unwrap();
        let env = environment(&dir);
        let tool = |name: &str| {
            let mut command = Command::new(name);
            command.envs(env.iter().map(|(name, value)| (name, value)));
            command
        };
        run(tool("/usr/sbin/kdb5_util").args(["create", "-s", "-P", "master", "-r", REALM]));
        for query in [
            "addprinc -pw secret bob".to_owned(),
            "addprinc -randkey HTTP/localhost".to_owned(),
            format!("ktadd -k {} HTTP/localhost", path("keytab")),
        ] {
            run(tool("/usr/sbin/kadmin.local").args(["-q", &query]));
        }
        run(Command::new("chmod").args(["644", &path("keytab")]));
        let kdc = Server::start(tool("/usr/sbin/krb5kdc").arg("-n"), port);
        Some(Self { _kdc: kdc, dir })
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        environment(&self.dir)
    }

    /// Gets Bob a ticket.
    fn log_in(&self) {
        let mut kinit = Command::new("/usr/bin/kinit")
            .arg("bob")
            .envs(self.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut password = kinit.stdin.take().unwrap();
        password.write_all(b"secret\n").unwrap();
        drop(password);
        assert!(kinit.wait().unwrap().success());
    }

    /// A program whose helper knows the service's key.
    fn program(&self, options: &str, conf: &str) -> Program {
        let keytab = self.dir.path().join("keytab");
        let conf = format!(
            "auth_param negotiate program {HELPER} -k {} {options}\n{conf}\n{RULES}",
            keytab.display()
        );
        let mut builder = Program::builder(&conf);
        for (name, value) in self.environment() {
            builder = builder.env(name, value);
        }
        builder.start()
    }
}

/// What Kerberos' programs are to find there.
fn environment(dir: &TempDir) -> Vec<(&'static str, String)> {
    let path = |name: &str| dir.path().join(name).display().to_string();
    vec![
        ("KRB5_CONFIG", path("krb5.conf")),
        ("KRB5_KDC_PROFILE", path("kdc.conf")),
        ("KRB5CCNAME", format!("FILE:{}", path("tickets"))),
        ("KRB5RCACHENAME", "none:".to_owned()),
    ]
}

/// A ticket logs in to the proxy, for all that its connection asks; without one nobody gets in.
#[test]
fn to_a_proxy() {
    let Some(realm) = Realm::start() else {
        return;
    };
    let origin = Origin::start(|_: &Request| Reply::ok("in"));
    let program = realm.program("", "");
    let proxy = format!("http://localhost:{}", program.port());
    let env = realm.environment();
    let (url, again) = (origin.url("/"), origin.url("/again"));
    let args = ["-x", &proxy, "--proxy-negotiate", "-U", ":"];
    let (status, told) = curl(&url, &args, &env);
    assert_eq!(status, "407", "without a ticket: {told}");
    realm.log_in();
    let more = [&args[..], &[&*again, "-o", "/dev/null"]].concat();
    let (status, told) = curl(&url, &more, &env);
    assert_eq!(status, "200200", "{told}");
    assert!(
        told.contains("< Proxy-Authentication-Info: Negotiate "),
        "{told}"
    );
    assert_eq!(origin.total(), 2);
    assert!(
        origin
            .requests()
            .iter()
            .all(|one| one.field("Proxy-Authorization").is_none())
    );
    let line = program.wait_for_log(|line| line.contains("/again "));
    assert_eq!(Entry::of(&line).user, format!("bob@{REALM}"));
}

/// The same to an accelerator, which asks by 401; `-r` takes the realm off the name.
#[test]
fn to_an_accelerator() {
    let Some(realm) = Realm::start() else {
        return;
    };
    let origin = Origin::start(|_: &Request| Reply::ok("in"));
    let conf = format!(
        "http_port 127.0.0.1:{{port}} accel defaultsite=localhost
cache_peer 127.0.0.1 parent {} 0 no-query originserver",
        origin.port()
    );
    let program = realm.program("-r", &conf);
    realm.log_in();
    let url = format!("http://localhost:{}/", program.port());
    let asked = client(&program).request("GET", "/", &[("Host", "localhost")]);
    let offers = asked.head.all("WWW-Authenticate");
    assert_eq!((asked.status, &*offers), (401, &["Negotiate"][..]));
    let (status, told) = curl(&url, &["--negotiate", "-u", ":"], &realm.environment());
    assert_eq!(status, "200", "{told}");
    assert!(told.contains("< Authentication-Info: Negotiate "), "{told}");
    assert_eq!(origin.last().field("Authorization"), None);
    let line = program.wait_for_log(|line| line.contains("/200"));
    assert_eq!(Entry::of(&line).user, "bob");
}

/// Through a proxy that knows nothing of it, to an origin that does: both requests go over the connection that has logged
/// in, and somebody else's doesn't.
#[test]
fn to_an_origin_behind_a_proxy() {
    let Some(realm) = Realm::start() else {
        return;
    };
    let inner = Origin::start(|_: &Request| Reply::ok("in"));
    let conf = format!(
        "http_port 127.0.0.1:{{port}} accel defaultsite=localhost
cache_peer 127.0.0.1 parent {} 0 no-query originserver",
        inner.port()
    );
    let origin = realm.program("-r", &conf);
    let between = forward("visible_hostname between.example");
    realm.log_in();
    let url = |path: &str| format!("http://localhost:{}{path}", origin.port());
    let proxy = format!("http://{}", between.addr());
    let (first, second) = (url("/first"), url("/second"));
    let args = [
        "-x",
        &proxy,
        "--negotiate",
        "-u",
        ":",
        &first,
        "-o",
        "/dev/null",
    ];
    let (status, told) = curl(&second, &args, &realm.environment());
    assert_eq!(status, "200200", "{told}");
    for path in ["/first ", "/second "] {
        let line = origin.wait_for_log(|line| line.contains(path) && line.contains("/200"));
        assert_eq!(Entry::of(&line).user, "bob");
    }
    let line = between.wait_for_log(|line| line.contains("/second "));
    assert_eq!(Entry::of(&line).hierarchy, "PINNED/127.0.0.1");
    let other = client(&between).get(&first);
    assert_eq!(other.status, 401);
    let works = other.field("Proxy-Support");
    assert_eq!(works, Some("Session-Based-Authentication"));
}

/// To a parent, for requests and tunnels: `login=PASSTHRU` lets clients log in there themselves.
#[test]
fn to_a_parent_behind_a_proxy() {
    let Some(realm) = Realm::start() else {
        return;
    };
    let origin = Origin::start(|_: &Request| Reply::ok("in"));
    let parent = realm.program("-r", "");
    let between = forward(&format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query no-digest login=PASSTHRU
never_direct allow all
visible_hostname between.example",
        parent.port()
    ));
    let refused = client(&between).get(&origin.url("/"));
    let offers = refused.head.all("Proxy-Authenticate");
    assert_eq!((refused.status, &*offers), (407, &["Negotiate"][..]));
    realm.log_in();
    let proxy = format!("http://localhost:{}", between.port());
    let mut args = vec!["-x", &*proxy, "--proxy-negotiate", "-U", ":"];
    for (path, log) in [("/", "TCP_MISS/200"), ("/tunnel", "TCP_TUNNEL/200")] {
        let (status, told) = curl(&origin.url(path), &args, &realm.environment());
        assert_eq!(status, "200", "{told}");
        let line = parent.wait_for_log(|line| line.contains(log));
        assert_eq!(Entry::of(&line).user, "bob");
        args.push("--proxytunnel");
    }
    assert!(
        origin
            .requests()
            .iter()
            .all(|one| one.field("Proxy-Authorization").is_none())
    );
}
