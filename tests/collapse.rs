//! Many clients, one fetch: `collapsed_forwarding`, streams that are joined, slow readers, large bodies, flat memory.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use testkit::{Client, Failed, Gate, Origin, Pattern, Program, Reply, Request, until};

use crate::support::{client, forward};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Large objects are kept too, and fetched once.
const COLLAPSE: &str = "collapsed_forwarding on
cache_mem 512 MB
maximum_object_size_in_memory 64 MB
maximum_object_size 64 MB
";

/// A program that collapses.
fn collapsing() -> Program {
    forward(COLLAPSE)
}

/// Runs `work` on `count` threads at once and gives what each returned.
fn crowd<T: Send + 'static>(
    count: usize,
    work: impl Fn(usize) -> T + Send + Sync + 'static,
) -> Vec<T> {
    let work = Arc::new(work);
    let spawn = |number| {
        let work = Arc::clone(&work);
        let thread = thread::Builder::new().stack_size(512 << 10);
        thread.spawn(move || work(number)).unwrap()
    };
    let threads: Vec<_> = (0..count).map(spawn).collect();
    threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect()
}

/// An origin of self-describing files of this size, named by their paths.
fn files(size: u64) -> Origin {
    Origin::start(move |request: &Request| {
        Reply::pattern(&Pattern::new(&request.target, size)).field("Cache-Control", "max-age=600")
    })
}

/// A hundred clients at once for ten cold files of 10 MB: the origin is asked ten times, every byte is right, and
/// memory grows by little more than the files.
#[test]
fn a_hundred_clients_for_ten_cold_files() {
    const SIZE: u64 = 10 << 20;
    let origin = files(SIZE);
    let program = collapsing();
    let hashes: Vec<u64> = (0..10)
        .map(|file| Pattern::new(&format!("/{file}"), SIZE).hash())
        .collect();
    let before = program.rss_kib();
    let (addr, base) = (program.addr(), origin.url(""));
    let found = crowd(100, move |number| {
        let mut client = Client::connect(addr).keep_no_bodies().wait(PATIENCE);
        let file = number % 10;
        let answer = client.get(&format!("{base}/{file}"));
        (
            file,
            answer.status,
            answer.content.len,
            answer.content.hash(),
        )
    });
    for (file, status, len, hash) in found {
        assert_eq!(
            (status, len, hash),
            (200, SIZE, hashes[file]),
            "file {file}"
        );
    }
    assert_eq!(origin.total(), 10);
    let growth = program.rss_kib().saturating_sub(before);
    assert!(
        growth < 160 << 10,
        "grew by {growth} KiB for 100 MB of files"
    );
}

/// Five hundred clients for one cold URL: one fetch, and everybody reads along from the first byte.
#[test]
fn five_hundred_clients_for_one_cold_url() {
    let gate = Gate::new();
    let reply = Reply::ok("first ")
        .field("Cache-Control", "max-age=600")
        .pass(&gate)
        .send("last");
    let origin = Origin::start(move |_| reply.clone());
    let program = collapsing();
    let (addr, url) = (program.addr(), origin.url("/"));
    let all_read = Gate::new();
    let readers = all_read.clone();
    let waiting = gate.clone();
    let opener = thread::spawn(move || {
        readers.wait_for_arrivals(500);
        waiting.open();
        readers.open();
    });
    let found = crowd(500, move |_| {
        let mut client = Client::connect(addr).wait(PATIENCE);
        client.send_request("GET", &url, &[]);
        // The head and the first part come before the origin has sent the rest.
        let mut head = Vec::new();
        while !head.ends_with(b"first ") {
            head.extend(client.read_exact(1));
        }
        assert!(all_read.pass_within(PATIENCE));
        client.read_exact(4)
    });
    opener.join().unwrap();
    assert!(found.iter().all(|rest| rest == b"last"));
    assert_eq!(origin.total(), 1);
}

