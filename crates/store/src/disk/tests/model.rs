//! A volume beside a map, with crashes. What is found is what was stored last; after a crash, what was stored last or
//! since the last flush. Nothing that was removed before a flush comes back.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::faults::Plan;
use super::{Volume, body, get, made, noise, opened, stamps};

const BYTES: u64 = 1 << 20;

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u16),
    Remove(u8),
    Find(u8),
    Flush,
    Close,
    Crash,
    /// What is written from here on reaches the disk in part, until it is waited for.
    Tear(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        40 => (0u8..40, 0u16..20_000).prop_map(|(key, bytes)| Step::Put(key, bytes)),
        5 => (0u8..40).prop_map(Step::Remove),
        20 => (0u8..40).prop_map(Step::Find),
        4 => Just(Step::Flush),
        1 => Just(Step::Close),
        2 => Just(Step::Crash),
        1 => (0u16..40_000).prop_map(Step::Tear),
    ]
}

type Value = Option<(u64, u16)>;

/// What may be found under the keys. Nothing always may be.
#[derive(Debug, Default)]
struct Model(HashMap<u8, Known>);

/// What is known of a key.
#[derive(Debug)]
struct Known {
    /// What may be found, as long as there is no crash.
    live: Value,
    /// What may be found after one: what it had at the last flush, and since.
    values: Vec<Value>,
    /// Whether the last of them is what it has. After a crash that isn't known: what is not found then may have been
    /// lost for want of room, and come back by the next crash.
    settled: bool,
}

impl Model {
    fn known(&mut self, key: u8) -> &mut Known {
        self.0.entry(key).or_insert_with(|| Known {
            live: None,
            values: vec![None],
            settled: true,
        })
    }

    fn set(&mut self, key: u8, value: Value) {
        let known = self.known(key);
        known.live = value;
        known.values.push(value);
        known.settled = true;
    }

    fn check(&mut self, key: u8, found: Value) {
        let known = self.known(key);
        assert!(
            found.is_none() || found == known.live,
            "key {key}: {found:?}, not {known:?}"
        );
    }

    fn crashed(&mut self, key: u8, found: Value) {
        let known = self.known(key);
        let allowed = found.is_none() || known.values.contains(&found);
        assert!(allowed, "key {key}: {found:?}, not of {known:?}");
        known.live = found;
        known.settled = false;
        if found.is_some() {
            known.values = vec![found];
        }
    }

    fn flushed(&mut self) {
        for known in self.0.values_mut().filter(|known| known.settled) {
            known.values.drain(..known.values.len() - 1);
        }
    }
}

fn name(key: u8) -> [u8; 30] {
    [key; 30]
}

fn find(volume: &Volume, key: u8) -> Option<(u64, u16)> {
    let stored = get(volume, &name(key))?;
    assert_eq!(stored.key, name(key).as_slice());
    let bytes = body(&stored);
    let number = stored.stamps.judged;
    assert!(
        bytes == noise(number, bytes.len()),
        "a body that was never stored"
    );
    Some((number, u16::try_from(bytes.len()).unwrap()))
}

fn put(volume: &Volume, key: u8, number: u64, bytes: u16) -> bool {
    let body = noise(number, usize::from(bytes));
    volume
        .put(&name(key), b"meta", &[&body], stamps(number))
        .is_ok()
}

fn run(steps: Vec<Step>) {
    let folder = tempfile::tempdir().unwrap();
    let mut volume: Option<Arc<Volume>> = Some(made(folder.path(), BYTES));
    let mut model = Model::default();
    let mut number = 0;
    let mut torn = false;
    for step in steps {
        let open = volume.as_ref().unwrap();
        match step {
            Step::Put(key, bytes) => {
                number += 1;
                if put(open, key, number, bytes) {
                    model.set(key, Some((number, bytes)));
                }
            }
            Step::Remove(key) => {
                open.remove(&name(key));
                model.set(key, None);
            }
            Step::Find(key) => model.check(key, find(open, key)),
            Step::Flush => {
                open.flush().unwrap();
                if !torn {
                    model.flushed();
                }
            }
            Step::Tear(bytes) => {
                open.faults().set(Plan {
                    torn: Some(usize::from(bytes)),
                    ..Plan::default()
                });
                torn = true;
            }
            Step::Close | Step::Crash => {
                if matches!(step, Step::Close) {
                    open.close().unwrap();
                    if !torn {
                        model.flushed();
                    }
                }
                volume = None;
                let open = volume.insert(opened(folder.path(), BYTES));
                torn = false;
                for key in 0..40 {
                    model.crashed(key, find(open, key));
                }
            }
        }
        if let Some(open) = &volume {
            assert!(torn || open.usage().wrong == 0);
        }
    }
}

/// As many as a suite has time for; more by `PROPTEST_CASES`.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 64;
    }
    config
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_volume_is_a_map_that_forgets(steps in prop::collection::vec(step(), 1..200)) {
        run(steps);
    }
}
