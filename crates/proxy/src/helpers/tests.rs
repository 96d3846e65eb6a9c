//! Pools with small real programs: how they are asked, shared, reserved, restarted and ended. What
//! misbehaves is in `tests/faults.rs`, Squid's own helpers in `tests/squid.rs`.

mod faults;
mod squid;

use std::ffi::OsString;
use std::future::Future;
use std::path::Path;
use std::time::Duration;

use stats::{Gauge, Registry};
use tokio::time::{sleep, timeout};
use wire::helper::Verdict;

use super::*;

/// No test takes longer, however busy the machine is.
const BOUND: Duration = Duration::from_secs(60);

struct Stage {
    registry: Registry,
    helpers: Helpers,
    dir: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let registry = Registry::new();
        let helpers = Helpers::new(registry.cells());
        let dir = tempfile::tempdir().expect("a folder");
        Self {
            registry,
            helpers,
            dir,
        }
    }

    /// Options for a shell script, which finds the stage's folder in `$0`.
    fn script(&self, kind: Kind, script: &str) -> Options {
        let folder = self.dir.path().as_os_str().to_owned();
        options(
            kind,
            vec!["/bin/sh".into(), "-c".into(), script.into(), folder],
        )
    }

    fn pool(&self, options: &Options) -> Arc<Pool> {
        self.helpers.pool(options).expect("a thread")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Helpers that hang on purpose don't outlive their test.
        self.helpers.stop(Duration::ZERO);
    }
}

fn options(kind: Kind, command: Vec<OsString>) -> Options {
    Options {
        kind,
        name: String::new(),
        command,
        children: Children {
            max: 1,
            startup: 0,
            idle: 1,
            concurrency: 0,
            queue: None,
            overload: Overload::Refuse,
        },
        timeout: Some(Duration::from_secs(20)),
        reservation: Duration::from_secs(64),
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(BOUND, future).await.expect("it ends in time")
}

/// Waits for what must come.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(timeout(BOUND, wait).await.is_ok(), "{what}");
}

fn is_running(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// The value of a pair, as text.
fn said(answer: &Result<wire::helper::Answer, Failed>, key: &str) -> String {
    let answer = answer.as_ref().expect("an answer");
    String::from_utf8_lossy(answer.get(key).unwrap_or_default()).into_owned()
}

const ECHO: &str = r#"while read -r q; do echo "OK k_=$q pid_=$$"; done"#;

#[tokio::test]
async fn everyone_gets_the_answer_to_his_question() {
    let stage = Stage::new();
    let mut options = stage.script(Kind::ExternalAcl, ECHO);
    options.children.max = 3;
    let pool = stage.pool(&options);
    let askers = (0..60).map(|number| {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move {
            let answer = pool.ask(format!("q{number}").as_bytes()).await;
            assert_eq!(said(&answer, "k_"), format!("q{number}"));
        })
    });
    for asker in askers.collect::<Vec<_>>() {
        within(asker).await.expect("the right answer");
    }
    let status = pool.status();
    assert_eq!((status.sent, status.received, status.deaths), (60, 60, 0));
    assert_eq!((status.active, status.children.len()), (3, 3));
    assert!(status.average > Duration::ZERO && status.queue_max > 0);
    assert!(
        status
            .children
            .iter()
            .all(|child| child.pending == 0 && is_running(child.pid))
    );
    assert_eq!(stage.registry.counter(Counter::HelperAnswers), 60);
    until("the gauges fall back", || {
        stage.registry.gauge(Gauge::HelperInFlight) == 0
            && stage.registry.gauge(Gauge::HelperQueue) == 0
            && stage.registry.gauge(Gauge::HelperChildren) == 3
    })
    .await;
}

#[tokio::test]
async fn with_channels_answers_may_come_in_any_order() {
    let stage = Stage::new();
    let mut options = stage.script(
        Kind::ExternalAcl,
        r#"while read -r c q && read -r d r; do echo "$d OK k_=$r"; echo "$c OK k_=$q"; done"#,
    );
    options.children.concurrency = 4;
    let pool = stage.pool(&options);
    let both = async { tokio::join!(pool.ask(b"one"), pool.ask(b"two")) };
    let (one, two) = within(both).await;
    assert_eq!(
        (said(&one, "k_"), said(&two, "k_")),
        ("one".into(), "two".into())
    );
    assert_eq!(pool.status().children.len(), 1);
}

