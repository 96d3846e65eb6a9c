//! Bans: what they meet, when, and how it is counted.

use proptest::prelude::*;
use std::collections::HashMap;

use super::*;
use crate::{Aim, Policy, Tag, Way};

/// A response with tags, and whether it has been made stale, since when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tagged {
    tags: Vec<Tag>,
    vary: u8,
    version: u32,
    stale: Option<i64>,
    /// It is of no use when stale.
    strict: bool,
}

impl Weigh for Tagged {
    fn weight_bytes(&self) -> usize {
        self.tags.len() * Tag::WEIGHT_BYTES
    }

    fn supersedes(&self, older: &Self) -> bool {
        self.vary == older.vary
    }

    fn tags(&self) -> &[Tag] {
        &self.tags
    }

    fn stale_since(&self, since: i64) -> Option<Self> {
        (!self.strict).then(|| Self {
            stale: Some(self.stale.map_or(since, |before| before.min(since))),
            ..self.clone()
        })
    }
}

type TaggedStore = Arc<Store<Tagged>>;

fn tag(name: &str) -> Tag {
    Tag::new(b"", name.as_bytes())
}

fn tagged(names: &[&str]) -> Tagged {
    Tagged {
        tags: names.iter().map(|name| tag(name)).collect(),
        ..Tagged::default()
    }
}

fn by_tags(names: &[&str]) -> Aim {
    Aim::Tagged {
        tags: names.iter().map(|name| tag(name)).collect(),
        under: Box::default(),
    }
}

fn by_key(url: &str) -> Aim {
    Aim::Key(url.as_bytes().into())
}

fn by_prefix(prefix: &'static str) -> Aim {
    Aim::Keys(Box::new(move |key| key.starts_with(prefix.as_bytes())))
}

fn new_store() -> TaggedStore {
    Store::new(Options::default())
}

fn put(store: &TaggedStore, url: &str, meta: Tagged) -> Arc<Object<Tagged>> {
    store.lead(key(url)).insert(meta, b"body")
}

fn get(store: &TaggedStore, url: &str) -> Option<Tagged> {
    store
        .find(key(url), |_| true)
        .map(|found| found.meta.clone())
}

/// Makes a ban and carries it out; gives the receipt.
fn purge(store: &TaggedStore, aim: Aim) -> u64 {
    store.carry_out(&store.ban(aim, Way::Remove, 0).unwrap())
}

fn purge_softly(store: &TaggedStore, aim: Aim, since: i64) -> u64 {
    store.carry_out(&store.ban(aim, Way::Stale { since }, since).unwrap())
}

#[test]
fn a_tag_meets_those_that_have_it_once_each() {
    let store = new_store();
    put(&store, "a", tagged(&["red"]));
    put(&store, "b", tagged(&["red", "blue"]));
    put(&store, "c", tagged(&["blue"]));
    put(&store, "d", tagged(&[]));
    assert_eq!(purge(&store, by_tags(&["red", "blue", "green"])), 3);
    assert_eq!(purge(&store, by_tags(&["red"])), 0);
    assert!(get(&store, "a").is_none() && get(&store, "d").is_some());
    put(&store, "a", tagged(&["red"]));
    assert!(get(&store, "a").is_some(), "it was asked for afterwards");
    assert_eq!(store.remove_tagged(&[tag("red")]), 1);
}

#[test]
fn tags_can_be_confined_to_keys() {
    let store = new_store();
    put(&store, "here/a", tagged(&["red"]));
    put(&store, "there/a", tagged(&["red"]));
    let aim = Aim::Tagged {
        tags: [tag("red")].into(),
        under: b"here/".as_slice().into(),
    };
    assert_eq!(purge(&store, aim), 1);
    assert!(get(&store, "here/a").is_none() && get(&store, "there/a").is_some());
}

#[test]
fn tags_of_different_spaces_differ() {
    assert_ne!(Tag::new(b"a", b"bc"), Tag::new(b"ab", b"c"));
    assert_eq!(Tag::new(b"a", b"bc"), Tag::new(b"a", b"bc"));
}

#[test]
fn a_ban_is_in_force_before_it_is_carried_out() {
    let store = new_store();
    put(&store, "a/1", tagged(&[]));
    put(&store, "a/2", tagged(&[]));
    put(&store, "b", tagged(&[]));
    let ban = store.ban(by_prefix("a/"), Way::Remove, 0).unwrap();
    assert!(get(&store, "a/1").is_none() && get(&store, "b").is_some());
    assert_eq!(
        store.carry_out(&ban),
        2,
        "the one that a lookup met counts too"
    );
    assert_eq!(store.usage().objects, 1);
}

