//! Helpers that die, hang, babble and lie: it costs their own questions, and nothing else.

use super::*;

/// Asks one after the other until one is answered.
async fn ask_until_answered(pool: &Pool) {
    let asking = async {
        while pool.ask(b"good").await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    within(asking).await;
}

/// A script whose first process misbehaves; all others echo.
fn at_first(misbehave: &str) -> String {
    format!("if mkdir \"$0/first\" 2>/dev/null; then {misbehave}; else {ECHO}; fi")
}

#[tokio::test]
async fn a_child_that_crashes_now_and_then_loses_no_question() {
    let stage = Stage::new();
    let script = r#"n=0; while read -r q; do n=$((n+1)); [ $n -gt 3 ] && exit 1
        echo "OK k_=$q"; done"#;
    let pool = stage.pool(&stage.script(Kind::ExternalAcl, script));
    for number in 0..20 {
        let answer = within(pool.ask(format!("q{number}").as_bytes())).await;
        assert_eq!(said(&answer, "k_"), format!("q{number}"));
    }
    assert_eq!(pool.status().deaths, 6);
    assert_eq!(stage.registry.counter(Counter::HelperRetries), 6);
    assert_eq!(stage.registry.counter(Counter::HelperFailures), 0);
}

#[tokio::test]
async fn a_question_that_kills_two_children_is_given_up() {
    let stage = Stage::new();
    let script = r#"while read -r q; do [ "$q" = poison ] && exit 3; echo "OK k_=$q"; done"#;
    let pool = stage.pool(&stage.script(Kind::ExternalAcl, script));
    assert!(within(pool.ask(b"good")).await.is_ok());
    assert_eq!(within(pool.ask(b"poison")).await, Err(Failed::Died));
    ask_until_answered(&pool).await;
    assert_eq!(pool.status().deaths, 2);
}

#[tokio::test]
async fn a_program_that_ends_at_once_is_tried_ever_less_often() {
    let stage = Stage::new();
    let mut options = stage.script(Kind::BasicAuth, "exit 1");
    options.children.max = 5;
    options.children.startup = 5;
    let pool = stage.pool(&options);
    let answer = within(pool.ask(b"q")).await;
    assert!(
        matches!(answer, Err(Failed::Died | Failed::CannotStart)),
        "{answer:?}"
    );
    until("the pool is down", || pool.status().deaths >= 8).await;
    let started = std::time::Instant::now();
    let answer = within(pool.ask(b"q")).await;
    assert!(
        matches!(answer, Err(Failed::Died | Failed::CannotStart)),
        "{answer:?}"
    );
    sleep(Duration::from_secs(2)).await;
    // 0.4, 0.8, 1.6 s …: in that time one or two children, however often it is asked.
    let starts = stage.registry.counter(Counter::HelperStarts);
    let seconds = started.elapsed().as_secs();
    assert!(starts <= 12 + seconds, "{starts} starts in {seconds} s");
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_told_to_all_who_ask() {
    let stage = Stage::new();
    let pool = stage.pool(&options(
        Kind::BasicAuth,
        vec!["/nonexistent/helper".into()],
    ));
    for _ in 0..3 {
        assert_eq!(within(pool.ask(b"q")).await, Err(Failed::CannotStart));
    }
    let none = stage.pool(&options(Kind::BasicAuth, Vec::new()));
    assert_eq!(within(none.ask(b"q")).await, Err(Failed::CannotStart));
}

#[tokio::test]
async fn a_child_that_hangs_is_killed_and_replaced() {
    let stage = Stage::new();
    let mut options = stage.script(Kind::ExternalAcl, &at_first("sleep 600"));
    options.timeout = Some(Duration::from_millis(300));
    let pool = stage.pool(&options);
    assert_eq!(within(pool.ask(b"q")).await, Err(Failed::TimedOut));
    ask_until_answered(&pool).await;
    assert_eq!(stage.registry.counter(Counter::HelperHung), 1);
    assert!(pool.status().timed_out >= 1);
}

#[tokio::test]
async fn a_child_that_reads_no_more_is_replaced_at_once() {
    let stage = Stage::new();
    let deaf = at_first("read -r q; exec <&-; exec sleep 600");
    let pool = stage.pool(&stage.script(Kind::ExternalAcl, &deaf));
    assert_eq!(
        said(&within(pool.ask(b"q")).await, "k_"),
        "q",
        "of the second"
    );
    assert_eq!(pool.status().deaths, 1);
}

#[tokio::test]
async fn one_slow_answer_delays_no_other_channel() {
    let stage = Stage::new();
    let script = r#"while read -r c q; do
        if [ $q = slow ]; then (sleep 3; echo "$c OK k_=$q") & else echo "$c OK k_=$q"; fi; done"#;
    let mut options = stage.script(Kind::ExternalAcl, script);
    options.children.concurrency = 8;
    options.timeout = Some(Duration::from_secs(1));
    let pool = stage.pool(&options);
    let asked = Arc::clone(&pool);
    let slow = tokio::spawn(async move { asked.ask(b"slow").await });
    until("it is asked", || pool.status().sent == 1).await;
    while !slow.is_finished() {
        let answer = within(pool.ask(b"quick")).await;
        assert_eq!(said(&answer, "k_"), "quick");
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(within(slow).await.expect("no panic"), Err(Failed::TimedOut));
    let late = || stage.registry.counter(Counter::HelperLate) == 1;
    until("the late answer is dropped", late).await;
    assert_eq!(pool.status().deaths, 0);
}

#[tokio::test]
async fn what_is_no_answer_fails_its_question_and_ends_its_child() {
    for garbage in ["echo hello", "echo 'OK user=\"'", "printf '\\377\\000\\n'"] {
        let stage = Stage::new();
        let script = at_first(&format!("read -r q; {garbage}; sleep 600"));
        let pool = stage.pool(&stage.script(Kind::ExternalAcl, &script));
        assert_eq!(
            within(pool.ask(b"q")).await,
            Err(Failed::Garbage),
            "{garbage}"
        );
        ask_until_answered(&pool).await;
        assert_eq!(
            stage.registry.counter(Counter::HelperGarbage),
            1,
            "{garbage}"
        );
    }
}

#[tokio::test]
async fn what_nobody_asked_for_is_never_taken_for_an_answer() {
    for lie in [
        "echo OK user=root; sleep 600",
        "read -r c q; echo OK; sleep 600",
        "read -r c q; echo \"7 OK user=root\"; sleep 600",
        "read -r c q; printf '%s OK k_=%s\\n%s OK user=root\\n' $c $q $c; sleep 600",
    ] {
        let stage = Stage::new();
        let echo = r#"while read -r c q; do echo "$c OK k_=$q"; done"#;
        let script = format!("if mkdir \"$0/first\" 2>/dev/null; then {lie}; else {echo}; fi");
        let mut options = stage.script(Kind::ExternalAcl, &script);
        options.children.concurrency = 4;
        let pool = stage.pool(&options);
        let answer = within(pool.ask(b"mine")).await;
        assert_eq!(said(&answer, "k_"), "mine", "{lie}");
        until("the liar is killed", || {
            stage.registry.counter(Counter::HelperGarbage) == 1
        })
        .await;
        assert_eq!(
            said(&within(pool.ask(b"next")).await, "k_"),
            "next",
            "{lie}"
        );
    }
}

#[tokio::test]
async fn a_surplus_answer_is_not_the_next_askers() {
    let stage = Stage::new();
    let script = at_first(r#"read -r q; printf 'OK k_=%s\nOK user=root\n' "$q"; sleep 600"#);
    let pool = stage.pool(&stage.script(Kind::BasicAuth, &script));
    assert_eq!(said(&within(pool.ask(b"one")).await, "k_"), "one");
    assert_eq!(said(&within(pool.ask(b"two")).await, "k_"), "two");
}

#[tokio::test]
async fn an_endless_line_ends_its_child() {
    let stage = Stage::new();
    let script =
        at_first("read -r q; while :; do printf 0123456789012345678901234567890123456789; done");
    let pool = stage.pool(&stage.script(Kind::ExternalAcl, &script));
    let answer = within(pool.ask(b"q")).await;
    assert_eq!(said(&answer, "k_"), "q", "by the second child");
    assert_eq!(stage.registry.counter(Counter::LimitHelperLine), 1);
}

#[tokio::test]
async fn much_on_standard_error_stops_no_answer() {
    let stage = Stage::new();
    let script = r#"i=0; while [ $i -lt 4000 ]; do
        echo "a line of noise that is of no use to anybody $i" >&2; i=$((i+1)); done
        while read -r q; do echo "OK k_=$q"; done"#;
    let pool = stage.pool(&stage.script(Kind::ExternalAcl, script));
    assert_eq!(said(&within(pool.ask(b"q")).await, "k_"), "q");
    let lost = || stage.registry.counter(Counter::HelperLogLinesLost) > 0;
    until("the rest is left out of the log", lost).await;
}

#[tokio::test]
async fn a_withdrawn_question_leaves_no_trace_in_the_next() {
    let stage = Stage::new();
    let script = r#"while read -r q; do [ "$q" = slow ] && sleep 0.3; echo "OK k_=$q"; done"#;
    let pool = stage.pool(&stage.script(Kind::ExternalAcl, script));
    let asked = Arc::clone(&pool);
    let slow = tokio::spawn(async move { asked.ask(b"slow").await });
    until("it is asked", || pool.status().sent == 1).await;
    slow.abort();
    assert_eq!(said(&within(pool.ask(b"next")).await, "k_"), "next");
}

#[tokio::test]
async fn more_questions_than_anybody_can_answer_are_bounded() {
    let stage = Stage::new();
    let mut options = stage.script(Kind::ExternalAcl, "while read -r q; do sleep 600; done");
    options.timeout = Some(Duration::from_secs(5));
    let pool = stage.pool(&options);
    let askers: Vec<_> = (0..12_000)
        .map(|_| {
            let pool = Arc::clone(&pool);
            tokio::spawn(async move { pool.ask(b"q").await })
        })
        .collect();
    let (mut overloaded, mut timed_out) = (0, 0);
    for asker in askers {
        match within(asker).await.expect("no panic") {
            Err(Failed::Overloaded) => overloaded += 1,
            Err(Failed::TimedOut) => timed_out += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(overloaded + timed_out, 12_000);
    assert!(timed_out >= 8192, "{timed_out} waited");
    assert_eq!(pool.status().refused, overloaded);
    assert!(
        pool.status().queue_max <= 8194,
        "{}",
        pool.status().queue_max
    );
    assert!(stage.registry.counter(Counter::LimitHelperQueue) > 0);
}

#[tokio::test]
async fn a_hanging_pool_delays_no_other() {
    let stage = Stage::new();
    let hanging = stage.pool(&stage.script(Kind::BasicAuth, "read -r q; sleep 600"));
    let asked = Arc::clone(&hanging);
    let hung = tokio::spawn(async move { asked.ask(b"q").await });
    until("it hangs", || hanging.status().sent == 1).await;
    let well = stage.pool(&stage.script(Kind::ExternalAcl, ECHO));
    for _ in 0..50 {
        assert!(within(well.ask(b"q")).await.is_ok());
    }
    assert!(!hung.is_finished());
    hung.abort();
}

#[tokio::test]
async fn children_that_somebody_kills_are_replaced_without_loss() {
    let stage = Stage::new();
    let pool = stage.pool(&stage.script(Kind::ExternalAcl, ECHO));
    for _ in 0..5 {
        let answer = within(pool.ask(b"q")).await;
        let pid: i32 = said(&answer, "pid_").parse().expect("a pid");
        let pid = rustix::process::Pid::from_raw(pid).expect("not zero");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
        let answer = within(pool.ask(b"q")).await;
        assert_eq!(said(&answer, "k_"), "q", "asked anew, or of the next");
    }
    assert_eq!(stage.registry.counter(Counter::HelperFailures), 0);
}
