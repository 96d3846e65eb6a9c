//! Bandwidth that is shared: who shares it, what it holds for, and that all of it is given out. Too much is always
//! a fault; a busy machine may give less, so what is asked of that side is modest. The exact figures are those of
//! the buckets' own tests.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use testkit::{Client, Origin, Pattern, Program, Reply, Request, Signal, until};

use crate::support::{client, forward};

/// Bytes in a second, and what a bucket holds.
const RATE: u64 = 50_000;
/// Content that takes two seconds at that rate.
const SIZE: u64 = 2 * RATE;
/// What isn't limited is here well before.
const SOON: Duration = Duration::from_secs(1);

/// Every path is so many bytes; `/hit…` may be stored.
fn origin() -> Origin {
    let pattern = Pattern::new("delayed", SIZE);
    Origin::start(move |request: &Request| {
        let stored = request.target.starts_with("/hit");
        let control = if stored { "max-age=600" } else { "no-store" };
        Reply::pattern(&pattern).field("Cache-Control", control)
    })
}

/// A pool of this class for everybody, with empty buckets.
fn pool(class: u8, rates: &str) -> String {
    format!(
        "delay_pools 1\ndelay_class 1 {class}\ndelay_parameters 1 {rates}\ndelay_access 1 allow all\n\
         delay_initial_bucket_level 0\n"
    )
    .replace("{rate}", &format!("{RATE}/{RATE}"))
}

/// Gets a page whole, and says how long that took.
fn timed(client: &mut Client, url: &str) -> Duration {
    let start = Instant::now();
    let answer = client.get(url);
    assert_eq!((answer.status, answer.content.len), (200, SIZE), "{url}");
    start.elapsed()
}

/// The same for these clients at once: when the last of them is done.
fn all_timed(clients: Vec<Client>, url: &str) -> Duration {
    let start = Instant::now();
    thread::scope(|scope| {
        for mut client in clients {
            scope.spawn(move || timed(&mut client, url));
        }
    });
    start.elapsed()
}

/// Did `bytes` take the time that they take at the rate, and not much more?
#[track_caller]
fn limited(took: Duration, bytes: u64) {
    let due = Duration::from_secs_f64(bytes as f64 / RATE as f64);
    assert!(took > due.mul_f64(0.97), "{took:?} rather than {due:?}");
    assert!(took < due.mul_f64(2.5), "{took:?} rather than {due:?}");
}

#[track_caller]
fn free(took: Duration) {
    assert!(took < SOON, "{took:?}");
}

/// Two users with eight connections each, on two workers, get the same, and each what a user may have.
#[test]
fn users_share_what_each_may_have() {
    const USER_RATE: u64 = 400_000;
    let origin = Origin::start(|request: &Request| {
        let reply = Reply::ok("").field("Cache-Control", "no-store");
        if request.target == "/door" {
            return reply;
        }
        reply.until_close().run(|connection| {
            while connection.send(&[b'x'; 65_536]).is_ok() {}
            Ok(())
        })
    });
    let program = Program::start(&format!(
        "workers 2
auth_param basic program /usr/lib/squid/basic_fake_auth
acl user proxy_auth REQUIRED
acl door urlpath_regex ^/door
http_access allow user
delay_pools 1
delay_class 1 4
delay_parameters 1 none none none {USER_RATE}/{USER_RATE}
delay_access 1 deny door
delay_access 1 allow all
delay_initial_bucket_level 0"
    ));
    let totals = [AtomicU64::new(0), AtomicU64::new(0)];
    let ready = Barrier::new(16);
    let (url, ready, totals) = (&origin.url("/"), &ready, &totals);
    let read = |place: usize| {
        let mut client = client(&program);
        let pair = STANDARD.encode(["ann:ann", "bob:bob"][place]);
        let login = ("Proxy-Authorization", &*format!("Basic {pair}"));
        // The helper's time is not to count.
        let door = client.request("GET", &origin.url("/door"), &[login]);
        assert_eq!(door.status, 200);
        ready.wait();
        let begun = Instant::now();
        client.send_request("GET", url, &[login]);
        let end = begun + Duration::from_secs(4);
        let mut buffer = [0; 65_536];
        while Instant::now() < end {
            let count = std::io::Read::read(client.connection(), &mut buffer).unwrap();
            assert!(count > 0, "closed");
            totals[place].fetch_add(count as u64, Ordering::Relaxed);
        }
        begun
    };
    let start = thread::scope(|scope| {
        let spawn = |number: usize| scope.spawn(move || read(number % 2));
        let threads: Vec<_> = (0..16).map(spawn).collect();
        let begun = threads.into_iter().map(|thread| thread.join().unwrap());
        begun.min().unwrap()
    });
    let most = USER_RATE as f64 * start.elapsed().as_secs_f64();
    let shares = totals
        .each_ref()
        .map(|total| total.load(Ordering::Relaxed) as f64 / most);
    println!("shares of the users' rates: {shares:?}");
    assert!(
        shares.iter().all(|share| (0.8..1.03).contains(share)),
        "{shares:?}"
    );
}

