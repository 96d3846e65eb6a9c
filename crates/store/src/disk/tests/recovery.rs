//! What is found after a restart, and how it is learnt: from shared memory, or from the log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Volume, VolumeOptions, VolumeState, body, folder, get, noise, options, stamps, until};
use crate::disk::Origin;

const BYTES: u64 = 4 << 20;

struct Place {
    folder: tempfile::TempDir,
    memory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            folder: folder(),
            memory: folder(),
        };
        Volume::create(&place.shared()).unwrap();
        place
    }

    fn private(&self) -> VolumeOptions {
        options(self.folder.path(), BYTES)
    }

    fn shared(&self) -> VolumeOptions {
        VolumeOptions {
            shared_memory: Some(self.memory.path().to_owned()),
            ..self.private()
        }
    }
}

fn open(options: VolumeOptions) -> Arc<Volume> {
    let volume = Volume::open(options).unwrap();
    until(|| volume.usage().state == VolumeState::Serving);
    volume
}

fn put(volume: &Volume, key: u64) {
    let body = noise(key, 1000);
    until(|| {
        volume
            .put(&key.to_le_bytes(), b"", &[&body], stamps(key))
            .is_ok()
    });
}

fn holds(volume: &Volume, key: u64) -> bool {
    let stored = get(volume, &key.to_le_bytes());
    stored.is_some_and(|stored| {
        assert!(body(&stored) == noise(key, 1000));
        true
    })
}

