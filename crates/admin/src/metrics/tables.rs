//! Every number of `/metrics` that isn't counted in `stats`: a row each, by the part that has it.

use std::sync::Arc;
use std::time::Duration;

use proxy::helpers;
use proxy::hops::peer::PeerReport;
use stats::{Cells, Counter, Gauge};
use store::{Usage, VolumeState, VolumeUsage};

use super::text::{Family, Kind};

/// A row: what it is, and how it is read.
#[derive(Debug)]
pub(super) struct Row<T> {
    pub(super) family: Family<'static>,
    pub(super) read: fn(&T) -> f64,
}

macro_rules! rows {
    ($(#[$doc:meta])* $table:ident: $part:ty; $($name:literal $kind:ident $unit:literal $help:literal $read:expr;)+) => {
        $(#[$doc])*
        pub(super) const $table: &[Row<$part>] = &[$(Row {
            family: Family {
                name: concat!("squall_", $name),
                kind: Kind::$kind,
                unit: $unit,
                help: $help,
            },
            read: $read,
        },)+];
    };
}

/// The process as the system sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    /// Unix time of its start.
    pub(super) start: Duration,
    pub(super) cpu: Duration,
    pub(super) resident_bytes: u64,
    pub(super) descriptors: u64,
    pub(super) descriptors_max: u64,
}

/// Names that collectors know of every program: they have no prefix.
pub(super) const PROCESS: &[Row<Process>] = &[
    Row {
        family: Family {
            name: "process_start_time_seconds",
            kind: Kind::Gauge,
            unit: "seconds",
            help: "Unix time at which the process started.",
        },
        read: |process| process.start.as_secs_f64(),
    },
    Row {
        family: Family {
            name: "process_cpu_seconds",
            kind: Kind::Counter,
            unit: "seconds",
            help: "Processor time used, by the program and by the system for it.",
        },
        read: |process| process.cpu.as_secs_f64(),
    },
    Row {
        family: Family {
            name: "process_resident_memory_bytes",
            kind: Kind::Gauge,
            unit: "bytes",
            help: "Memory of the process that is in use now.",
        },
        read: |process| float(process.resident_bytes),
    },
    Row {
        family: Family {
            name: "process_open_fds",
            kind: Kind::Gauge,
            unit: "",
            help: "File descriptors open now.",
        },
        read: |process| float(process.descriptors),
    },
    Row {
        family: Family {
            name: "process_max_fds",
            kind: Kind::Gauge,
            unit: "",
            help: "File descriptors that may be open.",
        },
        read: |process| float(process.descriptors_max),
    },
];

rows! {
    /// The store in memory.
    STORE: Usage;
    "store_memory_bytes" Gauge "bytes" "Memory of stored responses, those still arriving or in use after their removal included." |u| float(u.bytes);
    "store_memory_max_bytes" Gauge "bytes" "Memory that stored responses may take: cache_mem." |u| float(u.bytes_max);
    "store_objects" Gauge "" "Responses in memory." |u| float(u.objects);
    "store_objects_alive" Gauge "" "Responses in memory, those removed but still in use included." |u| float(u.objects_alive);
    "store_hits" Counter "" "Lookups in memory that found something." |u| float(u.hits);
    "store_misses" Counter "" "Lookups in memory that found nothing." |u| float(u.misses);
    "store_inserts" Counter "" "Responses that came into memory." |u| float(u.inserts);
    "store_evictions" Counter "" "Responses that left memory for others." |u| float(u.evictions);
    "store_spared" Counter "" "Responses that stayed in memory because somebody was reading them." |u| float(u.spared);
    "store_refusals" Counter "" "Responses not kept in memory: too large, or no room could be made." |u| float(u.refusals);
    "store_cuts" Counter "" "Responses that ended before they were complete." |u| float(u.cuts);
    "store_windows_closed" Counter "" "Arriving responses that nobody could join any more, as they are too large." |u| float(u.windows_closed);
    "store_readers_lost" Counter "" "Readers that were too slow for such a response." |u| float(u.readers_lost);
    "store_waits" Counter "" "Requests that waited for another's fetch." |u| float(u.waits);
    "store_waits_refused" Counter "" "Requests that did not wait, as too many did." |u| float(u.waits_refused);
    "store_bans" Gauge "" "Purges by tag, prefix or pattern that are not worked off yet." |u| float(u.bans);
}

rows! {
    /// A `cache_dir`.
    VOLUMES: VolumeUsage;
    "volume_up" Gauge "" "1 while all that is stored can be found; 0 while that isn't known yet, or when the disk failed." |v| flag(v.state == VolumeState::Serving);
    "volume_failed" Gauge "" "1 when the disk failed or the file is gone." |v| flag(v.state == VolumeState::OutOfService);
    "volume_bytes" Gauge "bytes" "Bytes in use on disk." |v| float(v.bytes);
    "volume_max_bytes" Gauge "bytes" "Bytes that may be used on disk." |v| float(v.bytes_max);
    "volume_index_bytes" Gauge "bytes" "Memory that the index takes." |v| float(v.index_bytes);
    "volume_objects" Gauge "" "Responses that can be found." |v| float(v.objects);
    "volume_segments" Gauge "" "Segments of the log in all." |v| v.segments.into();
    "volume_segments_free" Gauge "" "Segments that are free." |v| v.segments_free.into();
    "volume_segments_retired" Gauge "" "Segments given up, as the disk would not take them." |v| v.segments_retired.into();
    "volume_writes_queued" Gauge "" "Chunks that wait to be written." |v| length(v.chunks_queued);
    "volume_reads_queued" Gauge "" "Reads that wait for a thread, and those that the kernel does by io_uring." |v| length(v.reads_queued);
    "volume_hits" Counter "" "Responses found on disk." |v| float(v.hits);
    "volume_misses" Counter "" "Lookups on disk that found nothing." |v| float(v.misses);
    "volume_puts" Counter "" "Responses stored." |v| float(v.puts);
    "volume_removes" Counter "" "Responses removed." |v| float(v.removes);
    "volume_evictions" Counter "" "Responses lost when the log came round to them." |v| float(v.evictions);
    "volume_reinserts" Counter "" "Responses written again rather than lost." |v| float(v.reinserts);
    "volume_lost" Counter "" "Responses lost as they could not be written." |v| float(v.lost);
    "volume_wrong" Counter "" "Records that were not what had been written." |v| float(v.wrong);
    "volume_refused_size" Counter "" "Responses not stored for their size." |v| float(v.refused_size);
    "volume_refused_busy" Counter "" "Responses not stored as too much waited to be written." |v| float(v.refused_busy);
    "volume_refused_full" Counter "" "Responses not stored as no segment was free." |v| float(v.refused_full);
    "volume_refused_closed" Counter "" "Responses not stored as the volume was opening or out of service." |v| float(v.refused_closed);
    "volume_reads_refused" Counter "" "Reads not done as too many waited." |v| float(v.reads_refused);
    "volume_reads_by_rings" Counter "" "Reads that the kernel did while a worker went on (io_uring)." |v| float(v.reads_by_rings);
    "volume_reads_by_threads" Counter "" "Reads that threads did." |v| float(v.reads_by_threads);
    "volume_written_bytes" Counter "bytes" "Bytes written to disk." |v| float(v.bytes_written);
    "volume_read_bytes" Counter "bytes" "Bytes read from disk." |v| float(v.bytes_read);
    "volume_write_errors" Counter "" "Writes that failed." |v| float(v.write_errors);
    "volume_read_errors" Counter "" "Reads that failed." |v| float(v.read_errors);
}

rows! {
    /// A pool of helper programs.
    POOLS: helpers::Status;
    "helper_pool_children" Gauge "" "Processes that take questions." |s| length(s.active);
    "helper_pool_retiring" Gauge "" "Processes that answer what they were asked and end." |s| length(s.retiring);
    "helper_pool_queue" Gauge "" "Questions that wait for a process." |s| length(s.queue);
    "helper_pool_queue_max" Gauge "" "Most questions that ever waited." |s| length(s.queue_max);
    "helper_pool_sent" Counter "" "Questions sent." |s| float(s.sent);
    "helper_pool_received" Counter "" "Answers received." |s| float(s.received);
    "helper_pool_timeouts" Counter "" "Questions not answered in time." |s| float(s.timed_out);
    "helper_pool_refused" Counter "" "Questions refused as too many waited." |s| float(s.refused);
    "helper_pool_deaths" Counter "" "Processes that ended although nobody told them to." |s| float(s.deaths);
    "helper_pool_average_seconds" Gauge "seconds" "Time that the latest answers took on average." |s| s.average.as_secs_f64();
}

rows! {
    /// A `cache_peer`.
    PEERS: PeerReport;
    "peer_up" Gauge "" "1 unless the peer is taken for dead." |p| flag(p.up);
    "peer_connections" Gauge "" "Connections to the peer in use." |p| p.open.into();
    "peer_requests" Counter "" "Requests sent to the peer." |p| float(p.fetches);
    "peer_kept_alive" Counter "" "Answers of the peer after which the connection stayed open." |p| float(p.kept_alive);
    "peer_connect_failures" Counter "" "Connects to the peer that failed." |p| float(p.connect_failures);
}

rows! {
    /// A worker, as its own counters have it.
    WORKERS: Arc<Cells>;
    "worker_requests" Counter "" "Requests that the worker read." |cells| float(cells.get(Counter::ClientRequests));
    "worker_connections" Gauge "" "Client connections of the worker." |cells| level(cells, Gauge::ClientConnections);
    "worker_transactions" Gauge "" "Requests that the worker is answering." |cells| level(cells, Gauge::Transactions);
    "worker_event_loops" Counter "" "Times that the worker went to sleep to wait for events." |cells| float(cells.get(Counter::EventLoops));
}

/// A thread's share of a gauge, which for one that others count down too may be below 0.
fn level(cells: &Cells, gauge: Gauge) -> f64 {
    float(u64::try_from(cells.level(gauge)).unwrap_or(0))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "what is lost is less than a billionth of it"
)]
pub(super) const fn float(value: u64) -> f64 {
    value as f64
}

fn length(value: usize) -> f64 {
    float(value as u64)
}

fn flag(value: bool) -> f64 {
    f64::from(u8::from(value))
}
