//! Large responses: piece by piece to the disk, read from anywhere, broken off, validated.

use std::sync::Arc;

use bytes::Bytes;

use super::faults::Plan;
use super::{Volume, folder, get, made, noise, opened, options, stamps, until, wait};
use crate::disk::{ExtentReader, Extents, Refused, StoredBody, VolumeState, Writing};

const MIB: u64 = 1 << 20;

fn append(writing: &mut Writing, bytes: &[u8]) -> Result<(), Refused> {
    let mut bytes = Bytes::copy_from_slice(bytes);
    wait(|cx| writing.poll_append(&mut bytes, cx))
}

fn finish(mut writing: Writing, number: u64) -> Result<(), Refused> {
    wait(|cx| writing.poll_finish(b"meta", stamps(number), cx))
}

/// Stores `body` in pieces of odd sizes.
fn store(volume: &Volume, key: &[u8], number: u64, body: &[u8]) -> Result<(), Refused> {
    let mut writing = volume.begin(key, None)?;
    for piece in body.chunks(9973) {
        append(&mut writing, piece)?;
    }
    assert_eq!(writing.bytes(), body.len() as u64);
    finish(writing, number)
}

fn extents(volume: &Volume, key: &[u8]) -> Option<Arc<Extents>> {
    match get(volume, key)?.body {
        StoredBody::Extents(extents) => Some(extents),
        StoredBody::Whole(_) => panic!("the body is whole"),
    }
}

/// All from `at` on.
fn read(reader: &mut ExtentReader, mut at: u64) -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let bytes = wait(|cx| reader.poll_read(at, u64::MAX, cx))?;
        if bytes.is_empty() {
            return Ok(all);
        }
        at += bytes.len() as u64;
        all.extend_from_slice(&bytes);
    }
}

fn holds(volume: &Volume, key: &[u8], body: &[u8]) {
    let extents = extents(volume, key).expect("it is found");
    assert_eq!(extents.len(), body.len() as u64);
    assert!(read(&mut extents.reader(), 0).unwrap() == body);
}

#[test]
fn a_large_body_is_read_as_it_was_written() {
    let folder = folder();
    let volume = made(folder.path(), 64 * MIB);
    for bytes in [300_000, 1_000_000, 126_976, 126_977, 253_952] {
        let body = noise(bytes, usize::try_from(bytes).unwrap());
        store(&volume, b"a", 1, &body).unwrap();
        holds(&volume, b"a", &body);
        volume.flush().unwrap();
        holds(&volume, b"a", &body);
    }
    let body = noise(5, 3_000_000);
    store(&volume, b"a", 1, &body).unwrap();
    volume.flush().unwrap();
    drop(volume);
    let volume = opened(folder.path(), 64 * MIB);
    holds(&volume, b"a", &body);
    assert_eq!(volume.usage().wrong, 0);
}

#[test]
fn a_reader_begins_anywhere() {
    let folder = folder();
    let volume = made(folder.path(), 64 * MIB);
    let body = noise(1, 1_000_000);
    store(&volume, b"a", 1, &body).unwrap();
    volume.flush().unwrap();
    let mut reader = extents(&volume, b"a").unwrap().reader();
    for at in [999_999, 0, 126_975, 126_976, 500_000, 1_000_000, 2_000_000] {
        let rest = body.get(at..).unwrap_or_default();
        assert!(read(&mut reader, at as u64).unwrap() == rest, "from {at}");
    }
}

#[test]
fn the_kernel_begins_with_what_comes_next() {
    const FRAGMENT: u64 = 126_976;
    let folder = folder();
    let volume = made(folder.path(), 64 * MIB);
    let body = noise(1, 3_000_000);
    store(&volume, b"a", 1, &body).unwrap();
    volume.flush().unwrap();
    let faults = volume.faults();
    let extents = extents(&volume, b"a").unwrap();
    faults.set(Plan {
        uncached: true,
        ..Plan::default()
    });
    // Each fragment once, however it is read.
    assert!(read(&mut extents.reader(), 0).unwrap() == body);
    let begun = faults.begun();
    assert_eq!(begun.len() as u64, 3_000_000_u64.div_ceil(FRAGMENT));
    let ends = begun.iter().map(|(at, bytes)| at + bytes);
    assert!(ends.zip(&begun[1..]).all(|(end, next)| end <= next.0));
    // Nothing that isn't wanted, and from where it goes on after a leap.
    let mut reader = extents.reader();
    let fragments = |from: usize, to: usize| begun[from..to].to_vec();
    wait(|cx| reader.poll_read(1000, 2000, cx)).unwrap();
    assert_eq!(faults.begun(), fragments(0, 1));
    wait(|cx| reader.poll_read(20 * FRAGMENT, 22 * FRAGMENT, cx)).unwrap();
    assert_eq!(faults.begun(), fragments(20, 22));
    wait(|cx| reader.poll_read(5 * FRAGMENT, u64::MAX, cx)).unwrap();
    assert_eq!(faults.begun(), fragments(5, 13));
}

