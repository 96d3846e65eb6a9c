use std::fs;
use std::io::Read as _;
use std::net::TcpListener;

use config::LogAddr;
use stats::{Counter, Registry};

use super::super::handle::{AccessLog, LogHandle, Options, Spec};
use super::*;
use crate::record::Record;

const LONG: Duration = Duration::from_secs(20);

fn spec(place: Place) -> Spec {
    Spec::new(Some(place), Format::Native)
}

fn open(specs: &[Spec], options: &Options) -> AccessLog {
    AccessLog::open(specs, options, &Registry::new()).unwrap()
}

fn write(handle: &LogHandle, url: &str) {
    let record = Record::default();
    handle.write(&LogFacts {
        method: b"GET",
        ..LogFacts::unreadable(&record, url.as_bytes())
    });
}

#[test]
fn no_log_is_no_thread_and_no_work() {
    let log = open(&[], &Options::default());
    assert!(!log.has_any());
    let handle = log.handle(0);
    assert!(!handle.has_any());
    write(&handle, "http://a/");
    assert!(log.flush(LONG) && log.close(LONG));
}

#[test]
fn lines_of_all_workers_are_written_whole_and_in_each_workers_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.log");
    let options = Options {
        workers: 4,
        ..Options::default()
    };
    let registry = Registry::new();
    let specs = [spec(Place::File(path.clone()))];
    let log = AccessLog::open(&specs, &options, &registry).unwrap();
    thread::scope(|scope| {
        for worker in 0..4 {
            let handle = log.handle(worker);
            scope.spawn(move || {
                for number in 0..5000 {
                    write(&handle, &format!("http://w{worker}/{number}"));
                }
            });
        }
    });
    assert!(log.close(LONG));
    assert_eq!(registry.counter(Counter::LogLines), 20_000);
    assert_eq!(registry.counter(Counter::LogLinesLost), 0);
    let text = fs::read_to_string(&path).unwrap();
    let mut next = [0; 4];
    for line in text.lines() {
        let url = line.split_ascii_whitespace().nth(6).unwrap();
        let (worker, number) = url.trim_start_matches("http://w").split_once('/').unwrap();
        let worker: usize = worker.parse().unwrap();
        assert_eq!(number.parse::<u32>().unwrap(), next[worker]);
        next[worker] += 1;
    }
    assert_eq!(next, [5000; 4]);
}

#[test]
fn a_line_is_written_without_being_asked_for() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
    let log = open(&[spec(Place::File(path.into()))], &Options::default());
    for _ in 0..3 {
        write(&log.handle(0), "http://a/");
        let mut got = [0; 4096];
        let length = reader.read(&mut got).unwrap();
        assert!(got[..length].ends_with(b"\n"));
    }
}

#[test]
fn the_thread_ends_with_the_last_handle_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.log");
    let log = open(&[spec(Place::File(path.clone()))], &Options::default());
    let handle = log.handle(0);
    let outlet = Arc::clone(&log.outlets()[0]);
    drop(log);
    write(&handle, "http://a/");
    drop(handle);
    assert!(outlet.wait_for(LONG, |orders| orders.ended));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
}

#[test]
fn rotation_comes_after_what_was_logged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.log");
    let options = Options {
        rotate: 1,
        ..Options::default()
    };
    let log = open(&[spec(Place::File(path.clone()))], &options);
    write(&log.handle(0), "http://before/");
    log.rotate();
    assert!(log.flush(LONG));
    write(&log.handle(0), "http://after/");
    assert!(log.flush(LONG));
    let old = fs::read_to_string(dir.path().join("access.log.0")).unwrap();
    let new = fs::read_to_string(&path).unwrap();
    assert!(old.contains("http://before/") && new.contains("http://after/"));
    assert_eq!((old.lines().count(), new.lines().count()), (1, 1));
}

#[test]
fn logs_to_one_place_share_it_and_each_can_be_chosen() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.log");
    let specs = [Format::Native, Format::Combined]
        .map(|format| Spec::new(Some(Place::File(path.clone())), format));
    let log = open(&specs, &Options::default());
    assert_eq!(log.outlets().len(), 1);
    let handle = log.handle(0);
    assert!(handle.shows_fields());
    let record = Record::default();
    let facts = LogFacts::unreadable(&record, b"http://a/");
    handle.write(&facts);
    handle.write_where(&facts, |number| number == 1);
    assert!(log.flush(LONG));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 3);
    assert_eq!(text.matches("HTTP/0.0").count(), 2);
}