#[test]
fn a_soft_ban_leaves_a_stale_twin_with_the_same_body() {
    let store = new_store();
    put(&store, "a", tagged(&["red"]));
    assert_eq!(purge_softly(&store, by_tags(&["red"]), 7), 1);
    assert_eq!(get(&store, "a").unwrap().stale, Some(7));
    let found = store.find(key("a"), |_| true).unwrap();
    assert_eq!(found.length(), Some(4));
    assert_eq!(purge_softly(&store, by_key("a"), 9), 1);
    assert_eq!(get(&store, "a").unwrap().stale, Some(7));
    assert_eq!(purge(&store, by_tags(&["red"])), 1, "the twin has its tags");
    let strict = Tagged {
        strict: true,
        ..tagged(&[])
    };
    put(&store, "b", strict);
    assert_eq!(purge_softly(&store, by_key("b"), 9), 1);
    assert!(get(&store, "b").is_none());
}

#[test]
fn what_was_asked_for_before_a_ban_is_met_when_it_arrives() {
    let store = new_store();
    let slots = ["a", "b", "c"].map(|url| store.lead(key(url)));
    assert_eq!(purge(&store, by_tags(&["red"])), 0);
    let [a, b, c] = slots;
    let joined = a.insert(tagged(&["red"]), b"old");
    assert!(!store.stands(&joined));
    let (arriving, mut filler) = b.publish(tagged(&["red"]), None, Keep::Store);
    assert!(!store.stands(&arriving));
    filler.append(b"old").unwrap();
    filler.finish().unwrap();
    c.insert(tagged(&["blue"]), b"unconcerned");
    assert!(get(&store, "a").is_none() && get(&store, "b").is_none() && get(&store, "c").is_some());
}

#[test]
fn what_arrives_during_a_ban_is_met_and_its_readers_go_on() {
    let store = new_store();
    let (object, mut filler) = store
        .lead(key("a"))
        .publish(tagged(&["red"]), None, Keep::Store);
    let mut reader = object.reader();
    assert_eq!(purge_softly(&store, by_key("a"), 1), 1);
    filler.append(b"whole").unwrap();
    filler.finish().unwrap();
    assert!(get(&store, "a").is_none());
    assert_eq!(drain(&mut reader), (b"whole".to_vec(), Some(Ok(()))));
}

#[test]
fn an_answer_to_a_question_from_before_the_ban_renews_nothing() {
    let store = new_store();
    let old = put(&store, "a", tagged(&["red"]));
    assert_eq!(purge(&store, by_tags(&["red"])), 1);
    store.update(&old, tagged(&["red"]));
    assert!(get(&store, "a").is_none());
    let slot = store.lead(key("a")).since(&old);
    slot.insert(tagged(&["red"]), b"old");
    assert!(get(&store, "a").is_none());
}

#[test]
fn bans_are_forgotten_after_a_sweep_and_what_came_from_before_them_is_not_trusted() {
    let store = new_store();
    put(&store, "kept", tagged(&["blue"]));
    let before = store.lead(key("late"));
    purge(&store, by_tags(&["red"]));
    assert!(!store.sweep_is_due(59) && store.sweep_is_due(60));
    store.sweep(60);
    assert!(!store.sweep_is_due(1_000));
    before.insert(tagged(&["blue"]), b"x");
    assert!(get(&store, "late").is_none(), "nobody knows any more");
    assert!(get(&store, "kept").is_some());
}

#[test]
fn the_list_is_bounded_and_a_sweep_makes_room() {
    let store = new_store();
    put(&store, "kept", tagged(&[]));
    let mut made = 0;
    while store.ban(by_key("other"), Way::Remove, 0).is_ok() {
        made += 1;
    }
    assert_eq!((made, store.usage().bans), (8192, 8192));
    assert!(store.sweep_is_due(0));
    store.sweep(0);
    assert!(store.ban(by_key("other"), Way::Remove, 0).is_ok());
    assert!(store.usage().bans < 8192);
    assert!(get(&store, "kept").is_some());
}

