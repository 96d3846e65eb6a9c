//! The fuzz targets without a fuzzer: every corpus file, random bytes, and corpus files with
//! random damage go through each `fuzz` function. `PROPTEST_CASES` sets how many.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Bytes that tip a parser over.
const TRICKS: &[&[u8]] = &[
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\0",
    b" ",
    b"\t",
    b"\x0b",
    b":",
    b";",
    b",",
    b"\"",
    b"\\",
    b"=",
    b"%",
    b"/",
    b"@",
    b"[",
    b"]",
    b"#",
    b"\xff",
    b"\r\n ",
    b"chunked",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"0\r\n\r\n",
    b"HTTP/1.1",
    b"18446744073709551616",
    b"-",
    b"*",
];

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let files = fs::read_dir(folder).expect("a corpus of that name");
    let mut seeds: Vec<Vec<u8>> = files
        .map(|file| fs::read(file.expect("a readable folder").path()).expect("a readable file"))
        .collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "{target} has a corpus");
    seeds
}

/// Inserts, removes or overwrites a piece at a random place.
fn damage(seed: &[u8], edits: &[(u8, prop::sample::Index, prop::sample::Index, u8)]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for (kind, place, trick, byte) in edits {
        let at = place.index(bytes.len() + 1);
        let piece = trick.get(TRICKS);
        match kind % 4 {
            0 => drop(bytes.splice(at..at, piece.iter().copied())),
            1 => drop(bytes.drain(at..(at + usize::from(byte % 8)).min(bytes.len()))),
            2 => bytes
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|old| *old = *byte),
            _ => bytes.insert(at, *byte),
        }
    }
    bytes
}

fn run(target: &str, fuzz: fn(&[u8])) {
    let seeds = seeds(target);
    seeds.iter().for_each(|seed| fuzz(seed));
    let edit = (
        any::<u8>(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<u8>(),
    );
    let damaged = (
        prop::sample::select(seeds),
        prop::collection::vec(edit, 1..6),
    )
        .prop_map(|(seed, edits)| damage(&seed, &edits));
    let random = prop::collection::vec(any::<u8>(), 0..200);
    let bytes = prop_oneof![9 => damaged, 1 => random];
    let mut config = ProptestConfig::default();
    config.failure_persistence = None;
    config.cases = config.cases.max(1000);
    let result = TestRunner::new(config).run(&bytes, |bytes| {
        fuzz(&bytes);
        Ok(())
    });
    assert!(result.is_ok(), "{target}: {result:?}");
}

macro_rules! targets {
    ($($name:ident: $fuzz:path,)*) => {
        $(#[test] fn $name() { run(stringify!($name), $fuzz); })*
    };
}

targets! {
    request: wire::http1::fuzz_request,
    response: wire::http1::fuzz_response,
    chunk: wire::http1::fuzz_body,
    connection: wire::http1::fuzz_connection,
    target: wire::target::fuzz,
    fields: wire::field::fuzz,
    cache_control: wire::value::cache_control::fuzz,
    range: wire::value::range::fuzz,
    content_range: wire::value::content_range::fuzz,
    date: wire::value::date::fuzz,
    etag: wire::value::etag::fuzz,
    via: wire::value::via::fuzz,
    weighted: wire::value::weighted::fuzz,
    helper: wire::helper::fuzz,
    snmp: wire::snmp::fuzz,
}