/// The same with an origin that breaks off halfway: everybody sees the part and that it is cut, and the origin is
/// asked by few.
#[test]
fn five_hundred_clients_and_a_cut() {
    let origin = Origin::start(|_: &Request| {
        Reply::ok("x".repeat(50_000))
            .field("Cache-Control", "max-age=600")
            .field("Content-Length", "100000")
            .close()
    });
    let program = collapsing();
    let (addr, url) = (program.addr(), origin.url("/"));
    let found = crowd(500, move |_| {
        let mut client = Client::connect(addr).wait(PATIENCE);
        client.send_request("GET", &url, &[]);
        client.try_response_to("GET")
    });
    for answer in found {
        match answer {
            Err(Failed::CutBody(part)) => {
                assert!(part.content.len <= 50_000);
                assert!(part.content.kept.iter().all(|byte| *byte == b'x'));
            }
            other => panic!("a cut reply was taken for {other:?}"),
        }
    }
    assert!(
        origin.total() < 250,
        "{} fetches for 500 clients",
        origin.total()
    );
}

/// A reply that turns out to be private is for its own client; those who waited go on by themselves, and get theirs.
#[test]
fn a_private_reply_is_not_shared() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |request: &Request| {
        held.pass();
        let who = request.field("X-Who").unwrap_or_default();
        Reply::ok(who).field("Cache-Control", "private, max-age=600")
    });
    let program = collapsing();
    let (addr, url) = (program.addr(), origin.url("/"));
    let opener = thread::spawn(move || {
        // The others wait for the first one's answer, which waits for the gate.
        gate.wait_for_arrivals(1);
        gate.open();
    });
    let found = crowd(20, move |number| {
        let who = number.to_string();
        let answer = Client::connect(addr).request("GET", &url, &[("X-Who", &who)]);
        (who, answer.text())
    });
    opener.join().unwrap();
    for (who, text) in found {
        assert_eq!(who, text);
    }
    assert_eq!(origin.total(), 20);
}

/// Clients of other variants don't take the leader's; each variant is fetched.
#[test]
fn variants_are_not_mixed_up() {
    let origin = Origin::start(|request: &Request| {
        let language = request.field("Accept-Language").unwrap_or_default();
        Reply::ok(language)
            .field("Vary", "Accept-Language")
            .field("Cache-Control", "max-age=600")
    });
    let program = collapsing();
    let (addr, url) = (program.addr(), origin.url("/"));
    let found = crowd(40, move |number| {
        let language = ["de", "en", "fr", "it"][number % 4];
        let mut client = Client::connect(addr);
        let answer = client.request("GET", &url, &[("Accept-Language", language)]);
        (language, answer.text())
    });
    for (language, text) in found {
        assert_eq!(language, text);
    }
}

/// Who joined another's fetch is marked in the log.
#[test]
fn joined_requests_are_marked() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |_: &Request| {
        held.pass();
        Reply::ok("x").field("Cache-Control", "max-age=600")
    });
    let program = collapsing();
    let url = origin.url("/");
    let (mut one, mut two) = (client(&program), client(&program));
    one.send_request("GET", &url, &[]);
    gate.wait_for_arrivals(1);
    two.send_request("GET", &url, &[]);
    // The second is known to wait when a third one on its connection's worker has been answered.
    let other = Origin::start(|_: &Request| Reply::ok("y"));
    client(&program).get(&other.url("/"));
    gate.open();
    assert_eq!(
        (one.response().text(), two.response().text()),
        ("x".into(), "x".into())
    );
    let lines = program.wait_for_log_lines(3);
    assert!(
        lines.iter().any(|line| line.contains("TCP_CF_MISS/200")),
        "{lines:#?}"
    );
    assert_eq!(origin.total(), 1);
}

