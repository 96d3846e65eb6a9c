//! Finding, replacing, renewing, removing.

use super::*;
use crate::Usage;

#[test]
fn what_was_inserted_is_found() {
    let store = store();
    insert(&store, "a", meta(1), b"hello");
    let found = find(&store, "a").unwrap();
    assert_eq!((found.meta.version, found.key()), (1, b"a".as_slice()));
    assert_eq!(body(&found), b"hello");
    assert!(find(&store, "b").is_none());
    let usage = store.usage();
    assert_eq!((usage.hits, usage.misses, usage.objects), (1, 1, 1));
}

#[test]
fn a_key_of_any_length_is_a_key() {
    let store = store();
    for length in [(16 << 20) - 1, 16 << 20, (16 << 20) + 1] {
        let url = &"k".repeat(length);
        let made = insert(&store, url, meta(1), b"hello");
        let found = find(&store, url).unwrap();
        assert_eq!((found.key().len(), found.length()), (length, Some(5)));
        assert_eq!(
            (body(&found), body(&made)),
            (b"hello".to_vec(), b"hello".to_vec())
        );
        assert_eq!(found.held_bytes(), length as u64 + 5 + META_BYTES);
    }
}

#[test]
fn an_empty_body_is_a_body() {
    let store = store();
    insert(&store, "a", meta(1), b"");
    assert_eq!(body(&find(&store, "a").unwrap()), b"");
    let (_, filler) = publish(&store, "b", Some(0), Keep::Store);
    filler.finish().unwrap();
    let found = find(&store, "b").unwrap();
    assert_eq!((found.length(), body(&found)), (Some(0), Vec::new()));
}

#[test]
fn keys_with_one_hash_are_told_apart_by_their_bytes() {
    let store = store();
    let (one, other) = (KeyRef::with_hash(7, b"one"), KeyRef::with_hash(7, b"other"));
    for key in [one, other] {
        let Begin::Lead(slot) = store.begin(key, Some(b""), |_| true) else {
            panic!("leads")
        };
        slot.insert(meta(0), key.url());
    }
    assert_eq!(body(&store.find(one, |_| true).unwrap()), b"one");
    assert_eq!(body(&store.find(other, |_| true).unwrap()), b"other");
    assert_eq!(store.remove(one), 1);
    assert!(store.find(one, |_| true).is_none());
    assert!(store.find(other, |_| true).is_some());
}

#[test]
fn a_new_version_takes_the_place_of_the_old_one() {
    let store = store();
    insert(&store, "a", meta(1), b"old");
    insert(&store, "a", meta(2), b"new");
    assert_eq!(find(&store, "a").unwrap().meta.version, 2);
    assert_eq!(store.usage().objects, 1);
}

#[test]
fn the_newest_matching_variant_is_found() {
    let store = store();
    for vary in 0..5 {
        insert(&store, "a", variant(vary), &[vary]);
    }
    let found = store.find(key("a"), |meta| meta.vary % 2 == 1).unwrap();
    assert_eq!(found.meta.vary, 3);
    assert_eq!(
        store
            .find(key("a"), |meta| meta.vary == 0)
            .unwrap()
            .meta
            .vary,
        0
    );
    assert!(store.find(key("a"), |meta| meta.vary == 9).is_none());
    assert_eq!(store.remove(key("a")), 5);
}

#[test]
fn of_too_many_variants_the_least_used_goes() {
    let store = Store::new(Options {
        variants_max: 3,
        ..Options::default()
    });
    for vary in 0..3 {
        insert(&store, "a", variant(vary), &[vary]);
    }
    for vary in [0, 2] {
        assert!(store.find(key("a"), |meta| meta.vary == vary).is_some());
    }
    insert(&store, "a", variant(3), b"3");
    let mut left = Vec::new();
    store.for_each(|object| left.push(object.meta.vary));
    left.sort_unstable();
    assert_eq!(left, [0, 2, 3]);
    assert_eq!(store.usage().variant_evictions, 1);
}