/// What the cache has costs nobody's bandwidth; what was fetched for it did.
#[test]
fn hits_are_free() {
    let origin = origin();
    let program = forward(&pool(1, "{rate}"));
    let mut client = client(&program);
    limited(timed(&mut client, &origin.url("/hit")), SIZE);
    free(timed(&mut client, &origin.url("/hit")));
}

/// IPv6 clients have buckets of their own too; a /64 is one client.
#[test]
fn ipv6_clients() {
    let origin = origin();
    let conf = pool(2, "none {rate}");
    let program = forward(&format!(
        "http_port 127.0.0.1:{{port}}\nhttp_port [::1]:{{port}}\n{conf}"
    ));
    let addr = SocketAddr::from((Ipv6Addr::LOCALHOST, program.port()));
    let clients = vec![Client::connect(addr), Client::connect(addr)];
    limited(all_timed(clients, &origin.url("/")), 2 * SIZE);
}

/// What comes through a tunnel takes bandwidth, what goes up doesn't.
#[test]
fn tunnels() {
    let origin = origin();
    let program = forward(&pool(1, "{rate}"));
    let mut client = client(&program);
    let answer = client.request("CONNECT", &origin.addr().to_string(), &[]);
    assert_eq!(answer.status, 200);
    let start = Instant::now();
    let body = vec![b'u'; 8 * SIZE as usize];
    let length = body.len().to_string();
    client.send_request("POST", "/", &[("Host", "x"), ("Content-Length", &length)]);
    client.send(&body);
    origin.wait_for_requests(1);
    free(start.elapsed());
    assert_eq!(client.response().content.len, SIZE);
    limited(start.elapsed(), SIZE);
}

/// A network shares a bucket, another has another; so it is in a class without networks for the clients.
#[test]
fn networks() {
    let origin = origin();
    let program = forward(&pool(3, "none {rate} none"));
    let from = |addr: &str| {
        let addr: IpAddr = addr.parse().unwrap();
        Client::connect_from(addr, program.addr())
    };
    let url = origin.url("/");
    limited(
        all_timed(vec![from("127.0.1.1"), from("127.0.2.1")], &url),
        SIZE,
    );
    limited(
        all_timed(vec![from("127.0.3.1"), from("127.0.3.2")], &url),
        2 * SIZE,
    );
}

/// The first pool that lets a request in has it, and a pool without limits frees it.
#[test]
fn the_first_pool_wins() {
    let origin = origin();
    let program = forward(
        "acl quick url_regex quick
delay_pools 3
delay_class 2 1
delay_parameters 2 none
delay_access 1 allow all
delay_access 2 allow quick
delay_access 2 deny all
delay_class 3 1
delay_parameters 3 50000/50000
delay_access 3 allow all
delay_initial_bucket_level 0",
    );
    let mut client = client(&program);
    free(timed(&mut client, &origin.url("/quick")));
    limited(timed(&mut client, &origin.url("/other")), SIZE);
}

/// What comes from a peer with `no-delay` takes nobody's bandwidth.
#[test]
fn peers_may_be_free() {
    let origin = origin();
    let program = forward(&format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query originserver no-delay\nnever_direct allow all\n{}",
        origin.port(),
        pool(1, "{rate}")
    ));
    free(timed(&mut client(&program), &origin.url("/")));
}