#[test]
fn a_small_body_of_unknown_length_is_stored_whole() {
    let folder = folder();
    let volume = made(folder.path(), 16 * MIB);
    store(&volume, b"a", 1, b"little").unwrap();
    let stored = get(&volume, b"a").unwrap();
    assert_eq!(super::body(&stored), b"little");
    store(&volume, b"a", 1, b"").unwrap();
    assert_eq!(super::body(&get(&volume, b"a").unwrap()), b"");
}

#[test]
fn what_is_broken_off_is_not_found() {
    let folder = folder();
    let volume = made(folder.path(), 64 * MIB);
    let old = noise(1, 400_000);
    store(&volume, b"a", 1, &old).unwrap();
    let mut writing = volume.begin(b"a", Some(1_000_000)).unwrap();
    append(&mut writing, &noise(2, 700_000)).unwrap();
    holds(&volume, b"a", &old);
    drop(writing);
    assert_eq!(volume.usage().broken_off, 1);
    volume.flush().unwrap();
    holds(&volume, b"a", &old);
    drop(volume);
    holds(&opened(folder.path(), 64 * MIB), b"a", &old);
}

#[test]
fn a_new_head_leads_to_the_same_body() {
    let folder = folder();
    let volume = made(folder.path(), 64 * MIB);
    let body = noise(1, 600_000);
    store(&volume, b"a", 1, &body).unwrap();
    let written = volume.usage().bytes_written;
    let stored = get(&volume, b"a").unwrap();
    volume.update(&stored, b"new", stamps(2)).unwrap();
    volume.flush().unwrap();
    let stored = get(&volume, b"a").unwrap();
    assert_eq!(stored.meta, b"new".as_slice());
    assert_eq!(stored.stamps, stamps(2));
    holds(&volume, b"a", &body);
    assert!(volume.usage().bytes_written < written + 1_000_000);
    drop(volume);
    holds(&opened(folder.path(), 64 * MIB), b"a", &body);
}

/// A volume that loses what is used, too.
fn made_without_reinsertion(path: &std::path::Path) -> Arc<Volume> {
    drop(made(path, 4 * MIB));
    let mut options = options(path, 4 * MIB);
    options.reinsert_max_percent = 0;
    let volume = Volume::open(options).unwrap();
    until(|| volume.usage().state == VolumeState::Serving);
    volume
}

#[test]
fn what_is_being_read_is_not_overwritten() {
    let folder = folder();
    let volume = made_without_reinsertion(folder.path());
    let body = noise(1, 200_000);
    store(&volume, b"a", 1, &body).unwrap();
    let held = extents(&volume, b"a").unwrap();
    for number in 0..1000 {
        let key = format!("key {number}");
        while volume
            .put(key.as_bytes(), b"", &[noise(number, 20_000)], stamps(1))
            .is_err()
        {
            std::thread::yield_now();
        }
    }
    assert!(read(&mut held.reader(), 0).unwrap() == body);
    drop(held);
    // Then it makes room as all others do.
    let mut number = 1000;
    until(|| {
        number += 1;
        let key = format!("key {number}");
        // What is refused now is tried again with the next.
        let _stored = volume.put(key.as_bytes(), b"", &[noise(number, 20_000)], stamps(1));
        extents(&volume, b"a").is_none()
    });
}

