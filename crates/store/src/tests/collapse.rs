//! Requests that meet.

use super::*;
fn join(store: &TestStore, url: &str) -> Waiting<Meta> {
    match store.begin(key(url), Some(b""), |_| false) {
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
        assert!(matches!(block_on(waiting), Waited::Failed));
    }
    drop(lead(&store, "a"));
}

#[test]
fn a_released_slot_sends_the_waiting_on_their_way() {
    let store = store();
    let slot = lead(&store, "a");
    let waiting = join(&store, "a");
    slot.release();
    assert!(matches!(block_on(waiting), Waited::Released));
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
        store.begin(key("a"), Some(b""), |_| true),
        Begin::Found(_)
    ));
    let usage = store.usage();
    assert_eq!((usage.hits, usage.misses), (1, 1));
}

#[test]
fn without_collapse_everybody_leads_and_the_last_insert_wins() {
    let store = store();
    let alone = |store: &TestStore| match store.begin(key("a"), None, |_| true) {
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

fn enter(store: &TestStore, variant: &[u8]) -> Begin<Meta> {
    store.begin(key("a"), Some(variant), |_| false)
}

#[test]
fn requests_of_different_variants_do_not_wait_for_each_other() {
    let store = store();
    let Begin::Lead(german) = enter(&store, b"de") else {
        panic!("nobody leads");
    };
    let Begin::Lead(english) = enter(&store, b"en") else {
        panic!("waits for another variant");
    };
    let Begin::Join(waiting) = enter(&store, b"de") else {
        panic!("doesn't wait for its like");
    };
    english.insert(variant(1), b"en");
    let object = german.insert(variant(2), b"de");
    assert!(Arc::ptr_eq(&shared(waiting), &object));
}

#[test]
fn a_slow_lead_is_overtaken_by_one() {
    let store = store();
    let slow = lead(&store, "a");
    let (first, second, patient) = (join(&store, "a"), join(&store, "a"), join(&store, "a"));
    let Begin::Lead(faster) = store.overtake(first, |_| false) else {
        panic!("the first one doesn't lead");
    };
    let Begin::Join(second) = store.overtake(second, |_| false) else {
        panic!("the second one doesn't wait for the first");
    };
    let late = join(&store, "a");
    assert_eq!((slow.waiters(), faster.waiters()), (1, 2));
    let object = faster.insert(meta(2), b"fast");
    assert!(Arc::ptr_eq(&shared(second), &object));
    assert!(Arc::ptr_eq(&shared(late), &object));
    assert_eq!(store.usage().overtaken, 2);
    let slow = slow.insert(meta(1), b"slow");
    assert!(Arc::ptr_eq(&shared(patient), &slow));
    drop(lead(&store, "a"));
}

#[test]
fn who_overtakes_looks_first() {
    let store = store();
    let _slow = lead(&store, "a");
    let waiting = join(&store, "a");
    store.lead(key("a")).insert(meta(1), b"body");
    let begin = store.overtake(waiting, |_| true);
    assert!(matches!(begin, Begin::Found(_)));
}

#[test]
fn what_is_kept_is_the_answer() {
    let store = store();
    let old = insert(&store, "a", meta(1), b"body");
    let slot = lead(&store, "a");
    let waiting = join(&store, "a");
    slot.keep(&old);
    assert!(Arc::ptr_eq(&shared(waiting), &old));
}