/// Without `collapsed_forwarding`, a forward proxy fetches for each client until something is stored.
#[test]
fn collapsing_can_be_off() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |_: &Request| {
        held.pass();
        Reply::ok("x").field("Cache-Control", "max-age=600")
    });
    let program = forward("");
    let (mut one, mut two) = (client(&program), client(&program));
    for client in [&mut one, &mut two] {
        client.send_request("GET", &origin.url("/"), &[]);
    }
    gate.wait_for_arrivals(2);
    gate.open();
    assert_eq!((one.response().status, two.response().status), (200, 200));
    assert_eq!(origin.total(), 2);
}

/// The leader leaves before the answer: the others still get it, from the one fetch.
#[test]
fn the_leader_may_leave() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |_: &Request| {
        held.pass();
        Reply::ok("x").field("Cache-Control", "max-age=600")
    });
    // One worker reads requests in the order in which they came.
    let program = forward(&format!("{COLLAPSE}\nworkers 1"));
    let (mut leader, mut other) = (client(&program), client(&program));
    leader.send_request("GET", &origin.url("/"), &[]);
    gate.wait_for_arrivals(1);
    other.send_request("GET", &origin.url("/"), &[]);
    client(&program).get(&Origin::start(|_: &Request| Reply::ok("y")).url("/"));
    drop(leader);
    gate.open();
    assert_eq!(other.response().text(), "x");
    assert_eq!(origin.total(), 1);
}

/// One reader of a large object is slow; the others get it at full speed, from one fetch, and memory stays bounded.
#[test]
fn a_slow_reader_holds_nobody_back() {
    const SIZE: u64 = 32 << 20;
    let origin = files(SIZE);
    let program = collapsing();
    let url = origin.url("/large");
    let mut slow = Client::connect_narrow(program.addr())
        .keep_no_bodies()
        .wait(PATIENCE);
    slow.send_request("GET", &url, &[]);
    slow.read_exact(1000);
    let before = program.rss_kib();
    let (addr, same) = (program.addr(), url.clone());
    let started = Instant::now();
    let hashes = crowd(8, move |_| {
        let mut client = Client::connect(addr).keep_no_bodies().wait(PATIENCE);
        client.get(&same).content.hash()
    });
    let expected = Pattern::new("/large", SIZE).hash();
    assert!(hashes.iter().all(|hash| *hash == expected));
    assert!(started.elapsed() < PATIENCE);
    slow.read_exact(1000);
    assert_eq!(origin.total(), 1);
    let growth = program.rss_kib().saturating_sub(before);
    assert!(growth < 64 << 10, "grew by {growth} KiB");
}

/// How much is sent through in the flat-memory tests: a quarter of it where the program is not optimised.
const LARGE: u64 = if cfg!(debug_assertions) {
    256 << 20
} else {
    1 << 30
};

/// Growth that counts as flat, in KiB.
const FLAT: u64 = 64 << 10;

/// A large download that isn't stored passes at flat memory.
#[test]
fn a_large_download_at_flat_memory() {
    let origin = files(LARGE);
    let program = forward("");
    let before = program.rss_kib();
    let mut client = client(&program).keep_no_bodies().wait(PATIENCE);
    let answer = client.get(&origin.url("/large"));
    let expected = Pattern::new("/large", LARGE);
    assert_eq!(
        (answer.content.len, answer.content.hash()),
        (LARGE, expected.hash())
    );
    let growth = program.rss_kib().saturating_sub(before);
    assert!(growth < FLAT, "grew by {growth} KiB");
}

/// A large upload passes at flat memory.
#[test]
fn a_large_upload_at_flat_memory() {
    let origin = Origin::start(|request: &Request| {
        Reply::ok(format!(
            "{} {:x}",
            request.content.len,
            request.content.hash()
        ))
    });
    let program = forward("");
    let upload = Pattern::new("upload", LARGE);
    let mut client = client(&program).wait(PATIENCE);
    client.get(&origin.url("/"));
    let before = program.rss_kib();
    let length = LARGE.to_string();
    client.send_request("PUT", &origin.url("/"), &[("Content-Length", &length)]);
    client.send_from(upload.clone());
    let answer = client.response_to("PUT");
    assert_eq!(answer.text(), format!("{LARGE} {:x}", upload.hash()));
    let growth = program.rss_kib().saturating_sub(before);
    assert!(growth < FLAT, "grew by {growth} KiB");
}

