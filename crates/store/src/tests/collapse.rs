//! Requests that meet.

use super::*;
fn join(store: &TestStore, url: &str) -> Waiting<Meta> {
    match store.begin(key(url), true, |_| false) {
        Begin::Join(waiting) => waiting,
        other => panic!("expected to join: {other:?}"),
    }
}

#[test]
fn the_second_request_waits_for_the_first() {
    let store = store();
    let slot = lead(&store, "a");
    let bell = Arc::new(Bell::default());
    let mut waiting = pin!(join(&store, "a"));
    assert!(poll_with(&bell, |cx| waiting.as_mut().poll(cx)).is_pending());
    let object = slot.insert(meta(1), b"body");
    assert_eq!(bell.rings(), 1);
    match poll(|cx| waiting.as_mut().poll(cx)) {
        Poll::Ready(Waited::Object(found)) => assert!(Arc::ptr_eq(&found, &object)),
        other => panic!("not woken with the object: {other:?}"),
    }
}

#[test]
fn a_dropped_slot_tells_the_waiting_that_it_failed() {
    let store = store();
    let slot = lead(&store, "a");
    let waiting: Vec<_> = (0..10).map(|_| join(&store, "a")).collect();
    assert_eq!(slot.waiters(), 10);
    drop(slot);
    for waiting in waiting {
        assert!(matches!(block_on(waiting.wait()), Waited::Failed));
    }
    drop(lead(&store, "a"));
}

#[test]
fn a_released_slot_sends_the_waiting_on_their_way() {
    let store = store();
    let slot = lead(&store, "a");
    let waiting = join(&store, "a");
    slot.release();
    assert!(matches!(block_on(waiting.wait()), Waited::Released));
    drop(lead(&store, "a"));
}

#[test]
fn a_published_fill_wakes_the_waiting_at_once() {
    let store = store();
    let slot = lead(&store, "a");
    let waiting = join(&store, "a");
    let (_, mut filler) = slot.publish(meta(1), None, Keep::Store);
    let object = shared(waiting);
    let mut reader = object.reader();
    assert_eq!(drain(&mut reader), (Vec::new(), None));
    filler.append(b"body").unwrap();
    filler.finish().unwrap();
    assert_eq!(drain(&mut reader), (b"body".to_vec(), Some(Ok(()))));
}

#[test]
fn an_update_wakes_the_waiting_with_the_new_object() {
    let store = store();
    let old = insert(&store, "a", meta(1), b"body");
    let slot = lead(&store, "a");
    let waiting = join(&store, "a");
    slot.update(&old, meta(2));
    assert_eq!(shared(waiting).meta.version, 2);
}

#[test]
fn what_came_between_a_miss_and_the_begin_is_found() {
    let store = store();
    assert!(find(&store, "a").is_none());
    insert(&store, "a", meta(1), b"body");
    assert!(matches!(
        store.begin(key("a"), true, |_| true),
        Begin::Found(_)
    ));
    let usage = store.usage();
    assert_eq!((usage.hits, usage.misses), (1, 1));
}

#[test]
fn without_collapse_everybody_leads_and_the_last_insert_wins() {
    let store = store();
    let alone = |store: &TestStore| match store.begin(key("a"), false, |_| true) {
        Begin::Lead(slot) => slot,
        other => panic!("expected to lead: {other:?}"),
    };
    let slots = [alone(&store), alone(&store)];
    drop(lead(&store, "a"));
    for (version, slot) in (1..).zip(slots) {
        slot.insert(meta(version), b"body");
    }
    assert_eq!(find(&store, "a").unwrap().meta.version, 2);
    assert_eq!(store.usage().objects, 1);
}

#[test]
fn a_waiting_request_may_leave() {
    let store = store();
    let slot = lead(&store, "a");
    let bell = Arc::new(Bell::default());
    let mut waiting = Box::pin(join(&store, "a"));
    assert!(poll_with(&bell, |cx| waiting.as_mut().poll(cx)).is_pending());
    drop(waiting);
    slot.insert(meta(1), b"body");
    assert_eq!(bell.rings(), 0);
}

#[test]
fn those_who_come_when_too_many_wait_go_alone() {
    let store = Store::new(Options {
        waiters_max: 1,
        ..Options::default()
    });
    let slot = lead(&store, "a");
    let waiting = join(&store, "a");
    let other = lead(&store, "a");
    assert_eq!(store.usage().waits_refused, 1);
    other.insert(meta(2), b"other");
    slot.insert(meta(1), b"body");
    assert_eq!(shared(waiting).meta.version, 1);
}

#[test]
fn leads_of_different_keys_do_not_meet() {
    let store = store();
    let _one = lead(&store, "a");
    let _other = lead(&store, "b");
}