/// Those of `keys` that are not found.
fn missing(volume: &Volume, keys: impl Iterator<Item = u64>) -> Vec<u64> {
    keys.filter(|key| !holds(volume, *key)).collect()
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn the_index_outlives_the_process() {
    let place = Place::new();
    let volume = open(place.shared());
    assert!(matches!(volume.index_origin(), Origin::Fresh));
    for key in 0..500 {
        put(&volume, key);
    }
    volume.remove(&3u64.to_le_bytes());
    volume.flush().unwrap();
    // This one is lost with its process, and is no more than a miss.
    put(&volume, 500);
    drop(volume);
    let volume = open(place.shared());
    assert!(matches!(volume.index_origin(), Origin::Attached));
    assert_eq!(
        volume.usage().segments_recovered,
        0,
        "the log need not be read"
    );
    assert_eq!(missing(&volume, 0..500), [3], "{:?}", volume.usage());
    assert!(!holds(&volume, 3) && !holds(&volume, 500));
    put(&volume, 500);
    assert!(holds(&volume, 500));
}

/// The index knows of what a crash took back, and no more of what that took the place of.
#[test]
fn what_lies_under_what_a_crash_took_back_can_be_removed() {
    let place = Place::new();
    let volume = open(place.shared());
    put(&volume, 1);
    volume.flush().unwrap();
    put(&volume, 1);
    drop(volume);
    let volume = open(place.shared());
    assert!(!holds(&volume, 1));
    volume.remove(&1u64.to_le_bytes());
    volume.flush().unwrap();
    drop(volume);
    assert!(!holds(&open(place.private()), 1));
}

/// It was removed, and a crash took that back: from the log, not from the index.
#[test]
fn what_was_removed_before_a_crash_can_be_removed() {
    let place = Place::new();
    let volume = open(place.shared());
    put(&volume, 1);
    volume.close().unwrap();
    drop(volume);
    let volume = open(place.shared());
    volume.remove_and_crash(&1u64.to_le_bytes());
    drop(volume);
    let volume = open(place.shared());
    assert!(!holds(&volume, 1));
    volume.remove(&1u64.to_le_bytes());
    volume.flush().unwrap();
    drop(volume);
    assert!(!holds(&open(place.private()), 1));
}

/// Each segment has the same key at the same offset. Where a crash took the last one back, that of the segment's life before
/// still lies there.
#[test]
fn what_lies_where_a_lost_chunk_was_to_be_is_not_found() {
    let place = Place::new();
    let volume = open(place.shared());
    let store = |key: &[u8], bytes: usize| {
        until(|| volume.put(key, b"", &[noise(1, bytes)], stamps(1)).is_ok());
    };
    let begin = || {
        store(b"first", 8000);
        volume.flush().unwrap();
    };
    for _ in 0..2 * volume.usage().segments {
        begin();
        store(b"second", 8000);
        volume.flush().unwrap();
        // What is left is too little for another record.
        store(b"third", 22_000);
        store(b"fourth", 22_000);
        volume.flush().unwrap();
    }
    begin();
    store(b"second", 8000);
    drop(volume);
    let volume = open(place.shared());
    assert!(matches!(volume.index_origin(), Origin::Attached));
    assert!(get(&volume, b"first").is_some());
    assert!(get(&volume, b"second").is_none());
}

#[test]
fn an_index_that_missed_something_is_made_anew() {
    let place = Place::new();
    let volume = open(place.shared());
    (0..10).for_each(|key| put(&volume, key));
    volume.close().unwrap();
    drop(volume);
    let volume = open(place.private());
    assert!(matches!(volume.index_origin(), Origin::Private));
    volume.remove(&3u64.to_le_bytes());
    put(&volume, 10);
    volume.close().unwrap();
    drop(volume);
    let volume = open(place.shared());
    assert!(matches!(volume.index_origin(), Origin::Attached));
    assert!(volume.usage().segments_recovered > 0);
    let found: Vec<u64> = (0..12).filter(|key| holds(&volume, *key)).collect();
    assert_eq!(found, [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]);
}

#[test]
fn a_new_volume_leaves_no_old_index_behind() {
    let place = Place::new();
    let volume = open(place.shared());
    put(&volume, 1);
    volume.close().unwrap();
    drop(volume);
    assert_eq!(files(place.memory.path()), 1);
    Volume::create(&place.shared()).unwrap();
    assert_eq!(files(place.memory.path()), 0);
    assert!(!holds(&open(place.shared()), 1));
}

#[test]
fn it_serves_and_stores_before_all_is_learnt() {
    let place = Place::new();
    let volume = open(place.private());
    for key in 0..2000 {
        put(&volume, key);
    }
    volume.flush().unwrap();
    drop(volume);
    let volume = Volume::open(place.private()).unwrap();
    // Removed and replaced while the log is still read: nothing of it comes back.
    for key in 0..100 {
        volume.remove(&u64::to_le_bytes(key));
    }
    until(|| {
        volume
            .put(
                &100u64.to_le_bytes(),
                b"new",
                &[noise(100, 1000)],
                stamps(7),
            )
            .is_ok()
    });
    until(|| volume.usage().state == VolumeState::Serving);
    assert_eq!(missing(&volume, 100..2000), [], "{:?}", volume.usage());
    assert_eq!(missing(&volume, 0..100).len(), 100);
    assert_eq!(
        get(&volume, &100u64.to_le_bytes()).unwrap().meta,
        b"new".as_slice()
    );
    volume.flush().unwrap();
    drop(volume);
    let volume = open(place.private());
    assert_eq!(missing(&volume, 100..2000), [], "{:?}", volume.usage());
    assert_eq!(missing(&volume, 0..100).len(), 100);
}

/// A volume with 500 keys in an image, and changes since that are in the log alone.
fn with_image(place: &Place) {
    let volume = open(place.private());
    (0..500).for_each(|key| put(&volume, key));
    volume.close().unwrap();
    assert!(volume.usage().images > 0);
    drop(volume);
    let volume = open(place.private());
    // The tables of what was open when the image was taken, no others.
    assert!(
        (1..=3).contains(&volume.usage().segments_recovered),
        "{:?}",
        volume.usage()
    );
    assert_eq!(volume.usage().images_failed, 0);
    assert_eq!(missing(&volume, 0..500), [], "{:?}", volume.usage());
    put(&volume, 500);
    for key in 0..3u64 {
        volume.remove(&key.to_le_bytes());
    }
    volume
        .put(&3u64.to_le_bytes(), b"new", &[noise(3, 1000)], stamps(9))
        .unwrap();
    volume.flush().unwrap();
}

fn check_with_image(place: &Place) -> Arc<Volume> {
    let volume = open(place.private());
    let found: Vec<u64> = (0..502).filter(|key| holds(&volume, *key)).collect();
    assert_eq!(found, (3..501).collect::<Vec<u64>>());
    assert_eq!(
        get(&volume, &3u64.to_le_bytes()).unwrap().meta,
        b"new".as_slice()
    );
    assert_eq!(volume.usage().wrong, 0);
    volume
}

fn images(place: &Place) -> Vec<PathBuf> {
    let ending = |name: &str| place.folder.path().join(format!("squall.log.index-{name}"));
    ["a", "b"]
        .map(ending)
        .into_iter()
        .filter(|path| path.exists())
        .collect()
}

#[test]
fn an_image_and_what_came_after_it_are_all() {
    let place = Place::new();
    with_image(&place);
    let volume = check_with_image(&place);
    assert!(volume.usage().segments_recovered < 10);
    assert_eq!(volume.usage().images_failed, 0);
}

#[test]
fn what_a_damaged_image_lacks_is_in_the_log() {
    let place = Place::new();
    with_image(&place);
    for path in images(&place) {
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    let volume = check_with_image(&place);
    assert!(volume.usage().images_failed > 0);
}

#[test]
fn without_its_image_the_log_is_read() {
    let place = Place::new();
    with_image(&place);
    for path in images(&place) {
        std::fs::remove_file(path).unwrap();
    }
    check_with_image(&place);
}

#[test]
fn an_image_is_not_believed_where_the_log_was_written_over() {
    let place = Place::new();
    let volume = open(place.private());
    (0..500).for_each(|key| put(&volume, key));
    volume.close().unwrap();
    drop(volume);
    let log = place.folder.path().join("squall.log");
    let old: Vec<_> = images(&place)
        .into_iter()
        .map(|path| (std::fs::read(&path).unwrap(), path))
        .collect();
    let superblocks = std::fs::read(&log).unwrap()[..64 << 10].to_vec();
    // All is written over, several times, by others.
    let volume = open(place.private());
    for key in 500..6000 {
        until(|| {
            volume
                .put(
                    &u64::to_le_bytes(key),
                    b"",
                    &[noise(key, 1000)],
                    stamps(key),
                )
                .is_ok()
        });
    }
    volume.flush().unwrap();
    let newest = (500..6000).filter(|key| holds(&volume, *key)).count();
    drop(volume);
    // As if none of the later checkpoints had reached the disk.
    for path in images(&place) {
        std::fs::remove_file(path).unwrap();
    }
    for (image, path) in old {
        std::fs::write(path, image).unwrap();
    }
    let file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &superblocks, 0).unwrap();
    let volume = open(place.private());
    assert_eq!((0..500).filter(|key| holds(&volume, *key)).count(), 0);
    let found = (500..6000).filter(|key| holds(&volume, *key)).count();
    // What had been made free since may be back, as far as it wasn't written over; and room is made again.
    let evictions = volume.usage().evictions as usize;
    assert!(found + evictions >= newest, "{found} of {newest}");
    assert_eq!(volume.usage().wrong, 0);
}
