use std::fs;

use super::super::handle::{AccessLog, Door, LogHandle, Spec};
use super::super::output::Place;
use super::*;
use crate::record::Record;

const LONG: Duration = Duration::from_secs(20);

fn spec(place: Place, format: Format) -> Spec {
    Spec {
        place: Some(place),
        format,
        rotate: None,
    }
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
    let log = AccessLog::open(&[], &Options::default()).unwrap();
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
    let specs = [spec(Place::File(path.clone()), Format::Native)];
    let log = AccessLog::open(&specs, &options).unwrap();
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
    assert_eq!(log.dropped_lines(), 0);
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
    let specs = [spec(Place::File(path.into()), Format::Native)];
    let log = AccessLog::open(&specs, &Options::default()).unwrap();
    for _ in 0..3 {
        write(&log.handle(0), "http://a/");
        let mut got = [0; 4096];
        let length = std::io::Read::read(&mut reader, &mut got).unwrap();
        assert!(got[..length].ends_with(b"\n"));
    }
}

#[test]
fn the_thread_ends_with_the_last_handle_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.log");
    let specs = [spec(Place::File(path.clone()), Format::Native)];
    let log = AccessLog::open(&specs, &Options::default()).unwrap();
    let handle = log.handle(0);
    let shared = Arc::clone(&log.0.as_ref().unwrap().0);
    drop(log);
    write(&handle, "http://a/");
    drop(handle);
    assert!(shared.wait_for(LONG, |orders| orders.ended));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
}

#[test]
fn rotation_comes_after_what_was_logged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.log");
    let specs = [spec(Place::File(path.clone()), Format::Native)];
    let options = Options {
        rotate: 1,
        ..Options::default()
    };
    let log = AccessLog::open(&specs, &options).unwrap();
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
    let specs = [
        spec(Place::File(path.clone()), Format::Native),
        spec(Place::File(path.clone()), Format::Combined),
    ];
    let log = AccessLog::open(&specs, &Options::default()).unwrap();
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
    let logs = vec![Log {
        format: Format::Native,
        output: Some(0),
    }];
    let options = Options {
        buffer_bytes_max: 100,
        ..Options::default()
    };
    let shared = Arc::new(Shared::new(logs, 1, &options));
    let log = AccessLog(Some(Arc::new(Door(Arc::clone(&shared)))));
    for _ in 0..10 {
        write(&log.handle(0), "http://a/");
    }
    let output = Output::open(Place::File("/dev/null".into()), 0).unwrap();
    shared.sweep(&mut [Lane::new(output)], &mut Vec::new());
    let kept = 10 - log.dropped_lines();
    assert!((1..=2).contains(&kept), "{kept} lines kept");
}

#[test]
fn a_place_that_cannot_be_opened_is_an_error() {
    let specs = [spec(Place::File("/nowhere/a".into()), Format::Native)];
    AccessLog::open(&specs, &Options::default()).unwrap_err();
}

#[test]
fn none_ends_the_matter_for_what_it_matches() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.log");
    let none = Spec {
        place: None,
        format: Format::Native,
        rotate: None,
    };
    let only_none = AccessLog::open(std::slice::from_ref(&none), &Options::default()).unwrap();
    assert!(!only_none.has_any());
    let specs = [none, spec(Place::File(path.clone()), Format::Native)];
    let log = AccessLog::open(&specs, &Options::default()).unwrap();
    let record = Record::default();
    let facts = LogFacts::unreadable(&record, b"http://a/");
    log.handle(0).write(&facts);
    log.handle(0).write_where(&facts, |number| number == 1);
    assert!(log.flush(LONG));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
}
