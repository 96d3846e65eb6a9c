//! What is kept of a body that ends before its end, and how parts become a whole.

use super::*;
use crate::{Body, Files};

/// A response or a part of one, of one of several variants.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Whole(u8),
    Part(u8),
}

impl Weigh for Kind {
    fn weight_bytes(&self) -> usize {
        16
    }

    fn supersedes(&self, older: &Self) -> bool {
        let of = |kind: &Self| match kind {
            Self::Whole(variant) | Self::Part(variant) => *variant,
        };
        of(self) == of(older)
    }

    fn is_part(&self) -> bool {
        matches!(self, Self::Part(_))
    }
}

fn kinds() -> Arc<Store<Kind>> {
    Store::new(Options {
        object_bytes_max: 64 << 20,
        file_bytes_min: 100 << 10,
        files: Some(Files::in_any_pages()),
        ..Options::default()
    })
}

type Arriving = (Arc<Object<Kind>>, Filler<Kind>);

fn arriving(store: &Arc<Store<Kind>>, kind: Kind, announced: u64, length: usize) -> Arriving {
    let slot = store.lead(key("a"));
    let (object, mut filler) = slot.publish(kind, Some(announced), Keep::Store);
    for at in (0..length).step_by(10_000) {
        let bytes = (length - at).min(10_000);
        filler.append(&pattern(at as u64, bytes)).unwrap();
    }
    (object, filler)
}

fn stored(store: &Arc<Store<Kind>>) -> Vec<Arc<Object<Kind>>> {
    store.variants(key("a"), |_| true)
}

fn read(object: &Arc<Object<Kind>>) -> (Vec<u8>, Option<Result<(), ReadError>>) {
    drain(&mut object.reader())
}

/// In one slice, in pages, in a file: the prefix is whole, and those who read the response see that it is cut.
#[test]
fn a_prefix_is_a_response_of_its_own() {
    for (announced, length) in [
        (50_000, 10),
        (90_000, 70_000),
        (9_000_000, 10),
        (9_000_000, 3_000_001),
    ] {
        let store = kinds();
        let (object, filler) = arriving(&store, Kind::Whole(0), announced, length);
        let mut slow = object.reader();
        let prefix = filler.keep_prefix(Kind::Part(0)).unwrap();
        assert!(prefix.is_complete() && !object.is_complete());
        assert_eq!(prefix.length(), Some(length as u64));
        assert_eq!(
            object.length(),
            Some(announced),
            "what was promised isn't taken back"
        );
        let bytes = pattern(0, length);
        assert_eq!(read(&prefix), (bytes.clone(), Some(Ok(()))));
        assert_eq!(drain(&mut slow), (bytes, Some(Err(ReadError::Cut))));
        let found = stored(&store);
        assert!(found.len() == 1 && Arc::ptr_eq(&found[0], &prefix));
        assert_eq!(matches!(prefix.body(), Body::Whole(_)), length <= 64 << 10);
        drop((slow, object, found));
        store.purge();
        drop(prefix);
        assert_eq!(store.usage().bytes, 0, "all is given back");
    }
}

#[test]
fn a_prefix_pushes_out_no_whole_response() {
    let store = kinds();
    let kept = store.lead(key("a")).insert(Kind::Whole(0), b"whole");
    let (_object, filler) = arriving(&store, Kind::Whole(0), 100, 50);
    assert!(filler.keep_prefix(Kind::Part(0)).is_none());
    assert!(matches!(&stored(&store)[..], [one] if Arc::ptr_eq(one, &kept)));
    // Nor one that is still arriving.
    let store = kinds();
    let (_older, first) = arriving(&store, Kind::Whole(0), 100, 50);
    let (_newer, second) = arriving(&store, Kind::Whole(0), 100, 60);
    assert!(second.keep_prefix(Kind::Part(0)).is_none());
    let prefix = first.keep_prefix(Kind::Part(0)).unwrap();
    // Other variants are not in its way, and older parts go.
    store.lead(key("a")).insert(Kind::Whole(1), b"other");
    let (_object, third) = arriving(&store, Kind::Whole(0), 100, 70);
    let longer = third.keep_prefix(Kind::Part(0)).unwrap();
    let found = stored(&store);
    assert!(found.len() == 2 && Arc::ptr_eq(&found[0], &longer));
    drop(prefix);
}

