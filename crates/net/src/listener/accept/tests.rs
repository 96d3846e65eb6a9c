//! What accepting promises.

use tokio::net::TcpStream as Client;

use super::*;
use crate::listener::{BindOptions, bind_group};
use crate::testing::{loopback, on_worker};

fn acceptor(cells: &Arc<Cells>, pressure: &Pressure) -> Acceptor {
    let mut group = bind_group(loopback(), 1, &BindOptions::default()).unwrap();
    let listener = group.remove(0);
    Acceptor::new(listener, pressure, cells).unwrap()
}

#[test]
fn waiting_connections_come_in_one_batch() {
    on_worker(async {
        let cells = Arc::default();
        let mut acceptor = acceptor(&cells, &Pressure::default());
        let mut clients = Vec::new();
        for _ in 0..10 {
            clients.push(Client::connect(acceptor.local_addr()).await.unwrap());
        }
        let mut batch = Vec::new();
        acceptor.accept(&mut batch).await;
        let peers: Vec<_> = batch.iter().map(Stream::peer_addr).collect();
        let ours: Vec<_> = clients
            .iter()
            .map(|one| one.local_addr().unwrap())
            .collect();
        assert_eq!(peers, ours);
        assert!(
            batch
                .iter()
                .all(|one| one.local_addr() == acceptor.local_addr())
        );
        assert_eq!(cells.get(Counter::ConnectionsAccepted), 10);
    });
}

#[test]
fn a_batch_is_bounded() {
    on_worker(async {
        let cells = Arc::default();
        let mut acceptor = acceptor(&cells, &Pressure::default());
        let mut clients = Vec::new();
        for _ in 0..=BATCH_MAX {
            clients.push(Client::connect(acceptor.local_addr()).await.unwrap());
        }
        let mut batch = Vec::new();
        acceptor.accept(&mut batch).await;
        assert_eq!(batch.len(), BATCH_MAX);
        acceptor.accept(&mut batch).await;
        assert_eq!(batch.len(), BATCH_MAX + 1);
    });
}

/// The first connection that touches the reserve is served; the next waits until a descriptor
/// below the reserve is free again.
#[test]
fn accepting_pauses_at_the_reserve_and_goes_on_when_descriptors_are_free() {
    on_worker(async {
        let (cells, pressure) = (Arc::default(), Pressure::default());
        let mut acceptor = acceptor(&cells, &pressure);
        let mut clients = Vec::new();
        for _ in 0..2 {
            clients.push(Client::connect(acceptor.local_addr()).await.unwrap());
        }
        // Other tests open descriptors, too: a reserve that begins at 0 is touched for certain.
        acceptor.reserve_start = 0;
        let mut batch = Vec::new();
        acceptor.accept(&mut batch).await;
        assert_eq!(batch.len(), 1, "the reserve serves one");

        let waiting = tokio::time::timeout(PAUSE_MIN, acceptor.accept(&mut batch)).await;
        assert!(waiting.is_err());
        assert!(!pressure.is_on(), "the pause ended with the wait for it");
        assert_eq!(cells.get(Counter::AcceptPauses), 1);
        assert_eq!(cells.level(Gauge::AcceptPaused), 0);

        acceptor.reserve_start = i32::MAX;
        acceptor.accept(&mut batch).await;
        assert_eq!(batch.len(), 2);
        assert_eq!(cells.get(Counter::AcceptPauses), 2);
    });
}

#[test]
fn pressure_is_on_while_accepting_is_paused() {
    on_worker(async {
        let (cells, pressure) = (Arc::default(), Pressure::default());
        let mut acceptor = acceptor(&cells, &pressure);
        acceptor.reserve_start = 0;
        acceptor.short = true;
        let mut batch = Vec::new();
        let mut accepting = std::pin::pin!(acceptor.accept(&mut batch));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(accepting.as_mut().poll(&mut cx).is_pending());
        assert!(pressure.is_on());
        assert_eq!(cells.level(Gauge::AcceptPaused), 1);
    });
}

#[test]
fn the_reserve_is_a_part_of_the_descriptors() {
    let limit = rustix::process::getrlimit(Resource::Nofile).current;
    if let Some(limit) = limit.and_then(|limit| i32::try_from(limit).ok()) {
        assert_eq!(limit - reserve_start(), (limit / 4).min(100));
    }
}

#[test]
fn the_next_descriptor_is_the_lowest_free_one() {
    assert!(next_descriptor().is_some_and(|next| next > 2));
}
