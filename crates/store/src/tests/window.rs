//! Bodies that are only shared: the window, back-pressure, readers that fall behind.

use super::*;

const KB: u64 = 1 << 10;

fn narrow() -> TestStore {
    Store::new(Options {
        join_bytes_max: 512 * KB,
        gap_bytes_max: 64 * KB,
        ..Options::default()
    })
}

fn append(filler: &mut Filler<Meta>, bytes: u64) {
    let at = filler.received();
    filler.append(&pattern(at, bytes as usize)).unwrap();
}

#[test]
fn a_shared_body_is_found_until_it_ends_and_then_forgotten() {
    let store = narrow();
    let (object, mut filler) = publish(&store, "a", None, Keep::ShareOnly);
    let mut reader = object.reader();
    append(&mut filler, 100 * KB);
    assert!(find(&store, "a").is_some());
    filler.finish().unwrap();
    assert!(find(&store, "a").is_none());
    assert_eq!(drain(&mut reader), (pattern(0, 100 << 10), Some(Ok(()))));
    assert_eq!(store.usage().bytes, 1 + META_BYTES);
}

#[test]
fn the_filler_waits_for_the_fastest_reader_only() {
    let store = narrow();
    let (object, mut filler) = publish(&store, "a", None, Keep::ShareOnly);
    let (mut fast, _slow) = (object.reader(), object.reader());
    let bell = Arc::new(Bell::default());
    append(&mut filler, 64 * KB);
    assert!(poll_with(&bell, |cx| filler.poll_ready(cx)).is_ready());
    append(&mut filler, 1);
    assert!(poll_with(&bell, |cx| filler.poll_ready(cx)).is_pending());
    assert!(poll(|cx| fast.poll_next(cx)).is_ready());
    assert_eq!(bell.rings(), 1);
    assert!(poll_with(&bell, |cx| filler.poll_ready(cx)).is_ready());
}

#[test]
fn the_filler_is_woken_when_the_last_reader_goes() {
    let store = narrow();
    let (object, mut filler) = publish(&store, "a", None, Keep::ShareOnly);
    let reader = object.reader();
    let bell = Arc::new(Bell::default());
    append(&mut filler, 100 * KB);
    assert!(poll_with(&bell, |cx| filler.poll_ready(cx)).is_pending());
    assert!(poll_with(&bell, |cx| filler.poll_all_readers_gone(cx)).is_pending());
    drop(reader);
    assert_eq!(bell.rings(), 1);
    assert!(poll(|cx| filler.poll_ready(cx)).is_ready());
}

#[test]
fn a_body_to_be_stored_does_not_wait() {
    let store = narrow();
    let (object, mut filler) = publish(&store, "a", None, Keep::Store);
    let _reader = object.reader();
    append(&mut filler, 400 * KB);
    assert!(poll(|cx| filler.poll_ready(cx)).is_ready());
}

#[test]
fn memory_is_bounded_by_the_window_and_the_slow_are_lost() {
    let store = narrow();
    let (object, mut filler) = publish(&store, "a", None, Keep::ShareOnly);
    let (mut fast, mut slow) = (object.reader(), object.reader());
    let mut read = 0;
    for _ in 0..200 {
        append(&mut filler, 32 * KB);
        let (bytes, end) = drain(&mut fast);
        assert_eq!((bytes, end), (pattern(read, 32 << 10), None));
        read = filler.received();
        assert!(store.usage().bytes <= 512 * KB + 1 + META_BYTES);
    }
    assert!(find(&store, "a").is_none());
    assert_eq!(
        drain(&mut slow),
        (Vec::new(), Some(Err(ReadError::Lost { at: 0 })))
    );
    assert_eq!(
        drain(&mut object.reader()).1,
        Some(Err(ReadError::Lost { at: 0 }))
    );
    filler.finish().unwrap();
    assert_eq!(drain(&mut fast), (Vec::new(), Some(Ok(()))));
    let usage = store.usage();
    assert_eq!((usage.windows_closed, usage.readers_lost), (1, 2));
    assert_eq!(usage.bytes, 1 + META_BYTES);
}

#[test]
fn a_lost_reader_knows_where_to_go_on() {
    let store = narrow();
    let (object, mut filler) = publish(&store, "a", None, Keep::ShareOnly);
    let (mut fast, mut slow) = (object.reader(), object.reader());
    append(&mut filler, 10);
    assert_eq!(drain(&mut slow).0, pattern(0, 10));
    for _ in 0..100 {
        append(&mut filler, 32 * KB);
        drain(&mut fast);
    }
    assert_eq!(
        drain(&mut slow),
        (Vec::new(), Some(Err(ReadError::Lost { at: 10 })))
    );
    assert_eq!(slow.position(), 10);
}

