//! Hit ratios of every policy on a trace from standard input: lines that end in `key,bytes`; others are skipped.
//!
//! `xzcat trace.csv.xz | cargo run --release -p store --example hit_ratio -- MEMORY_BYTES`

#![expect(clippy::print_stdout, reason = "it is what an example is for")]

use std::io::{self, BufRead};

use store::{Begin, KeyRef, Options, Policy, Store, Weigh};

struct Nothing;

impl Weigh for Nothing {
    fn weight_bytes(&self) -> usize {
        0
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let memory_bytes_max = std::env::args()
        .nth(1)
        .ok_or("which memory limit, in bytes?")?
        .parse()?;
    let mut trace = Vec::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let mut fields = line.rsplit([',', ' ', '\t']);
        let bytes = fields
            .next()
            .and_then(|field| field.trim().parse::<usize>().ok());
        if let (Some(bytes), Some(key)) = (bytes, fields.next()) {
            trace.push((key.to_owned(), bytes));
        }
    }
    let zeros = vec![0; trace.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0)];
    println!(
        "{} requests, memory {memory_bytes_max}: hits by object, by byte",
        trace.len()
    );
    for policy in [
        Policy::Lru,
        Policy::HeapLfuda,
        Policy::HeapGdsf,
        Policy::Default,
    ] {
        let store = Store::new(Options {
            policy,
            memory_bytes_max,
            object_bytes_max: u64::MAX,
            ..Options::default()
        });
        let (mut hits, mut hit_bytes, mut all_bytes) = (0_u64, 0_u64, 0_u64);
        for (key, bytes) in &trace {
            all_bytes += *bytes as u64;
            let key = KeyRef::new(key.as_bytes());
            if store.find(key, |_| true).is_some() {
                hits += 1;
                hit_bytes += *bytes as u64;
            } else if let (Begin::Lead(slot), Some(body)) =
                (store.begin(key, Some(b""), |_| true), zeros.get(..*bytes))
            {
                slot.insert(Nothing, body);
            }
        }
        let ratio = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        println!(
            "{policy:?}\t{:.3}\t{:.3}",
            ratio(hits, trace.len() as u64),
            ratio(hit_bytes, all_bytes)
        );
    }
    Ok(())
}