#[test]
fn a_full_buffer_drops_lines_and_counts_them() {
    let draft = Draft {
        place: Place::File("/dev/null".into()),
        rotate: 0,
        buffer_bytes_max: 100,
        dies_on_error: true,
    };
    let show = Arc::new(Show::new(&Options::default()));
    let outlet = Outlet::new(draft, 1, show);
    let record = Record::default();
    for _ in 0..10 {
        let facts = LogFacts::unreadable(&record, b"http://a/");
        outlet.append(0, &Format::Native, &facts);
    }
    let cells = Arc::new(Cells::new());
    let mut tally = Tally::new(&outlet.draft.place, Arc::clone(&cells));
    let mut output = Output::open(&outlet.draft.place, 0).unwrap();
    outlet.sweep(&mut output, &mut tally, &mut Vec::new());
    let kept = 10 - cells.get(Counter::LogLinesLost);
    assert!((1..=2).contains(&kept), "{kept} lines kept");
    assert_eq!(cells.get(Counter::LogLines), 10);
    assert!(tally.is_losing() && outlet.fatal().is_some());
    outlet.sweep(&mut output, &mut tally, &mut Vec::new());
    assert!(tally.is_losing(), "nothing was written that could tell");
    let facts = LogFacts::unreadable(&record, b"http://a/");
    outlet.append(0, &Format::Native, &facts);
    outlet.sweep(&mut output, &mut tally, &mut Vec::new());
    assert!(!tally.is_losing());
}

/// A collector that takes nothing, and a full disk, are in nobody's way.
#[test]
fn a_log_that_stalls_is_in_the_way_of_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.log");
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let specs = [
        Place::Tcp(LogAddr {
            host: "127.0.0.1".into(),
            port: collector.local_addr().unwrap().port(),
        }),
        Place::File("/dev/full".into()),
        Place::File(path.clone()),
    ]
    .map(spec);
    let registry = Registry::new();
    let log = AccessLog::open(&specs, &Options::default(), &registry).unwrap();
    let handle = log.handle(0);
    let long = format!("http://a/{}", "x".repeat(4000));
    // More than the sockets and the buffer hold, at a speed that a disk keeps up with.
    let rounds = 100;
    for _ in 0..rounds {
        for _ in 0..100 {
            write(&handle, &long);
        }
        let file = log.outlets().last().unwrap();
        let wanted = file.flush();
        assert!(file.wait_for(LONG, |orders| orders.flush_done >= wanted));
    }
    let lines = rounds * 100;
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), lines);
    assert!(!log.close(Duration::ZERO));
    let (mut stream, _) = collector.accept().unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert!(log.close(LONG));
    let written = got.iter().filter(|&&byte| byte == b'\n').count();
    assert!(got.ends_with(b"\n") && written < lines);
    // All lines for the full disk, and what the collector didn't get.
    let lost = (lines + lines - written) as u64;
    assert_eq!(registry.counter(Counter::LogLinesLost), lost);
    assert_eq!(registry.counter(Counter::LogLines), 3 * lines as u64);
    assert_eq!(log.fatal(), None);
}

#[test]
fn a_place_that_cannot_be_opened_is_an_error_that_names_it() {
    let specs = [spec(Place::File("/nowhere/a".into()))];
    let opened = AccessLog::open(&specs, &Options::default(), &Registry::new());
    let said = opened.unwrap_err().to_string();
    assert!(said.starts_with("Cannot open '/nowhere/a' for writing: "));
}

#[test]
fn none_ends_the_matter_for_what_it_matches() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.log");
    let none = Spec::new(None, Format::Native);
    assert!(!open(std::slice::from_ref(&none), &Options::default()).has_any());
    let log = open(
        &[none, spec(Place::File(path.clone()))],
        &Options::default(),
    );
    let record = Record::default();
    let facts = LogFacts::unreadable(&record, b"http://a/");
    log.handle(0).write(&facts);
    log.handle(0).write_where(&facts, |number| number == 1);
    assert!(log.flush(LONG));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
}
