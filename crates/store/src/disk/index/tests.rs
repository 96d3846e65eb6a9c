//! The index beside a map; growth, overflow, and finders on threads of their own.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::thread;

use proptest::prelude::*;

use super::*;

/// Hashes as a hash function gives them.
fn hash(key: u64) -> u64 {
    let mixed = (key ^ key >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

fn place(granule: u32) -> Place {
    let size = SizeCode::of_bytes(granule % 5_000 + 1);
    Place { granule, size }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u16),
    Remove(u16),
    Replace(u16),
    Use(u16),
    Sweep(u32, u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0_u16..4_000;
    let step = prop_oneof![
        12 => key.clone().prop_map(Step::Insert),
        3 => key.clone().prop_map(Step::Remove),
        3 => key.clone().prop_map(Step::Replace),
        3 => key.prop_map(Step::Use),
        1 => (0_u32..9_000, 1_u32..90).prop_map(|(from, len)| Step::Sweep(from, len)),
    ];
    prop::collection::vec(step, 1..6_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// From one line's worth to hundreds, with room to grow all the way.
    #[test]
    fn it_does_what_a_map_does(steps in steps()) {
        let index = Index::new(64, 100_000).unwrap();
        let mut model: HashMap<u16, Vec<(Place, u32)>> = HashMap::new();
        let mut next = 0;
        for step in steps {
            match step {
                Step::Insert(key) => {
                    next += 1;
                    let have = model.entry(key).or_default();
                    // A key has as many places as it has slots, at most.
                    if have.len() < 3 {
                        prop_assert_eq!(index.insert(hash(key.into()), place(next)), Inserted::Added);
                        have.push((place(next), 0));
                    }
                }
                Step::Remove(key) => {
                    let old = model.get_mut(&key).and_then(Vec::pop);
                    let removed = old.is_some_and(|(old, _)| index.remove(hash(key.into()), old));
                    prop_assert_eq!(removed, old.is_some());
                    prop_assert!(!index.remove(hash(key.into()), place(next + 1)));
                }
                Step::Replace(key) => {
                    next += 1;
                    if let Some((old, _)) = model.get_mut(&key).and_then(|have| have.last_mut()) {
                        prop_assert!(index.replace(hash(key.into()), *old, place(next)));
                        prop_assert!(!index.replace(hash(key.into()), *old, place(next)));
                        *old = place(next);
                    }
                }
                Step::Use(key) => {
                    if let Some((at, uses)) = model.get_mut(&key).and_then(|have| have.last_mut()) {
                        index.used(hash(key.into()), *at, 1_000);
                        *uses += 1;
                    }
                }
                Step::Sweep(from, len) => {
                    let gone = from..from + len;
                    let removed = index.remove_all_in(gone.clone());
                    let before: usize = model.values().map(Vec::len).sum();
                    for have in model.values_mut() {
                        have.retain(|(at, _)| !gone.contains(&at.granule));
                    }
                    prop_assert_eq!(removed, before - model.values().map(Vec::len).sum::<usize>());
                }
            }
        }
        prop_assert_eq!(index.len(), model.values().map(Vec::len).sum::<usize>());
        prop_assert_eq!(index.dropped(), 0);
        let mut shown = Vec::new();
        index.for_each(|place, uses| shown.push((place, uses.count())));
        shown.sort_unstable();
        let mut all: Vec<_> = model.values().flatten().copied().collect();
        all.sort_unstable();
        prop_assert_eq!(shown, all);
        for (key, have) in model {
            let mut found = index.find(hash(key.into())).to_vec();
            // A tag of chance may match; what there is must be found.
            found.retain(|place| have.iter().any(|(at, _)| at == place));
            found.sort_unstable();
            let mut places: Vec<_> = have.iter().map(|(at, _)| *at).collect();
            places.sort_unstable();
            prop_assert_eq!(found, places);
            for (at, uses) in have {
                prop_assert_eq!(index.uses(hash(key.into()), at).map(Uses::count), Some(uses));
            }
        }
    }
}

#[test]
fn it_grows_by_eighths_and_keeps_its_load() {
    let index = Index::new(8_000, 1 << 20).unwrap();
    let mut slots = index.slots();
    for key in 0..200_000 {
        assert_eq!(index.insert(hash(key), place(key as u32)), Inserted::Added);
        if index.slots() != slots {
            let grown = index.slots() as f64 / slots as f64;
            assert!((1.06..1.13).contains(&grown), "{grown}");
            slots = index.slots();
        }
        if key > 8_000 {
            let load = index.len() as f64 / index.slots() as f64;
            assert!((0.78..0.93).contains(&load), "{load}");
        }
    }
    for key in 0..200_000 {
        assert!(index.find(hash(key)).contains(&place(key as u32)), "{key}");
    }
    assert!(
        index.bytes() / index.len() <= 15,
        "{}",
        index.bytes() / index.len()
    );
}

#[test]
fn what_it_finds_wrongly_is_rare() {
    let index = Index::new(1_000_000, 1_000_000).unwrap();
    for key in 0..800_000 {
        index.insert(hash(key), place(key as u32));
    }
    let wrong: usize = (1_000_000..2_000_000)
        .map(|key| index.find(hash(key)).len())
        .sum();
    // 1.5 expected.
    assert!(wrong < 10, "{wrong}");
}

#[test]
fn when_it_can_not_grow_the_least_used_give_way() {
    let index = Index::new(1_000, 1_000).unwrap();
    let mut dropped = 0;
    for key in 0..500 {
        index.insert(hash(key), place(key as u32));
        index.used(hash(key), place(key as u32), 1);
    }
    for key in 500..3_000 {
        if let Inserted::Dropped(_) = index.insert(hash(key), place(key as u32)) {
            dropped += 1;
        }
        assert!(
            index.find(hash(key)).contains(&place(key as u32)),
            "the newest is in"
        );
    }
    assert_eq!(index.dropped(), dropped);
    assert_eq!(index.len(), 3_000 - dropped as usize);
    assert!(index.len() * 100 > index.slots() * 99);
    for key in 0..500 {
        assert!(
            index.find(hash(key)).contains(&place(key as u32)),
            "used ones stay"
        );
    }
}

/// Also under Miri, which reorders what processors may: `cargo +nightly miri test -p store --lib finders_miss`, with
/// `MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-many-seeds=0..16"`.
#[test]
fn finders_miss_nothing_that_moves() {
    let (slots, old, new) = if cfg!(miri) {
        (64, 40, 25)
    } else {
        (2_000, 1_500, 150_000)
    };
    let index = Index::new(slots, 64 * slots * 32).unwrap();
    for key in 0..old {
        index.insert(hash(key), place(key as u32));
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers = [0_u64, 1].map(|writer| {
            let index = &index;
            scope.spawn(move || {
                for round in 0..new {
                    let key = old + round * 2 + writer;
                    assert_eq!(index.insert(hash(key), place(key as u32)), Inserted::Added);
                    // Some come and go, and make room to move into.
                    if round % 3 == 0 {
                        assert!(index.remove(hash(key), place(key as u32)));
                    }
                }
            })
        });
        let finders = [0_u64, 1].map(|finder| {
            let (index, done) = (&index, &done);
            scope.spawn(move || {
                let mut round = finder;
                while !done.load(Relaxed) {
                    round += 1;
                    let key = hash(round) % old;
                    let at = place(key as u32);
                    assert!(index.find(hash(key)).contains(&at), "{key} is not found");
                    index.used(hash(key), at, round as u32);
                    assert!(index.uses(hash(key), at).is_some(), "{key} has no uses");
                }
            })
        });
        let written = writers.map(|writer| writer.join().is_ok());
        done.store(true, Relaxed);
        let found = finders.map(|finder| finder.join().is_ok());
        assert_eq!((written, found), ([true; 2], [true; 2]));
    });
    assert_eq!(index.dropped(), 0);
    assert_eq!(index.len() as u64, old + 2 * (new - new.div_ceil(3)));
    assert!(index.slots() > slots);
}

#[test]
fn a_use_says_nothing_new_within_a_tick_once_it_counts_no_more() {
    let index = Index::new(64, 64).unwrap();
    index.insert(hash(1), place(1));
    assert_eq!(index.uses(hash(1), place(1)), Some(Uses::default()));
    index.set_uses(hash(1), place(1), Uses::new(Uses::COUNT_MAX, 6_400));
    index.used(hash(1), place(1), 6_401);
    assert_eq!(
        index.uses(hash(1), place(1)),
        Some(Uses::new(Uses::COUNT_MAX, 6_400))
    );
    index.halve_uses(hash(1), place(1));
    let uses = index.uses(hash(1), place(1)).unwrap();
    assert_eq!(uses.count(), Uses::COUNT_MAX / 2 - 1);
    assert_eq!(index.uses(hash(2), place(1)), None);
}