/// All to whom a helper gave the same tag share a bucket; who has no tag isn't limited.
#[test]
fn tags() {
    let origin = origin();
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let helper = dir.path().join("helper");
    let script = "#!/bin/sh\nwhile read -r path; do\ncase $path in\n*free*) echo OK ;;\n*) echo OK tag=slow ;;\nesac\ndone\n";
    std::fs::write(&helper, script).unwrap();
    std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = Program::start(&format!(
        "external_acl_type tagger concurrency=0 children-max=1 %PATH {}\nacl tagged external tagger\n\
         http_access allow tagged\n{}",
        helper.display(),
        pool(5, "{rate}")
    ));
    free(timed(&mut client(&program), &origin.url("/free")));
    let both = vec![client(&program), client(&program)];
    limited(all_timed(both, &origin.url("/")), 2 * SIZE);
}

/// What a client is sent is limited wherever it comes from; each address by itself.
#[test]
fn clients_are_sent_so_much() {
    let origin = origin();
    let program = forward(&format!(
        "acl held src 127.0.0.2 127.0.0.3
client_delay_pools 1
client_delay_access 1 allow held
client_delay_access 1 deny all
client_delay_parameters 1 {RATE} {RATE}
client_delay_initial_bucket_level 0"
    ));
    let url = origin.url("/hit");
    free(timed(&mut client(&program), &url));
    let from = |addr: &str| {
        let addr: IpAddr = addr.parse().unwrap();
        Client::connect_from(addr, program.addr())
    };
    limited(
        all_timed(vec![from("127.0.0.2"), from("127.0.0.3")], &url),
        SIZE,
    );
    let mut held = from("127.0.0.2");
    assert_eq!(
        held.request("CONNECT", &origin.addr().to_string(), &[])
            .status,
        200
    );
    limited(timed(&mut held, "/"), SIZE);
    assert_eq!(origin.count("/hit"), 1);
}

/// Responses are limited by what they are: each by itself, and all together.
#[test]
fn responses() {
    let origin = Origin::start(|request: &Request| {
        let kind = if request.target.starts_with("/film") {
            "video/x"
        } else {
            "text/x"
        };
        let reply = Reply::pattern(&Pattern::new("film", SIZE));
        reply
            .field("Content-Type", kind)
            .field("Cache-Control", "max-age=600")
    });
    let program = forward(&format!(
        "acl film rep_mime_type video
acl small url_regex small
response_delay_pool each individual-restore={RATE} individual-maximum={RATE} initial-bucket-level=0
response_delay_pool_access each deny small
response_delay_pool_access each allow film
response_delay_pool all aggregate-restore={RATE} aggregate-maximum={RATE} initial-bucket-level=0
response_delay_pool_access all allow film"
    ));
    let (two, url) = (
        || vec![client(&program), client(&program)],
        origin.url("/film"),
    );
    free(timed(&mut client(&program), &origin.url("/text")));
    limited(all_timed(two(), &url), SIZE);
    limited(all_timed(two(), &url), SIZE); // hits too
    limited(all_timed(two(), &origin.url("/film/small")), 2 * SIZE);
}

/// A reload that leaves a pool as it is leaves its buckets as they are; a changed one begins anew.
#[test]
fn a_reload_fills_no_bucket() {
    let origin = origin();
    let rates = format!("1000/{SIZE}");
    let full = pool(1, &rates).replace("level 0", "level 100");
    let program = forward(&full);
    let reload = |text: &str| {
        let done = || program.read("cache.log").matches("Reconfigured.").count();
        let before = done();
        program.write("squid.conf", text);
        program.signal(Signal::HUP);
        until("the new configuration", || (done() > before).then_some(()));
    };
    // Bytes that come in a second and a half.
    let comes = || {
        let mut client = client(&program);
        client.send_request("GET", &origin.url("/"), &[]);
        let end = Instant::now() + Duration::from_millis(1500);
        let (mut buffer, mut sum) = ([0; 65_536], 0);
        while sum < SIZE
            && let Some(left) = end.checked_duration_since(Instant::now())
        {
            client
                .connection()
                .set_wait(left.max(Duration::from_millis(1)));
            sum += std::io::Read::read(client.connection(), &mut buffer).unwrap_or(0) as u64;
        }
        sum
    };
    assert!(comes() >= SIZE); // the bucket is empty now
    let conf = program.read("squid.conf");
    reload(&format!("{conf}\ndns_timeout 7 seconds"));
    let came = comes();
    assert!(came < SIZE / 2, "{came}: the bucket was filled");
    reload(&conf.replace(&rates, &format!("2000/{SIZE}")));
    assert!(comes() >= SIZE);
}