#[test]
fn nothing_is_kept_of_what_went_meanwhile() {
    let store = kinds();
    let (_object, filler) = arriving(&store, Kind::Whole(0), 100, 50);
    assert_eq!(store.remove(key("a")), 1);
    assert!(filler.keep_prefix(Kind::Part(0)).is_none());
    let (_object, filler) = arriving(&store, Kind::Whole(0), 100, 0);
    assert!(filler.keep_prefix(Kind::Part(0)).is_none());
    let slot = store.lead(key("a"));
    let (_object, mut filler) = slot.publish(Kind::Whole(0), Some(100), Keep::ShareOnly);
    filler.append(b"x").unwrap();
    assert!(filler.keep_prefix(Kind::Part(0)).is_none());
    assert!(stored(&store).is_empty());
}

/// A part; of a variant of its own, so that it pushes out no other.
fn part(store: &Arc<Store<Kind>>, variant: u8, first: u64, length: usize) -> Arc<Object<Kind>> {
    let slot = store.lead(key("a"));
    let bytes = pattern(first, length);
    // In slices it comes as a whole.
    if length < 1_000 {
        return slot.insert(Kind::Part(variant), &bytes);
    }
    let (_, mut filler) = slot.publish(Kind::Part(variant), Some(length as u64), Keep::Store);
    filler.append(&bytes).unwrap();
    filler.finish().unwrap()
}

/// Of slices, pages and files: the whole has the bytes of the parts, and is one object like any other.
#[test]
fn parts_become_a_whole() {
    for (one, two, three) in [(10, 20, 30), (500, 90_000, 1_000), (3_000_000, 70, 400_000)] {
        let store = kinds();
        let parts = [
            part(&store, 1, 0, one),
            part(&store, 2, one as u64 - 5, two),
            part(&store, 3, (one + two) as u64 - 5, three),
        ];
        let stretches = [
            (&parts[0], 0, one as u64),
            (&parts[1], 5, two as u64 - 5),
            (&parts[2], 0, three as u64),
        ];
        let whole = store.join(&stretches, || Kind::Whole(3)).unwrap();
        let length = one + two - 5 + three;
        assert_eq!(read(&whole), (pattern(0, length), Some(Ok(()))));
        assert!(whole.is_complete() && whole.length() == Some(length as u64));
        let found = stored(&store);
        assert!(Arc::ptr_eq(&found[0], &whole));
        assert!(
            found.iter().all(|object| object.meta != Kind::Part(3)),
            "superseded"
        );
        drop((parts, found));
        store.purge();
        assert!(
            read(&whole).0 == pattern(0, length),
            "its slices are its own"
        );
        drop(whole);
        assert_eq!(store.usage().bytes, 0, "all is given back");
    }
}

#[test]
fn no_whole_is_made_of_parts_that_are_gone_or_arriving() {
    let store = kinds();
    let (one, two) = (part(&store, 1, 0, 10), part(&store, 2, 10, 10));
    store.remove_object(&two);
    assert!(
        store
            .join(&[(&one, 0, 10), (&two, 0, 10)], || Kind::Whole(0))
            .is_none()
    );
    let (object, _filler) = arriving(&store, Kind::Part(3), 100, 50);
    assert!(
        store
            .join(&[(&one, 0, 10), (&object, 10, 60)], || Kind::Whole(0))
            .is_none()
    );
    assert!(store.join(&[], || Kind::Whole(0)).is_none());
    assert!(
        store.join(&[(&one, 5, 10)], || Kind::Whole(0)).is_none(),
        "not so many"
    );
    assert!(store.join(&[(&one, 0, 10)], || Kind::Whole(0)).is_some());
}