/// A reader that stops reading stops its origin; what is between them stays small.
#[test]
fn a_reader_that_stops_stops_the_origin() {
    let origin = files(LARGE);
    let program = forward("");
    let before = program.rss_kib();
    let mut stopped = Client::connect_narrow(program.addr());
    stopped.send_request("GET", &origin.url("/large"), &[]);
    stopped.read_exact(1000);
    // Others are served meanwhile.
    let other = Origin::start(|_: &Request| Reply::ok("x"));
    for _ in 0..50 {
        assert_eq!(client(&program).get(&other.url("/")).text(), "x");
    }
    let growth = program.rss_kib().saturating_sub(before);
    assert!(growth < FLAT, "grew by {growth} KiB");
    stopped.reset();
    until("the origin's connection to close", || {
        (origin.open_connections() == 0).then_some(())
    });
}

/// More is asked for at once than memory holds, by quick readers and slow ones: nobody gets a wrong byte, and nobody's
/// reply is cut for being slow.
#[test]
fn more_than_memory_holds() {
    const SIZE: u64 = 8 << 20;
    let origin = files(SIZE);
    let program = Arc::new(forward(
        "cache_mem 12 MB\nmaximum_object_size 64 MB\nmaximum_object_size_in_memory 64 MB",
    ));
    let urls: Vec<String> = (0..6).map(|file| origin.url(&format!("/{file}"))).collect();
    let proxy = Arc::clone(&program);
    let rights = crowd(48, move |number| {
        let mut client = if number % 3 == 0 {
            Client::connect_narrow(proxy.addr())
        } else {
            client(&proxy)
        };
        client = client.wait(PATIENCE).keep_no_bodies();
        let file = number % 6;
        let wanted = Pattern::new(&format!("/{file}"), SIZE).hash();
        client.get(&urls[file]).content.hash() == wanted
    });
    assert!(rights.iter().all(|right| *right), "{rights:?}");
}

/// Stale, with a validator; the origin says 304 to it once the gate is open.
fn stale_behind(gate: &Gate, control: &'static str) -> Origin {
    let held = gate.clone();
    Origin::start(move |request: &Request| {
        if request.field("If-None-Match").is_some() {
            held.pass();
            return Reply::new("304 Not Modified")
                .field("Cache-Control", "max-age=600")
                .field("ETag", "\"v1\"");
        }
        Reply::ok("one")
            .field("Cache-Control", control)
            .field("Age", "100")
            .field("ETag", "\"v1\"")
    })
}

/// Sends `count` requests for a URL, each on a connection of its own, so that all but the first wait.
fn waiting(program: &Program, url: &str, count: usize, gate: &Gate) -> Vec<Client> {
    let mut clients: Vec<Client> = (0..count).map(|_| client(program)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send_request("GET", url, &[]);
        if number == 0 {
            gate.wait_for_arrivals(1);
        }
    }
    // All have been read when a later one is answered: there is one worker.
    client(program).get(&Origin::start(|_: &Request| Reply::ok("y")).url("/"));
    clients
}

/// Many want a stale response: one asks the origin, and its 304 is for all.
#[test]
fn one_question_for_a_stale_response() {
    let gate = Gate::new();
    let origin = stale_behind(&gate, "max-age=60");
    let program = forward(&format!("{COLLAPSE}\nworkers 1"));
    let url = origin.url("/");
    client(&program).get(&url);
    let mut clients = waiting(&program, &url, 50, &gate);
    gate.open();
    for client in &mut clients {
        let answer = client.response();
        assert_eq!((answer.status, &*answer.text()), (200, "one"));
        let status = answer.field("Cache-Status").unwrap_or_default();
        assert!(status.contains(";fwd=stale;"), "{status}");
    }
    assert_eq!(origin.total(), 2);
    let lines = program.wait_for_log_lines(52);
    let joined = lines
        .iter()
        .filter(|line| line.contains("TCP_CF_REFRESH_UNMODIFIED/200"));
    assert_eq!(joined.count(), 49, "{lines:#?}");
}

