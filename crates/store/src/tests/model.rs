//! Random operations on the store and on a `HashMap`.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::Policy;

#[derive(Clone, Debug)]
enum Op {
    Insert {
        key: u8,
        vary: u8,
        bytes: u32,
    },
    Publish {
        key: u8,
        vary: u8,
        announced: bool,
        keep: bool,
    },
    /// To the fill of this number, modulo how many there are; as for the next two.
    Append {
        fill: usize,
        bytes: u32,
    },
    Finish {
        fill: usize,
    },
    Cut {
        fill: usize,
    },
    Find {
        key: u8,
        vary: u8,
    },
    Update {
        key: u8,
        vary: u8,
    },
    Remove {
        key: u8,
    },
    Purge,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let (key, vary) = (0..6_u8, 0..3_u8);
    let bytes = prop_oneof![4 => 0..2_000_u32, 1 => 0..200_000_u32];
    let fill = 0..8_usize;
    let op = prop_oneof![
        6 => (key.clone(), vary.clone(), bytes.clone()).prop_map(|(key, vary, bytes)| Op::Insert { key, vary, bytes }),
        4 => (key.clone(), vary.clone(), any::<bool>(), any::<bool>())
            .prop_map(|(key, vary, announced, keep)| Op::Publish { key, vary, announced, keep }),
        8 => (fill.clone(), bytes).prop_map(|(fill, bytes)| Op::Append { fill, bytes }),
        4 => fill.clone().prop_map(|fill| Op::Finish { fill }),
        1 => fill.prop_map(|fill| Op::Cut { fill }),
        8 => (key.clone(), vary.clone()).prop_map(|(key, vary)| Op::Find { key, vary }),
        2 => (key.clone(), vary).prop_map(|(key, vary)| Op::Update { key, vary }),
        1 => key.prop_map(|key| Op::Remove { key }),
        1 => Just(Op::Purge),
    ];
    proptest::collection::vec(op, 1..120)
}

/// A variant as the model has it.
#[derive(Debug)]
struct Expected {
    version: u32,
    /// Orders variants of a key; a renewal or insertion makes the newest.
    order: u32,
    body: Vec<u8>,
}

struct Filling {
    url: String,
    vary: u8,
    version: u32,
    order: u32,
    body: Vec<u8>,
    filler: Filler<Meta>,
    reader: Reader,
    read: Vec<u8>,
    /// Removed from the index while it was arriving.
    gone: bool,
    keep: bool,
}

/// Announced lengths are always this; most bodies turn out shorter or longer.
const ANNOUNCED: u64 = 3_000;

struct World {
    store: TestStore,
    stored: HashMap<(String, u8), Expected>,
    fills: Vec<Filling>,
    versions: u32,
    /// Without a memory limit, all that the model has must be found.
    exact: bool,
}

impl World {
    fn new(policy: Policy, memory_bytes_max: u64) -> Self {
        Self {
            store: Store::new(Options {
                policy,
                memory_bytes_max,
                object_bytes_max: 1 << 30,
                ..Options::default()
            }),
            stored: HashMap::new(),
            fills: Vec::new(),
            versions: 0,
            exact: memory_bytes_max == u64::MAX,
        }
    }

