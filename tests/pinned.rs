//! Logins of connections (NTLM, Negotiate) to origins and parents: the client's connection and the hop's belong
//! together from then on, and nobody else's request ever goes over the latter.

mod parent;

use std::collections::HashMap;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use testkit::{Client, Origin, Program, Reply, Request, Response};

use crate::support::{Entry, accelerator, client, forward};

const FIRST: &str = "NTLM Zmlyc3Q=";
const CHALLENGE: &str = "NTLM Y2hhbGxlbmdl";

/// The field by which a client says who asks, so that the origin can tell whose requests came over a connection.
const CLIENT: &str = "X-Client";

/// What a server does that takes connections for users: `Authorization` of any name logs the connection in once it was
/// challenged, and what comes over it later is the user's.
struct Door {
    users: Mutex<HashMap<usize, Option<String>>>,
    status: &'static str,
    offer: &'static str,
    credentials: &'static str,
}

impl Door {
    fn of_origin() -> Self {
        Self {
            users: Mutex::default(),
            status: "401 Unauthorized",
            offer: "WWW-Authenticate",
            credentials: "Authorization",
        }
    }

    fn of_proxy() -> Self {
        Self {
            status: "407 Proxy Authentication Required",
            offer: "Proxy-Authenticate",
            credentials: "Proxy-Authorization",
            ..Self::of_origin()
        }
    }

    fn answer(&self, request: &Request) -> Reply {
        let mut users = self.users.lock().unwrap();
        let said = request
            .field(self.credentials)
            .and_then(|said| said.strip_prefix("NTLM "));
        let user = match (said, users.get(&request.connection)) {
            (Some(said), _) if FIRST.ends_with(said) => {
                users.insert(request.connection, None);
                return self.refuse(CHALLENGE);
            }
            (Some(said), Some(None)) => said.to_owned(),
            (None, Some(Some(user))) => user.clone(),
            _ => return self.refuse("NTLM"),
        };
        users.insert(request.connection, Some(user.clone()));
        Reply::ok(user).field("Cache-Control", "public, max-age=600")
    }

    fn refuse(&self, offer: &str) -> Reply {
        Reply::new(self.status)
            .field(self.offer, offer)
            .field(self.offer, "Basic realm=\"x\"")
            .send("who are you?")
    }
}

fn origin() -> Origin {
    let door = Door::of_origin();
    Origin::start(move |request: &Request| door.answer(request))
}

/// One that asks as `name`, and answers challenges.
struct Asker {
    client: Client,
    name: String,
}

impl Asker {
    fn new(program: &Program, name: &str) -> Self {
        Self {
            client: client(program),
            name: name.to_owned(),
        }
    }

    fn ask(&mut self, url: &str, credentials: Option<&str>) -> Response {
        let mut fields = vec![(CLIENT, &*self.name)];
        fields.extend(credentials.map(|said| ("Authorization", said)));
        self.client.request("GET", url, &fields)
    }

    /// What an NTLM client does.
    fn log_in(&mut self, url: &str) {
        let challenged = self.ask(url, Some(FIRST));
        assert_eq!(challenged.status, 401);
        assert_eq!(offers(&challenged)[0], CHALLENGE);
        let proof = format!("NTLM {}", self.name);
        let welcome = self.ask(url, Some(&proof));
        assert_eq!((welcome.status, welcome.text()), (200, self.name.clone()));
    }

    fn is_known(&mut self, url: &str) -> bool {
        let answer = self.ask(url, None);
        match answer.status {
            200 => assert_eq!(answer.text(), self.name, "never as somebody else"),
            status => assert_eq!(status, 401),
        }
        answer.status == 200
    }
}

fn offers(response: &Response) -> Vec<&str> {
    response.head.all("WWW-Authenticate")
}

/// All requests that came over one connection as a user's are that user's.
fn nothing_was_mixed(origin: &Origin) {
    let mut owners: HashMap<usize, String> = HashMap::new();
    for request in origin.requests() {
        let name = request.field(CLIENT).unwrap().to_owned();
        let is_login = request.field("Authorization").is_some();
        if let Some(owner) = owners.get(&request.connection) {
            assert_eq!(*owner, name, "{request:?}");
        }
        if is_login {
            owners.insert(request.connection, name);
        }
    }
}

