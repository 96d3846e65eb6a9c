//! The fuzz target without a fuzzer: every corpus file, and corpus files with random damage.
//! `PROPTEST_CASES` sets how many.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Texts that tip the reader over.
const TRICKS: &[&str] = &[
    "\n",
    "\r",
    "\\\n",
    "\\",
    "\"",
    "'",
    "#",
    " #",
    "\t",
    "(",
    ")",
    "parameters(\"",
    "!",
    "if true\n",
    "else\n",
    "endif\n",
    "include ",
    "#line 5 \"x\"\n",
    "${service_name}",
    "-1",
    "none",
    " KB",
    "99999999999999999999",
    "configuration_includes_quoted_values on\n",
    "é",
    "\0",
    "-i ",
    "all ",
];

fn seeds() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/squid_conf");
    let files = fs::read_dir(folder).expect("a corpus of that name");
    let mut seeds: Vec<String> = files
        .map(|file| file.expect("a readable folder").path())
        .map(|path| fs::read_to_string(path).expect("a readable file"))
        .collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "there is a corpus");
    seeds
}

/// Inserts a trick or a piece of another place, or takes some letters out.
fn damage(seed: &str, edits: &[(u8, prop::sample::Index, prop::sample::Index)]) -> String {
    let mut text: Vec<char> = seed.chars().collect();
    for (kind, place, other) in edits {
        let at = place.index(text.len() + 1);
        let rest = text.len() - at;
        let from = other.index(text.len() + 1);
        let piece: Vec<char> = match kind % 3 {
            0 => other.get(TRICKS).chars().collect(),
            1 => text
                .iter()
                .skip(from)
                .take(usize::from(*kind))
                .copied()
                .collect(),
            _ => Vec::new(),
        };
        let gone = if kind % 3 == 2 {
            usize::from(kind / 16).min(rest)
        } else {
            0
        };
        text.splice(at..at + gone, piece);
    }
    text.into_iter().collect()
}

#[test]
fn squid_conf() {
    let seeds = seeds();
    seeds.iter().for_each(|seed| config::fuzz(seed.as_bytes()));
    let edit = (
        any::<u8>(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
    );
    let damaged = (
        prop::sample::select(seeds),
        prop::collection::vec(edit, 1..6),
    )
        .prop_map(|(seed, edits)| damage(&seed, &edits));
    let mut settings = ProptestConfig::default();
    settings.failure_persistence = None;
    settings.cases = settings.cases.max(500);
    let result = TestRunner::new(settings).run(&damaged, |text| {
        config::fuzz(text.as_bytes());
        Ok(())
    });
    assert!(result.is_ok(), "{result:?}");
}
