//! What happens when file descriptors run out. A process of its own, since its limit is lowered.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use net::listener::accept::{Acceptor, Pressure};
use net::listener::{BindOptions, bind_group};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use stats::{Cells, Counter};
use tokio::net::TcpStream;

const DESCRIPTORS: u64 = 80;

fn cpu() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(used).expect("time used is not negative")
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Clients come until nothing is left of the descriptors but the reserve: accepting pauses, uses
/// no processor time to speak of, leaves the reserve to others, and goes on when clients leave.
#[test]
fn accepting_leaves_the_reserve_and_recovers() {
    let limit = Rlimit {
        current: Some(DESCRIPTORS),
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    runtime.block_on(async {
        let (cells, pressure) = (Arc::new(Cells::new()), Pressure::default());
        let loopback = "127.0.0.1:0".parse().unwrap();
        let mut group = bind_group(loopback, 1, &BindOptions::default()).unwrap();
        let listener = group.remove(0);
        let mut acceptor = Acceptor::new(listener, &pressure, &cells).unwrap();
        let addr = acceptor.local_addr();
        let leave = Rc::new(Cell::new(false));
        let leaving = Rc::clone(&leave);
        drop(tokio::task::spawn_local(async move {
            let mut open = Vec::new();
            loop {
                acceptor.accept(&mut open).await;
                if leaving.get() {
                    open.clear();
                }
            }
        }));

        // A client and its accepted end take two descriptors.
        let mut clients = Vec::new();
        while !pressure.is_on() {
            clients.push(TcpStream::connect(addr).await.unwrap());
            let all = u64::try_from(clients.len()).unwrap();
            until(|| pressure.is_on() || cells.get(Counter::ConnectionsAccepted) == all).await;
        }
        let served = cells.get(Counter::ConnectionsAccepted);
        assert!((20..40).contains(&served), "{served}");

        let left: Vec<_> = (0..10).map(|_| std::fs::File::open("/dev/null")).collect();
        assert!(
            left.iter().all(Result::is_ok),
            "the reserve is there for others"
        );
        drop(left);
        clients.push(TcpStream::connect(addr).await.unwrap());

        let before = cpu();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let used = cpu() - before;
        assert!(used < Duration::from_millis(50), "{used:?}");
        assert_eq!(
            cells.get(Counter::ConnectionsAccepted),
            served,
            "the last one waits"
        );

        leave.set(true);
        clients.drain(..10);
        until(|| cells.get(Counter::ConnectionsAccepted) > served).await;
        until(|| !pressure.is_on()).await;
        clients.push(TcpStream::connect(addr).await.unwrap());
        until(|| cells.get(Counter::ConnectionsAccepted) == served + 2).await;
    });
}