/// From offer to log: the client is told that it will work, goes on as the user without saying so again, and shares
/// neither the connection nor what came over it.
#[test]
fn a_client_logs_in_to_an_origin() {
    let origin = origin();
    let program = forward("workers 1");
    let url = origin.url("/");
    let mut bob = Asker::new(&program, "bob");
    let offered = bob.ask(&url, None);
    assert_eq!(offers(&offered), ["NTLM", "Basic realm=\"x\""]);
    assert_eq!(
        offered.field("Proxy-Support"),
        Some("Session-Based-Authentication")
    );
    assert!(offered.head.has("Connection", "Proxy-Support"));
    assert!(offered.head.has("Connection", "keep-alive"));
    bob.log_in(&url);
    assert!(bob.is_known(&url));
    let mut ann = Asker::new(&program, "ann");
    assert!(!ann.is_known(&url));
    ann.log_in(&url);
    for _ in 0..3 {
        assert!(bob.is_known(&url) && ann.is_known(&url));
        assert!(!Asker::new(&program, "eve").is_known(&url));
    }
    nothing_was_mixed(&origin);
    let lines = program.wait_for_log_lines(4);
    let hierarchies = lines.iter().map(|line| Entry::of(line).hierarchy);
    let hierarchies: Vec<_> = hierarchies.take(4).collect();
    let (direct, pinned) = ("HIER_DIRECT/127.0.0.1", "PINNED/127.0.0.1");
    assert_eq!(hierarchies, [direct, direct, pinned, pinned]);
}

/// Many at a time, of whom some log in and some don't.
#[test]
fn nobody_is_taken_for_somebody_else() {
    let origin = origin();
    let program = forward("");
    let url = origin.url("/");
    thread::scope(|scope| {
        for number in 0..8 {
            let (program, url) = (&program, &url);
            scope.spawn(move || {
                for round in 0..10 {
                    let mut asker = Asker::new(program, &format!("user{number}"));
                    let logs_in = (number + round) % 2 == 0;
                    if logs_in {
                        asker.log_in(url);
                    }
                    for _ in 0..5 {
                        assert_eq!(asker.is_known(url), logs_in);
                    }
                }
            });
        }
    });
    nothing_was_mixed(&origin);
}

/// Another target, or an origin that has closed, ends it: the client has to log in anew, and can.
#[test]
fn a_login_ends_with_its_connection() {
    let (origin, other) = (origin(), origin());
    let program = forward("");
    let (url, elsewhere) = (origin.url("/"), other.url("/"));
    let mut bob = Asker::new(&program, "bob");
    bob.log_in(&url);
    assert!(!bob.is_known(&elsewhere));
    assert!(!bob.is_known(&url));
    bob.log_in(&url);
    origin.disconnect();
    assert!(!bob.is_known(&url));
    bob.log_in(&url);
    assert!(bob.is_known(&url));
    let open = origin.open_connections();
    drop(bob);
    testkit::until("the end of the connection", || {
        (origin.open_connections() < open).then_some(())
    });
}

/// `server_persistent_connections off` is about connections that are nobody's; `connection-auth=off` of a port and of a
/// peer takes away the offers that can't work then, and lets no login stay.
#[test]
fn where_it_is_off_it_is_not_offered() {
    let kept = origin();
    let program = forward("server_persistent_connections off");
    let mut bob = Asker::new(&program, "bob");
    bob.log_in(&kept.url("/"));
    assert!(bob.is_known(&kept.url("/")));

    let origin = origin();
    let program = forward("http_port 127.0.0.1:{port} connection-auth=off");
    let mut bob = Asker::new(&program, "bob");
    let url = origin.url("/");
    let answer = bob.ask(&url, None);
    assert_eq!(offers(&answer), ["Basic realm=\"x\""]);
    assert_eq!(answer.field("Proxy-Support"), None);
    bob.ask(&url, Some(FIRST));
    assert_eq!(bob.ask(&url, Some("NTLM bob")).status, 401);
    assert_eq!(origin.connections(), 3, "each try has its own");
}

