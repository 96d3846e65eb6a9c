//! Directives: what is stored, where and for how long.

use super::{Area, Kind, Row, checked, done, no_effect, not_yet_unless, row, rules, set, since};
use crate::readers::{cache_dir, lists, refresh, simple};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("cache_mem", &[], Kind::Size, ["size", "256 MB"], since("2.5"), "ideal memory for hot/in-transit objects", set!(cache_mem, size)),
    row("maximum_object_size_in_memory", &[], Kind::Size, ["size", "512 KB"], since("2.5"), "largest object kept in memory", set!(maximum_object_size_in_memory, size_or_all)),
    row("memory_cache_shared", &[], Kind::OnOff, ["on/off", "on with SMP + cache_mem"], since("3.2"), "share the memory cache among workers", no_effect("workers are threads: they always share the memory cache")),
    row("memory_cache_mode", &[], Kind::OneOf(&["always", "disk", "network", "never"]), ["always/disk/network/never", "always"], since("3.2"), "which objects enter the memory cache", set!(memory_cache_mode, memory_cache_mode)),
    row("memory_replacement_policy", &[], Kind::OneOf(&["lru", "heap LRU", "heap GDSF", "heap LFUDA"]), ["lru / heap GDSF / heap LFUDA / heap LRU", "lru"], since("2.5"), "memory eviction policy; here, without a line, by uses and size", set!(memory_replacement_policy, replacement)),
    row("cache_replacement_policy", &[], Kind::OneOf(&["lru", "heap LRU", "heap GDSF", "heap LFUDA"]), ["same values", "lru"], since("2.5"), "disk eviction policy for the cache_dir lines below it", done(simple::cache_replacement_policy)),
    row("minimum_object_size", &[], Kind::Size, ["size", "0 KB"], since("2.5"), "smaller objects are not put on disk", set!(minimum_object_size, size)),
    row("maximum_object_size", &[], Kind::Size, ["size", "4 MB"], since("2.5"), "default max-size for cache_dirs; order matters in older versions (before cache_dir)", set!(maximum_object_size, size_or_all)),
    row("cache_dir", &[], Kind::Form, ["type dir Mbytes [L1 L2] [opts]", "none (memory only since 3.1)"], since("2.5"), "disk store; seeds name ufs, aufs, diskd, null, coss, plus rock", done(cache_dir::cache_dir)),
    row("store_dir_select_algorithm", &[], Kind::Word, ["least-load / round-robin", "least-load"], since("2.5"), "store choice when several fit", done(cache_dir::store_dir_select_algorithm)),
    row("paranoid_hit_validation", &[], Kind::Time, ["time-small", "0 = off"], since("6"), "budget for validating shared entries on each hit", no_effect("every hit from disk is checked in full, and memory is shared as it is")),
    row("max_open_disk_fds", &[], Kind::Number, ["N", "0 = no limit"], since("2.5"), "skip disk when this many store files are open", no_effect("a cache_dir is one file, however much lies in it")),
    row("cache_swap_low", &[], Kind::Number, ["percent", "90"], since("2.5"), "start of eviction for ufs-type stores", checked(set!(cache_swap_low, natural), no_effect("a cache_dir keeps some segments free, and evicts as it is written; SNMP shows the number"))),
    row("cache_swap_high", &[], Kind::Number, ["percent", "95"], since("2.5"), "aggressive eviction level", checked(set!(cache_swap_high, natural), no_effect("a cache_dir keeps some segments free, and evicts as it is written; SNMP shows the number"))),
    row("cache", &["no_cache"], Kind::AccessList, ["allow/deny acl..", "unused"], since("2.5"), "deny = neither serve from nor store in cache", rules!(cache)),
    row("send_hit", &[], Kind::AccessList, ["allow/deny acl..", "unused"], since("3.5"), "deny = do not serve as hit", rules!(send_hit)),
    row("store_miss", &[], Kind::AccessList, ["allow/deny acl..", "unused"], since("3.5"), "deny = do not store", rules!(store_miss)),
    row("max_stale", &[], Kind::Time, ["time", "1 week"], since("2.7").except("3.0–3.1"), "global cap on stale service after failed validation", set!(max_stale, time)),
    row("refresh_pattern", &[], Kind::Form, ["[-i] regex min pct max [opts]", "none"], since("2.5"), "heuristic freshness", done(refresh::refresh_pattern)),
    row("quick_abort_min", &[], Kind::Kilobytes, ["KB", "16 KB"], since("2.5"), "finish if less than this remains", set!(quick_abort_min, kilobytes_or_none)),
    row("quick_abort_max", &[], Kind::Kilobytes, ["KB", "16 KB"], since("2.5"), "abort if more than this remains", done(simple::quick_abort_max)),
    row("quick_abort_pct", &[], Kind::Number, ["percent", "95"], since("2.5"), "finish if more than this is done", set!(quick_abort_pct, percent)),
    row("read_ahead_gap", &[], Kind::Size, ["size", "16 KB"], since("2.6"), "how far ahead of the client to read", checked(set!(read_ahead_gap, size), not_yet_unless(Area::Caching, &["16 KB"]))),
    row("negative_ttl", &[], Kind::Time, ["time", "0 seconds"], since("2.5"), "cache errors this long (5 min before 3.1, 0 since)", set!(negative_ttl, time)),
    row("positive_dns_ttl", &[], Kind::Time, ["time", "6 hours"], since("2.5"), "cap on positive DNS caching", set!(positive_dns_ttl, time)),
    row("negative_dns_ttl", &[], Kind::Time, ["time", "1 minutes"], since("2.5"), "negative DNS caching and floor", set!(negative_dns_ttl, time)),
    row("range_offset_limit", &[], Kind::Lines(&[Kind::SizeOrNone, Kind::Acls]), ["size [acl..]", "none"], since("2.5"), "how far into a file a Range may start and still fetch whole; none = always whole", done(lists::range_offset_limit)),
    row("minimum_expiry_time", &[], Kind::Time, ["time", "60 seconds"], since("2.6"), "shortest expiry worth storing (CVMFS/Frontier use 0)", set!(minimum_expiry_time, time)),
    row("store_avg_object_size", &[], Kind::Size, ["size", "13 KB"], since("2.5"), "index sizing hint", no_effect("the index grows as needed")),
    row("store_objects_per_bucket", &[], Kind::Number, ["N", "20"], since("2.5"), "index sizing hint", no_effect("the index grows as needed")),
];