#[test]
fn an_update_keeps_the_body_and_the_uses() {
    let store = store();
    let old = insert(&store, "a", meta(1), b"body");
    let new = store.update(&old, meta(2));
    let found = find(&store, "a").unwrap();
    assert!(Arc::ptr_eq(&found, &new));
    assert_eq!((found.meta.version, body(&found)), (2, b"body".to_vec()));
    assert_eq!(store.usage().objects, 1);
    assert_eq!(old.meta.version, 1);
}

#[test]
fn an_updated_object_of_many_pages_shares_them() {
    let store = store();
    let (old, mut filler) = publish(&store, "a", None, Keep::Store);
    filler.append(&pattern(0, 1 << 20)).unwrap();
    filler.finish().unwrap();
    let before = store.usage().bytes;
    let new = store.update(&old, meta(2));
    assert_eq!(store.usage().bytes, before + META_BYTES + 1);
    drop(old);
    assert_eq!(store.usage().bytes, before);
    assert_eq!(body(&new), pattern(0, 1 << 20));
}

#[test]
fn an_update_brings_an_evicted_object_back() {
    let store = store();
    let old = insert(&store, "a", meta(1), b"body");
    assert!(store.remove_object(&old));
    store.update(&old, meta(2));
    assert_eq!(find(&store, "a").unwrap().meta.version, 2);
}

#[test]
fn removal_leaves_readers_alone() {
    let store = store();
    let object = insert(&store, "a", meta(1), b"body");
    assert_eq!(store.remove(key("a")), 1);
    assert!(find(&store, "a").is_none());
    assert_eq!(body(&object), b"body");
    assert_eq!(store.usage().bytes, 1 + META_BYTES + 4);
    drop(object);
    assert_eq!(store.usage().bytes, 0);
}

#[test]
fn a_purge_removes_everything() {
    let store = store();
    for number in 0..100 {
        insert(&store, &format!("key {number}"), meta(0), b"body");
    }
    assert_eq!(store.purge(), 100);
    let Usage {
        bytes,
        objects,
        objects_alive,
        ..
    } = store.usage();
    assert_eq!((bytes, objects, objects_alive), (0, 0, 0));
    insert(&store, "key 1", meta(0), b"body");
    assert!(find(&store, "key 1").is_some());
}

#[test]
fn a_body_taken_stays_on_the_account() {
    let store = store();
    let taken = insert(&store, "a", meta(1), b"body").body();
    store.purge();
    assert_eq!(store.usage().bytes, 5 + META_BYTES, "it keeps its object");
    drop(taken);
    assert_eq!(store.usage().bytes, 0);
}

#[test]
fn one_body_answers_two_variants() {
    let store = store();
    let one = insert(&store, "a", variant(1), b"body");
    let before = store.usage().bytes;
    let other = lead(&store, "a").add(&one, variant(2));
    assert_eq!(other.key(), b"a");
    assert_eq!(store.usage().objects, 2);
    assert_eq!(store.usage().bytes, 2 * before, "so small a body is copied");
    for (vary, object) in [(1, &one), (2, &other)] {
        let found = store.find(key("a"), |meta| meta.vary == vary).unwrap();
        assert!(Arc::ptr_eq(&found, object));
    }
    assert_eq!(store.variants(key("a"), |_| true).len(), 2);
}

#[test]
fn an_older_variant_may_be_preferred() {
    // Both answer the request; version stands for the date.
    let store = store();
    let dated = |vary, version| Meta { vary, version };
    insert(&store, "a", dated(1, 5), b"one");
    insert(&store, "a", dated(2, 9), b"two");
    insert(&store, "a", dated(3, 7), b"three");
    let found = |least| {
        store
            .find(key("a"), |meta| meta.vary >= least)
            .unwrap()
            .meta
            .vary
    };
    assert_eq!(found(0), 2);
    assert_eq!(found(3), 3);
    insert(&store, "a", dated(4, 9), b"four");
    assert_eq!(found(0), 4, "of the same date the newest");
}
