//! How the program itself is: `mem`, `events`, `jobs`, `cbdata`, `comm_epoll_incoming`. Squid shows its own insides here;
//! these are ours.

use proxy::internal::WorkerReport;
use serde::Serialize;
use stats::{Counter, GAUGES, Gauge};

use super::Report;
use crate::Scene;

#[derive(Serialize)]
struct Account {
    name: &'static str,
    count: Option<u64>,
    bytes: Option<u64>,
    bytes_max: Option<u64>,
}

/// `mem`: what memory is used for, as far as it is counted, and what the process has of it.
pub(super) fn mem(scene: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    let memory = scene.memory();
    let volumes = scene.volumes();
    let resolver = scene.ask.resolver;
    let (names, addresses) = resolver.sizes();
    let clients = scene
        .plan()
        .clients
        .as_ref()
        .map(|clients| clients.len() as u64);
    let connections: usize = workers.iter().map(|report| report.connections_open).sum();
    let account = |name, count, bytes, bytes_max| Account {
        name,
        count,
        bytes,
        bytes_max,
    };
    let mut accounts = vec![
        account(
            "Stored responses",
            Some(memory.objects_alive),
            Some(memory.bytes),
            Some(memory.bytes_max),
        ),
        account(
            "Index of the disks",
            Some(volumes.total.objects),
            Some(volumes.total.index_bytes),
            None,
        ),
        account("Client connections", Some(connections as u64), None, None),
        account("Clients known", clients, None, None),
        account("Names known", Some(names as u64), None, None),
        account("Addresses known", Some(addresses as u64), None, None),
    ];
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for (name, field) in [
        ("Process, resident", "VmRSS:"),
        ("Process, resident at most", "VmHWM:"),
        ("Process, address space", "VmSize:"),
    ] {
        accounts.push(account(name, None, kilobytes(&status, field), None));
    }
    Report::new(&accounts, text(&accounts))
}

fn text(accounts: &[Account]) -> String {
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let kilobytes = |bytes: Option<u64>| number(bytes.map(|bytes| bytes / 1024));
    let head = "Current memory usage:\nPool\t (#)\t (KB)\t limit (KB)\n".to_owned();
    accounts.iter().fold(head, |text, account| {
        text + &format!(
            "{:<28}\t {}\t {}\t {}\n",
            account.name,
            number(account.count),
            kilobytes(account.bytes),
            kilobytes(account.bytes_max)
        )
    })
}

/// `VmRSS:     1234 kB`
fn kilobytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let number: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(number * 1024)
}

#[derive(Serialize)]
struct Event {
    operation: &'static str,
    thread: &'static str,
    period_secs: f64,
}

/// `events`: what is done again and again. There is no queue of events; each thread sees to its own.
pub(super) fn events(_: &Scene<'_>) -> Report {
    let event = |operation, thread, period_secs| Event {
        operation,
        thread,
        period_secs,
    };
    let events = [
        event(
            "Deadlines of connections",
            "each worker",
            net::deadline::TICK.as_secs_f64(),
        ),
        event("Sweep of idle connections", "each worker", 1.0),
        event("Probe of dead peers", "the first worker", 2.0),
        event("Reading of all counters", "main", 1.0),
    ];
    let head = "Operation                \tEvery     \tThread\n".to_owned();
    let text = events.iter().fold(head, |text, event| {
        text + &format!(
            "{:<25}\t{:.3} sec\t{}\n",
            event.operation, event.period_secs, event.thread
        )
    });
    Report::new(&events, text)
}

/// `jobs`: the tasks of each worker; one for each connection, and a few more.
pub(super) fn jobs(_: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    #[derive(Serialize)]
    struct Row {
        worker: u64,
        tasks: usize,
        connections: usize,
        requests: usize,
    }
    let rows = workers.iter().map(|report| Row {
        worker: report.worker,
        tasks: report.tasks,
        connections: report.connections_open,
        requests: report.transactions.len(),
    });
    let rows: Vec<_> = rows.collect();
    let head = "Worker\tTasks\tConnections\tRequests\n".to_owned();
    let text = rows.iter().fold(head, |text, row| {
        let Row {
            worker,
            tasks,
            connections,
            requests,
        } = row;
        text + &format!("{worker:6}\t{tasks:5}\t{connections:11}\t{requests:8}\n")
    });
    Report::new(&rows, text)
}

/// `cbdata`: what there is now of everything that comes and goes.
pub(super) fn alive(scene: &Scene<'_>) -> Report {
    #[derive(Serialize)]
    struct Row {
        name: &'static str,
        count: u64,
        help: &'static str,
    }
    let all = scene.snapshot();
    let rows = Gauge::ALL.iter().zip(GAUGES).map(|(gauge, row)| Row {
        name: row.name,
        count: all.gauge(*gauge),
        help: row.help,
    });
    let rows: Vec<_> = rows.collect();
    let text = rows.iter().fold(String::new(), |text, row| {
        text + &format!("{:9} {:<24} {}\n", row.count, row.name, row.help)
    });
    Report::new(&rows, text)
}

/// `comm_epoll_incoming`: how busy the workers are.
pub(super) fn loops(scene: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    #[derive(Serialize)]
    struct Page {
        loops: u64,
        workers: Vec<Worker>,
    }
    #[derive(Serialize)]
    struct Worker {
        worker: u64,
        busy_secs: f64,
    }
    let busy = workers.iter().map(|report| Worker {
        worker: report.worker,
        busy_secs: report.busy.as_secs_f64(),
    });
    let page = Page {
        loops: scene.snapshot().counter(Counter::EventLoops),
        workers: busy.collect(),
    };
    let head = format!(
        "Total number of epoll(2) loops: {}\nWorker\tSeconds busy\n",
        page.loops
    );
    let text = page.workers.iter().fold(head, |text, worker| {
        text + &format!("{:6}\t{:12.3}\n", worker.worker, worker.busy_secs)
    });
    Report::new(&page, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_a_table() {
        let accounts = [
            Account {
                name: "Stored responses",
                count: Some(3),
                bytes: Some(4096),
                bytes_max: Some(8192),
            },
            Account {
                name: "Names known",
                count: Some(1),
                bytes: None,
                bytes_max: None,
            },
        ];
        let expected = "\
Current memory usage:
Pool\t (#)\t (KB)\t limit (KB)
Stored responses            \t 3\t 4\t 8
Names known                 \t 1\t -\t -
";
        assert_eq!(text(&accounts), expected);
    }

    #[test]
    fn the_systems_figures_are_read() {
        let status = "Name:\tx\nVmRSS:\t    1234 kB\n";
        assert_eq!(kilobytes(status, "VmRSS:"), Some(1234 * 1024));
        assert_eq!(kilobytes(status, "VmHWM:"), None);
    }
}
