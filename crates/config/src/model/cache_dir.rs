//! `cache_dir`: where responses lie on disk.

use std::path::PathBuf;

use super::cache::Replacement;
use crate::problem::Place;

/// One `cache_dir` line. One engine is behind all types: they differ in their options, and in where the path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheDir {
    /// The type.
    pub kind: DirKind,
    /// A directory; for `coss` also a file or a device.
    pub path: PathBuf,
    /// Size limit.
    pub bytes: u64,
    /// `min-size=`: smaller responses aren't for it.
    pub object_bytes_min: u64,
    /// `max-size=`: larger ones aren't; `None`: what `maximum_object_size` says.
    pub object_bytes_max: Option<u64>,
    /// `read-only` or `no-store`: hits, but nothing new.
    pub read_only: bool,
    /// What its engine is told beside.
    pub tuning: DirTuning,
    /// `cache_replacement_policy` in force at this line.
    pub replacement: Option<Replacement>,
    /// Where it is written.
    pub place: Place,
}

/// Options of some types that mean something to the one engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirTuning {
    /// `overwrite-percent=` of `coss`: at 100 nothing that would be overwritten is written again.
    pub overwrite_percent: Option<u32>,
    /// `maxfullbufs=` of `coss`: full buffers that wait for the disk.
    pub full_buffers_max: Option<u32>,
}

/// Type of a `cache_dir`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirKind {
    /// `ufs`
    Ufs,
    /// `aufs`
    Aufs,
    /// `diskd`
    Diskd,
    /// `rock`
    Rock,
    /// `coss`
    Coss,
    /// `null`: nothing is stored.
    Null,
}

/// `store_dir_select_algorithm`: which of the directories that a response fits in gets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DirChoice {
    /// The one with the least to do.
    #[default]
    LeastLoad,
    /// Each in its turn.
    RoundRobin,
}