    fn next(&mut self) -> u32 {
        self.versions += 1;
        self.versions
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Insert { key, vary, bytes } => self.insert(&name(key), vary, bytes as usize),
            Op::Publish {
                key,
                vary,
                announced,
                keep,
            } => self.publish(name(key), vary, announced, keep),
            Op::Append { fill, bytes } => self.append(fill, bytes as usize),
            Op::Finish { fill } => self.finish(fill),
            Op::Cut { fill } => {
                if let Some(fill) = self.take(fill) {
                    drop(fill.filler);
                    end_of(fill.reader, fill.read, &fill.body, Err(ReadError::Cut));
                }
            }
            Op::Find { key, vary } => self.find(&name(key), vary),
            Op::Update { key, vary } => self.update(&name(key), vary),
            Op::Remove { key } => self.remove(&name(key)),
            Op::Purge => {
                self.store.purge();
                self.stored.clear();
                self.fills.iter_mut().for_each(|fill| fill.gone = true);
            }
        }
        self.check();
    }

    fn insert(&mut self, url: &str, vary: u8, bytes: usize) {
        let version = self.next();
        let body = pattern(u64::from(version), bytes);
        insert(&self.store, url, Meta { vary, version }, &body);
        self.supersede(url, vary, version);
        self.stored.insert(
            (url.into(), vary),
            Expected {
                version,
                order: version,
                body,
            },
        );
    }

    /// What is older than `order` leaves the index.
    fn supersede(&mut self, url: &str, vary: u8, order: u32) {
        for fill in &mut self.fills {
            if fill.url == url && fill.vary == vary && fill.order < order {
                fill.gone = true;
            }
        }
    }

    fn publish(&mut self, url: String, vary: u8, announced: bool, keep: bool) {
        let version = self.next();
        let slot = lead(&self.store, &url);
        let length = announced.then_some(ANNOUNCED);
        let kept = if keep { Keep::Store } else { Keep::ShareOnly };
        let (object, filler) = slot.publish(Meta { vary, version }, length, kept);
        let reader = object.reader();
        self.fills.push(Filling {
            url,
            vary,
            version,
            order: version,
            body: Vec::new(),
            filler,
            reader,
            read: Vec::new(),
            gone: false,
            keep,
        });
    }

    fn append(&mut self, fill: usize, bytes: usize) {
        let count = self.fills.len();
        let Some(fill) = self.fills.get_mut(fill % count.max(1)) else {
            return;
        };
        let data = pattern(fill.body.len() as u64, bytes);
        let fits = fill
            .filler
            .length()
            .is_none_or(|length| fill.body.len() + bytes <= length as usize);
        assert_eq!(fill.filler.append(&data).is_ok(), fits);
        if fits {
            fill.body.extend(data);
        }
        let (read, end) = drain(&mut fill.reader);
        assert_eq!(end, None);
        fill.read.extend(read);
        assert!(fill.read == fill.body);
    }

    fn take(&mut self, fill: usize) -> Option<Filling> {
        let count = self.fills.len();
        (count > 0).then(|| self.fills.swap_remove(fill % count))
    }

    fn finish(&mut self, fill: usize) {
        let Some(fill) = self.take(fill) else { return };
        let whole = fill
            .filler
            .length()
            .is_none_or(|length| fill.body.len() as u64 == length);
        let kept = fill.filler.keep() == Keep::Store;
        assert!(!self.exact || kept == fill.keep);
        assert_eq!(fill.filler.finish().is_ok(), whole);
        let end = if whole { Ok(()) } else { Err(ReadError::Cut) };
        end_of(fill.reader, fill.read, &fill.body, end);
        if !whole || fill.gone {
            return;
        }
        let place = (fill.url.clone(), fill.vary);
        self.supersede(&fill.url, fill.vary, fill.order);
        self.stored.remove(&place);
        if kept {
            self.stored.insert(
                place,
                Expected {
                    version: fill.version,
                    order: fill.order,
                    body: fill.body,
                },
            );
        }
    }

    fn find(&mut self, url: &str, vary: u8) {
        let found = self.store.find(key(url), |meta| meta.vary == vary);
        let newest_fill = self
            .fills
            .iter()
            .filter(|fill| fill.url == url && fill.vary == vary && !fill.gone)
            .max_by_key(|fill| fill.order);
        let stored = self.stored.get(&(url.into(), vary));
        let Some(found) = found else {
            assert!(
                !self.exact || (newest_fill.is_none() && stored.is_none()),
                "lost {url} {vary}"
            );
            return;
        };
        let (bytes, end) = drain(&mut found.reader());
        let fill = newest_fill.filter(|fill| fill.version == found.meta.version);
        match (fill, stored) {
            (Some(fill), _) => assert!(bytes == fill.body && end.is_none()),
            (None, Some(stored)) => {
                assert_eq!(stored.version, found.meta.version);
                assert!(bytes == stored.body && end == Some(Ok(())));
                let newer = newest_fill.is_some_and(|fill| fill.order > stored.order);
                assert!(!self.exact || !newer, "a newer fill comes first");
            }
            (None, None) => panic!("found {:?} that was never stored", found.meta),
        }
    }

    fn update(&mut self, url: &str, vary: u8) {
        let Some(old) = self.store.find(key(url), |meta| meta.vary == vary) else {
            return;
        };
        if !old.is_complete() {
            return;
        }
        let version = self.next();
        self.store.update(&old, Meta { vary, version });
        self.supersede(url, vary, version);
        let stored = self
            .stored
            .get_mut(&(url.into(), vary))
            .expect("what is found is stored");
        (stored.version, stored.order) = (version, version);
    }

    fn remove(&mut self, url: &str) {
        self.store.remove(key(url));
        self.stored.retain(|place, _| place.0 != url);
        self.fills
            .iter_mut()
            .filter(|fill| fill.url == url)
            .for_each(|fill| fill.gone = true);
    }

    /// The account is the sum of what is there, and within the limit, except for what can't be evicted.
    fn check(&self) {
        let (mut bytes, mut objects) = (0, 0);
        self.store.for_each(|object| {
            bytes += object.held_bytes();
            objects += 1;
            if object.is_complete() {
                let stored = self.stored.get(&(
                    String::from_utf8_lossy(object.key()).into(),
                    object.meta.vary,
                ));
                assert!(stored.is_some_and(|stored| stored.version == object.meta.version));
            }
        });
        let usage = self.store.usage();
        assert_eq!(usage.objects, objects);
        let off_index: u64 = self
            .fills
            .iter()
            .map(|fill| fill.filler.object())
            .filter(|object| {
                let mut indexed = false;
                self.store
                    .for_each(|other| indexed |= Arc::ptr_eq(other, object));
                !indexed
            })
            .map(|object| object.held_bytes())
            .sum();
        assert_eq!(usage.bytes, bytes + off_index);
        let filling: u64 = self
            .fills
            .iter()
            .map(|fill| fill.filler.object().held_bytes())
            .sum();
        assert!(usage.bytes <= usage.bytes_max.max(filling));
        if self.exact {
            let fills = self.fills.iter().filter(|fill| !fill.gone).count();
            assert_eq!(usage.objects as usize, self.stored.len() + fills);
        }
    }
}