#[tokio::test]
async fn words_reach_the_program_as_they_are() {
    let stage = Stage::new();
    let script = r#"while read -r q; do echo "OK a_=\"$1\" b_=\"$2\""; done"#;
    let mut options = stage.script(Kind::ExternalAcl, script);
    options
        .command
        .extend(["a  b; false".into(), "$HOME*".into()]);
    let answer = within(stage.pool(&options).ask(b"q")).await;
    assert_eq!(said(&answer, "a_"), "a  b; false");
    assert_eq!(said(&answer, "b_"), "$HOME*");
}

#[tokio::test]
async fn a_child_has_a_group_of_its_own_and_none_of_our_descriptors() {
    let stage = Stage::new();
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let socket = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&socket));
    let socket = std::fs::read_link(socket).expect("socket:[…]");
    let _file = std::fs::File::create(stage.dir.path().join("ours")).expect("a file");
    let script = r#"ls -l /proc/$$/fd > "$0/fds"; read -r a b c d group e < /proc/$$/stat
        while read -r q; do echo "OK pid_=$$ group_=$group"; done"#;
    let answer = within(
        stage
            .pool(&stage.script(Kind::ExternalAcl, script))
            .ask(b"q"),
    )
    .await;
    assert_eq!(said(&answer, "pid_"), said(&answer, "group_"));
    let open = std::fs::read_to_string(stage.dir.path().join("fds")).expect("a file");
    assert!(open.contains(" 0 -> pipe:"), "{open}");
    for ours in [socket.display().to_string(), "/ours".into(), "epoll".into()] {
        assert!(!open.contains(&ours), "{ours} in {open}");
    }
}

#[tokio::test]
async fn pools_with_equal_options_are_one_and_end_with_their_last_holder() {
    let stage = Stage::new();
    let options = stage.script(Kind::UrlRewrite, ECHO);
    let pool = stage.pool(&options);
    let again = stage.pool(&options);
    assert!(Arc::ptr_eq(&pool, &again));
    let mut changed = options.clone();
    changed.children.max = 2;
    assert!(!Arc::ptr_eq(&pool, &stage.pool(&changed)));
    let answer = within(pool.ask(b"q")).await;
    let pid: u32 = said(&answer, "pid_").parse().expect("a pid");
    drop(pool);
    assert!(within(again.ask(b"q")).await.is_ok(), "one holder is left");
    drop(again);
    until("the process ends", || !is_running(pid)).await;
    assert_eq!(stage.registry.counter(Counter::HelperDeaths), 0);
}

#[tokio::test]
async fn a_restart_lets_questions_end_and_starts_new_children() {
    let stage = Stage::new();
    let script = r#"while read -r q; do while [ ! -e "$0/go" ]; do sleep 0.02; done
        echo "OK pid_=$$"; done"#;
    let pool = stage.pool(&stage.script(Kind::StoreId, script));
    let asked = Arc::clone(&pool);
    let before = tokio::spawn(async move { asked.ask(b"before").await });
    until("it is asked", || pool.status().sent == 1).await;
    pool.restart();
    until("the child retires", || pool.status().retiring == 1).await;
    std::fs::write(stage.dir.path().join("go"), "").expect("a file");
    let before = within(before).await.expect("no panic");
    let after = within(pool.ask(b"after")).await;
    assert_ne!(said(&before, "pid_"), said(&after, "pid_"));
    let old: u32 = said(&before, "pid_").parse().expect("a pid");
    until("the old one ends", || !is_running(old)).await;
    assert_eq!(pool.status().deaths, 0);
}

#[tokio::test]
async fn a_reserved_child_is_nobody_elses() {
    let stage = Stage::new();
    let script = r#"n=0; while read -r q; do n=$((n+1)); echo "OK n_=$n user=$q"; done"#;
    let pool = stage.pool(&stage.script(Kind::NtlmAuth, script));
    let mut first = within(pool.reserve()).await.expect("a child");
    assert_eq!(said(&within(first.ask(b"YR")).await, "n_"), "1");
    let second = pool.reserve();
    let mut second = std::pin::pin!(second);
    assert!(
        timeout(Duration::from_millis(200), &mut second)
            .await
            .is_err()
    );
    assert_eq!(said(&within(first.ask(b"KK")).await, "n_"), "2");
    drop(first);
    let mut second = within(second).await.expect("the child is free");
    assert_eq!(said(&within(second.ask(b"YR")).await, "n_"), "3");
    assert_eq!(pool.status().children[0].phase, Phase::Reserved);
    drop(second);
    assert_eq!(
        said(&within(pool.ask(b"YR")).await, "n_"),
        "4",
        "reserves for itself"
    );
}

