//! The SNMP agent: whom it answers, what of hostile datagrams, and that its numbers are those of the traffic.

use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use testkit::{Client, Origin, Program, Reply, Signal, free_port, until};
use wire::snmp::{Answer, Ask, Failed, Oid, Question, Value, Version};

/// Below `squid` in the MIB.
const UPTIME: &[u32] = &[1, 3, 0];
const REQUESTS: &[u32] = &[3, 2, 1, 1, 0];
const HITS: &[u32] = &[3, 2, 1, 2, 0];

/// How long a test waits to see that there is no answer: what else it waits for comes after it.
const SILENCE: Duration = Duration::from_millis(300);

/// Lines for an agent at a port.
fn conf(port: u16) -> String {
    format!(
        "http_access allow all\nworkers 1\nacl public snmp_community public\nsnmp_port {port}\n\
         snmp_incoming_address 127.0.0.1\nsnmp_access allow public localhost\nsnmp_access deny all\n"
    )
}

fn oid(below: &[u32]) -> Oid {
    Oid::new(&[&[1, 3, 6, 1, 4, 1, 3495, 1], below].concat()).unwrap()
}

fn question(community: &str, ask: Ask, names: &[&[u32]]) -> Question {
    Question {
        version: Version::V2c,
        community: community.into(),
        request_id: 7,
        ask,
        names: names.iter().map(|below| oid(below)).collect(),
    }
}

/// A poller.
struct Poller(UdpSocket);

impl Poller {
    fn new(port: u16) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", port)).unwrap();
        Self(socket)
    }

    fn send(&self, bytes: &[u8]) {
        self.0.send(bytes).unwrap();
    }

    fn read(&self, patience: Duration) -> Option<Answer> {
        self.0.set_read_timeout(Some(patience)).unwrap();
        let mut buffer = [0; 8192];
        let length = self.0.recv(&mut buffer).ok()?;
        Some(Answer::parse(&buffer[..length]).unwrap())
    }

    /// Asks until there is an answer: the agent starts after the ports are open.
    fn ask(&self, question: &Question) -> Answer {
        until("an answer by SNMP", || {
            self.send(&question.to_bytes());
            self.read(SILENCE)
        })
    }

    fn get(&self, below: &[u32]) -> Value {
        let answer = self.ask(&question("public", Ask::Get, &[below]));
        assert_eq!((answer.failed, answer.request_id), (None, 7));
        answer.bindings.into_iter().next().unwrap().1
    }
}

#[test]
fn only_who_may_ask_is_answered() {
    let port = free_port();
    let program = Program::start(&conf(port));
    let poller = Poller::new(port);
    assert!(matches!(poller.get(UPTIME), Value::Ticks(_)));
    poller.send(&question("private", Ask::Get, &[UPTIME]).to_bytes());
    assert_eq!(poller.read(SILENCE), None);
    assert_eq!(metric(&program, "squall_snmp_denied_total"), 1.0);
}

/// A sample of `/metrics`.
fn metric(program: &Program, name: &str) -> f64 {
    let text = Client::connect(program.addr()).get("/metrics").text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in:\n{text}"))
        .parse()
        .unwrap()
}

#[test]
fn what_is_no_question_is_dropped_and_counted() {
    let port = free_port();
    let program = Program::start(&conf(port));
    let poller = Poller::new(port);
    poller.get(UPTIME);
    let good = question("public", Ask::Get, &[UPTIME]).to_bytes();
    // An operation that sets, version 3, lengths that lie, a name too long, nothing, and too much.
    let mut set = good.clone();
    set[13] = 0xa3;
    let mut v3 = good.clone();
    v3[4] = 3;
    let long = question("public", Ask::Get, &[&[1; 120]]).to_bytes();
    let longer = [&long[..long.len() - 2], &[1; 20]].concat();
    let hostile: [&[u8]; 7] = [
        &set,
        &v3,
        b"\x30\x84\xff\xff\xff\xff",
        &good[..9],
        &longer,
        b"",
        &[0x30; 9000],
    ];
    for bytes in hostile {
        poller.send(bytes);
    }
    assert_eq!(poller.read(SILENCE), None);
    poller.get(UPTIME);
    assert_eq!(metric(&program, "squall_snmp_malformed_total"), 7.0);
    assert_eq!(metric(&program, "squall_panics_caught_total"), 0.0);
}

