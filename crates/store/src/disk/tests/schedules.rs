//! Volumes with all their threads, in orders that shuttle chooses: each time a thread takes a lock, or looks at what others
//! change, another may go on. `cargo xtask models` runs it.

use std::sync::Arc;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use super::model::{Tally, run, sequence};
use super::threads::mix;

/// Of each thread. Those of std have as much.
const STACK_BYTES: usize = 2 << 20;
/// How often a thread is overtaken where orders are few but telling.
const OVERTAKEN: usize = 3;

/// How many orders there is time for; more by `SQUALL_ORDERS`.
fn orders() -> u64 {
    let asked = std::env::var("SQUALL_ORDERS").ok();
    asked.map_or(64, |asked| asked.parse().unwrap())
}

/// Each order with what chance gives for its number: the same each time.
fn explore(
    number: u64,
    scheduler: impl Scheduler + 'static,
    test: impl Fn() + Send + Sync + 'static,
) {
    println!("order {number}");
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.max_steps = MaxSteps::None;
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(test);
}

#[test]
fn in_any_order_a_volume_is_a_map_that_forgets() {
    let mut chance = TestRunner::deterministic();
    for number in 0..orders() {
        let sequence = Arc::new(sequence().new_tree(&mut chance).unwrap().current());
        let scheduler = RandomScheduler::new_from_seed(number, 1);
        explore(number, scheduler, move || run(&sequence, &Tally::default()));
    }
}

#[test]
fn in_any_order_threads_do_not_mix_things_up() {
    let test = || assert_eq!(mix(1 << 20, 30).wrong, 0);
    for number in 0..orders() {
        explore(number, RandomScheduler::new_from_seed(number, 1), test);
        explore(
            number,
            PctScheduler::new_from_seed(number, OVERTAKEN, 1),
            test,
        );
    }
}
