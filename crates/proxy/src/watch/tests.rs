use super::*;
use crate::record::{Record, ResultTag};

fn at(secs: u64) -> Now {
    Now {
        mono_ns: secs * 1_000_000_000,
        unix_ms: 0,
    }
}

fn record(client: &str, elapsed_us: u64, bytes: u64) -> Record {
    let mut record = Record::new(format!("{client}:1000").parse().unwrap());
    record.tag(ResultTag::MemHit);
    record.body_bytes = bytes;
    record.finish(elapsed_us * 1000, 0);
    record
}

fn seen(watch: &Watch) -> usize {
    watch.view(100).recent.len()
}

#[test]
fn nobody_looking_is_known_by_a_flag_and_a_minute_after_the_last_look_all_is_forgotten() {
    let watch = Watch::default();
    let lookout = watch.lookout(0);
    assert!(!lookout.is_watched());
    watch.look(at(10));
    assert!(lookout.is_watched());
    lookout.note(&record("192.0.2.1", 5, 10), None, true);
    watch.tick(at(70));
    assert!(lookout.is_watched());
    assert_eq!(seen(&watch), 1);
    watch.tick(at(71));
    assert!(!lookout.is_watched());
    assert_eq!(seen(&watch), 0);
}

#[test]
fn all_workers_are_seen_together_and_the_latest_are_bounded() {
    let watch = Watch::default();
    watch.look(at(1));
    let lookouts = [watch.lookout(0), watch.lookout(1)];
    for second in 1..20 {
        watch.tick(at(second));
        for lookout in &lookouts {
            for _ in 0..100 {
                lookout.note(&record("192.0.2.1", 5, 10), None, true);
            }
        }
    }
    let view = watch.view(10_000);
    assert!(view.recent.len() <= 512, "{}", view.recent.len());
    let [by_requests, by_bytes] = &view.clients;
    assert_eq!((by_requests[0].requests, by_bytes[0].bytes), (3800, 38_000));
    assert_eq!(by_requests[0].hits, 3800);
}

#[test]
fn the_slowest_and_the_largest_are_found_by_their_names() {
    let watch = Watch::default();
    watch.look(at(1));
    let lookout = watch.lookout(7);
    for number in 0..2000 {
        let slow = if number == 1500 { 9_000_000 } else { 3 };
        let large = if number == 1600 { 1 << 30 } else { 3 };
        lookout.note(&record("192.0.2.1", slow, large), None, true);
    }
    let view = watch.view(10);
    assert_eq!(view.slowest[0].elapsed_us, 9_000_000);
    assert_eq!(view.slowest[0].id.to_string(), "7-1501");
    assert_eq!(view.largest[0].sent_bytes, 1 << 30);
    let found = watch.find(view.largest[0].id).unwrap();
    assert_eq!(found.sent_bytes, 1 << 30);
    assert!(watch.find("7-9999".parse().unwrap()).is_none());
}

#[test]
fn what_was_counted_fades_after_two_generations() {
    let watch = Watch::default();
    let lookout = watch.lookout(0);
    let mut counted = Vec::new();
    for second in (1..=181).step_by(60) {
        watch.look(at(second));
        watch.tick(at(second));
        if second == 1 {
            lookout.note(&record("192.0.2.1", 5, 10), None, true);
        }
        counted.push(watch.view(10).clients[0].len());
    }
    assert_eq!(counted, [1, 1, 0, 0]);
}
