//! What the store does: `store_io`, `store_check_cachable_stats`, `store_queues`, `store_log_tags`, `squidaio_counts`;
//! and `store_digest`, which we don't make.

use std::collections::BTreeMap;

use proxy::internal::WorkerReport;
use serde::Serialize;
use store::{Usage, VolumeUsage};

use super::Report;
use super::forward::sum;
use crate::Scene;

/// `store_io`: what disks were given to keep.
pub(super) fn io(scene: &Scene<'_>) -> Report {
    #[derive(Serialize)]
    struct Page {
        calls: u64,
        select_fail: u64,
        create_fail: u64,
        success: u64,
    }
    let disk = scene.volumes().total;
    let failed = disk.refused_busy + disk.refused_closed + disk.refused_gone + disk.refused_full;
    let calls = disk.puts + failed + disk.refused_size;
    let page = Page {
        calls,
        select_fail: disk.refused_size,
        create_fail: failed,
        success: disk.puts,
    };
    let text = format!(
        "Store IO Interface Stats\ncreate.calls {}\ncreate.select_fail {}\ncreate.create_fail {}\n\
         create.success {}\n",
        page.calls, page.select_fail, page.create_fail, page.success
    );
    Report::new(&page, text)
}

/// `store_check_cachable_stats`: answers that could be kept, and why others could not.
pub(super) fn check_cachable(scene: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    let tally = sum(workers);
    let memory = scene.memory();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (why, count) in &tally.not_storable {
        counts.insert(format!("no.{}", why.replace('-', "_")), *count);
    }
    counts.insert("no.too_big".to_owned(), memory.refusals);
    counts.insert("yes.default".to_owned(), tally.storable);
    let text = counts.iter().fold(
        "Category\t Count\n".to_owned(),
        |text, (category, count)| text + &format!("{category}\t{count}\n"),
    );
    Report::new(&counts, text)
}

/// `store_queues`: what waits for the disks.
pub(super) fn queues(scene: &Scene<'_>) -> Report {
    #[derive(Serialize)]
    struct Queue {
        path: String,
        chunks_to_write: usize,
        reads_waiting: usize,
    }
    let volumes = scene.volumes();
    let queues = volumes.each.iter().map(|(path, usage)| Queue {
        path: path.display().to_string(),
        chunks_to_write: usage.chunks_queued,
        reads_waiting: usage.reads_queued,
    });
    let queues: Vec<_> = queues.collect();
    let head = "Store queues\nChunks to write\tReads waiting\tcache_dir\n".to_owned();
    let text = queues.iter().fold(head, |text, queue| {
        text + &format!(
            "{:15}\t{:13}\t{}\n",
            queue.chunks_to_write, queue.reads_waiting, queue.path
        )
    });
    Report::new(&queues, text)
}

/// `store_log_tags`: what `cache_store_log` has lines for.
pub(super) fn log_tags(scene: &Scene<'_>) -> Report {
    tags(&scene.memory(), &scene.volumes().total)
}

#[derive(Serialize)]
struct Tags {
    create: u64,
    swapin: u64,
    swapout: u64,
    release: u64,
    so_fail: u64,
}

fn tags(memory: &Usage, disk: &VolumeUsage) -> Report {
    let tags = Tags {
        create: memory.inserts,
        swapin: disk.hits,
        swapout: disk.puts,
        release: memory.inserts.saturating_sub(memory.objects),
        so_fail: disk.broken_off + disk.write_errors,
    };
    let text = format!(
        "CREATE {}\nSWAPIN {}\nSWAPOUT {}\nRELEASE {}\nSO_FAIL {}\n",
        tags.create, tags.swapin, tags.swapout, tags.release, tags.so_fail
    );
    Report::new(&tags, text)
}

/// `squidaio_counts`, `diskd`: what disks were asked and have done.
pub(super) fn operations(scene: &Scene<'_>) -> Report {
    #[derive(Serialize)]
    struct Page {
        writes: u64,
        write_errors: u64,
        bytes_written: u64,
        reads: u64,
        reads_refused: u64,
        read_errors: u64,
        bytes_read: u64,
        unlinks: u64,
        queue: usize,
    }
    let disk = scene.volumes().total;
    let page = Page {
        writes: disk.puts,
        write_errors: disk.write_errors,
        bytes_written: disk.bytes_written,
        reads: disk.hits,
        reads_refused: disk.reads_refused,
        read_errors: disk.read_errors,
        bytes_read: disk.bytes_read,
        unlinks: disk.removes,
        queue: disk.reads_queued + disk.chunks_queued,
    };
    let text = format!(
        "ASYNC IO Counters:\n  Operation\t# Requests\tNumber serviced\n  write\t{}\t{}\n  read\t{}\t{}\n  \
         unlink\t{}\t{}\n  queue\t{}\t-\n",
        page.writes + page.write_errors,
        page.writes,
        page.reads + page.reads_refused + page.read_errors,
        page.reads,
        page.unlinks,
        page.unlinks,
        page.queue
    );
    Report::new(&page, text)
}

/// `store_digest`: we don't make one.
pub(super) fn digest(_: &Scene<'_>) -> Report {
    #[derive(Serialize)]
    struct Page {
        digest: Option<()>,
    }
    Report::new(&Page { digest: None }, "store digest: disabled.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tags_are_those_of_the_store_log() {
        let memory = Usage {
            inserts: 43,
            objects: 1,
            ..Usage::default()
        };
        let text = tags(&memory, &VolumeUsage::default()).text;
        let expected = "CREATE 43\nSWAPIN 0\nSWAPOUT 0\nRELEASE 42\nSO_FAIL 0\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
