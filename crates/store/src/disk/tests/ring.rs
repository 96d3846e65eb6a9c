//! Reads by a ring: whatever the disk does, it is told as if a thread had read it; and what becomes of searches whose ring
//! is full, hangs or goes. Kernels without rings have nothing to test.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use super::faults::Plan;
use super::{Found, PATIENCE, RING, Ring, Stored, Volume, body, folder, made, noise, stamps, wait};
use super::{failure, reinsert, small};
use crate::disk::Reading;
use crate::disk::reads::Reads;

const BYTES: u64 = 2 << 20;
const KEYS: u64 = 20;

/// Runs it with a ring on this thread.
fn with_ring(test: impl FnOnce()) {
    let Ok(ring) = Ring::new() else { return };
    RING.set(Some(Rc::new(ring)));
    test();
    RING.set(None);
}

#[test]
fn what_was_stored_is_found() {
    with_ring(small::what_was_stored_is_found_in_every_state);
    with_ring(small::an_update_keeps_the_body);
    with_ring(small::the_oldest_make_room);
}

#[test]
fn what_was_removed_stays_away() {
    with_ring(small::what_was_removed_stays_away);
}

#[test]
fn what_is_used_stays() {
    with_ring(reinsert::what_is_used_stays);
}

#[test]
fn no_damage_makes_it_give_what_was_not_stored() {
    with_ring(failure::no_damage_makes_it_give_what_was_not_stored);
}

#[test]
fn errors_are_borne_or_take_it_out_of_service() {
    with_ring(failure::now_and_then_an_error_is_borne);
    with_ring(failure::failing_reads_take_it_out_of_service);
}

/// A volume whose disk has to be waited for, whatever is looked for.
fn cold(path: &std::path::Path) -> Arc<Volume> {
    let volume = made(path, BYTES);
    for key in 0..KEYS {
        let body = noise(key, 3000);
        let put = volume.put(&key.to_le_bytes(), b"", &[&body], stamps(key));
        put.unwrap();
    }
    volume.flush().unwrap();
    volume.faults().set(Plan {
        uncached: true,
        ..Plan::default()
    });
    volume
}

fn find(volume: &Volume, key: u64, ring: &Ring) -> Reading {
    match volume.find(&key.to_le_bytes(), 0, Some(ring)) {
        Found::Later(reading) => reading,
        Found::Here(_) | Found::Nothing => panic!("{key} needs no wait"),
    }
}

fn poll(reading: &mut Reading, cx: &mut Context<'_>) -> std::task::Poll<Option<Stored>> {
    Future::poll(Pin::new(reading), cx)
}

fn is_pending(reading: &mut Reading) -> bool {
    poll(reading, &mut Context::from_waker(Waker::noop())).is_pending()
}

fn check(key: u64, stored: Option<Stored>) {
    assert_eq!(body(&stored.unwrap()), noise(key, 3000));
}

#[test]
fn nothing_is_read_before_the_ring_turns() {
    let Ok(ring) = Ring::new() else { return };
    let folder = folder();
    let volume = cold(folder.path());
    let mut readings: Vec<Reading> = (0..KEYS).map(|key| find(&volume, key, &ring)).collect();
    assert!(readings.iter_mut().all(is_pending));
    assert_eq!(volume.usage().reads_queued, KEYS as usize);
    while volume.usage().reads_queued > 0 {
        ring.wait(PATIENCE);
    }
    for (key, reading) in readings.iter_mut().enumerate() {
        check(key as u64, wait(|cx| poll(reading, cx)));
    }
    let usage = volume.usage();
    assert_eq!((usage.reads_by_rings, usage.reads_by_threads), (KEYS, 0));
    assert_eq!((usage.hits, usage.hits_at_once), (KEYS, 0));
}

/// Many at a time, so that the kernel has more to tell of at once than it tells in one go.
#[test]
fn its_driver_ends_all_there_is_to_read() {
    let Ok(ring) = Ring::new() else { return };
    let folder = folder();
    let volume = cold(folder.path());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    let ring = Rc::new(ring);
    let mut left = None;
    runtime.block_on(async {
        tokio::task::spawn_local(ring.driver().unwrap());
        for _ in 0..50 {
            let keys = (0..100).map(|number| number % KEYS);
            let begun = keys.map(|key| (key, find(&volume, key, &ring)));
            for (key, reading) in begun.collect::<Vec<_>>() {
                let read = tokio::time::timeout(PATIENCE, reading).await;
                check(key, read.expect("it has ended"));
            }
        }
        left = Some(find(&volume, 1, &ring));
    });
    let mut left = left.unwrap();
    assert_eq!(volume.usage().reads_by_rings, 50 * 100);
    // Without a driver it is for threads, what was pushed before as well.
    drop(runtime);
    check(1, wait(|cx| poll(&mut left, cx)));
    let mut later = find(&volume, 2, &ring);
    check(2, wait(|cx| poll(&mut later, cx)));
    assert_eq!(volume.usage().reads_by_threads, 2);
}

#[test]
fn what_a_full_ring_does_not_take_threads_do() {
    let Ok(ring) = Ring::with_room(4) else { return };
    let folder = folder();
    let volume = cold(folder.path());
    let mut readings: Vec<Reading> = (0..KEYS).map(|key| find(&volume, key, &ring)).collect();
    for (key, reading) in readings.iter_mut().enumerate().skip(4) {
        check(key as u64, wait(|cx| poll(reading, cx)));
    }
    assert!(readings.iter_mut().take(4).all(is_pending));
    drop(ring);
    // What a ring leaves behind, too.
    for (key, reading) in readings.iter_mut().enumerate().take(4) {
        check(key as u64, wait(|cx| poll(reading, cx)));
    }
    let usage = volume.usage();
    assert_eq!((usage.reads_by_rings, usage.reads_by_threads), (0, KEYS));
    assert_eq!(usage.reads_queued, 0);
}

#[test]
fn what_nobody_waits_for_is_no_hit() {
    let Ok(ring) = Ring::new() else { return };
    let folder = folder();
    let volume = cold(folder.path());
    drop(find(&volume, 1, &ring));
    while volume.usage().reads_queued > 0 {
        ring.wait(PATIENCE);
    }
    let usage = volume.usage();
    assert_eq!((usage.reads_by_rings, usage.hits, usage.misses), (1, 0, 0));
}

#[test]
fn a_volume_is_closed_before_its_reads_end() {
    let Ok(ring) = Ring::new() else { return };
    let folder = folder();
    let volume = cold(folder.path());
    let mut reading = find(&volume, 1, &ring);
    volume.close().unwrap();
    let other = made(folder.path(), BYTES);
    ring.wait(Duration::from_secs(1));
    // Empty by now, or not yet when it was read.
    if let Some(stored) = wait(|cx| poll(&mut reading, cx)) {
        check(1, Some(stored));
    }
    assert_eq!(other.usage().objects, 0);
}

#[test]
fn a_disk_that_hangs_is_left_to_threads() {
    let reads = Reads::default();
    assert!(reads.enter_ring(100));
    assert!(reads.enter_ring(101));
    assert!(
        !reads.enter_ring(102),
        "nothing came for more than a second"
    );
    reads.leave_ring();
    assert!(!reads.enter_ring(102), "what is given up is no answer");
    reads.note_moved(102);
    assert!(reads.enter_ring(103), "it goes on");
    reads.leave_ring();
    reads.leave_ring();
    assert!(reads.enter_ring(900), "there was nothing to wait for");
}