/// Accelerators: a peer gets the client's login where a line says so, and then the connection is the client's.
#[test]
fn through_an_accelerator() {
    for (options, works) in [
        ("login=PASSTHRU", true),
        ("login=PASS connection-auth=on", true),
        ("login=PASS connection-auth=off", false),
    ] {
        let origin = origin();
        let conf = format!(
            "cache_peer 127.0.0.1 parent {} 0 no-query originserver {options}",
            origin.port()
        );
        let program = accelerator("defaultsite=site.example", &conf);
        let mut bob = Asker::new(&program, "bob");
        let answer = bob.ask("/", None);
        assert_eq!(
            answer.field("Proxy-Support"),
            None,
            "it stands in for the origin"
        );
        assert_eq!(offers(&answer).contains(&"NTLM"), works, "{options}");
        if works {
            bob.log_in("/");
            assert!(bob.is_known("/"));
            program.wait_for_log(|line| line.contains(" PINNED/127.0.0.1 "));
        }
        assert!(!Asker::new(&program, "ann").is_known("/"));
        nothing_was_mixed(&origin);
    }
}

/// A proxy before us may send requests of several over one connection: those whom we can tell apart aren't taken for each
/// other.
#[test]
fn a_connection_of_several_clients() {
    let origin = origin();
    let program = forward("follow_x_forwarded_for allow localhost");
    let as_basic = Program::start(
        "auth_param basic program /usr/lib/squid/basic_fake_auth\nacl user proxy_auth REQUIRED\nhttp_access allow user",
    );
    for (program, field, bob, ann) in [
        (&program, "X-Forwarded-For", "192.0.2.1", "192.0.2.2"),
        (
            &as_basic,
            "Proxy-Authorization",
            "Basic Ym9iOng=",
            "Basic YW5uOng=",
        ),
    ] {
        let mut shared = client(program);
        let mut ask = |who: &str, credentials: &str| {
            let fields = [(field, who), ("Authorization", credentials)];
            let answer = shared.request("GET", &origin.url("/"), &fields);
            (answer.status, answer.text())
        };
        assert_eq!(ask(bob, FIRST).0, 401);
        assert_eq!(ask(bob, "NTLM bob").1, "bob");
        let mut ask = |who: &str| shared.request("GET", &origin.url("/"), &[(field, who)]);
        assert_eq!(ask(bob).text(), "bob");
        assert_eq!(ask(ann).status, 401, "{field}");
        assert_eq!(ask(bob).status, 401, "it ended when the other came");
    }
}

/// A real client: curl does the handshake through the proxy, and asks for more over the same connection.
#[test]
fn with_curl() {
    // An NTLM message of type 2 without a target name, for a challenge of eight bytes.
    let challenge = "NTLM TlRMTVNTUAACAAAAAAAAADAAAAABggAAASNFZ4mrze8AAAAAAAAAAAAAAAAwAAAA";
    let origin = Origin::start(move |request: &Request| {
        let said = request.field("Authorization").unwrap_or_default();
        match said.get(..21) {
            Some("NTLM TlRMTVNTUAADAAAA") => Reply::ok("in"),
            Some("NTLM TlRMTVNTUAABAAAA") => {
                Reply::new("401 Unauthorized").field("WWW-Authenticate", challenge)
            }
            _ => Reply::new("401 Unauthorized").field("WWW-Authenticate", "NTLM"),
        }
    });
    let program = forward("");
    let proxy = format!("http://{}", program.addr());
    let ran = Command::new("curl")
        .args(["-sS", "-m", "10", "--noproxy", "", "-x", &proxy])
        .args(["--ntlm", "-u", "bob:secret", &origin.url("/")])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "in", "{ran:?}");
    let connections: Vec<usize> = origin.requests().iter().map(|one| one.connection).collect();
    assert_eq!(connections, [0, 0], "both halves over one connection");
}
