//! A disk that fails, is full, or has been taken away; bytes that are not what was written.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::faults::Plan;
use super::{Volume, folder, get, made, noise, opened, stamps, until, wait};
use crate::disk::{Refused, Stored, StoredBody, VolumeState};

const BYTES: u64 = 2 << 20;
const EIO: i32 = 5;
const KEYS: u64 = 60;

fn put(volume: &Volume, key: u64) -> Result<(), Refused> {
    let bytes = usize::try_from(key % 50 * 100).unwrap();
    volume.put(
        &key.to_le_bytes(),
        b"meta",
        &[noise(key, bytes)],
        stamps(key),
    )
}

/// Whether it is found; what is found is what was stored.
fn holds(volume: &Volume, key: u64) -> bool {
    let Some(stored) = get(volume, &key.to_le_bytes()) else {
        return false;
    };
    let number = stored.stamps.judged;
    assert_eq!(stored.key, key.to_le_bytes().as_slice());
    assert_eq!(stored.meta, b"meta".as_slice());
    match content(&stored) {
        Ok(bytes) => {
            assert!(bytes == noise(number, bytes.len()), "wrong bytes for {key}");
            true
        }
        // A large body may turn out to be broken in the middle: it is cut there, not made up.
        Err(_) => false,
    }
}

fn content(stored: &Stored) -> std::io::Result<Vec<u8>> {
    let extents = match &stored.body {
        StoredBody::Whole(bytes) => return Ok(bytes.to_vec()),
        StoredBody::Extents(extents) => extents,
    };
    let mut reader = extents.reader();
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < extents.len() {
        bytes.extend_from_slice(&wait(|cx| {
            reader.poll_read(bytes.len() as u64, u64::MAX, cx)
        })?);
    }
    Ok(bytes)
}

fn put_large(volume: &Volume, key: u64) {
    let mut writing = volume.begin(&key.to_le_bytes(), None).unwrap();
    let mut body = bytes::Bytes::from(noise(key, 70_000));
    wait(|cx| writing.poll_append(&mut body, cx)).unwrap();
    wait(|cx| writing.poll_finish(b"meta", stamps(key), cx)).unwrap();
}

fn found(volume: &Volume) -> usize {
    (0..KEYS).filter(|key| holds(volume, *key)).count()
}

/// A volume with many keys, some of them replaced and removed, all in its file.
fn filled(path: &Path) -> Arc<Volume> {
    let volume = made(path, BYTES);
    for round in 0..3 {
        for key in 0..KEYS {
            if key % 20 == 7 {
                put_large(&volume, key);
            } else {
                put(&volume, key).unwrap();
            }
        }
        if round == 1 {
            for key in (0..KEYS).step_by(9) {
                assert!(volume.remove(&key.to_le_bytes()));
            }
        }
        volume.flush().unwrap();
    }
    volume
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip,
    Zeros,
    Noise,
}

/// Damages `count` places of the log, each of them at most a few hundred bytes.
fn damage(log: &Path, seed: u64, count: u64) {
    let file = OpenOptions::new().read(true).write(true).open(log).unwrap();
    let end = file.metadata().unwrap().len();
    for number in 0..count {
        let chance = noise(seed ^ number << 32, 24);
        let eight = |from: usize| u64::from_le_bytes(chance[from..from + 8].try_into().unwrap());
        // Not the superblocks: a volume without one can't be opened, which is told.
        let at = (64 << 10) + eight(0) % (end - (64 << 10));
        let mut bytes = vec![0; eight(8) as usize % 300 + 1];
        let read = file.read_at(&mut bytes, at).unwrap();
        bytes.truncate(read);
        let kind =
            [Damage::Flip, Damage::Flip, Damage::Zeros, Damage::Noise][eight(16) as usize % 4];
        match kind {
            Damage::Flip => bytes[0] ^= 1 << ((eight(16) >> 8) % 8),
            Damage::Zeros => bytes.fill(0),
            Damage::Noise => bytes.copy_from_slice(&noise(eight(16), read)),
        }
        file.write_all_at(&bytes, at).unwrap();
    }
}