#[test]
fn a_body_whose_fragments_are_gone_is_not_found() {
    let folder = folder();
    let volume = made_without_reinsertion(folder.path());
    store(&volume, b"a", 1, &noise(1, 200_000)).unwrap();
    let stored = get(&volume, b"a").unwrap();
    for number in 0..100 {
        volume
            .put(
                format!("{number}").as_bytes(),
                b"",
                &[noise(number, 10_000)],
                stamps(1),
            )
            .unwrap();
    }
    // Its head is newer than much else, its body is not.
    volume.update(&stored, b"new", stamps(2)).unwrap();
    drop(stored);
    let mut number = 0;
    until(|| {
        number += 1;
        let _stored = volume.put(
            format!("b {number}").as_bytes(),
            b"",
            &[noise(number, 10_000)],
            stamps(1),
        );
        get(&volume, b"a").is_none()
    });
    assert_eq!(volume.usage().wrong, 0);
}

#[test]
fn a_body_that_is_not_of_the_right_size_is_refused() {
    let folder = folder();
    drop(made(folder.path(), 16 * MIB));
    let mut options = options(folder.path(), 16 * MIB);
    options.object_bytes_min = 10;
    options.object_bytes_max = 100_000;
    let volume = Volume::open(options).unwrap();
    assert_eq!(
        volume.begin(b"a", Some(100_001)).unwrap_err(),
        Refused::Size
    );
    assert_eq!(volume.begin(b"a", Some(9)).unwrap_err(), Refused::Size);
    assert_eq!(
        store(&volume, b"a", 1, &noise(1, 100_001)),
        Err(Refused::Size)
    );
    assert_eq!(store(&volume, b"a", 1, &noise(1, 9)), Err(Refused::Size));
    assert_eq!(store(&volume, b"a", 1, &noise(1, 100_000)), Ok(()));
}

#[test]
fn who_waits_for_room_is_told_of_the_end() {
    let folder = folder();
    let volume = made(folder.path(), 4 * MIB);
    let mut writing = volume.begin(b"a", None).unwrap();
    let other = Arc::clone(&volume);
    volume.close().unwrap();
    drop(other);
    assert_eq!(
        append(&mut writing, &noise(1, 200_000)),
        Err(Refused::OutOfService)
    );
}

#[test]
fn a_body_that_comes_too_slowly_is_not_stored() {
    let folder = folder();
    let volume = made_without_reinsertion(folder.path());
    let mut writing = volume.begin(b"a", None).unwrap();
    append(&mut writing, &noise(1, 100_000)).unwrap();
    for number in 0..1000 {
        let key = format!("key {number}");
        until(|| {
            volume
                .put(key.as_bytes(), b"", &[noise(number, 20_000)], stamps(1))
                .is_ok()
        });
    }
    assert_eq!(finish(writing, 1), Err(Refused::Gone));
    assert!(get(&volume, b"a").is_none());
}

#[test]
fn a_body_of_more_than_half_a_volume_is_refused() {
    let folder = folder();
    let volume = made(folder.path(), 4 * MIB);
    assert_eq!(
        volume.begin(b"a", Some(3 * MIB)).unwrap_err(),
        Refused::Size
    );
    let body = noise(1, 3_000_000);
    assert_eq!(store(&volume, b"a", 1, &body), Err(Refused::Size));
}

#[test]
fn bodies_that_come_together_are_told_apart() {
    let folder = folder();
    let volume = made(folder.path(), 64 * MIB);
    let bodies = [1, 2, 3].map(|number| noise(number, 2_000_000));
    let mut writings = [b"1", b"2", b"3"].map(|key| volume.begin(key, None).unwrap());
    for piece in 0..20 {
        for (writing, body) in writings.iter_mut().zip(&bodies) {
            append(writing, &body[piece * 100_000..][..100_000]).unwrap();
        }
    }
    for (number, writing) in writings.into_iter().enumerate() {
        finish(writing, number as u64).unwrap();
    }
    for (key, body) in [b"1", b"2", b"3"].into_iter().zip(&bodies) {
        holds(&volume, key, body);
    }
}

#[test]
fn who_writes_waits_for_room() {
    let folder = folder();
    drop(made(folder.path(), 4 * MIB));
    let mut options = options(folder.path(), 4 * MIB);
    options.full_buffers_max = 1;
    let volume = Volume::open(options).unwrap();
    for number in 0..12 {
        let body = noise(number, 1_000_000);
        store(&volume, &number.to_le_bytes(), number, &body).unwrap();
        holds(&volume, &number.to_le_bytes(), &body);
    }
    assert!(get(&volume, &0u64.to_le_bytes()).is_none());
    assert_eq!(volume.usage().wrong, 0);
}
