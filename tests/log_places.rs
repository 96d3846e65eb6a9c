//! Access logs that are no files: Squid's log daemon, collectors, pipes; what befalls them; and the `json` format.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::Value;
use testkit::{Origin, Program, Reply, Request, Signal, WAIT, until};

use crate::support::{Entry, client, forward};

/// Squid's own log daemon, which we don't start by that name.
const LOG_FILE_DAEMON: &str = "/usr/lib/squid/log_file_daemon";

fn plain() -> Origin {
    Origin::start(|_: &Request| Reply::ok("x").field("Content-Type", "text/plain"))
}

/// A program whose log is written by Squid's daemon, if that is installed.
fn with_daemon(conf: &str) -> Option<Program> {
    if !Path::new(LOG_FILE_DAEMON).exists() {
        println!("skipped: no {LOG_FILE_DAEMON}");
        return None;
    }
    let builder = Program::builder(&format!(
        "http_access allow all
access_log daemon:{{dir}}/access.log squid
logfile_daemon {{dir}}/logger
workers 1
{conf}"
    ));
    symlink(LOG_FILE_DAEMON, builder.dir().join("logger")).unwrap();
    Some(builder.start())
}

/// The processes that the program has started and that are of that name.
fn children(program: &Program, name: &str) -> Vec<i32> {
    let own = format!("/proc/{}/task", program.pid());
    let tasks = fs::read_dir(own).unwrap().flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<i32> = children
        .flat_map(|list| {
            let pids = list.split_whitespace().map(|pid| pid.parse().unwrap());
            pids.collect::<Vec<i32>>()
        })
        .collect();
    let is_called = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
    };
    children.into_iter().filter(is_called).collect()
}

/// Squid's daemon writes what it is told, and rotates.
#[test]
fn squids_daemon() {
    let Some(mut program) = with_daemon("logfile_rotate 2") else {
        return;
    };
    let origin = plain();
    let mut client = client(&program);
    client.get(&origin.url("/one"));
    let line = program.wait_for_log_lines(1).remove(0);
    assert_eq!(Entry::of(&line).url, origin.url("/one"));
    program.signal(Signal::USR1);
    until("a rotated log", || {
        program.read("access.log.0").contains("/one").then_some(())
    });
    client.get(&origin.url("/two"));
    program.wait_for_log(|line| line.contains("/two"));
    assert!(program.stop().success());
    assert_eq!(program.access_log_lines().len(), 1);
}

/// One that is killed is followed by another; no request waits for it, and what was told to it meanwhile is written.
#[test]
fn a_daemon_that_is_killed() {
    let Some(mut program) = with_daemon("") else {
        return;
    };
    let origin = plain();
    let mut client = client(&program);
    client.get(&origin.url("/before"));
    program.wait_for_log(|line| line.contains("/before"));
    let first = children(&program, "logger");
    assert_eq!(first.len(), 1);
    let pid = rustix::process::Pid::from_raw(first[0]).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    until("its end", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", first[0]));
        stat.is_ok_and(|stat| stat.contains(") Z ")).then_some(())
    });
    for number in 0..20 {
        assert_eq!(client.get(&origin.url(&format!("/{number}"))).status, 200);
    }
    let lines = program.wait_for_log_lines(21);
    for (number, line) in lines[1..].iter().enumerate() {
        assert_eq!(Entry::of(line).url, origin.url(&format!("/{number}")));
    }
    assert!(
        program
            .read("cache.log")
            .contains("logger ended: signal: 9")
    );
    assert!(program.stop().success());
}

/// A collector gets each line; one that goes and comes back gets the rest.
#[test]
fn a_collector() {
    let origin = plain();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let program = forward(&format!("access_log tcp://{addr} json\nworkers 1"));
    let mut client = client(&program);
    let read = |reader: &mut dyn std::io::BufRead| {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["url"].clone()
    };
    client.get(&origin.url("/one"));
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    let mut first = BufReader::new(stream);
    assert_eq!(read(&mut first), origin.url("/one"));
    drop((first, listener));
    client.get(&origin.url("/two"));
    until("the collector to be missed", || {
        client.get(&origin.url("/three"));
        TcpListener::bind(addr).ok()
    })
    .set_nonblocking(false)
    .unwrap();
}