#[test]
fn only_what_a_reader_still_needs_is_held_behind_a_closed_window() {
    let store = narrow();
    let (object, mut filler) = publish(&store, "a", None, Keep::ShareOnly);
    let mut reader = object.reader();
    for _ in 0..20 {
        append(&mut filler, 32 * KB);
    }
    assert_eq!(store.usage().windows_closed, 1);
    assert_eq!(
        drain(&mut reader).1,
        Some(Err(ReadError::Lost { at: 0 })),
        "it never read"
    );

    let mut only = object.reader();
    only.seek(filler.received());
    assert!(poll(|cx| only.poll_next(cx)).is_pending());
    drop(reader);
    assert_eq!(store.usage().bytes, 1 + META_BYTES);
    append(&mut filler, 32 * KB);
    assert_eq!(drain(&mut only).0.len(), 32 << 10);
    assert_eq!(store.usage().bytes, 1 + META_BYTES);
}

#[test]
fn a_body_that_outgrows_the_limit_is_only_shared() {
    let store = Store::new(Options {
        object_bytes_max: 100 * KB,
        ..Options::default()
    });
    let (object, mut filler) = publish(&store, "a", None, Keep::Store);
    append(&mut filler, 100 * KB);
    assert_eq!(filler.keep(), Keep::Store);
    append(&mut filler, 1);
    assert_eq!(filler.keep(), Keep::ShareOnly);
    let mut reader = find(&store, "a").unwrap().reader();
    filler.finish().unwrap();
    assert!(find(&store, "a").is_none());
    assert_eq!(
        drain(&mut reader),
        (pattern(0, 100 * 1024 + 1), Some(Ok(())))
    );
    drop((object, reader));
    assert_eq!(store.usage().bytes, 0);
}

#[test]
fn a_body_announced_too_large_is_only_shared_from_the_start() {
    let store = Store::new(Options {
        object_bytes_max: 100,
        ..Options::default()
    });
    let (_, filler) = publish(&store, "a", Some(101), Keep::Store);
    assert_eq!(filler.keep(), Keep::ShareOnly);
}

#[test]
fn fills_that_exceed_all_memory_narrow_their_windows() {
    let store = Store::new(Options {
        memory_bytes_max: 1024 * KB,
        object_bytes_max: 10_000 * KB,
        gap_bytes_max: 64 * KB,
        ..Options::default()
    });
    let (object, mut filler) = publish(&store, "a", None, Keep::Store);
    let mut reader = object.reader();
    for _ in 0..100 {
        append(&mut filler, 32 * KB);
        assert_eq!(drain(&mut reader).1, None);
        assert!(store.usage().bytes <= (1024 + 32) * KB);
    }
    assert_eq!(filler.keep(), Keep::ShareOnly);
    assert!(find(&store, "a").is_none());
}

#[test]
fn a_cut_shared_body_gives_what_it_has_and_then_the_error() {
    let store = narrow();
    let (object, mut filler) = publish(&store, "a", Some(100 * KB), Keep::ShareOnly);
    let mut reader = object.reader();
    append(&mut filler, 40 * KB);
    drop(filler);
    assert_eq!(
        drain(&mut reader),
        (pattern(0, 40 << 10), Some(Err(ReadError::Cut)))
    );
    assert!(find(&store, "a").is_none());
}

#[test]
fn a_filler_that_waits_until_it_is_ready_loses_nobody() {
    let store = narrow();
    let (object, mut filler) = publish(&store, "a", None, Keep::ShareOnly);
    let (mut fast, mut slow) = (object.reader(), object.reader());
    let bell = Arc::new(Bell::default());
    while poll_with(&bell, |cx| filler.poll_ready(cx)).is_ready() {
        append(&mut filler, 32 * KB);
        drain(&mut fast);
        assert!(
            filler.received() <= 1024 * KB,
            "it must wait for the slow one"
        );
    }
    let (bytes, end) = drain(&mut slow);
    assert_eq!((bytes.len() as u64, end), (filler.received(), None));
    assert_eq!(bell.rings(), 1, "the slow one's progress wakes the filler");
    assert!(poll(|cx| filler.poll_ready(cx)).is_ready());
}

#[test]
fn a_reader_knows_that_it_came_too_late() {
    let store = narrow();
    let (object, mut filler) = publish(&store, "a", None, Keep::ShareOnly);
    let mut early = object.reader();
    assert!(!early.is_lost());
    for _ in 0..20 {
        append(&mut filler, 32 * KB);
        drain(&mut early);
    }
    assert!(!early.is_lost());
    assert!(object.reader().is_lost());
}