#[test]
fn evicted_objects_leave_no_tags_behind() {
    let store: TaggedStore = Store::new(Options {
        memory_bytes_max: 20_000,
        ..Options::default()
    });
    for number in 0..1_000 {
        put(
            &store,
            &number.to_string(),
            tagged(&["red", &number.to_string()]),
        );
    }
    let left = store.usage().objects;
    assert!((1..1_000).contains(&left));
    assert_eq!(purge(&store, by_tags(&["red"])), left);
    assert_eq!(store.usage().bytes, 0);
}

/// Lookups, fills and bans at the same time: after a receipt nobody gets what was asked for before its ban.
#[test]
fn nothing_from_before_a_receipt_is_found_after_it() {
    let store = new_store();
    let [origin, receipt, done] = [const { AtomicUsize::new(0) }; 3];
    let urls: Vec<String> = (0..200)
        .map(|number| format!("http://x/{number}"))
        .collect();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while done.load(SeqCst) == 0 {
                    for url in &urls {
                        let least = receipt.load(SeqCst);
                        if let Some(found) = get(&store, url) {
                            assert!(found.version as usize >= least, "{url} is from before");
                            continue;
                        }
                        let slot = store.lead(key(url));
                        let version = origin.load(SeqCst) as u32;
                        slot.insert(
                            Tagged {
                                version,
                                ..tagged(&["red"])
                            },
                            b"body",
                        );
                    }
                }
            });
        }
        for number in 1..200 {
            let aim = match number % 3 {
                0 => by_tags(&["red"]),
                1 => by_prefix("http://x/"),
                _ => Aim::Keys(Box::new(|_| true)),
            };
            origin.store(number, SeqCst);
            let ban = store.ban(aim, Way::Remove, 0).unwrap();
            store.carry_out(&ban);
            receipt.store(number, SeqCst);
        }
        done.store(1, SeqCst);
    });
}

#[derive(Clone, Debug)]
enum Op {
    Put {
        key: u8,
        tags: Vec<u8>,
        vary: u8,
    },
    Begin {
        key: u8,
    },
    End {
        slot: usize,
        tags: Vec<u8>,
    },
    Get {
        key: u8,
        vary: u8,
    },
    Ban {
        aim: u8,
        argument: u8,
        soft: bool,
        carry_out: bool,
    },
    Sweep {
        later: bool,
    },
    Remove {
        key: u8,
    },
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = 0..12_u8;
    let tags = proptest::collection::vec(0..4_u8, 0..3);
    let op = prop_oneof![
        6 => (key.clone(), tags.clone(), 0..2_u8).prop_map(|(key, tags, vary)| Op::Put { key, tags, vary }),
        2 => key.clone().prop_map(|key| Op::Begin { key }),
        2 => (any::<usize>(), tags).prop_map(|(slot, tags)| Op::End { slot, tags }),
        6 => (key.clone(), 0..2_u8).prop_map(|(key, vary)| Op::Get { key, vary }),
        4 => (0..3_u8, 0..12_u8, any::<bool>(), any::<bool>())
            .prop_map(|(aim, argument, soft, carry_out)| Op::Ban { aim, argument, soft, carry_out }),
        1 => any::<bool>().prop_map(|later| Op::Sweep { later }),
        1 => key.prop_map(|key| Op::Remove { key }),
    ];
    proptest::collection::vec(op, 1..80)
}

/// What a ban of the model meets.
fn meets(aim: u8, argument: u8, url: &str, tags: &[u8]) -> bool {
    match aim {
        0 => url == name(argument),
        1 => tags.contains(&(argument % 4)),
        _ => url.starts_with(&prefix(argument)),
    }
}

/// Twelve keys in three folders.
fn name(key: u8) -> String {
    format!("{}/{key}", prefix(key))
}

fn prefix(key: u8) -> String {
    format!("http://x/{}", key % 3)
}

fn numbered(tags: &[u8]) -> Vec<Tag> {
    tags.iter().map(|number| tag(&number.to_string())).collect()
}

/// Version, tags, and since when it is stale.
type Expected = (u32, Vec<u8>, Option<i64>);

/// The model applies each ban to all that it has, at once.
#[derive(Default)]
struct Model {
    stored: HashMap<(String, u8), Expected>,
    /// Bans so far: aim, argument, moment of softness, and whether it is forgotten.
    bans: Vec<(u8, u8, Option<i64>)>,
    forgotten: usize,
    swept: usize,
    made_at: Vec<i64>,
}

