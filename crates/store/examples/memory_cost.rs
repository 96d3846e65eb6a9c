//! What an object costs beside its key, metadata and body: resident bytes per object of a full store.
//!
//! `cargo run --release -p store --example memory_cost`

#![expect(
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "it is what an example is for"
)]

use std::fs;

use store::{Begin, KeyRef, Options, Store, Weigh};

#[global_allocator]
static ALLOCATOR: sys::Allocator = sys::Allocator;

const OBJECTS: u64 = 500_000;
const BODY_BYTES_MIN: usize = 100;
const BODY_BYTES_MAX: usize = 3_100;

/// Metadata of no size, so that all that is seen is the store's own.
struct Nothing;

impl Weigh for Nothing {
    fn weight_bytes(&self) -> usize {
        0
    }
}

fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn main() {
    let before = resident_bytes();
    let store = Store::new(Options {
        memory_bytes_max: 16 << 30,
        ..Options::default()
    });
    let body = vec![b'x'; BODY_BYTES_MAX];
    for key in 0..OBJECTS {
        let bytes = BODY_BYTES_MIN + key as usize * 37 % (BODY_BYTES_MAX - BODY_BYTES_MIN);
        let url = format!("http://www.example.com/some/path/object-{key:08}.html");
        if let Begin::Lead(slot) = store.begin(KeyRef::new(url.as_bytes()), Some(b""), |_| true) {
            slot.insert(Nothing, body.get(..bytes).unwrap_or(&body));
        }
    }
    let held = store.usage().bytes;
    let resident = resident_bytes() - before;
    println!(
        "{OBJECTS} objects of {BODY_BYTES_MIN} to {BODY_BYTES_MAX} bytes: {} bytes each held, {} resident, {} overhead",
        held / OBJECTS,
        resident / OBJECTS,
        resident.saturating_sub(held) / OBJECTS
    );
}
