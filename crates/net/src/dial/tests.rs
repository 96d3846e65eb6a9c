//! What dialing promises.

use tokio::net::TcpListener;

use super::*;
use crate::testing::{loopback, on_worker};

fn cells() -> Arc<Cells> {
    Arc::default()
}

async fn listening() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(loopback()).await.unwrap();
    let addr = listener.local_addr().unwrap();
    (listener, addr)
}

/// An address where nobody listens.
async fn refusing() -> SocketAddr {
    listening().await.1
}

/// An address that doesn't answer: its backlog is full. Holds what keeps it so.
struct Silent {
    addr: SocketAddr,
    _listener: Socket,
    _clients: Vec<Socket>,
}

fn silent() -> Silent {
    let socket = || {
        let kind = Type::STREAM.nonblocking();
        Socket::new(Domain::IPV4, kind, Some(Protocol::TCP)).unwrap()
    };
    let listener = socket();
    listener.bind(&loopback().into()).unwrap();
    listener.listen(0).unwrap();
    let addr = listener.local_addr().unwrap();
    let clients = (0..8).map(|_| socket()).collect::<Vec<_>>();
    for client in &clients {
        drop(client.connect(&addr));
    }
    Silent {
        addr: addr.as_socket().unwrap(),
        _listener: listener,
        _clients: clients,
    }
}

#[test]
fn it_connects_and_knows_both_addresses() {
    on_worker(async {
        let (listener, addr) = listening().await;
        let cells = cells();
        let dialed = connect(&[addr], &DialOptions::default(), &cells)
            .await
            .unwrap();
        let (_, peer) = listener.accept().await.unwrap();
        assert_eq!(dialed.stream.peer_addr(), addr);
        assert_eq!(dialed.stream.local_addr(), peer);
        assert!(dialed.failed.is_empty());
        assert_eq!(cells.get(Counter::HopConnects), 1);
    });
}

#[test]
fn no_address_is_a_failure_of_its_own() {
    on_worker(async {
        let error = connect(&[], &DialOptions::default(), &cells())
            .await
            .unwrap_err();
        assert_eq!((error.kind, error.addr), (DialFailure::NoAddress, None));
    });
}

#[test]
fn a_refusal_moves_on_to_the_next_address_at_once() {
    on_worker(async {
        let ((_listener, good), bad) = (listening().await, refusing().await);
        let options = DialOptions {
            gap: Duration::from_secs(1000),
            ..DialOptions::default()
        };
        let dialed = connect(&[bad, good], &options, &cells()).await.unwrap();
        assert_eq!(dialed.stream.peer_addr(), good);
        assert_eq!(dialed.failed.as_slice(), [bad]);
    });
}

#[test]
fn all_refusing_is_refused() {
    on_worker(async {
        let bad = [refusing().await, refusing().await];
        let cells = cells();
        let error = connect(&bad, &DialOptions::default(), &cells)
            .await
            .unwrap_err();
        assert_eq!(error.kind, DialFailure::Refused);
        assert_eq!(error.failed.len(), 2);
        assert!(error.source.is_some());
        assert_eq!(cells.get(Counter::HopConnectFailures), 1);
    });
}

#[test]
fn a_silent_address_does_not_hold_up_the_next() {
    on_worker(async {
        let (silent, (_listener, good)) = (silent(), listening().await);
        let options = DialOptions {
            gap: Duration::from_millis(5),
            ..DialOptions::default()
        };
        let dialed = connect(&[silent.addr, good], &options, &cells())
            .await
            .unwrap();
        assert_eq!(dialed.stream.peer_addr(), good);
        assert!(
            dialed.failed.is_empty(),
            "the silent one might still have answered"
        );
    });
}

#[test]
fn an_attempt_and_the_whole_have_their_time() {
    on_worker(async {
        let silent = silent();
        for (attempt, overall) in [(5, 60_000), (60_000, 5)] {
            let options = DialOptions {
                attempt: Duration::from_millis(attempt),
                overall: Duration::from_millis(overall),
                ..DialOptions::default()
            };
            let cells = cells();
            let error = connect(&[silent.addr], &options, &cells).await.unwrap_err();
            assert_eq!(
                (error.kind, error.addr),
                (DialFailure::TimedOut, Some(silent.addr))
            );
            assert_eq!(error.failed.as_slice(), [silent.addr]);
            assert_eq!(cells.get(Counter::TimeoutsConnect), 1);
        }
    });
}

#[test]
fn a_refusal_is_tried_again_as_often_as_asked() {
    on_worker(async {
        let bad = refusing().await;
        let options = DialOptions {
            retries: 2,
            ..DialOptions::default()
        };
        let begun = Instant::now();
        let error = connect(&[bad], &options, &cells()).await.unwrap_err();
        assert_eq!(error.kind, DialFailure::Refused);
        assert!(begun.elapsed() >= 2 * RETRY_PAUSE);
    });
}

#[test]
fn our_own_address_is_the_one_asked_for() {
    on_worker(async {
        let (_listener, addr) = listening().await;
        let options = DialOptions {
            local_v4: Some([127, 0, 0, 9].into()),
            ..DialOptions::default()
        };
        let dialed = connect(&[addr], &options, &cells()).await.unwrap();
        assert_eq!(
            dialed.stream.local_addr().ip(),
            IpAddr::from([127, 0, 0, 9])
        );
        let options = DialOptions {
            local_v4: Some([203, 0, 113, 1].into()),
            ..options
        };
        let error = connect(&[addr], &options, &cells()).await.unwrap_err();
        assert_eq!(error.kind, DialFailure::LocalAddress);
    });
}

#[test]
fn families_take_turns() {
    let check = |given: &[&str], expected: &[&str]| {
        let parse = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        assert_eq!(interleaved(&parse(given)), parse(expected));
    };
    check(
        &["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"],
        &["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"],
    );
    check(&["1.1.1.1:1", "[::1]:1"], &["1.1.1.1:1", "[::1]:1"]);
    check(&[], &[]);
}
