//! Which object goes first, and what eviction spares.

use std::collections::{HashMap, HashSet};

use super::*;
use crate::Policy;

const KEY_BYTES: u64 = 4;

fn name(number: u32) -> String {
    format!("{number:04}")
}

fn limited(policy: Policy, memory_bytes_max: u64) -> TestStore {
    Store::new(Options {
        policy,
        memory_bytes_max,
        object_bytes_max: 1 << 20,
        ..Options::default()
    })
}

/// Memory for this many objects with a body of 86 bytes each: 100 bytes in all.
fn room_for(policy: Policy, objects: u64) -> TestStore {
    limited(policy, objects * (KEY_BYTES + META_BYTES + 86))
}

fn put(store: &TestStore, number: u32, body_bytes: usize) {
    insert(store, &name(number), meta(number), &pattern(0, body_bytes));
}

fn uses(store: &TestStore, number: u32) -> bool {
    find(store, &name(number)).is_some()
}

fn held(store: &TestStore) -> HashSet<u32> {
    let mut held = HashSet::new();
    store.for_each(|object| {
        held.insert(object.meta.version);
    });
    held
}

#[test]
fn lru_evicts_what_was_used_longest_ago() {
    for policy in [Policy::Lru, Policy::HeapLru] {
        let store = room_for(policy, 3);
        put(&store, 1, 86);
        put(&store, 2, 86);
        put(&store, 3, 86);
        assert!(uses(&store, 1));
        put(&store, 4, 86);
        assert_eq!(held(&store), HashSet::from([1, 3, 4]));
        assert!(uses(&store, 3));
        put(&store, 5, 86);
        put(&store, 6, 86);
        assert_eq!(held(&store), HashSet::from([3, 5, 6]));
        assert_eq!(store.usage().evictions, 3);
    }
}

#[test]
fn lfuda_evicts_the_least_used_and_ages() {
    let store = room_for(Policy::HeapLfuda, 2);
    put(&store, 1, 86);
    for _ in 0..4 {
        uses(&store, 1);
    }
    // Each newcomer is worth the last victim and one use: five of them are as good as the old favourite.
    for number in 2..6 {
        put(&store, number, 86);
        assert!(uses(&store, 1) || number > 5);
    }
    let store = room_for(Policy::HeapLfuda, 2);
    put(&store, 1, 86);
    uses(&store, 1);
    for number in 2..8 {
        put(&store, number, 86);
    }
    assert!(
        !held(&store).contains(&1),
        "an old favourite goes in the end"
    );
}

#[test]
fn gdsf_evicts_the_large_before_the_small() {
    let store = limited(Policy::HeapGdsf, 3_000);
    put(&store, 1, 2_000);
    put(&store, 2, 100);
    put(&store, 3, 100);
    assert!(uses(&store, 1));
    put(&store, 4, 1_000);
    assert_eq!(held(&store), HashSet::from([2, 3, 4]));
}

#[test]
fn the_default_remembers_former_uses() {
    let store = room_for(Policy::Default, 2);
    put(&store, 1, 86);
    for _ in 0..5 {
        uses(&store, 1);
    }
    // Nine of a kind age the cache until the favourite goes; when it returns it is the favourite again.
    for number in 2..30 {
        put(&store, number, 86);
    }
    assert!(!held(&store).contains(&1));
    put(&store, 1, 86);
    put(&store, 40, 86);
    put(&store, 41, 86);
    assert!(held(&store).contains(&1));
}

#[test]
fn spares_go_before_all_that_was_ever_worth_keeping() {
    for policy in [
        Policy::Default,
        Policy::Lru,
        Policy::HeapLru,
        Policy::HeapLfuda,
        Policy::HeapGdsf,
    ] {
        let store = room_for(policy, 3);
        put(&store, 1, 86);
        put(&store, 2, 86);
        for number in 100..150 {
            insert(&store, &name(number), meta(SPARE), &pattern(0, 86));
        }
        assert_eq!(held(&store), HashSet::from([1, 2, SPARE]), "{policy:?}");
        put(&store, 3, 86);
        assert_eq!(held(&store), HashSet::from([1, 2, 3]), "{policy:?}");
    }
}

/// The victims of a random trace had the lowest ranks by the textbook formula.
#[test]
fn victims_are_those_of_an_exact_heap() {
    for policy in [Policy::Lru, Policy::HeapLfuda, Policy::HeapGdsf] {
        check_against_exact_ranks(policy);
    }
}