/// What must be validated for each is asked for each.
#[test]
fn no_cache_is_asked_for_each() {
    let gate = Gate::new();
    let origin = stale_behind(&gate, "no-cache, max-age=600");
    let program = forward(&format!("{COLLAPSE}\nworkers 1"));
    let url = origin.url("/");
    client(&program).get(&url);
    let mut clients = waiting(&program, &url, 5, &gate);
    gate.wait_for_arrivals(5);
    gate.open();
    assert!(
        clients
            .iter_mut()
            .all(|client| client.response().text() == "one")
    );
    assert_eq!(origin.total(), 6);
}

/// The origin fails when it is asked: everyone gets the stale response for one question.
#[test]
fn one_failure_for_a_stale_response() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |request: &Request| {
        if request.field("If-None-Match").is_some() {
            held.pass();
            return Reply::new("503 Busy");
        }
        Reply::ok("one")
            .field("Cache-Control", "max-age=60")
            .field("Age", "100")
            .field("ETag", "\"v1\"")
    });
    let program = forward(&format!("{COLLAPSE}\nworkers 1"));
    let url = origin.url("/");
    client(&program).get(&url);
    let mut clients = waiting(&program, &url, 10, &gate);
    gate.open();
    assert!(
        clients
            .iter_mut()
            .all(|client| client.response().text() == "one")
    );
    assert_eq!(origin.total(), 2);
}

/// A leader whose origin says nothing is overtaken, by one; the rest wait for that one.
#[test]
fn a_slow_leader_is_overtaken() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |request: &Request| {
        if request.field("X-Slow").is_some() {
            held.pass();
        }
        Reply::ok("x").field("Cache-Control", "max-age=600")
    });
    let program =
        forward("collapsed_forwarding on\ncollapsed_forwarding_timeout 1 second\nworkers 1");
    let url = origin.url("/");
    let mut slow = client(&program);
    slow.send_request("GET", &url, &[("X-Slow", "1")]);
    gate.wait_for_arrivals(1);
    let started = Instant::now();
    let mut others: Vec<Client> = (0..20).map(|_| client(&program)).collect();
    for other in &mut others {
        other.send_request("GET", &url, &[]);
    }
    for other in &mut others {
        assert_eq!(other.response().text(), "x");
    }
    assert!(
        started.elapsed() >= Duration::from_millis(700),
        "they waited"
    );
    assert_eq!(origin.total(), 2, "one has asked for all");
    gate.open();
    assert_eq!(slow.response().text(), "x");
}

/// Only what is safe to repeat and the same for everyone waits: nothing with content, with a login, or of another method.
#[test]
fn who_does_not_wait() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |_: &Request| {
        held.pass();
        Reply::ok("x").field("Cache-Control", "max-age=600")
    });
    let program = forward("collapsed_forwarding on\nworkers 1");
    let url = origin.url("/");
    let mut clients: Vec<Client> = (0..6).map(|_| client(&program)).collect();
    let requests: [(&str, &[(&str, &str)]); 6] = [
        ("GET", &[]),
        ("GET", &[("Authorization", "Basic YTpi")]),
        ("GET", &[("If-None-Match", "\"a\"")]),
        ("GET", &[("Cache-Control", "no-cache")]),
        ("POST", &[("Content-Length", "0")]),
        ("PUT", &[("Content-Length", "0")]),
    ];
    for (number, (client, (method, fields))) in clients.iter_mut().zip(requests).enumerate() {
        client.send_request(method, &url, fields);
        gate.wait_for_arrivals(number + 1);
    }
    gate.open();
    for (client, (method, _)) in clients.iter_mut().zip(requests) {
        assert_eq!(client.response_to(method).status, 200);
    }
}
