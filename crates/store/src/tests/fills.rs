//! Bodies that are arriving.

use bytes::BufMut;

use super::*;
use crate::{Body, Overflow, Short};

#[test]
fn whoever_joins_reads_from_the_first_byte() {
    let store = store();
    let (object, mut filler) = publish(&store, "a", None, Keep::Store);
    let mut readers = vec![(object.reader(), Vec::new())];
    let mut sent = 0;
    for len in [1, 10, 5_000, 100_000, 3, 700_000, 262_144] {
        filler.append(&pattern(sent, len)).unwrap();
        sent += len as u64;
        readers.push((find(&store, "a").unwrap().reader(), Vec::new()));
        for (reader, got) in &mut readers {
            let (bytes, end) = drain(reader);
            assert_eq!(end, None);
            got.extend(bytes);
            assert_eq!(*got, pattern(0, sent as usize));
        }
    }
    filler.finish().unwrap();
    for (reader, _) in &mut readers {
        assert_eq!(drain(reader), (Vec::new(), Some(Ok(()))));
    }
    assert_eq!(body(&object), pattern(0, sent as usize));
}

#[test]
fn a_waiting_reader_is_woken_by_data_and_by_the_end() {
    let store = store();
    let (object, mut filler) = publish(&store, "a", None, Keep::Store);
    let bell = Arc::new(Bell::default());
    let mut reader = object.reader();
    assert!(poll_with(&bell, |cx| reader.poll_next(cx)).is_pending());
    filler.append(b"x").unwrap();
    assert_eq!(bell.rings(), 1);
    assert!(poll_with(&bell, |cx| reader.poll_next(cx)).is_ready());
    assert!(poll_with(&bell, |cx| reader.poll_next(cx)).is_pending());
    filler.finish().unwrap();
    assert_eq!(bell.rings(), 2);
    assert!(matches!(poll(|cx| reader.poll_next(cx)), Poll::Ready(None)));
}

#[test]
fn a_finished_small_body_is_one_slice() {
    let store = store();
    let (object, mut filler) = publish(&store, "a", None, Keep::Store);
    for at in 0..20_000 {
        filler.append(&pattern(at, 1)).unwrap();
    }
    filler.finish().unwrap();
    let Body::Whole(bytes) = object.body() else {
        panic!("not whole")
    };
    assert_eq!(bytes, pattern(0, 20_000));
}

#[test]
fn a_finished_large_body_has_large_pages() {
    let store = store();
    for length in [Some(1_000_000), None] {
        let (object, mut filler) = publish(&store, "a", length, Keep::Store);
        for at in (0..1_000_000).step_by(1000) {
            filler.append(&pattern(at, 1000)).unwrap();
        }
        filler.finish().unwrap();
        let Body::Pages(pages) = object.body() else {
            panic!("not in pages")
        };
        assert!(pages.slices().count() <= 10, "{}", pages.slices().count());
        assert_eq!(
            pages
                .slices()
                .flat_map(|slice| slice.to_bytes().unwrap())
                .collect::<Vec<_>>(),
            pattern(0, 1_000_000)
        );
        assert_eq!(store.usage().bytes, 1 + META_BYTES + 1_000_000);
        drop((object, pages));
        store.purge();
    }
}

#[test]
fn receiving_into_a_page_never_exceeds_what_was_announced() {
    let store = store();
    let (object, mut filler) = publish(&store, "a", Some(300_000), Keep::Store);
    let source = pattern(0, 400_000);
    let mut sent = 0;
    loop {
        let mut room = filler.room();
        let len = room.remaining_mut().min(70_000);
        if len == 0 {
            break;
        }
        room.put_slice(&source[sent..sent + len]);
        sent += len;
        assert_eq!(filler.commit(), len);
    }
    assert_eq!(sent, 300_000);
    filler.finish().unwrap();
    assert_eq!(body(&object), pattern(0, 300_000));
}

#[test]
fn more_than_announced_is_refused() {
    let store = store();
    let (object, mut filler) = publish(&store, "a", Some(5), Keep::Store);
    filler.append(b"1234").unwrap();
    assert_eq!(filler.append(b"56"), Err(Overflow { announced: 5 }));
    assert_eq!(filler.received(), 4);
    drop(filler);
    assert_eq!(
        drain(&mut object.reader()),
        (b"1234".to_vec(), Some(Err(ReadError::Cut)))
    );
}

#[test]
fn less_than_announced_is_never_complete() {
    let store = store();
    let (object, mut filler) = publish(&store, "a", Some(5), Keep::Store);
    let mut reader = object.reader();
    filler.append(b"1234").unwrap();
    let short = filler.finish().unwrap_err();
    assert_eq!(
        short,
        Short {
            received: 4,
            announced: 5
        }
    );
    assert_eq!(
        drain(&mut reader),
        (b"1234".to_vec(), Some(Err(ReadError::Cut)))
    );
    assert!(find(&store, "a").is_none());
    assert!(!object.is_complete());
    drop((object, reader));
    assert_eq!(store.usage().bytes, 0);
}

