//! Whole responses: stored, found, replaced, removed; before and after they are written, and after a restart.

use super::{Volume, body, get, made, noise, opened, options, stamps, until};
use crate::disk::Refused;

const MIB: u64 = 1 << 20;

fn put(volume: &Volume, key: &str, number: u64, bytes: usize) {
    let meta = number.to_le_bytes();
    volume
        .put(
            key.as_bytes(),
            &meta,
            &[noise(number, bytes)],
            stamps(number),
        )
        .unwrap();
}

fn holds(volume: &Volume, key: &str, number: u64, bytes: usize) {
    let stored = get(volume, key.as_bytes()).unwrap_or_else(|| panic!("{key} is not found"));
    assert_eq!(stored.key, key.as_bytes());
    assert_eq!(stored.meta, number.to_le_bytes().as_slice());
    assert_eq!(stored.stamps, stamps(number));
    assert!(body(&stored) == noise(number, bytes), "the body of {key}");
}

#[test]
pub(super) fn what_was_stored_is_found_in_every_state() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), 16 * MIB);
    put(&volume, "a", 1, 5000);
    put(&volume, "empty", 2, 0);
    holds(&volume, "a", 1, 5000);
    volume.flush().unwrap();
    holds(&volume, "a", 1, 5000);
    holds(&volume, "empty", 2, 0);
    assert!(get(&volume, b"b").is_none());
    volume.close().unwrap();
    assert!(get(&volume, b"a").is_none());
    drop(volume);
    let volume = opened(folder.path(), 16 * MIB);
    holds(&volume, "a", 1, 5000);
    holds(&volume, "empty", 2, 0);
}

#[test]
fn it_is_written_within_a_second_or_so() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), 16 * MIB);
    put(&volume, "a", 1, 5000);
    until(|| volume.usage().bytes_written > 0);
    drop(volume);
    holds(&opened(folder.path(), 16 * MIB), "a", 1, 5000);
}

#[test]
fn the_newest_counts_also_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), 16 * MIB);
    for number in 0..10 {
        put(&volume, "a", number, 3000);
        volume.flush().unwrap();
    }
    holds(&volume, "a", 9, 3000);
    assert_eq!(volume.usage().objects, 1);
    drop(volume);
    let volume = opened(folder.path(), 16 * MIB);
    holds(&volume, "a", 9, 3000);
    assert_eq!(volume.usage().objects, 1);
}

#[test]
pub(super) fn what_was_removed_stays_away() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), 16 * MIB);
    put(&volume, "a", 1, 10);
    put(&volume, "b", 2, 10);
    volume.flush().unwrap();
    assert!(volume.remove(b"a"));
    assert!(!volume.remove(b"c"));
    assert!(get(&volume, b"a").is_none());
    volume.flush().unwrap();
    drop(volume);
    let volume = opened(folder.path(), 16 * MIB);
    assert!(get(&volume, b"a").is_none());
    holds(&volume, "b", 2, 10);
    put(&volume, "a", 3, 10);
    volume.flush().unwrap();
    drop(volume);
    holds(&opened(folder.path(), 16 * MIB), "a", 3, 10);
}

#[test]
pub(super) fn an_update_keeps_the_body() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), 16 * MIB);
    put(&volume, "a", 1, 50_000);
    let stored = get(&volume, b"a").unwrap();
    volume.update(&stored, b"new", stamps(7)).unwrap();
    volume.flush().unwrap();
    drop(volume);
    let volume = opened(folder.path(), 16 * MIB);
    let stored = get(&volume, b"a").unwrap();
    assert_eq!(stored.meta, b"new".as_slice());
    assert_eq!(stored.stamps.judged, 7);
    assert!(body(&stored) == noise(1, 50_000));
}

#[test]
fn an_update_does_not_bring_back_what_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), 16 * MIB);
    put(&volume, "a", 1, 500);
    let stored = get(&volume, b"a").unwrap();
    volume.remove(b"a");
    assert_eq!(
        volume.update(&stored, b"new", stamps(7)),
        Err(Refused::Gone)
    );
    assert!(get(&volume, b"a").is_none());
}

