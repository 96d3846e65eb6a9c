//! `squall client` beside Debian's squidclient: the same requests, the same output, and exit statuses that say what
//! happened.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output};
use std::thread::JoinHandle;

use testkit::{Origin, Program, Reply, free_port, squall};

use crate::support::forward;

/// A proxy that answers one client after another with `answer`, and tells what it was asked.
struct Listener {
    addr: SocketAddr,
    asked: JoinHandle<Vec<String>>,
}

impl Listener {
    fn start(answer: &'static str, times: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let asked = std::thread::spawn(move || {
            let one = |_| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut head = Vec::new();
                let mut piece = [0; 4096];
                // squidclient ends fields of `-H` as they are given.
                while !head.ends_with(b"\n\r\n") {
                    let read = stream.read(&mut piece).unwrap();
                    assert!(read > 0, "it closed within its head");
                    head.extend_from_slice(&piece[..read]);
                }
                stream.write_all(answer.as_bytes()).unwrap();
                String::from_utf8(head).unwrap()
            };
            (0..times).map(one).collect()
        });
        Self { addr, asked }
    }
}

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes";

fn ours(addr: SocketAddr, args: &[&str]) -> Output {
    run(Command::new(squall()).arg("client"), addr, args)
}

fn squidclient(addr: SocketAddr, args: &[&str]) -> Output {
    run(&mut Command::new("squidclient"), addr, args)
}

fn run(command: &mut Command, addr: SocketAddr, args: &[&str]) -> Output {
    let port = addr.port().to_string();
    let host = addr.ip().to_string();
    command
        .args(["-h", &host, "-p", &port])
        .args(args)
        .output()
        .unwrap()
}

/// Its lines but for the one with the name of the program, in order.
fn lines(head: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = head.lines().collect();
    lines.retain(|line| !line.starts_with("User-Agent: "));
    let start = lines.remove(0);
    lines.sort_unstable();
    lines.insert(0, start);
    lines
}

#[test]
fn it_asks_as_squidclient_does_and_shows_the_same() {
    for args in [
        &["mgr:info"][..],
        &["mgr:info@secret"],
        &["-w", "secret", "-u", "admin", "mgr:config"],
        &["-U", "user", "-W", "pass", "http://example.com/a"],
        &["-a", "http://example.com/"],
        &["-r", "http://example.com/"],
        &["-m", "HEAD", "http://example.com/"],
        &["-m", "PURGE", "http://example.com:81/x?y"],
        &["-t", "2", "http://example.com/"],
        &["-i", "1000000000", "http://example.com/"],
        &["-j", "other.example", "http://example.com/"],
        &["-k", "http://example.com/"],
        &["-V", "1.1", "http://example.com/"],
        &["-H", "X-One: 1\\nX-Two: 2\\n", "http://example.com/"],
        &["-A", "me/1", "http://example.com/"],
        &["-s", "http://example.com/"],
    ] {
        let listener = Listener::start(ANSWER, 2);
        let theirs = squidclient(listener.addr, args);
        let ours = ours(listener.addr, args);
        let asked = listener.asked.join().unwrap();
        assert_eq!(lines(&asked[1]), lines(&asked[0]), "{args:?}");
        let text = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!(text(&ours), text(&theirs), "{args:?}");
        assert!(ours.status.success(), "{args:?}");
    }
}

/// Digits become zeros: times differ.
fn shape(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    // Of no time at all there is no rate: -1.
    let text = text.replace(", -", ", ");
    let mut shape = String::new();
    for letter in text.chars() {
        let letter = if letter.is_ascii_digit() { '0' } else { letter };
        if letter != '0' || !shape.ends_with('0') {
            shape.push(letter);
        }
    }
    shape
}

#[test]
fn a_ping_is_told_as_squidclient_tells_it() {
    let listener = Listener::start(ANSWER, 4);
    let args = &["--ping", "-g", "2", "-I", "1", "http://example.com/"];
    let theirs = squidclient(listener.addr, args);
    let ours = ours(listener.addr, args);
    assert_eq!(shape(&ours), shape(&theirs));
    assert_eq!(listener.asked.join().unwrap().len(), 4);
}

#[test]
fn the_exit_status_says_what_happened() {
    let origin = Origin::start(|_| Reply::ok("hello"));
    let program = forward("acl bad urlpath_regex bad\nhttp_access deny bad");
    let denied = Program::start("http_access deny all");
    let check = |output: Output, expected: i32| {
        assert_eq!(output.status.code(), Some(expected), "{output:?}");
        output
    };
    let fine = check(ours(program.addr(), &[&origin.url("/")]), 0);
    assert!(fine.stdout.ends_with(b"hello"));
    let said = check(ours(denied.addr(), &[&origin.url("/")]), 3);
    assert!(said.stdout.starts_with(b"HTTP/1.1 403"));
    let nobody = ([127, 0, 0, 1], free_port()).into();
    let said = check(ours(nobody, &["mgr:info"]), 2);
    assert!(
        String::from_utf8(said.stderr)
            .unwrap()
            .contains("Cannot connect to 127.0.0.1:")
    );
    check(ours(program.addr(), &["--https", "http://a/"]), 1);
    check(ours(program.addr(), &["--dance"]), 1);
    let listener = Listener::start("", 1);
    check(ours(listener.addr, &["http://a/"]), 4);
}

#[test]
fn the_manager_answers_it() {
    let program = Program::start("http_access allow localhost manager\nhttp_access deny all");
    let menu = ours(program.addr(), &["mgr:menu"]);
    let text = String::from_utf8(menu.stdout).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("\n menu  "),
        "{text}"
    );
    let unknown = ours(program.addr(), &["mgr:nothing"]);
    assert_eq!(unknown.status.code(), Some(3));
}
