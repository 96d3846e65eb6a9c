//! The program itself: start, arguments, signals, reload, shutdown, and how little it takes when idle.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::{Failed, Gate, Origin, Program, Reply, Request, Signal, squall, until};

use crate::support::{client, forward};

/// An origin whose answer's second half waits for the gate.
fn halting(gate: &Gate) -> Origin {
    let reply = Reply::ok("first ").pass(gate).send("last");
    Origin::start(move |_: &Request| reply.clone())
}

/// After SIGTERM, what is being answered is finished, nobody new is let in, and the end is a success.
#[test]
fn shutdown_finishes_what_is_under_way() {
    let gate = Gate::new();
    let origin = halting(&gate);
    let mut program = forward("shutdown_lifetime 8 seconds");
    let (mut busy, mut idle) = (client(&program), client(&program));
    idle.get(&Origin::start(|_: &Request| Reply::ok("x")).url("/"));
    busy.send_request("GET", &origin.url("/"), &[]);
    gate.wait_for_arrivals(1);
    program.signal(Signal::TERM);
    idle.expect_close();
    let addr = program.addr();
    until("a closed door", || {
        TcpStream::connect(addr).is_err().then_some(())
    });
    assert!(program.try_wait().is_none());
    gate.open();
    assert_eq!(busy.response().text(), "first last");
    assert!(program.wait().success());
    assert!(
        program
            .access_log_lines()
            .iter()
            .any(|line| line.contains("TCP_MISS/200"))
    );
}

/// What isn't finished within `shutdown_lifetime` is visibly cut, and the end is a success all the same, soon after.
#[test]
fn shutdown_cuts_what_takes_too_long() {
    let gate = Gate::new();
    let origin = halting(&gate);
    let mut program = forward("shutdown_lifetime 1 second");
    let mut busy = client(&program);
    busy.send_request("GET", &origin.url("/"), &[]);
    gate.wait_for_arrivals(1);
    let asked = Instant::now();
    assert!(program.stop().success());
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    let cut = busy.try_response_to("GET");
    assert!(
        matches!(
            cut,
            Err(Failed::CutBody(_) | Failed::CutHead(_) | Failed::Closed)
        ),
        "{cut:?}"
    );
    gate.open();
}

/// An idle program ends at once, by SIGTERM or SIGINT, however long it would wait for others.
#[test]
fn an_idle_program_ends_at_once() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut program = forward("shutdown_lifetime 30 seconds");
        let origin = Origin::start(|_: &Request| Reply::ok("x"));
        client(&program).get(&origin.url("/"));
        let asked = Instant::now();
        program.signal(signal);
        assert!(program.wait().success());
        assert!(asked.elapsed() < Duration::from_secs(5));
    }
}

/// SIGHUP brings the new rules for the next request; connections and the cache stay. What is broken changes nothing.
#[test]
fn reload() {
    let origin = Origin::start(|_: &Request| Reply::ok("x").field("Cache-Control", "max-age=600"));
    let program = forward("");
    let before = program.read("squid.conf");
    let mut client = client(&program);
    assert_eq!(client.get(&origin.url("/a")).status, 200);
    program.write(
        "squid.conf",
        format!("acl b urlpath_regex ^/b\nhttp_access deny b\n{before}"),
    );
    program.signal(Signal::HUP);
    until("the new rules", || {
        (client.get(&origin.url("/b")).status == 403).then_some(())
    });
    assert_eq!(client.get(&origin.url("/a")).status, 200);
    assert_eq!(origin.count("/a"), 1);
    program.write("squid.conf", "http_access allow nobody_knows\n");
    program.signal(Signal::HUP);
    until("the complaint", || {
        program
            .read("cache.log")
            .contains("nobody_knows")
            .then_some(())
    });
    assert_eq!(client.get(&origin.url("/a")).status, 200);
    assert_eq!(client.get(&origin.url("/b")).status, 403);
}

/// `-k parse` says what is wrong, and by its status how much.
#[test]
fn parse() {
    let parse = |conf: &str| Program::builder(conf).arg("-k").arg("parse").run();
    assert_eq!(parse("http_access allow all").status.code(), Some(0));
    let unknown = parse("no_such_thing on\nneither_this 1\nhttp_access allow all\nnor_that");
    assert_eq!(unknown.status.code(), Some(3));
    for name in ["no_such_thing", "neither_this", "nor_that"] {
        assert!(unknown.stderr.contains(name), "{}", unknown.stderr);
    }
    let fatal = parse("http_access allow nobody");
    assert_eq!(fatal.status.code(), Some(1));
    assert!(fatal.stderr.contains("nobody"), "{}", fatal.stderr);
    let missing = Command::new(squall())
        .args(["-k", "parse", "-f", "/nowhere/squid.conf"])
        .output();
    assert_eq!(missing.unwrap().status.code(), Some(1));
}

