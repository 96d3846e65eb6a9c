//! Writers, readers and waiting requests on threads of their own.

use std::sync::Barrier;
use std::sync::atomic::AtomicBool;

use super::*;

/// Reads to the end and compares with the pattern.
fn read_all(reader: &mut Reader) -> (u64, Result<(), ReadError>) {
    let mut at = 0;
    loop {
        match block_on(reader.next()) {
            Some(Ok(slice)) => {
                let slice = slice.to_bytes().unwrap();
                assert!(slice == pattern(at, slice.len()), "wrong bytes at {at}");
                at += slice.len() as u64;
            }
            Some(Err(error)) => return (at, Err(error)),
            None => return (at, Ok(())),
        }
    }
}

#[test]
fn many_readers_follow_one_fill_from_any_moment() {
    let store = store();
    let total = 5_000_000_u64;
    let (object, mut filler) = publish(&store, "a", Some(total), Keep::Store);
    let start = Barrier::new(9);
    thread::scope(|scope| {
        for reader in 0..8 {
            let (store, start) = (&store, &start);
            scope.spawn(move || {
                start.wait();
                for _ in 0..=reader {
                    let object = find(store, "a").expect("found at any moment");
                    assert_eq!(read_all(&mut object.reader()), (total, Ok(())));
                }
            });
        }
        start.wait();
        let mut len = 1;
        while filler.received() < total {
            let at = filler.received();
            let now = len.min(total - at);
            filler.append(&pattern(at, now as usize)).unwrap();
            len = (len * 7 + 13) % 90_000 + 1;
        }
        filler.finish().unwrap();
    });
    assert_eq!(read_all(&mut object.reader()), (total, Ok(())));
    drop(object);
    assert_eq!(store.usage().bytes, total + META_BYTES + 1);
}

#[test]
fn a_shared_body_flows_past_its_window_by_back_pressure() {
    let store = Store::new(Options {
        join_bytes_max: 1 << 20,
        gap_bytes_max: 256 << 10,
        ..Options::default()
    });
    let total = 20_000_000_u64;
    let (object, mut filler) = publish(&store, "a", None, Keep::ShareOnly);
    let mut reader = object.reader();
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(read_all(&mut reader), (total, Ok(()))));
        while filler.received() < total {
            block_on(filler.ready());
            let at = filler.received();
            filler
                .append(&pattern(at, 50_000.min(total - at) as usize))
                .unwrap();
            assert!(store.usage().bytes <= (1 << 20) + 1000);
        }
        filler.finish().unwrap();
    });
    assert_eq!(store.usage().readers_lost, 0);
}

#[test]
fn readers_of_a_cut_fill_all_learn_it() {
    for _ in 0..50 {
        let store = store();
        let (object, mut filler) = publish(&store, "a", Some(1_000_000), Keep::Store);
        thread::scope(|scope| {
            for _ in 0..4 {
                let mut reader = object.reader();
                scope.spawn(move || {
                    assert_eq!(read_all(&mut reader), (400_000, Err(ReadError::Cut)))
                });
            }
            for at in (0..400_000).step_by(40_000) {
                filler.append(&pattern(at, 40_000)).unwrap();
            }
            drop(filler);
        });
        assert!(find(&store, "a").is_none());
    }
}

#[test]
fn of_many_at_once_one_leads_and_all_get_its_object() {
    for round in 0..200 {
        let store = store();
        let start = Barrier::new(8);
        let leaders = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let object = match store.begin(key("a"), Some(b""), |_| true) {
                        Begin::Found(object) => object,
                        Begin::Join(waiting) => shared(waiting),
                        Begin::Lead(slot) => {
                            leaders.fetch_add(1, SeqCst);
                            if round % 2 == 0 {
                                slot.insert(meta(1), &pattern(0, 100_000))
                            } else {
                                let (object, mut filler) = slot.publish(meta(1), None, Keep::Store);
                                filler.append(&pattern(0, 100_000)).unwrap();
                                filler.finish().unwrap();
                                object
                            }
                        }
                    };
                    assert_eq!(read_all(&mut object.reader()), (100_000, Ok(())));
                });
            }
        });
        assert_eq!(leaders.load(SeqCst), 1);
    }
}

#[test]
fn those_who_wait_for_a_released_slot_all_go_on() {
    for _ in 0..200 {
        let store = store();
        let start = Barrier::new(6);
        let finished = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    start.wait();
                    match store.begin(key("a"), Some(b""), |_| true) {
                        Begin::Lead(slot) => slot.release(),
                        Begin::Join(waiting) => {
                            assert!(matches!(block_on(waiting), Waited::Released))
                        }
                        Begin::Found(_) => panic!("nothing was stored"),
                    }
                    finished.fetch_add(1, SeqCst);
                });
            }
        });
        assert_eq!(finished.load(SeqCst), 6);
    }
}

#[test]
fn under_eviction_from_all_sides_found_bodies_are_right_and_the_account_is_kept() {
    let store = Store::new(Options {
        memory_bytes_max: 200_000,
        ..Options::default()
    });
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for thread in 0..3_u64 {
            let (store, stop) = (&store, &stop);
            scope.spawn(move || {
                let mut seed = thread + 1;
                for _ in 0..20_000 {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let number = (seed >> 40) % 300;
                    let url = format!("{number}");
                    let found = store.find(key(&url), |_| true);
                    if let Some(object) = found {
                        let (bytes, end) = drain(&mut object.reader());
                        assert!(bytes == pattern(0, bytes.len()));
                        assert!(end != Some(Ok(())) || bytes.len() as u64 == number * 10);
                        continue;
                    }
                    let Begin::Lead(slot) = store.begin(key(&url), None, |_| true) else {
                        panic!("leads")
                    };
                    if seed & (1 << 20) == 0 {
                        slot.insert(meta(0), &pattern(0, number as usize * 10));
                    } else {
                        let (_, mut filler) = slot.publish(meta(0), Some(number * 10), Keep::Store);
                        filler.append(&pattern(0, number as usize * 10)).unwrap();
                        filler.finish().unwrap();
                    }
                }
                stop.store(true, SeqCst);
            });
        }
        scope.spawn(|| {
            while !stop.load(SeqCst) {
                store.remove(key("7"));
                thread::yield_now();
            }
        });
    });
    let mut sum = 0;
    store.for_each(|object| sum += object.held_bytes());
    let usage = store.usage();
    assert_eq!(usage.bytes, sum);
    assert!(usage.bytes <= 200_000, "{}", usage.bytes);
    assert!(usage.evictions > 100);
    store.purge();
    assert_eq!(store.usage().bytes, 0);
}
