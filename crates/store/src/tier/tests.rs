//! Memory and disk together: the figures of the volumes, what removal counts, what comes back.

use std::sync::Arc;

use tempfile::TempDir;

use super::{Choice, Volumes};
use crate::disk::{Volume, VolumeOptions, VolumeState};
use crate::tests::block_on;
use crate::{KeyRef, Options, Store, Weigh};

/// A response by its number; 0 isn't for the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Meta(u8);

impl Weigh for Meta {
    fn weight_bytes(&self) -> usize {
        1
    }

    fn write_to(&self, out: &mut Vec<u8>) -> bool {
        out.push(self.0);
        self.0 > 0
    }

    fn read_from(bytes: &[u8]) -> Option<Self> {
        bytes.first().copied().map(Self)
    }
}

/// A store with so many volumes.
fn store(count: usize) -> (Arc<Store<Meta>>, Vec<TempDir>) {
    store_with(count, Choice::RoundRobin)
}

fn store_with(count: usize, choice: Choice) -> (Arc<Store<Meta>>, Vec<TempDir>) {
    let dirs: Vec<TempDir> = (0..count).map(|_| tempfile::tempdir().unwrap()).collect();
    let volumes = dirs.iter().map(|dir| {
        let options = VolumeOptions {
            path: dir.path().to_owned(),
            bytes: 4 << 20,
            readers: 1,
            ..VolumeOptions::default()
        };
        Volume::create(&options).unwrap();
        let volume = Volume::open(options).unwrap();
        while volume.usage().state != VolumeState::Serving {
            std::thread::yield_now();
        }
        volume
    });
    let volumes = Volumes::new(volumes.collect(), choice, None);
    let store = Store::new(Options::default());
    store.set_volumes(Some(Arc::new(volumes)));
    (store, dirs)
}

fn insert(store: &Arc<Store<Meta>>, key: &str, number: u8) {
    let slot = store.lead(KeyRef::new(key.as_bytes()));
    slot.insert(Meta(number), key.as_bytes());
}

fn load(store: &Store<Meta>, key: &str, matches: impl FnMut(&Meta) -> bool) -> Option<u8> {
    let key = KeyRef::new(key.as_bytes());
    let loaded = block_on(store.load(key, |_| Vec::new(), matches, 1, None));
    loaded.map(|object| object.meta.0)
}

#[test]
fn figures_of_volumes_add_up() {
    let (store, _dirs) = store(3);
    for number in 0..9 {
        insert(&store, &format!("key {number}"), 1);
    }
    let usage = store.volumes().unwrap().usage();
    assert_eq!(usage.each.len(), 3);
    for (path, each) in &usage.each {
        assert_eq!((each.objects, each.puts), (3, 3), "{}", path.display());
        assert_eq!(usage.total.bytes_max, 3 * each.bytes_max);
        assert_eq!(usage.total.segments, 3 * each.segments);
    }
    assert_eq!((usage.total.objects, usage.total.puts), (9, 9));
    assert_eq!(usage.total.state, VolumeState::Serving);
}

#[test]
fn volumes_that_have_nothing_to_do_share() {
    let (store, _dirs) = store_with(3, Choice::LeastLoad);
    for number in 0..30 {
        insert(&store, &format!("key {number}"), 1);
    }
    for (path, each) in &store.volumes().unwrap().usage().each {
        assert!(each.objects > 0, "{}", path.display());
    }
}

#[test]
fn a_small_volume_takes_what_is_larger_than_its_records() {
    let (store, _dirs) = store(1);
    let slot = store.lead(KeyRef::new(b"a"));
    let body: Vec<u8> = (0..100_000u32)
        .map(|at| (at >> 3).to_le_bytes()[0])
        .collect();
    drop(slot.insert(Meta(1), &body));
    store.index().clear();
    let key = KeyRef::new(b"a");
    let object = block_on(store.load(key, |_| Vec::new(), |_| true, 1, None)).unwrap();
    let mut reader = object.reader();
    let mut read = Vec::new();
    while let Some(slice) = block_on(reader.next()) {
        read.extend_from_slice(&slice.unwrap().to_bytes().unwrap());
    }
    assert!(read == body);
}

#[test]
fn removal_counts_what_was_there() {
    let (store, _dirs) = store(2);
    let objects = || store.volumes().unwrap().usage().total.objects;
    for key in ["a", "b", "c"] {
        insert(&store, key, 1);
    }
    assert_eq!(objects(), 3);
    let remove = |key: &str| store.remove(KeyRef::new(key.as_bytes()));
    assert_eq!((remove("a"), remove("a")), (1, 0));
    store.index().clear();
    assert_eq!((remove("b"), remove("b")), (1, 0), "it was on disk alone");
    assert_eq!(objects(), 1);
    insert(&store, "d", 1);
    assert_eq!(store.purge(), 1, "what was in memory");
    assert_eq!(objects(), 0);
    assert_eq!(load(&store, "c", |_| true), None);
    let removes = store.volumes().unwrap().usage().total.removes;
    assert!(removes >= 2, "{removes}");
}

#[test]
fn what_came_meanwhile_stays() {
    let (store, _dirs) = store(1);
    insert(&store, "a", 1);
    store.index().clear();
    let mut first = true;
    let loaded = load(&store, "a", |_| {
        // While it is loaded, another takes its place, which is for the memory alone.
        if std::mem::take(&mut first) {
            insert(&store, "a", 0);
        }
        true
    });
    assert_eq!(loaded, Some(0));
    assert!(store.find(KeyRef::new(b"a"), |_| true).is_some());
}

#[test]
fn what_is_used_in_memory_stays_on_disk() {
    let (store, _dirs) = store(1);
    let volumes = store.volumes().unwrap();
    insert(&store, "used", 1);
    insert(&store, "unused", 1);
    let key = KeyRef::new(b"used");
    for number in 0..100_000 {
        if !volumes.has(b"unused") {
            break;
        }
        let slot = store.lead(KeyRef::new(format!("filler {number}").as_bytes()));
        slot.insert(Meta(1), &[7; 20_000]);
        assert!(store.find(key, |_| true).is_some());
        if number % 50 == 49 {
            volumes.all()[0].flush().unwrap();
        }
    }
    assert!(!volumes.has(b"unused"));
    assert!(volumes.has(b"used"));
}