#[tokio::test]
async fn an_unused_reservation_gives_way_to_who_waits() {
    let stage = Stage::new();
    let mut options = stage.script(Kind::NtlmAuth, ECHO);
    options.reservation = Duration::from_millis(50);
    options.timeout = Some(Duration::from_secs(8));
    let pool = stage.pool(&options);
    let mut idle = within(pool.reserve()).await.expect("a child");
    assert!(within(idle.ask(b"YR")).await.is_ok());
    let started = std::time::Instant::now();
    let second = within(pool.reserve()).await;
    assert!(second.is_ok(), "after the reservation timed out");
    assert!(started.elapsed() < Duration::from_secs(8));
    assert!(idle.is_over());
    assert_eq!(within(idle.ask(b"KK")).await, Err(Failed::Died));
}

#[tokio::test]
async fn a_question_that_would_be_two_is_not_asked() {
    let stage = Stage::new();
    let pool = stage.pool(&stage.script(Kind::BasicAuth, ECHO));
    for bad in [&b"a\nb"[..], b"a\n", &[b'x'; 32 * 1024 + 1]] {
        assert_eq!(within(pool.ask(bad)).await, Err(Failed::BadQuestion));
    }
    let longest = vec![b'x'; 16 * 1024];
    assert_eq!(
        said(&within(pool.ask(&longest)).await, "k_").len(),
        longest.len()
    );
    assert_eq!(pool.status().sent, 1);
}

#[tokio::test]
async fn a_broken_answer_is_asked_for_three_times() {
    let stage = Stage::new();
    let script = r#"while read -r q; do echo x >> "$0/asked"; echo "BH message=$q"; done"#;
    let pool = stage.pool(&stage.script(Kind::ExternalAcl, script));
    let answer = within(pool.ask(b"q")).await.expect("an answer");
    assert_eq!(answer.verdict, Verdict::Bh);
    let asked = std::fs::read_to_string(stage.dir.path().join("asked")).expect("a file");
    assert_eq!(asked.lines().count(), 3);
}

#[tokio::test]
async fn messages_that_end_in_another_byte_may_hold_lines() {
    let stage = Stage::new();
    let script = r#"IFS= read -r first; read -r rest; printf 'OK 4 %s\nb\001' "$first"; sleep 60"#;
    let pool = stage.pool(&stage.script(Kind::CertGenerator, script));
    let answer = within(pool.ask(b"a\nx\n")).await.expect("an answer");
    assert_eq!(answer.rest, b"4 a\nb");
}

#[tokio::test]
async fn stopping_ends_the_willing_and_kills_the_others() {
    let stage = Stage::new();
    let willing = stage.pool(&stage.script(Kind::UrlRewrite, ECHO));
    assert!(within(willing.ask(b"q")).await.is_ok());
    let child = willing.status().children[0].pid;
    assert!(stage.helpers.stop(BOUND));
    assert!(!is_running(child));
    assert_eq!(within(willing.ask(b"q")).await, Err(Failed::Unavailable));

    let script = r#"read -r q; echo "OK"; while :; do sleep 60; done"#;
    let stubborn = stage.pool(&stage.script(Kind::StoreId, script));
    assert!(within(stubborn.ask(b"q")).await.is_ok());
    let child = stubborn.status().children[0].pid;
    assert!(!stage.helpers.stop(Duration::from_millis(100)));
    until("it is killed", || !is_running(child)).await;
}

#[tokio::test]
async fn startup_children_run_before_anybody_asks() {
    let stage = Stage::new();
    let mut options = stage.script(Kind::ExternalAcl, ECHO);
    options.children.max = 4;
    options.children.startup = 3;
    let pool = stage.pool(&options);
    until("three run", || pool.status().active == 3).await;
    assert!(pool.has_room());
}