impl Model {
    fn ban(&mut self, aim: u8, argument: u8, soft: Option<i64>, now: i64) -> u64 {
        self.forget(now);
        self.bans.push((aim, argument, soft));
        self.made_at.push(now);
        let before = self.stored.len();
        let mut met = 0;
        self.stored.retain(|(url, _), (_, tags, stale)| {
            if !meets(aim, argument, url, tags) {
                return true;
            }
            met += 1;
            *stale = soft.map(|since| stale.unwrap_or(since).min(since));
            soft.is_some()
        });
        assert!(before >= self.stored.len());
        met
    }

    /// What becomes of a response that was asked for when there had been `asked` bans.
    fn arrives(&mut self, url: &str, version: u32, tags: &[u8], asked: usize) {
        let place = (url.to_owned(), 0);
        self.stored.remove(&place);
        if asked < self.forgotten {
            return;
        }
        let mut stale: Option<i64> = None;
        for (aim, argument, soft) in &self.bans[asked..] {
            if meets(*aim, *argument, url, tags) {
                let Some(since) = soft else { return };
                stale = Some(stale.unwrap_or(*since).min(*since));
            }
        }
        self.stored.insert(place, (version, tags.to_vec(), stale));
    }

    fn forget(&mut self, now: i64) {
        while self.forgotten < self.swept && now - self.made_at[self.forgotten] >= 60 {
            self.forgotten += 1;
        }
    }
}

proptest! {
    /// Lazily or at once, lookups and receipts are as if each ban had gone through all that was stored.
    #[test]
    fn bans_are_as_if_carried_out_at_once(ops in ops()) {
        let store: TaggedStore = Store::new(Options { policy: Policy::Lru, ..Options::default() });
        let mut model = Model::default();
        let mut slots = Vec::new();
        let (mut version, mut now) = (0, 0);
        for op in ops {
            version += 1;
            match op {
                Op::Put { key, tags, vary } => {
                    let meta = Tagged { tags: numbered(&tags), vary, version, ..Tagged::default() };
                    put(&store, &name(key), meta);
                    model.stored.insert((name(key), vary), (version, tags, None));
                }
                Op::Begin { key: number } => {
                    slots.push((store.lead(key(&name(number))), name(number), model.bans.len()));
                }
                Op::End { slot, tags } => {
                    if slots.is_empty() {
                        continue;
                    }
                    let (slot, url, asked) = slots.swap_remove(slot % slots.len());
                    slot.insert(Tagged { tags: numbered(&tags), version, ..Tagged::default() }, b"x");
                    model.arrives(&url, version, &tags, asked);
                }
                Op::Get { key: number, vary } => {
                    let found = store.find(key(&name(number)), |meta| meta.vary == vary);
                    let found = found.map(|found| (found.meta.version, found.meta.stale));
                    let expected = model.stored.get(&(name(number), vary));
                    prop_assert_eq!(found, expected.map(|(version, _, stale)| (*version, *stale)));
                }
                Op::Ban { aim, argument, soft, carry_out } => {
                    now += 1;
                    let kind = match aim {
                        0 => by_key(&name(argument)),
                        1 => Aim::Tagged { tags: numbered(&[argument % 4]).into(), under: Box::default() },
                        _ => {
                            let prefix = prefix(argument);
                            Aim::Keys(Box::new(move |key| key.starts_with(prefix.as_bytes())))
                        }
                    };
                    let way = if soft { Way::Stale { since: now } } else { Way::Remove };
                    let ban = store.ban(kind, way, now).unwrap();
                    let met = model.ban(aim, argument, soft.then_some(now), now);
                    if carry_out {
                        prop_assert_eq!(store.carry_out(&ban), met);
                        if aim == 2 {
                            model.swept = model.bans.len();
                            model.forget(now);
                        }
                    }
                }
                Op::Sweep { later } => {
                    now += if later { 60 } else { 0 };
                    store.sweep(now);
                    model.swept = model.bans.len();
                    model.forget(now);
                }
                Op::Remove { key: number } => {
                    let expected = (0..2).filter_map(|vary| model.stored.remove(&(name(number), vary))).count();
                    store.sweep(now);
                    model.swept = model.bans.len();
                    model.forget(now);
                    prop_assert_eq!(store.remove(key(&name(number))), expected);
                }
            }
        }
        drop(slots);
        store.sweep(now);
        prop_assert_eq!(store.usage().objects as usize, model.stored.len());
        let tags: Vec<Tag> = numbered(&[0, 1, 2, 3]);
        let with_tags = model.stored.values().filter(|(_, tags, _)| !tags.is_empty()).count();
        prop_assert_eq!(store.remove_tagged(&tags), with_tags);
    }
}