/// Each line is a datagram.
#[test]
fn datagrams() {
    let origin = plain();
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_read_timeout(Some(WAIT)).unwrap();
    let addr = receiver.local_addr().unwrap();
    let program = forward(&format!("access_log udp://{addr} squid\nworkers 1"));
    let mut client = client(&program);
    for path in ["/one", "/two"] {
        client.get(&origin.url(path));
        let mut bytes = [0; 4096];
        let length = receiver.recv(&mut bytes).unwrap();
        let line = std::str::from_utf8(&bytes[..length]).unwrap();
        assert_eq!(Entry::of(line).url, origin.url(path));
        assert!(line.ends_with('\n'));
    }
}

/// A full disk and a collector that reads nothing: the other log has every line, and clients get every reply.
#[test]
fn a_full_disk_and_a_stalled_collector_are_in_nobodys_way() {
    let origin = plain();
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = collector.local_addr().unwrap();
    let mut program = forward(&format!(
        "access_log tcp://{addr} json
access_log stdio:/dev/full squid
access_log stdio:{{dir}}/access.log squid
strip_query_terms off
workers 1"
    ));
    let mut client = client(&program);
    // Sockets and buffers hold some of it, but not all.
    let long = "x".repeat(30_000);
    for number in 0..1000 {
        let url = origin.url(&format!("/{number}?{long}"));
        assert_eq!(client.get(&url).status, 200);
    }
    let lines = program.wait_for_log_lines(1000);
    for (number, line) in lines.iter().enumerate() {
        assert!(line.contains(&format!("/{number}?")));
    }
    let said = program.read("cache.log");
    let lost = |place: &str| {
        let said = said.lines();
        let said = said.filter(|line| line.contains(place) && line.contains("lines are lost"));
        said.count()
    };
    assert_eq!((lost("/dev/full"), lost("access.log:")), (1, 0), "{said}");
    assert!(program.stop().success());
    let (mut stream, _) = collector.accept().unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    let whole = got.iter().filter(|&&byte| byte == b'\n').count();
    let told = format!("log tcp://{addr}: ");
    let said = program.read("cache.log");
    let end = said.lines().rfind(|line| line.contains(&told));
    let end = end.map(|line| line.split(&told).nth(1).unwrap().to_owned());
    // All are there, or the rest is said to be lost.
    if whole < 1000 {
        assert_eq!(end.unwrap(), format!("{} lines were lost", 1000 - whole));
    }
}

/// Whoever would rather not serve than lose a line can have it so.
#[test]
fn a_log_that_matters_more_than_service() {
    let origin = plain();
    let mut program = forward("access_log stdio:/dev/full on-error=die");
    assert_eq!(client(&program).get(&origin.url("/")).status, 200);
    let status = until("the end", || program.try_wait());
    assert!(!status.success());
    let said = program.read("cache.log");
    assert!(
        said.contains("FATAL: Cannot write log file: /dev/full"),
        "{said}"
    );
}

