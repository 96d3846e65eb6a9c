//! Directives: what is stored, where and for how long.

use super::{
    Row, checked, done, no_effect, not_yet, not_yet_told, not_yet_unless, row, rules, set,
};
use crate::readers::{lists, refresh, simple};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("cache_mem", &[], ["size", "256 MB", "≤2.5"], "ideal memory for hot/in-transit objects", set!(cache_mem, size)),
    row("maximum_object_size_in_memory", &[], ["size", "512 KB", "≤2.5"], "largest object kept in memory", set!(maximum_object_size_in_memory, size)),
    row("memory_cache_shared", &[], ["on/off", "on with SMP + cache_mem", "3.2"], "share the memory cache among workers", no_effect("workers are threads: they always share the memory cache")),
    row("memory_cache_mode", &[], ["always/disk/network", "always", "3.2"], "which objects enter the memory cache", not_yet("the memory cache")),
    row("memory_replacement_policy", &[], ["lru / heap GDSF / heap LFUDA / heap LRU", "lru", "≤2.5"], "memory eviction policy; here, without a line, by uses and size", set!(memory_replacement_policy, replacement)),
    row("cache_replacement_policy", &[], ["same values", "lru", "≤2.5"], "disk eviction policy for the cache_dir lines below it", checked(done(simple::cache_replacement_policy), not_yet_unless("the disk cache", &["lru"]))),
    row("minimum_object_size", &[], ["size", "0 KB", "≤2.5"], "smaller objects are not put on disk", checked(set!(minimum_object_size, size), not_yet("the disk cache"))),
    row("maximum_object_size", &[], ["size", "4 MB", "≤2.5"], "default max-size for cache_dirs; order matters in older versions (before cache_dir)", done(simple::maximum_object_size)),
    row("cache_dir", &[], ["type dir Mbytes [L1 L2] [opts]", "none (memory only since 3.1)", "≤2.5"], "disk store; seeds name ufs, aufs, diskd, null, coss, plus rock", not_yet_told("the disk cache", simple::cache_dir)),
    row("store_dir_select_algorithm", &[], ["least-load / round-robin", "least-load", "≤2.5"], "store choice when several fit", not_yet("the disk cache")),
    row("paranoid_hit_validation", &[], ["time-small", "0 = off", "6"], "budget for validating shared entries on each hit", not_yet("the disk cache")),
    row("max_open_disk_fds", &[], ["N", "0 = no limit", "≤2.5"], "skip disk when this many store files are open", not_yet("the disk cache")),
    row("cache_swap_low", &[], ["percent", "90", "≤2.5"], "start of eviction for ufs-type stores", not_yet("the disk cache")),
    row("cache_swap_high", &[], ["percent", "95", "≤2.5"], "aggressive eviction level", not_yet("the disk cache")),
    row("cache", &["no_cache"], ["allow/deny acl..", "unused", "≤2.5"], "deny = neither serve from nor store in cache", rules!(cache)),
    row("send_hit", &[], ["allow/deny acl..", "unused", "3.5"], "deny = do not serve as hit", not_yet("caching")),
    row("store_miss", &[], ["allow/deny acl..", "unused", "3.5"], "deny = do not store", not_yet("caching")),
    row("max_stale", &[], ["time", "1 week", "2.7 (not 3.0–3.1)"], "global cap on stale service after failed validation", set!(max_stale, time)),
    row("refresh_pattern", &[], ["[-i] regex min pct max [opts]", "none", "≤2.5"], "heuristic freshness", done(refresh::refresh_pattern)),
    row("quick_abort_min", &[], ["KB", "16 KB", "≤2.5"], "finish if less than this remains", set!(quick_abort_min, kilobytes_or_none)),
    row("quick_abort_max", &[], ["KB", "16 KB", "≤2.5"], "abort if more than this remains", done(simple::quick_abort_max)),
    row("quick_abort_pct", &[], ["percent", "95", "≤2.5"], "finish if more than this is done", set!(quick_abort_pct, percent)),
    row("read_ahead_gap", &[], ["size", "16 KB", "2.6"], "how far ahead of the client to read", checked(set!(read_ahead_gap, size), not_yet_unless("caching", &["16 KB"]))),
    row("negative_ttl", &[], ["time", "0 seconds", "≤2.5"], "cache errors this long (5 min before 3.1, 0 since)", set!(negative_ttl, time)),
    row("positive_dns_ttl", &[], ["time", "6 hours", "≤2.5"], "cap on positive DNS caching", set!(positive_dns_ttl, time)),
    row("negative_dns_ttl", &[], ["time", "1 minutes", "≤2.5"], "negative DNS caching and floor", set!(negative_dns_ttl, time)),
    row("range_offset_limit", &[], ["size [acl..]", "none", "≤2.5"], "how far into a file a Range may start and still fetch whole; none = always whole", checked(done(lists::range_offset_limit), not_yet_unless("caching", &["0"]))),
    row("minimum_expiry_time", &[], ["time", "60 seconds", "2.6"], "shortest expiry worth storing (CVMFS/Frontier use 0)", set!(minimum_expiry_time, time)),
    row("store_avg_object_size", &[], ["size", "13 KB", "≤2.5"], "index sizing hint", no_effect("the index grows as needed")),
    row("store_objects_per_bucket", &[], ["N", "20", "≤2.5"], "index sizing hint", no_effect("the index grows as needed")),
];