fn check_against_exact_ranks(policy: Policy) {
    let store = limited(policy, 40_000);
    let mut age = 0.0_f64;
    let mut inserts = 0.0;
    let mut model: HashMap<u32, (f64, f64)> = HashMap::new();
    let mut seed = 1_u64;
    for _ in 0..20_000 {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let number = ((seed >> 33) % 40 * (seed >> 50) % 400) as u32;
        let body_bytes = 50 + number as usize * 13 % 2_000;
        let bytes = body_bytes as f64 + (KEY_BYTES + META_BYTES) as f64;
        let worth = if policy == Policy::HeapGdsf {
            f64::from((1.0 / bytes) as f32)
        } else {
            1.0
        };
        let rank = |uses: f64, age: f64, inserts: f64| {
            if policy == Policy::Lru {
                inserts
            } else {
                age + uses * worth
            }
        };
        if uses(&store, number) {
            let (used, ranked) = model
                .get_mut(&number)
                .expect("what is found is in the model");
            *used += 1.0;
            *ranked = rank(*used, age, inserts);
            continue;
        }
        assert!(!model.contains_key(&number));
        put(&store, number, body_bytes);
        let left = held(&store);
        let gone: Vec<u32> = model
            .keys()
            .copied()
            .filter(|number| !left.contains(number))
            .collect();
        let worst = gone
            .iter()
            .filter_map(|number| model.remove(number))
            .map(|(_, rank)| rank)
            .fold(0.0, f64::max);
        let best = model
            .values()
            .map(|&(_, rank)| rank)
            .fold(f64::INFINITY, f64::min);
        assert!(worst <= best, "{policy:?}: evicted {worst}, kept {best}");
        if policy != Policy::Lru {
            age = age.max(worst);
        }
        inserts += 1.0;
        model.insert(number, (1.0, rank(1.0, age, inserts)));
        assert!(store.usage().bytes <= 40_000);
    }
    assert!(store.usage().evictions > 500, "{policy:?}");
}

#[test]
fn what_is_in_use_is_spared() {
    let store = room_for(Policy::Lru, 2);
    put(&store, 1, 86);
    let reading = find(&store, &name(1)).unwrap();
    put(&store, 2, 86);
    put(&store, 3, 86);
    assert_eq!(held(&store), HashSet::from([1, 3]));
    assert_eq!(store.usage().spared, 1);
    drop(reading);
    put(&store, 4, 86);
    put(&store, 5, 86);
    assert_eq!(held(&store), HashSet::from([4, 5]));
}

#[test]
fn a_newcomer_is_refused_when_all_is_in_use() {
    let store = room_for(Policy::Lru, 2);
    put(&store, 1, 86);
    put(&store, 2, 86);
    let readers = [find(&store, &name(1)), find(&store, &name(2))];
    let newcomer = insert(&store, &name(3), meta(3), &pattern(0, 86));
    assert_eq!(held(&store), HashSet::from([1, 2]));
    assert_eq!(body(&newcomer), pattern(0, 86));
    assert_eq!(store.usage().refusals, 1);
    drop((readers, newcomer));
    put(&store, 4, 86);
    assert_eq!(held(&store).len(), 2);
}

#[test]
fn an_object_larger_than_allowed_is_not_kept() {
    let store = Store::new(Options {
        object_bytes_max: 10,
        ..Options::default()
    });
    let object = insert(&store, "a", meta(1), &[0; 11]);
    assert_eq!(body(&object), [0; 11]);
    assert!(find(&store, "a").is_none());
    insert(&store, "a", meta(1), &[0; 10]);
    assert!(find(&store, "a").is_some());
}

#[test]
fn an_object_larger_than_memory_evicts_nothing() {
    let store = room_for(Policy::Lru, 2);
    put(&store, 1, 86);
    put(&store, 2, 1_000);
    assert_eq!(held(&store), HashSet::from([1]));
}

fn memory(memory_bytes_max: u64) -> Options {
    Options {
        memory_bytes_max,
        ..Options::default()
    }
}

#[test]
fn the_memory_limit_changes_live() {
    let store = room_for(Policy::Lru, 10);
    for number in 0..10 {
        put(&store, number, 86);
    }
    store.set_limits(&memory(300));
    assert_eq!(held(&store), HashSet::from([7, 8, 9]));
    assert_eq!((store.usage().bytes, store.usage().bytes_max), (300, 300));
    store.set_limits(&memory(1_000));
    put(&store, 10, 86);
    assert_eq!(held(&store).len(), 4);
}

#[test]
fn bodies_that_arrive_make_room_for_themselves() {
    let store = room_for(Policy::Lru, 10);
    for number in 0..10 {
        put(&store, number, 86);
    }
    let (object, mut filler) = publish(&store, "9999", None, Keep::Store);
    filler.append(&pattern(0, 486)).unwrap();
    assert_eq!(store.usage().bytes, 1_000);
    assert_eq!(held(&store).len(), 6);
    filler.finish().unwrap();
    assert_eq!(body(&object), pattern(0, 486));
    assert_eq!(store.usage().bytes, 1_000);
}
