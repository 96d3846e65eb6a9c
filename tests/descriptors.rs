//! Few descriptors and many clients: the program takes no more clients than it has room for, keeps
//! a reserve for those it has, doesn't spin meanwhile, and recovers.

use std::time::Duration;

use testkit::{Builder, Client, Failed, Origin, Program, Reply, squall, until, until_within};

use crate::panics::unhurt;

const CLIENTS: usize = 1000;

/// Has the program start with at most `limit` descriptors.
fn limited(builder: Builder, limit: usize) -> Builder {
    builder
        .binary("/bin/sh")
        .arg("-c")
        .arg(format!("ulimit -n {limit}; exec \"$0\" \"$@\""))
        .arg(squall())
        .arg("-N")
}

/// a thousand clients at a limit of 256 descriptors: some are served, the others wait, and
/// all are answered in
/// the end; while it is full the program is at rest and still fetches for the clients it has.
#[test]
fn a_full_program_serves_on_and_recovers() {
    let origin = Origin::start(|request| match request.target.as_str() {
        "/stored" => Reply::ok("good").field("Cache-Control", "max-age=600"),
        _ => Reply::ok("good").field("Connection", "close").close(),
    });
    let mut program = limited(
        Program::builder("http_access allow all\nclient_lifetime 1 hour"),
        256,
    )
    .start();
    let stored = origin.url("/stored");
    assert_eq!(Client::connect(program.addr()).get(&stored).body(), b"good");
    let mut clients: Vec<Client> = (0..CLIENTS)
        .map(|_| {
            let mut client = Client::connect(program.addr());
            client.send_request("GET", &stored, &[]);
            client
        })
        .collect();
    let served = || program.access_log_lines().len().saturating_sub(1);
    // Full is when no more are served for a second.
    let mut count = 0;
    until("a full program", || {
        let before = count;
        until_within(Duration::from_secs(1), || None::<()>);
        count = served();
        (count == before && count > 0).then_some(())
    });
    assert!(
        (100..256).contains(&count),
        "{count} clients at 256 descriptors"
    );

    let before = program.cpu_time();
    until_within(Duration::from_secs(2), || None::<()>);
    let spent = program.cpu_time() - before;
    println!("descriptors: full with {count} clients; {spent:?} of processor time in 2 s");
    assert!(
        spent < Duration::from_millis(400),
        "{spent:?} in 2 s: more than a fifth of a core"
    );

    // A client that it has is served from the store, and from an origin by way of the reserve.
    let first = clients.first_mut().expect("a client");
    assert_eq!(first.response().body(), b"good");
    for number in 0..50 {
        assert_eq!(
            first.get(&origin.url(&format!("/fetched/{number}"))).body(),
            b"good"
        );
        assert_eq!(first.get(&stored).body(), b"good");
    }
    // As clients leave, the next are taken.
    clients.remove(0);
    let mut waiting: Vec<Client> = clients
        .into_iter()
        .map(|client| client.wait(Duration::from_millis(1)))
        .collect();
    until_within(Duration::from_secs(30), || {
        waiting.retain_mut(|client| match client.try_response_to("GET") {
            Ok(answer) => {
                assert_eq!(answer.body(), b"good");
                false
            }
            Err(Failed::TimedOut(None)) => true,
            Err(failed) => panic!("{failed:?}"),
        });
        waiting.is_empty().then_some(())
    });
    assert_eq!(waiting.len(), 0, "clients were never served");
    assert_eq!(
        Client::connect(program.addr())
            .get(&origin.url("/after"))
            .body(),
        b"good"
    );
    unhurt(&mut program);
}

/// clients that each need an origin, too, use up what there is: each gets an answer, good or
/// bad, and the program recovers.
#[test]
fn misses_at_the_limit_are_all_answered() {
    let origin = Origin::start(|_| Reply::ok("good"));
    let mut program = limited(
        Program::builder("http_access allow all\nvisible_hostname test.example"),
        128,
    )
    .start();
    let mut clients: Vec<Client> = (0..400)
        .map(|number| {
            let mut client = Client::connect(program.addr());
            client.send_request(
                "GET",
                &origin.url(&format!("/{number}")),
                &[("Connection", "close")],
            );
            client
        })
        .collect();
    let mut bad = 0;
    for client in &mut clients {
        match client.response().status {
            200 => {}
            500..600 => bad += 1,
            other => panic!("{other}"),
        }
    }
    println!("descriptors: {bad} of 400 misses at 128 descriptors got a 5xx");
    assert!(bad < 200, "{bad} of 400 failed");
    drop(clients);
    assert_eq!(
        Client::connect(program.addr())
            .get(&origin.url("/after"))
            .body(),
        b"good"
    );
    unhurt(&mut program);
}