/// How many damages a suite has time for; more by `SQUALL_FAULTS`.
fn damages() -> u64 {
    let asked = std::env::var("SQUALL_FAULTS").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(1000)
}

#[test]
pub(super) fn no_damage_makes_it_give_what_was_not_stored() {
    let folder = folder();
    let log = folder.path().join("squall.log");
    filled(folder.path()).close().unwrap();
    let whole = std::fs::read(&log).unwrap();
    let mut lost = 0;
    for seed in 0..damages() / 10 {
        std::fs::write(&log, &whole).unwrap();
        let volume = opened(folder.path(), BYTES);
        // Some of it is damaged while the volume is open, some before it is opened again.
        damage(&log, seed, 5);
        found(&volume);
        drop(volume);
        damage(&log, seed + (1 << 20), 5);
        let volume = opened(folder.path(), BYTES);
        lost += KEYS as usize - found(&volume);
        // And it goes on storing.
        until(|| put(&volume, KEYS + 1).is_ok());
        assert!(holds(&volume, KEYS + 1));
    }
    assert!(lost > 0, "the damage hit something");
}

#[test]
fn failing_writes_take_it_out_of_service() {
    let folder = folder();
    let volume = filled(folder.path());
    volume.faults().set(Plan {
        write: Some(EIO),
        ..Plan::default()
    });
    let mut key = 0;
    until(|| {
        key += 1;
        // Some are refused, some lost.
        let _stored = put(&volume, key);
        let _written = volume.flush();
        volume.usage().state == VolumeState::OutOfService
    });
    assert_eq!(put(&volume, 1), Err(Refused::OutOfService));
    assert!(!holds(&volume, 1));
    assert!(volume.begin(b"a", None).is_err());
    let usage = volume.usage();
    assert!(usage.write_errors > 0 && usage.lost > 0, "{usage:?}");
    volume.faults().set(Plan::default());
    drop(volume);
    assert!(found(&opened(folder.path(), BYTES)) > 0);
}

#[test]
pub(super) fn failing_reads_take_it_out_of_service() {
    let folder = folder();
    let volume = filled(folder.path());
    volume.faults().set(Plan {
        read: Some(EIO),
        ..Plan::default()
    });
    assert_eq!(found(&volume), 0);
    assert_eq!(volume.usage().state, VolumeState::OutOfService);
    assert!(volume.usage().read_errors > 0);
}

#[test]
pub(super) fn now_and_then_an_error_is_borne() {
    let folder = folder();
    let volume = filled(folder.path());
    for _ in 0..10 {
        volume.faults().set(Plan {
            read: Some(EIO),
            ..Plan::default()
        });
        assert!(!holds(&volume, 5));
        volume.faults().set(Plan::default());
        assert!(holds(&volume, 5));
    }
    assert_eq!(volume.usage().state, VolumeState::Serving);
}

#[test]
fn a_full_disk_makes_it_smaller() {
    let folder = folder();
    let volume = made(folder.path(), 8 << 20);
    let before = volume.usage().segments;
    // So much fits, then no more.
    volume.faults().set(Plan {
        room: Some(2 << 20),
        ..Plan::default()
    });
    for key in 0..5000 {
        while put(&volume, key) == Err(Refused::Full) || volume.usage().chunks_queued > 8 {
            std::thread::yield_now();
        }
    }
    volume.flush().unwrap();
    let usage = volume.usage();
    assert_eq!(usage.state, VolumeState::Serving, "{usage:?}");
    assert!(usage.segments_retired > before / 2, "{usage:?}");
    assert!(
        usage.write_errors > 0 && usage.write_errors < 40,
        "{usage:?}"
    );
    assert!(holds(&volume, 4999));
    drop(volume);
    assert!(holds(&opened(folder.path(), 8 << 20), 4999));
}

#[test]
fn a_volume_that_was_deleted_is_out_of_service() {
    let folder = folder();
    let volume = filled(folder.path());
    std::fs::remove_dir_all(folder.path()).unwrap();
    until(|| volume.usage().state == VolumeState::OutOfService);
    assert_eq!(put(&volume, 1), Err(Refused::OutOfService));
    // Closing it is still possible.
    let _closed = volume.close();
    let _other = made(folder.path(), BYTES);
}
