//! What the pool promises.

use super::*;
use crate::testing::{on_paused_worker, on_worker, pair};

fn pool(options: Options) -> (Pool<&'static str>, Arc<Cells>) {
    let cells = Arc::default();
    (Pool::new(options, &cells), cells)
}

/// A connection of the pool, and its far end.
async fn fresh(pool: &Pool<&'static str>, key: &'static str) -> (Pooled, Stream) {
    let (ours, theirs) = pair().await;
    (pool.permit(&key, None).unwrap().with(ours), theirs)
}

#[test]
fn the_connection_put_last_is_taken_first() {
    on_worker(async {
        let (pool, cells) = pool(Options::default());
        let (one, _far_one) = fresh(&pool, "a").await;
        let (two, _far_two) = fresh(&pool, "a").await;
        let last = two.stream.local_addr();
        assert!(!two.is_reused());
        pool.put(one);
        pool.put(two);
        let taken = pool.take(&"a").unwrap();
        assert_eq!(taken.stream.local_addr(), last);
        assert_eq!((taken.uses(), pool.idle(&"a"), pool.open(&"a")), (1, 1, 2));
        assert!(pool.take(&"b").is_none());
        assert_eq!(cells.get(Counter::HopReuses), 1);
        assert_eq!(cells.level(Gauge::HopConnections), 2);
    });
}

#[test]
fn uses_survive_being_taken_apart() {
    on_worker(async {
        let (pool, _) = pool(Options::default());
        let (one, _far) = fresh(&pool, "a").await;
        pool.put(one);
        for uses in 1..4 {
            let (stream, permit) = pool.take(&"a").unwrap().into_parts();
            let whole = permit.with(stream);
            assert_eq!(whole.uses(), uses);
            pool.put(whole);
        }
    });
}

#[test]
fn closed_and_chatty_connections_are_not_given_out() {
    on_worker(async {
        let (pool, cells) = pool(Options::default());
        let (closed, far_closed) = fresh(&pool, "a").await;
        let (chatty, mut far_chatty) = fresh(&pool, "a").await;
        far_chatty.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
        chatty.stream.read_ready().await.unwrap();
        drop(far_closed);
        closed.stream.read_ready().await.unwrap();
        pool.put(closed);
        pool.put(chatty);
        assert!(pool.take(&"a").is_none());
        assert_eq!((pool.idle_total(), pool.open(&"a")), (0, 0));
        assert_eq!(cells.get(Counter::IdleClosedByPeer), 1);
        assert_eq!(cells.get(Counter::IdleSurplus), 1);
        assert_eq!(cells.level(Gauge::HopConnections), 0);
    });
}

#[test]
fn a_sweep_finds_what_the_hop_has_closed() {
    on_worker(async {
        let (pool, cells) = pool(Options::default());
        let (closed, far_closed) = fresh(&pool, "a").await;
        let (open, _far_open) = fresh(&pool, "b").await;
        drop(far_closed);
        closed.stream.read_ready().await.unwrap();
        pool.put(closed);
        pool.put(open);
        pool.sweep();
        assert_eq!(
            (pool.idle(&"a"), pool.idle(&"b"), pool.idle_total()),
            (0, 1, 1)
        );
        assert_eq!(
            pool.shared.hops.borrow().len(),
            1,
            "a hop without connections is forgotten"
        );
        assert_eq!(cells.get(Counter::IdleClosedByPeer), 1);
    });
}

#[test]
fn idle_connections_end_with_their_time() {
    on_paused_worker(async {
        let (pool, cells) = pool(Options::default());
        drop(tokio::task::spawn_local(pool.clone().tend()));
        let (one, _far) = fresh(&pool, "a").await;
        pool.put(one);
        tokio::time::sleep(Duration::from_secs(59)).await;
        assert_eq!(pool.idle_total(), 1);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!((pool.idle_total(), pool.open(&"a")), (0, 0));
        assert_eq!(cells.get(Counter::IdleExpired), 1);
    });
}

#[test]
fn each_hop_and_the_whole_have_a_limit() {
    on_worker(async {
        let (pool, cells) = pool(Options {
            idle_per_hop_max: 1,
            idle_max: 2,
            ..Options::default()
        });
        let mut far = Vec::new();
        for key in ["a", "a", "b", "c"] {
            let (one, end) = fresh(&pool, key).await;
            far.push((one.stream.local_addr(), end));
            pool.put(one);
        }
        let idle = ["a", "b", "c"].map(|key| pool.idle(&key));
        assert_eq!(idle, [1, 1, 0]);
        let newest_a = pool.take(&"a").unwrap().stream.local_addr();
        assert_eq!(newest_a, far[1].0, "the older one made room");
        assert_eq!(cells.get(Counter::LimitIdleHop), 1);
        assert_eq!(cells.get(Counter::LimitIdleTotal), 1);
        assert_eq!(cells.level(Gauge::HopConnections), 1, "b's");
    });
}

#[test]
fn permits_count_open_connections() {
    on_worker(async {
        let (pool, cells) = pool(Options::default());
        let one = pool.permit(&"a", Some(2)).unwrap();
        let (stream, _far) = pair().await;
        pool.put(pool.permit(&"a", Some(2)).unwrap().with(stream));
        assert!(pool.permit(&"a", Some(2)).is_none(), "an idle one counts");
        assert_eq!(cells.get(Counter::LimitHopConnections), 1);
        drop(one);
        assert!(pool.permit(&"a", Some(2)).is_some());
        pool.clear_hop(&"a");
        assert_eq!((pool.open(&"a"), pool.idle_total()), (0, 0));
    });
}

#[test]
fn a_closed_connection_tells_how_many_requests_it_carried() {
    on_worker(async {
        let (pool, cells) = pool(Options::default());
        let (one, _far_one) = fresh(&pool, "a").await;
        let (two, _far_two) = fresh(&pool, "a").await;
        drop(one);
        pool.put(two);
        let again = pool.take(&"a").unwrap();
        pool.put(again);
        pool.clear();
        let mut closed = closed_after(&cells);
        closed.retain(|(_, count)| *count > 0);
        assert_eq!(closed, [(1, 1), (2, 1)]);
    });
}

/// How many connections were closed after how many requests.
fn closed_after(cells: &Cells) -> Vec<(u64, u64)> {
    let uses = cells.histogram(Histogram::HopUses);
    let counts = uses.counts.iter().enumerate();
    counts
        .map(|(bucket, count)| (stats::bucket_start(bucket), *count))
        .collect()
}

#[test]
fn a_cleared_pool_is_empty() {
    on_worker(async {
        let (pool, cells) = pool(Options::default());
        let mut far = Vec::new();
        for key in ["a", "b"] {
            let (one, end) = fresh(&pool, key).await;
            far.push(end);
            pool.put(one);
        }
        pool.clear();
        assert_eq!(pool.idle_total(), 0);
        assert_eq!(cells.level(Gauge::HopConnections), 0);
        assert_eq!(cells.level(Gauge::HopConnectionsIdle), 0);
    });
}