/// Started with such a file, it doesn't start.
#[test]
fn a_bad_file_keeps_it_from_starting() {
    let finished = Program::builder("no_such_thing on\nneither_this 1").run();
    assert_eq!(finished.status.code(), Some(2));
    assert!(
        finished.stderr.contains("no_such_thing"),
        "{}",
        finished.stderr
    );
}

/// `-k` orders find the running program by its pid file, which goes with it.
#[test]
fn orders() {
    let mut program = forward("pid_filename {dir}/pid\nlogfile_rotate 1");
    let conf = program.dir().join("squid.conf");
    let order = |order: &str| {
        let status = Command::new(squall())
            .args(["-k", order, "-f"])
            .arg(&conf)
            .status();
        status.unwrap().success()
    };
    let pid = program.read("pid");
    assert_eq!(pid.trim(), program.pid().to_string());
    assert!(order("check"));
    assert!(order("rotate"));
    until("new logs", || {
        program.dir().join("cache.log.0").exists().then_some(())
    });
    assert!(order("reconfigure"));
    until("the reload", || {
        program
            .read("cache.log")
            .contains("econfigur")
            .then_some(())
    });
    // A second one with this pid file doesn't start.
    let second = Command::new(squall())
        .arg("-N")
        .arg("-f")
        .arg(&conf)
        .output()
        .unwrap();
    assert!(!second.status.success());
    assert!(order("shutdown"));
    assert!(program.wait().success());
    assert!(!program.dir().join("pid").exists());
    assert!(!order("check"));
}

/// Called as `squid`, it names the version of Squid that it stands in for.
#[test]
fn the_name_decides() {
    let dir = tempfile::tempdir().unwrap();
    let squid = dir.path().join("squid");
    symlink(squall(), &squid).unwrap();
    let version = |program: &std::path::Path| {
        let output = Command::new(program).arg("-v").output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(
        version(&squid).starts_with("Squid Cache: Version "),
        "{}",
        version(&squid)
    );
    assert!(version(&squall()).starts_with("Squall Cache: Version "));
}

/// As `squid`, by the lines of start scripts.
#[test]
fn the_lines_of_start_scripts() {
    for args in ["-NYC", "--foreground -sYC", "-N -d 1"] {
        let builder = Program::builder("http_access allow all");
        let builder = args
            .split(' ')
            .fold(builder, |builder, arg| builder.arg(arg));
        let origin = Origin::start(|_: &Request| Reply::ok("x"));
        let program = builder.start();
        assert_eq!(client(&program).get(&origin.url("/")).text(), "x", "{args}");
    }
}

/// It starts within a second, and takes little while it idles, however many files it may open.
#[test]
fn idle_and_small() {
    let most = fs::read_to_string("/proc/sys/fs/nr_open").unwrap();
    let started = Instant::now();
    let program = forward(&format!("max_filedescriptors {}", most.trim()));
    let took = started.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    let origin = Origin::start(|_: &Request| Reply::ok("x"));
    client(&program).get(&origin.url("/"));
    // A program that isn't optimised is larger by its code.
    let most = if cfg!(debug_assertions) {
        32 << 10
    } else {
        20 << 10
    };
    let rss = program.rss_kib();
    assert!(rss < most, "{rss} KiB");
    let log = program.read("cache.log");
    assert!(log.contains("file descriptors available"), "{log}");
    // Idle is idle: it isn't waked without need.
    let before = program.cpu_time();
    let waited = Instant::now();
    until("a second to pass", || {
        (waited.elapsed() > Duration::from_secs(1)).then_some(())
    });
    let used = program.cpu_time() - before;
    assert!(
        used < Duration::from_millis(100),
        "{used:?} in an idle second"
    );
}

/// Lines that have no effect here, or not yet, are named once each and don't keep it from starting.
#[test]
fn directives_without_effect() {
    let program = forward("ipcache_size 1024\ndigest_generation off\nftp_epsv_all on");
    let log = program.read("cache.log");
    assert_eq!(log.matches("ftp_epsv_all").count(), 1, "{log}");
    until("ready", || {
        let log = program.read("cache.log");
        log.contains("Ready to serve requests").then_some(())
    });
}