#[test]
fn a_failed_fill_leaves_the_older_version() {
    let store = store();
    insert(&store, "a", meta(1), b"old");
    let (object, mut filler) = lead(&store, "a").publish(meta(2), None, Keep::Store);
    filler.append(b"ne").unwrap();
    assert_eq!(find(&store, "a").unwrap().meta.version, 2);
    filler.fail();
    assert_eq!(find(&store, "a").unwrap().meta.version, 1);
    assert_eq!(drain(&mut object.reader()).1, Some(Err(ReadError::Cut)));
    assert_eq!(store.usage().cuts, 1);
}

#[test]
fn a_finished_fill_takes_the_place_of_the_older_version() {
    let store = store();
    insert(&store, "a", meta(1), b"old");
    let (_, mut filler) = lead(&store, "a").publish(meta(2), None, Keep::Store);
    filler.append(b"new").unwrap();
    filler.finish().unwrap();
    assert_eq!(store.usage().objects, 1);
    assert_eq!(find(&store, "a").unwrap().meta.version, 2);
}

#[test]
fn of_two_fills_the_one_published_last_wins() {
    let store = store();
    let (_, first) = lead(&store, "a").publish(meta(1), None, Keep::Store);
    let (_, second) = lead(&store, "a").publish(meta(2), None, Keep::Store);
    second.finish().unwrap();
    first.finish().unwrap();
    assert_eq!(find(&store, "a").unwrap().meta.version, 2);
    assert_eq!(store.usage().objects, 1);
}

#[test]
fn a_fill_removed_meanwhile_is_not_stored() {
    let store = store();
    let (object, mut filler) = publish(&store, "a", None, Keep::Store);
    store.remove(key("a"));
    filler.append(b"body").unwrap();
    filler.finish().unwrap();
    assert!(find(&store, "a").is_none());
    assert_eq!(body(&object), b"body");
}

#[test]
fn ranges_are_read_from_complete_and_arriving_bodies() {
    let store = store();
    let (object, mut filler) = publish(&store, "a", Some(500_000), Keep::Store);
    let mut early = object.reader();
    early.seek(299_990);
    early.stop_at(300_010);
    filler.append(&pattern(0, 300_000)).unwrap();
    assert_eq!(drain(&mut early), (pattern(299_990, 10), None));
    filler.append(&pattern(300_000, 200_000)).unwrap();
    assert_eq!(drain(&mut early), (pattern(300_000, 10), Some(Ok(()))));
    filler.finish().unwrap();
    for (from, to) in [
        (0, 1),
        (262_143, 262_145),
        (499_999, 500_000),
        (100, 400_000),
        (500_000, 500_001),
    ] {
        let mut reader = object.reader();
        reader.seek(from);
        reader.stop_at(to);
        let expected = pattern(from, (to.min(500_000) - from) as usize);
        assert_eq!(drain(&mut reader), (expected, Some(Ok(()))), "{from}..{to}");
    }
}

#[test]
fn the_filler_learns_when_all_readers_are_gone() {
    let store = store();
    let (object, mut filler) = publish(&store, "a", None, Keep::Store);
    let readers = [object.reader(), object.reader()];
    let bell = Arc::new(Bell::default());
    assert_eq!(filler.readers(), 2);
    assert!(poll_with(&bell, |cx| filler.poll_all_readers_gone(cx)).is_pending());
    let [one, other] = readers;
    drop(one);
    assert_eq!(bell.rings(), 0);
    drop(other);
    assert_eq!(bell.rings(), 1);
    assert!(poll_with(&bell, |cx| filler.poll_all_readers_gone(cx)).is_ready());
}

#[test]
fn a_reader_that_waits_when_the_fill_ends_reads_on_without_it() {
    let store = store();
    let (object, mut filler) = publish(&store, "a", None, Keep::Store);
    let mut reader = object.reader();
    filler.append(&pattern(0, 100_000)).unwrap();
    let Poll::Ready(Some(Ok(first))) = poll(|cx| reader.poll_next(cx)) else {
        panic!("no data")
    };
    filler.append(&pattern(100_000, 100_000)).unwrap();
    filler.finish().unwrap();
    let (rest, end) = drain(&mut reader);
    assert_eq!(end, Some(Ok(())));
    assert_eq!(
        [&first.to_bytes().unwrap(), rest.as_slice()].concat(),
        pattern(0, 200_000)
    );
}