fn name(key: u8) -> String {
    format!("http://example.com/{key}")
}

fn end_of(mut reader: Reader, mut read: Vec<u8>, body: &[u8], expected: Result<(), ReadError>) {
    let (bytes, end) = drain(&mut reader);
    read.extend(bytes);
    assert!(read == body);
    assert_eq!(end, Some(expected));
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Lru),
        Just(Policy::HeapGdsf),
        Just(Policy::HeapLfuda),
        Just(Policy::Default)
    ]
}

proptest! {
    #[test]
    fn with_memory_for_all_nothing_is_lost(ops in ops(), policy in policies()) {
        let mut world = World::new(policy, u64::MAX);
        ops.iter().for_each(|op| world.apply(op));
        world.fills.clear();
        world.store.purge();
        let usage = world.store.usage();
        prop_assert_eq!((usage.bytes, usage.objects, usage.objects_alive), (0, 0, 0));
    }

    #[test]
    fn with_little_memory_the_limit_holds_and_what_is_found_is_right(
        ops in ops(),
        policy in policies(),
        memory_bytes_max in 500..20_000_u64,
    ) {
        let mut world = World::new(policy, memory_bytes_max);
        ops.iter().for_each(|op| world.apply(op));
        world.fills.clear();
        world.store.purge();
        let usage = world.store.usage();
        prop_assert_eq!((usage.bytes, usage.objects, usage.objects_alive), (0, 0, 0));
    }
}
