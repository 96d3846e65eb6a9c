//! What is kept when the log comes round.

use super::{Volume, folder, get, made, noise, opened, options, stamps, until};
use crate::disk::{StoredBody, VolumeState};
use crate::options::Policy;

const BYTES: u64 = 4 << 20;

fn put(volume: &Volume, key: &str, number: u64, bytes: usize) {
    while volume
        .put(key.as_bytes(), b"", &[noise(number, bytes)], stamps(number))
        .is_err()
    {
        std::thread::yield_now();
    }
}

/// Stores so much that the log comes round several times, while some keys are asked for now and then.
fn churn(volume: &Volume, keys: u64) {
    for number in 0..3000 {
        put(volume, &format!("new {number}"), number, 8000);
        if number % 20 == 0 {
            for key in 0..keys {
                get(volume, format!("hot {key}").as_bytes());
            }
        }
    }
}

#[test]
pub(super) fn what_is_used_stays() {
    let folder = folder();
    let volume = made(folder.path(), BYTES);
    for key in 0..10 {
        put(&volume, &format!("hot {key}"), key, 8000);
        put(&volume, &format!("cold {key}"), key, 8000);
    }
    churn(&volume, 10);
    let count = |volume: &Volume, name: &str| {
        let keys = (0..10).map(|key| format!("{name} {key}"));
        keys.filter(|key| get(volume, key.as_bytes()).is_some())
            .count()
    };
    let usage = volume.usage();
    assert_eq!(
        (count(&volume, "hot"), count(&volume, "cold")),
        (10, 0),
        "{usage:?}"
    );
    assert!(usage.reinserts > 0);
    assert_eq!(usage.wrong, 0);
    volume.flush().unwrap();
    drop(volume);
    let volume = opened(folder.path(), BYTES);
    assert_eq!((count(&volume, "hot"), count(&volume, "cold")), (10, 0));
}

#[test]
fn a_large_body_that_is_used_stays() {
    let folder = folder();
    let volume = made(folder.path(), BYTES);
    for (key, bytes) in [("hot", 40_000), ("cold", 40_000)] {
        let mut writing = volume.begin(key.as_bytes(), None).unwrap();
        let mut body = bytes::Bytes::from(noise(1, bytes));
        super::wait(|cx| writing.poll_append(&mut body, cx)).unwrap();
        super::wait(|cx| writing.poll_finish(b"meta", stamps(1), cx)).unwrap();
    }
    let read = |volume: &Volume| {
        let stored = get(volume, b"hot").expect("it stays");
        let StoredBody::Extents(extents) = stored.body else {
            panic!("the body is whole");
        };
        let mut reader = extents.reader();
        let mut all = Vec::new();
        while all.len() < 40_000 {
            all.extend_from_slice(
                &super::wait(|cx| reader.poll_read(all.len() as u64, u64::MAX, cx)).unwrap(),
            );
        }
        assert!(all == noise(1, 40_000));
    };
    for round in 0..150 {
        for number in 0..20 {
            put(&volume, &format!("{round} {number}"), number, 8000);
        }
        read(&volume);
    }
    assert!(get(&volume, b"cold").is_none());
    let usage = volume.usage();
    assert!(usage.reinserts > 0 && usage.wrong == 0, "{usage:?}");
    volume.flush().unwrap();
    drop(volume);
    read(&opened(folder.path(), BYTES));
}

#[test]
fn no_more_is_kept_than_may_be() {
    let folder = folder();
    drop(made(folder.path(), BYTES));
    let mut options = options(folder.path(), BYTES);
    options.reinsert_max_percent = 0;
    options.policy = Policy::Lru;
    let volume = Volume::open(options).unwrap();
    until(|| volume.usage().state == VolumeState::Serving);
    put(&volume, "hot 0", 1, 8000);
    churn(&volume, 1);
    assert_eq!(volume.usage().reinserts, 0);
    assert!(get(&volume, b"hot 0").is_none());
}

/// By policies that ask for size, and without a use of it.
#[test]
fn what_is_small_stays_for_a_while() {
    for (policy, stay) in [
        (Policy::HeapGdsf, 10),
        (Policy::Default, 10),
        (Policy::Lru, 0),
    ] {
        let folder = folder();
        drop(made(folder.path(), BYTES));
        let mut options = options(folder.path(), BYTES);
        options.policy = policy;
        let volume = Volume::open(options).unwrap();
        until(|| volume.usage().state == VolumeState::Serving);
        for number in 0..10 {
            put(&volume, &format!("small {number}"), number, 100);
        }
        for number in 0..700 {
            put(&volume, &format!("new {number}"), number, 8000);
        }
        let small = (0..10).map(|key| format!("small {key}"));
        let found = small.filter(|key| get(&volume, key.as_bytes()).is_some());
        assert_eq!(found.count(), stay, "{policy:?}");
    }
}

#[test]
fn what_was_replaced_is_not_kept() {
    let folder = folder();
    let volume = made(folder.path(), BYTES);
    for number in 0..2000 {
        put(&volume, "a", number, 8000);
        assert_eq!(get(&volume, b"a").unwrap().stamps.judged, number);
    }
    volume.flush().unwrap();
    assert_eq!(volume.usage().objects, 1);
    drop(volume);
    let volume = opened(folder.path(), BYTES);
    assert_eq!(get(&volume, b"a").unwrap().stamps.judged, 1999);
}

/// What was kept lies in a segment that was begun after that of what took its place, and outlives it there.
#[test]
fn what_was_replaced_does_not_come_back() {
    let (folder, bytes) = (folder(), 1 << 20);
    let volume = made(folder.path(), bytes);
    let mut number = 0;
    let mut fill = || {
        number += 1;
        put(&volume, &format!("new {number}"), number, 8000);
        until(|| volume.usage().segments_free >= 4);
    };
    put(&volume, "a", 0, 8000);
    get(&volume, b"a").unwrap();
    while volume.usage().reinserts == 0 {
        fill();
    }
    put(&volume, "a", 0, 1000);
    while volume.may_have(b"a") {
        fill();
    }
    volume.flush().unwrap();
    drop(volume);
    // All of the log is to be read.
    for image in ["index-a", "index-b"] {
        std::fs::remove_file(folder.path().join(format!("squall.log.{image}"))).unwrap();
    }
    let volume = opened(folder.path(), bytes);
    assert!(get(&volume, b"a").is_none());
}