#[test]
fn numbers_are_those_of_the_traffic() {
    let port = free_port();
    let origin = Origin::start(|_| Reply::ok("x").field("Cache-Control", "max-age=60"));
    let program = Program::start(&conf(port));
    let mut client = Client::connect(program.addr());
    for _ in 0..5 {
        client.get(&origin.url("/"));
    }
    program.wait_for_log_lines(5);
    let poller = Poller::new(port);
    assert_eq!(poller.get(REQUESTS), Value::Counter(5));
    assert_eq!(poller.get(HITS), Value::Counter(4));
    let by_client = [5, 2, 2, 3, 127, 0, 0, 1];
    until("the client's row", || {
        (poller.get(&by_client) == Value::Counter(5)).then_some(())
    });
}

#[test]
fn a_walk_ends_and_a_bulk_answer_has_its_bounds() {
    let port = free_port();
    let _program = Program::start(&conf(port));
    let poller = Poller::new(port);
    let mut names = vec![oid(&[])];
    loop {
        let ask = Question {
            names: vec![names.last().unwrap().clone()],
            ..question("public", Ask::GetNext, &[])
        };
        let (name, value) = poller.ask(&ask).bindings.remove(0);
        if value == Value::EndOfMibView {
            break;
        }
        names.push(name);
    }
    assert!(names.len() > 90, "{}", names.len());
    assert!(names.is_sorted_by(|one, other| one < other));
    let endless = Ask::GetBulk {
        non_repeaters: 0,
        max_repetitions: 1_000_000,
    };
    let bulk = poller.ask(&question("public", endless, &[&[]]));
    assert!(bulk.failed.is_none() && bulk.bindings.len() > 50);
    assert!(bulk.to_bytes().len() <= 4096);
    let v1 = Question {
        version: Version::V1,
        ..question("public", Ask::Get, &[&[9]])
    };
    assert_eq!(poller.ask(&v1).failed, Some(Failed::NoSuchName(1)));
}

#[test]
fn a_reload_moves_the_agent() {
    let (first, second) = (free_port(), free_port());
    let program = Program::start(&conf(first));
    let (one, other) = (Poller::new(first), Poller::new(second));
    one.get(UPTIME);
    let moved = program.read("squid.conf").replace(
        &format!("snmp_port {first}"),
        &format!("snmp_port {second}"),
    );
    program.write("squid.conf", moved);
    program.signal(Signal::HUP);
    assert!(matches!(other.get(UPTIME), Value::Ticks(_)));
    drop(
        one.0
            .send(&question("public", Ask::Get, &[UPTIME]).to_bytes()),
    );
    assert_eq!(one.read(SILENCE), None);
}

/// Debian's tools, where they are installed.
#[test]
fn net_snmp_reads_all_of_it() {
    let port = free_port();
    let _program = Program::start(&conf(port));
    let agent = format!("127.0.0.1:{port}");
    Poller::new(port).get(UPTIME);
    let run = |tool: &str, args: &[&str]| {
        let mut command = Command::new(tool);
        command
            .args(["-c", "public", "-m", "", "-On", "-t", "5"])
            .args(args);
        command
            .output()
            .ok()
            .map(|output| String::from_utf8(output.stdout).unwrap())
    };
    const SQUID: &str = ".1.3.6.1.4.1.3495.1";
    let Some(walked) = run("snmpwalk", &["-v1", &agent, SQUID]) else {
        println!("skipped: no snmpwalk");
        return;
    };
    let bulk = run("snmpbulkwalk", &["-v2c", &agent, SQUID]).unwrap();
    // v2c ends with a name and "No more variables".
    let names = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| !line.contains("No more variables"));
        let names = lines.filter_map(|line| line.split_once(" = "));
        names.map(|(name, _)| name.to_owned()).collect()
    };
    assert!(names(&walked).len() > 90, "{walked}");
    assert_eq!(names(&walked), names(&bulk));
    let got = run("snmpget", &["-v2c", &agent, &format!("{SQUID}.2.5.1.0")]).unwrap();
    assert_eq!(got.trim(), format!("{SQUID}.2.5.1.0 = INTEGER: 256"));
}
