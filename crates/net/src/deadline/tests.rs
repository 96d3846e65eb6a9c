//! What deadlines promise.

use std::future::{pending, ready};

use super::*;
use crate::testing::on_paused_worker;

fn start() -> Ticker {
    let ticker = Ticker::new(TICK, None);
    drop(tokio::task::spawn_local(ticker.clone().run()));
    ticker
}

#[test]
fn it_expires_after_its_time_and_at_most_two_ticks_late() {
    on_paused_worker(async {
        let ticker = start();
        for millis in [0, 1, 249, 250, 251, 1000, 60_000] {
            let after = Duration::from_millis(millis);
            let begun = Instant::now();
            let deadline = ticker.deadline();
            deadline.set(after);
            assert_eq!(deadline.guard(pending::<()>()).await, Err(Expired));
            let took = begun.elapsed();
            assert!(
                took >= after && took <= after + 2 * TICK,
                "{after:?}: {took:?}"
            );
        }
    });
}

#[test]
fn ready_work_wins_over_a_deadline_that_has_passed() {
    on_paused_worker(async {
        let ticker = start();
        let deadline = ticker.deadline();
        deadline.set(Duration::ZERO);
        assert_eq!(deadline.guard(pending::<()>()).await, Err(Expired));
        assert!(deadline.is_expired());
        assert_eq!(deadline.guard(ready(7)).await, Ok(7));
    });
}

#[test]
fn setting_it_again_moves_it_and_clearing_it_ends_it() {
    on_paused_worker(async {
        let ticker = start();
        let (one, other) = (ticker.deadline(), ticker.deadline());
        one.set(Duration::from_secs(1));
        other.set(Duration::from_secs(3));
        let begun = Instant::now();
        let work = async {
            tokio::time::sleep(Duration::from_millis(900)).await;
            one.set(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(900)).await;
            one.clear();
            tokio::time::sleep(Duration::from_secs(100)).await;
        };
        let both = other.guard(one.guard(work)).await;
        assert_eq!(both, Err(Expired), "only the other one expires");
        assert!(begun.elapsed() >= Duration::from_secs(3));
    });
}

#[test]
fn the_ticker_sleeps_without_a_timer_while_nothing_is_set() {
    on_paused_worker(async {
        let ticker = start();
        let deadline = ticker.deadline();
        tokio::task::yield_now().await;
        assert!(ticker.is_parked());

        deadline.set(Duration::from_secs(5));
        assert!(!ticker.is_parked());
        deadline.clear();
        tokio::time::sleep(2 * TICK).await;
        assert!(ticker.is_parked(), "a cleared deadline lets it park again");

        deadline.set(Duration::from_secs(1));
        drop(deadline);
        tokio::time::sleep(2 * TICK).await;
        assert!(ticker.is_parked(), "so does one that is dropped");
        assert!(ticker.is_empty());
    });
}

#[test]
fn time_spent_parked_does_not_count() {
    on_paused_worker(async {
        let ticker = start();
        let deadline = ticker.deadline();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        let begun = Instant::now();
        deadline.set(Duration::from_secs(1));
        assert_eq!(deadline.guard(pending::<()>()).await, Err(Expired));
        assert!(begun.elapsed() >= Duration::from_secs(1));
    });
}

#[test]
fn ten_thousand_deadlines_expire_each_in_its_own_task() {
    on_paused_worker(async {
        let ticker = start();
        let tasks: Vec<_> = (0..10_000)
            .map(|number: u64| {
                let deadline = ticker.deadline();
                deadline.set(Duration::from_millis(number));
                tokio::task::spawn_local(async move { deadline.guard(pending::<()>()).await })
            })
            .collect();
        assert_eq!(ticker.len(), 10_000);
        for task in tasks {
            assert_eq!(task.await.unwrap(), Err(Expired));
        }
        assert!(ticker.is_empty());
    });
}

#[test]
fn endless_times_do_not_overflow() {
    let ticker = Ticker::new(TICK, None);
    let deadline = ticker.deadline();
    deadline.set(Duration::MAX);
    assert!(!deadline.is_expired());
}

#[test]
fn handles_and_slots_are_small() {
    assert!(size_of::<Deadline>() <= 16, "{}", size_of::<Deadline>());
    assert!(size_of::<Slot>() <= 40, "{}", size_of::<Slot>());
}