#[test]
pub(super) fn the_oldest_make_room() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), 4 * MIB);
    for number in 0..2000 {
        let key = format!("key {number}");
        let bytes = noise(number, 8000);
        while volume
            .put(
                key.as_bytes(),
                &number.to_le_bytes(),
                &[&bytes],
                stamps(number),
            )
            .is_err()
        {
            std::thread::yield_now();
        }
    }
    volume.flush().unwrap();
    assert!(get(&volume, b"key 0").is_none());
    let usage = volume.usage();
    assert_eq!(usage.wrong, 0);
    assert!(usage.evictions > 1000, "{usage:?}");
    let check = |volume: &Volume| {
        // Then the reclaimer rests.
        until(|| volume.usage().segments_free >= 6);
        let kept =
            (0..2000).filter(|number| get(volume, format!("key {number}").as_bytes()).is_some());
        let kept: Vec<u64> = kept.collect();
        let first = kept[0];
        assert!(kept.len() > 300, "{} are left", kept.len());
        assert_eq!(
            kept.len() as u64,
            2000 - first,
            "all since the oldest are there"
        );
        for number in kept {
            holds(volume, &format!("key {number}"), number, 8000);
        }
        first
    };
    let first = check(&volume);
    drop(volume);
    let volume = opened(folder.path(), 4 * MIB);
    assert!(check(&volume) >= first);
    assert_eq!(volume.usage().wrong, 0);
}

#[test]
fn the_smallest_volume_works() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = (64 << 10) * 9;
    let volume = made(folder.path(), bytes);
    for number in 0..500 {
        until(|| {
            volume
                .put(b"a", b"", &[noise(number, 9000)], stamps(number))
                .is_ok()
        });
        assert_eq!(get(&volume, b"a").unwrap().stamps.judged, number);
    }
    volume.flush().unwrap();
    drop(volume);
    assert_eq!(
        get(&opened(folder.path(), bytes), b"a")
            .unwrap()
            .stamps
            .judged,
        499
    );
}

#[test]
fn clearing_removes_all_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), 4 * MIB);
    put(&volume, "a", 1, 5000);
    volume.clear().unwrap();
    assert!(get(&volume, b"a").is_none());
    put(&volume, "b", 2, 5000);
    volume.flush().unwrap();
    drop(volume);
    let volume = opened(folder.path(), 4 * MIB);
    assert!(get(&volume, b"a").is_none());
    holds(&volume, "b", 2, 5000);
}

#[test]
fn a_size_that_it_does_not_take_is_told() {
    let folder = tempfile::tempdir().unwrap();
    Volume::create(&options(folder.path(), 4 * MIB)).unwrap();
    let mut options = options(folder.path(), 4 * MIB);
    options.object_bytes_min = 10;
    options.object_bytes_max = 20;
    let volume = Volume::open(options).unwrap();
    for (bytes, takes) in [(9, false), (10, true), (20, true), (21, false)] {
        assert_eq!(volume.takes(Some(bytes)), takes, "{bytes}");
    }
    assert!(volume.takes(None));
    assert_eq!(volume.begin(b"a", Some(21)).err(), Some(Refused::Size));
    assert_eq!(volume.usage().refused_size, 1);
}

#[test]
fn a_volume_belongs_to_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), 4 * MIB);
    assert!(Volume::open(options(folder.path(), 4 * MIB)).is_err());
    assert!(Volume::create(&options(folder.path(), 4 * MIB)).is_err());
    drop(volume);
    opened(folder.path(), 4 * MIB);
}

#[test]
fn only_a_volume_can_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let kind = |path: &std::path::Path| Volume::open(options(path, MIB)).unwrap_err().kind();
    assert_eq!(kind(folder.path()), std::io::ErrorKind::NotFound);
    let file = folder.path().join("squall.log");
    std::fs::write(&file, [7; 100_000]).unwrap();
    assert_eq!(kind(folder.path()), std::io::ErrorKind::InvalidData);
    assert!(Volume::create(&options(folder.path(), 1000)).is_err());
}

#[test]
fn a_volume_may_get_another_size() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), 16 * MIB);
    put(&volume, "a", 1, 5000);
    volume.close().unwrap();
    drop(volume);
    let volume = opened(folder.path(), 32 * MIB);
    holds(&volume, "a", 1, 5000);
    assert!(volume.usage().bytes_max > 31 * MIB);
}
