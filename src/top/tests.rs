use admin::dashboard::live::{
    ActiveRow, HelperRow, Live, PeerRow, Place, Ranked, Series, TransactionRow, WorkerRow,
};
use clap::CommandFactory as _;

use super::*;

fn transaction(url: &str, elapsed_us: u64) -> TransactionRow {
    TransactionRow {
        elapsed_us,
        url: url.to_owned(),
        result: "TCP_MISS".to_owned(),
        client: "192.0.2.9".to_owned(),
        status: 200,
        sent_bytes: 2048,
        ..TransactionRow::default()
    }
}

fn story() -> Live {
    let mut live = Live {
        hosts: vec![Ranked {
            key: "www.example.com".to_owned(),
            requests: 12_345,
            bytes: 3 << 20,
            hit_share: Some(0.5),
            weight: 1.0,
        }],
        series: Series {
            hits: vec![0.0, 50.0, 100.0],
            misses: vec![0.0, 0.0, 0.0],
            p99_us: vec![None, Some(1000), Some(2000)],
            ..Series::default()
        },
        workers: vec![WorkerRow {
            name: "worker 1".to_owned(),
            requests: 812.0,
            busy: Some(0.5),
            ..WorkerRow::default()
        }],
        store: vec![Place {
            name: "memory".to_owned(),
            state: "serving".to_owned(),
            bytes: 64 << 20,
            bytes_max: 256 << 20,
            used: Some(0.25),
            ..Place::default()
        }],
        peers: vec![PeerRow {
            name: "parent.example".to_owned(),
            state: "dead".to_owned(),
            ..PeerRow::default()
        }],
        helpers: vec![HelperRow {
            name: "basic".to_owned(),
            running: 2,
            max: 5,
            queue: 3,
            ..HelperRow::default()
        }],
        active: vec![ActiveRow {
            method: "GET".to_owned(),
            url: "http://slow.example/".to_owned(),
            client: "192.0.2.1".to_owned(),
            elapsed_us: 9_000_000,
            ..ActiveRow::default()
        }],
        slowest: vec![transaction("http://www.example.com/slow", 1_500_000)],
        largest: vec![transaction("http://www.example.com/large", 10)],
        ..Live::default()
    };
    live.program.host = "proxy.example".to_owned();
    live.now.requests = 812.0;
    live.now.hit_share = Some(0.875);
    live
}

fn shown(live: Live, sort: Sort, width: u16, height: u16) -> Vec<String> {
    let mut screen = Screen::new(sort);
    screen.put(live);
    let text = plain(&mut screen, width, height).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn all_of_it_fits_a_terminal_of_80_by_24() {
    let lines = shown(story(), Sort::Requests, 80, 24);
    assert_eq!(lines.len(), 24);
    let text = lines.join("\n");
    for words in [
        "proxy.example",
        "Requests 812/s",
        "From cache 87.5 %",
        "www.example.com",
        "12,345",
        "worker 1",
        "50 % █████░░░░░",
        "64.0 MB  25 % ███",
        "0 open  dead",
        "2/5 run  0 busy  3 wait",
        "http://slow.example/",
        "http://www.example.com/slow",
        "1.50 s",
        "q end",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
}

#[test]
fn sorted_by_bytes_it_shows_the_largest() {
    let by_requests = shown(story(), Sort::Requests, 100, 24).join("\n");
    let by_bytes = shown(story(), Sort::Bytes, 100, 24).join("\n");
    assert!(by_requests.contains("/slow") && !by_requests.contains("/large"));
    assert!(by_bytes.contains("/large") && by_bytes.contains("Hosts by bytes"));
}

#[test]
fn what_others_have_named_moves_no_cursor() {
    let mut live = story();
    live.hosts[0].key = "a\u{1b}[31mb\u{202e}c\r\n".to_owned();
    live.slowest[0].url = "http://x/\u{9b}2J".to_owned();
    let lines = shown(live, Sort::Requests, 120, 24);
    assert_eq!(lines.len(), 24);
    let text = lines.concat();
    assert!(
        !text
            .chars()
            .any(|letter| letter.is_control() || letter == '\u{202e}')
    );
    assert!(text.contains("a [31mb c"));
}

#[test]
fn small_and_large_terminals_do() {
    for (width, height) in [(40, 10), (20, 5), (1, 1), (300, 100)] {
        shown(story(), Sort::Requests, width, height);
        shown(Live::default(), Sort::Bytes, width, height);
    }
}

#[test]
fn a_lost_proxy_is_told_and_the_last_figures_stay() {
    let mut screen = Screen::new(Sort::Requests);
    screen.put(story());
    screen.lost("Cannot connect");
    let text = plain(&mut screen, 80, 24).unwrap();
    assert!(
        text.contains("no answer: Cannot connect") && text.contains("12,345"),
        "{text}"
    );
}

#[test]
fn while_it_is_held_nothing_changes() {
    let mut screen = Screen::new(Sort::Requests);
    screen.put(story());
    screen.hold();
    screen.put(Live::default());
    assert!(plain(&mut screen, 80, 24).unwrap().contains("12,345"));
}

#[test]
fn keys_ask_for_what_the_last_line_says() {
    let check = |code: KeyCode, expected: Option<Asked>| {
        assert_eq!(asked(KeyEvent::from(code)), expected, "{code:?}");
    };
    check(KeyCode::Char('q'), Some(Asked::End));
    check(KeyCode::Esc, Some(Asked::End));
    check(KeyCode::Char('s'), Some(Asked::Sort));
    check(KeyCode::Char('p'), Some(Asked::Hold));
    check(KeyCode::Char('x'), None);
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(asked(interrupt), Some(Asked::End));
}

#[test]
fn the_options_are_consistent() {
    Words::command().debug_assert();
}
