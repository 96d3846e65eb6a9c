//! What is done to a volume, by chance.

use proptest::prelude::*;

use crate::options::Policy;

pub(super) const KEYS: u8 = 32;
/// More than half of the volume is refused.
const LARGE_BYTES_MAX: u32 = 150_000;

#[derive(Clone, Debug)]
pub(in super::super) struct Sequence {
    pub(super) policy: Policy,
    pub(super) size: Size,
    /// Whether its index outlives the process.
    pub(super) shared: bool,
    pub(super) steps: Vec<Step>,
}

/// Of the volume.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    /// As few segments as can be: it is always short of them.
    Least,
    /// So many that what was stored a short while ago is there.
    Small,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Put(u8, u16),
    /// Stored piece by piece, at once.
    Large(u8, u32),
    /// The same, while other things are done: what was begun before is broken off.
    Begin(u8, u32),
    Append(u16),
    /// Appends the rest, and ends it.
    Finish,
    Renew(u8),
    Remove(u8),
    Find(u8),
    /// Finds, and keeps hold of a large body.
    Hold(u8),
    /// Reads what is held, from there on.
    Read(u32),
    Flush,
    Clear,
    Close,
    Crash,
    /// What is written from here on reaches the disk in part, until it is waited for.
    Tear(u16),
}

pub(in super::super) fn sequence() -> impl Strategy<Value = Sequence> {
    let policy = prop_oneof![
        Just(Policy::Lru),
        Just(Policy::HeapGdsf),
        Just(Policy::Default)
    ];
    let steps = prop::collection::vec(step(), 1..200);
    let size = prop_oneof![Just(Size::Small), Just(Size::Least)];
    (policy, size, any::<bool>(), steps).prop_map(|(policy, size, shared, steps)| Sequence {
        policy,
        size,
        shared,
        steps,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..KEYS;
    prop_oneof![
        38 => (key.clone(), 0_u16..20_000).prop_map(|(key, bytes)| Step::Put(key, bytes)),
        2 => (key.clone(), 0..LARGE_BYTES_MAX).prop_map(|(key, bytes)| Step::Large(key, bytes)),
        1 => (key.clone(), 0..LARGE_BYTES_MAX).prop_map(|(key, bytes)| Step::Begin(key, bytes)),
        4 => any::<u16>().prop_map(Step::Append),
        1 => Just(Step::Finish),
        4 => key.clone().prop_map(Step::Renew),
        5 => key.clone().prop_map(Step::Remove),
        20 => key.clone().prop_map(Step::Find),
        1 => key.prop_map(Step::Hold),
        1 => (0..LARGE_BYTES_MAX).prop_map(Step::Read),
        4 => Just(Step::Flush),
        1 => (0_u8..4).prop_map(|chance| if chance == 0 { Step::Clear } else { Step::Flush }),
        1 => Just(Step::Close),
        2 => Just(Step::Crash),
        1 => (0_u16..40_000).prop_map(Step::Tear),
    ]
}
