//! The memory of the program under load, with a memory cache that is full and a disk cache that overflows: never more than
//! a fifth above `cache_mem` and 128 MiB for all the rest. A longer run by `SQUALL_REQUESTS`. And what those take who wait.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use testkit::{Client, Origin, Reply, Request};

use crate::disk::cache;
use crate::disk_large::watched;
use crate::support::{client, forward};
use crate::versions::Versions;

const CLIENTS: usize = 8;
const REQUESTS: usize = 6_000;
const CACHE_MEM_MIB: u64 = 32;
/// What the program is allowed besides.
const BESIDES_MIB: u64 = 128;

/// A few that are asked for often, many that aren't, and now and then a large one.
fn path(number: usize) -> String {
    let drawn = testkit::hash(&number.to_le_bytes());
    let name = match drawn % 4 {
        0 => drawn >> 8 & 0xff,
        1 => drawn >> 8 & 0xfff,
        _ => drawn >> 8 & 0xf_ffff,
    };
    let bytes = match name % 200 {
        0 => 3_000_000,
        1..10 => 200_000,
        other => 300 + other * 97,
    };
    format!("/{bytes}/{name}")
}

#[test]
fn memory_stays_within_what_it_is_given() {
    let requests = std::env::var("SQUALL_REQUESTS").ok();
    let requests = requests.and_then(|text| text.parse().ok());
    let requests: usize = requests.unwrap_or(REQUESTS);
    let (dir, origin) = (cache(), Versions::start());
    let program = forward(&format!(
        "cache_mem {CACHE_MEM_MIB} MB\nmaximum_object_size_in_memory 1 MB\n\
         cache_dir aufs {} 200 16 256\nmaximum_object_size 8 MB",
        dir.path().display()
    ));
    let next = AtomicUsize::new(0);
    let work = |client: &mut Client| {
        while next.fetch_add(1, Relaxed) < requests {
            origin.fetch(client, &path(next.load(Relaxed)));
        }
    };
    let ((), most) = watched(&program, || {
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| work(&mut client(&program).keep_no_bodies()));
            }
        });
    });
    let allowed = (CACHE_MEM_MIB + BESIDES_MIB) * 1024 * 12 / 10;
    let fetched = origin.latest();
    println!("{requests} requests, {fetched} of them fetched: at most {most} KiB of {allowed}");
    assert!(most <= allowed, "{most} KiB");
}

const WAITING: usize = 300;

/// What a client takes that has got `bytes` of what it asks for, and waits for more, KiB.
fn waiting_kib(field: (&str, &str), bytes: usize) -> u64 {
    let origin = Origin::start({
        let (name, value) = (field.0.to_owned(), field.1.to_owned());
        move |request: &Request| match (request.target.as_str(), bytes) {
            ("/first", _) => Reply::ok("good").field("Cache-Control", "no-store"),
            (_, 0) => Reply::raw("").stall(),
            _ => Reply::ok("")
                .field("Content-Length", "200000")
                .field(&name, &value)
                .send("x".repeat(bytes))
                .stall(),
        }
    });
    let program = forward("");
    let ask = |path: &str| {
        let mut client = client(&program);
        client.send_request("GET", &origin.url(path), &[]);
        client
    };
    for mut client in (0..WAITING / 2).map(|_| ask("/first")).collect::<Vec<_>>() {
        assert_eq!(client.response().body(), b"good");
    }
    let before = program.rss_kib();
    let mut waiting: Vec<Client> = (0..WAITING).map(|n| ask(&format!("/{n}"))).collect();
    origin.wait_for_requests(WAITING / 2 + WAITING);
    if bytes > 0 {
        for client in &mut waiting {
            client.read_exact(bytes);
        }
    }
    program.rss_kib().saturating_sub(before) / WAITING as u64
}

#[test]
fn who_waits_for_an_origin_takes_little() {
    let states = [
        ("a head", ("", ""), 0, 32),
        ("more to keep", ("Cache-Control", "max-age=600"), 8_000, 64),
        ("more to pass on", ("Cache-Control", "no-store"), 8_000, 64),
    ];
    for (what, field, bytes, most) in states {
        let each = waiting_kib(field, bytes);
        println!("{each} KiB for each of {WAITING} that wait for {what}");
        assert!(each <= most, "{each} KiB for each that waits for {what}");
    }
}
