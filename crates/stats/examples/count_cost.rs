//! What counting costs a hit: the cells that are written when a reply from memory has been sent.
//! `cargo run --release -p stats --example count_cost`

#![expect(clippy::print_stdout, reason = "it tells what it has measured")]

use std::hint::black_box;
use std::time::Instant;

use stats::{Cells, Counter, Gauge, Histogram};

const HITS: u64 = 20_000_000;

fn count(cells: &Cells, bytes: u64, microseconds: u64) {
    let serving = cells.during(Gauge::Transactions);
    cells.count(Counter::ClientRequests);
    cells.add(Counter::ClientBytesIn, 120);
    cells.add(Counter::ClientBytesOut, bytes);
    cells.add(Counter::HitBytes, bytes);
    cells.record(Histogram::ReplySize, bytes);
    cells.record(Histogram::ServiceTimeHit, microseconds);
    cells.count(Counter::HitsMemory);
    drop(serving);
}

fn main() {
    let cells = Cells::new();
    let mut random = 1_u64;
    let mut run = |counts: bool| {
        let began = Instant::now();
        for _ in 0..HITS {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (bytes, microseconds) = (random >> 46, random >> 56);
            if counts {
                count(black_box(&cells), bytes, microseconds);
            } else {
                black_box((bytes, microseconds));
            }
        }
        began.elapsed().as_nanos() / u128::from(HITS / 100)
    };
    let (without, with) = (run(false), run(true));
    let nanoseconds = |hundredths: u128| format!("{}.{:02}", hundredths / 100, hundredths % 100);
    println!(
        "a hit: {} ns with counting, {} ns without",
        nanoseconds(with),
        nanoseconds(without)
    );
}
