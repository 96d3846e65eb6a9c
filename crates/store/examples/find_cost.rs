//! What a hit costs: nanoseconds per `find` with its drop, and with the body taken, on one thread and on two.
//!
//! `cargo run --release -p store --example find_cost`

#![expect(clippy::print_stdout, reason = "it is what an example is for")]

use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use store::{Begin, KeyRef, Options, Policy, Store, Weigh};

#[global_allocator]
static ALLOCATOR: sys::Allocator = sys::Allocator;

const FINDS: usize = 300_000;
/// The best of so many rounds: other work on the machine only adds.
const ROUNDS: usize = 10;

struct Meta([u8; 16]);

impl Weigh for Meta {
    fn weight_bytes(&self) -> usize {
        self.0.len()
    }
}

fn url(key: usize) -> Vec<u8> {
    format!("http://www.example.com/some/path/object-{key:08}.html").into_bytes()
}

fn filled(policy: Policy, keys: usize) -> Arc<Store<Meta>> {
    let store = Store::new(Options {
        policy,
        memory_bytes_max: 8 << 30,
        ..Options::default()
    });
    for key in 0..keys {
        let url = url(key);
        if let Begin::Lead(slot) = store.begin(KeyRef::new(&url), Some(b""), |_| true) {
            slot.insert(Meta([0; 16]), &[b'x'; 600]);
        }
    }
    store
}

/// Nanoseconds per call of `finds`, the mean of all threads, in the best round.
fn measure(threads: usize, finds: impl Fn(usize) + Sync) -> f64 {
    (0..ROUNDS)
        .map(|_| measure_once(threads, &finds))
        .fold(f64::INFINITY, f64::min)
}

fn measure_once(threads: usize, finds: &(impl Fn(usize) + Sync)) -> f64 {
    let barrier = Barrier::new(threads);
    let nanos: Vec<u128> = thread::scope(|scope| {
        let runs: Vec<_> = (0..threads)
            .map(|thread| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let start = Instant::now();
                    for round in 0..FINDS {
                        finds(round.wrapping_mul(7919).wrapping_add(thread * 31));
                    }
                    start.elapsed().as_nanos()
                })
            })
            .collect();
        runs.into_iter().filter_map(|run| run.join().ok()).collect()
    });
    nanos.iter().sum::<u128>() as f64 / nanos.len() as f64 / FINDS as f64
}

fn main() {
    println!("policy        keys  threads   hash only   find   find+body   (ns)");
    for policy in [Policy::Default, Policy::HeapGdsf, Policy::Lru] {
        for keys in [1, 1_000, 300_000] {
            let store = filled(policy, keys);
            let urls: Vec<Vec<u8>> = (0..keys).map(url).collect();
            for threads in [1, 2] {
                let key =
                    |round: usize| KeyRef::new(urls.get(round % keys).map_or(&[], Vec::as_slice));
                let hash = measure(threads, |round| {
                    black_box(key(round));
                });
                let find = measure(threads, |round| {
                    black_box(store.find(key(round), |_| true));
                });
                let body = measure(threads, |round| {
                    black_box(store.find(key(round), |_| true).map(|object| object.body()));
                });
                println!("{policy:?}\t{keys:>8} {threads:>6} {hash:>12.1} {find:>8.1} {body:>8.1}");
            }
        }
    }
}