/// A named pipe needs no reader to begin with, and may lose and get one.
#[test]
fn a_named_pipe() {
    let origin = plain();
    let builder = Program::builder("http_access allow all\naccess_log stdio:{dir}/pipe\nworkers 1");
    let pipe = builder.dir().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg("-m666")
        .arg(&pipe)
        .status();
    assert!(made.unwrap().success());
    let program = builder.start();
    let mut client = client(&program);
    for path in ["/one", "/two"] {
        client.get(&origin.url(path));
        let mut reader = BufReader::new(fs::File::open(&pipe).unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert_eq!(Entry::of(&line).url, origin.url(path));
    }
}

/// Whatever a client sends, a line is an object that tells it.
#[test]
fn json_tells_what_was_sent() {
    let origin = plain();
    let program = forward(
        "access_log stdio:{dir}/access.log json\nstrip_query_terms off
note who \"a \\\"b\\\"\"",
    );
    let mut client = client(&program);
    let url = origin.url("/p?q=%22");
    let sent = b"a \"b\" {\\} \xff\xfe \x80 \xc3\xa4 \xe2\x80\xa8 \xee\xbe\x80";
    let mut request = format!("GET {url} HTTP/1.1\r\nHost: x\r\nUser-Agent: ").into_bytes();
    request.extend_from_slice(sent);
    request.extend_from_slice(b"\r\n\r\n");
    client.send(&request);
    assert_eq!(client.response().status, 200);
    client.send("garbage\r\n\r\n");
    let _refused = client.read_to_close();
    let lines = program.wait_for_log_lines(2);
    assert!(lines[0].is_ascii());
    let line: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(line["url"], url);
    assert_eq!(line["client"], "127.0.0.1");
    assert_eq!(line["local_port"], program.port());
    assert_eq!(
        (&line["status"], &line["hit"]),
        (&200.into(), &false.into())
    );
    assert_eq!(line["hop_status"], 200);
    assert_eq!(line["notes"][0][0], "who");
    let agent = line["user_agent"].as_str().unwrap();
    let mut bytes = Vec::new();
    for char in agent.chars() {
        match u32::from(char) {
            code @ 0xEF80..=0xEFFF => bytes.push(code as u8),
            _ => bytes.extend_from_slice(char.to_string().as_bytes()),
        }
    }
    assert_eq!(bytes, sent);
    let line: Value = serde_json::from_str(&lines[1]).unwrap();
    assert_eq!(line["result"], "NONE_NONE");
    assert_eq!(line["status"], 400);
}

/// Both heads behind a line, and clients by their networks.
#[test]
fn heads_and_networks() {
    let origin = plain();
    let program = forward("log_mime_hdrs on\nclient_netmask 255.0.0.0\ncache deny all");
    client(&program).request("GET", &origin.url("/"), &[("X-Mine", "a [b] 100%")]);
    let line = program.wait_for_log_lines(1).remove(0);
    assert!(line.contains(" 127.0.0.0 TCP_MISS/200 "), "{line}");
    let (_, heads) = line.split_once(" text/plain [").unwrap();
    let (request, reply) = heads.split_once("] [").unwrap();
    assert!(request.contains("X-Mine: a %5bb%5d 100%25\\r\\n"), "{line}");
    assert!(reply.starts_with("HTTP/1.1 200 OK\\r\\n"), "{line}");
    assert!(reply.ends_with("\\r\\n\\r\\n]"), "{line}");
}

/// What goes to disk, comes from there and leaves the store, in Squid's form.
#[test]
fn the_store_log() {
    let origin = Origin::start(|_: &Request| {
        Reply::ok("twelve bytes")
            .field("Content-Type", "text/html; charset=utf-8")
            .field("Cache-Control", "max-age=3600")
            .field("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
    });
    let conf = "cache_store_log {dir}/store.log
cache_dir rock {dir}/cache 64
acl purge method PURGE
workers 1";
    let builder = Program::builder(&format!("http_access allow all\n{conf}"));
    let cache = builder.dir().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let mut program = builder.start();
    let url = origin.url("/page");
    let event = |program: &Program, name: &str| {
        until(name, || {
            let log = program.read("store.log");
            let line = log.lines().rfind(|line| line.contains(name))?;
            Some(line.split(' ').map(str::to_owned).collect::<Vec<_>>())
        })
    };
    client(&program).get(&url);
    let out = event(&program, "SWAPOUT");
    assert_eq!(out[2..4], ["00", "00000000"]);
    assert!(out[4].len() == 32 && out[4].chars().all(|c| c.is_ascii_hexdigit()));
    let modified = out.iter().position(|field| field == "1704067200").unwrap();
    assert_eq!(
        out[modified + 1..],
        [
            "",
            "",
            "",
            "",
            "",
            "",
            "",
            "-1",
            "text/html",
            "12/12",
            "GET",
            &url
        ]
    );
    client(&program).request("PURGE", &url, &[]);
    let released = event(&program, "RELEASE");
    assert_eq!(
        released[2..5],
        ["-1".to_owned(), "FFFFFFFF".to_owned(), out[4].clone()]
    );
    assert!(program.stop().success());
}
