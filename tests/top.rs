//! `squall top --once` beside a proxy that has traffic.

use std::process::{Command, Output};

use testkit::{Origin, Program, Reply, free_port, squall, until};

use crate::support::client;

fn top(port: u16, args: &[&str]) -> Output {
    let port = port.to_string();
    let mut command = Command::new(squall());
    let command = command.args(["top", "--once", "-h", "127.0.0.1", "-p", &port]);
    command.args(args).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_frame_shows_the_traffic() {
    let origin = Origin::start(|_| Reply::ok("hello").field("Cache-Control", "max-age=60"));
    let program =
        Program::start("http_access allow localhost\nvisible_hostname proxy.example\nworkers 1");
    // The first look makes the workers tell of transactions.
    assert!(top(program.port(), &[]).status.success());
    for _ in 0..3 {
        client(&program).get(&origin.url("/a"));
    }
    let frame = until("the transactions", || {
        let frame = text(&top(program.port(), &["--width", "100"]));
        frame.contains("TCP_MEM_HIT").then_some(frame)
    });
    assert_eq!(frame.lines().count(), 24, "{frame}");
    for words in [
        "proxy.example",
        "worker 1",
        "memory",
        "127.0.0.1",
        "TCP_MISS",
        "q end",
    ] {
        assert!(frame.contains(words), "{words}:\n{frame}");
    }
}

#[test]
fn who_may_not_look_is_told_so() {
    let program = Program::start("http_access deny all");
    let refused = top(program.port(), &[]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("access rules don't let us look"), "{said}");
    let nobody = top(free_port(), &[]);
    let said = String::from_utf8(nobody.stderr).unwrap();
    assert!(said.contains("Cannot connect"), "{said}");
}

#[test]
fn a_password_of_the_page_is_asked_for_and_taken() {
    let program = Program::start("http_access allow localhost\ncachemgr_passwd secret squall");
    let refused = top(program.port(), &[]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("a password is needed"), "{said}");
    assert!(top(program.port(), &["-W", "secret"]).status.success());
}
