//! A changed configuration takes effect on a running proxy: what it names comes and goes live, what it leaves
//! alone isn't touched, and nobody who is being served notices.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use testkit::{Client, Gate, Origin, Pattern, Program, Reply, Request, Signal, free_port, until};

use crate::support::{Entry, client, forward};

/// How often the program has said this in its cache log, old ones included.
fn said(program: &Program, words: &str) -> usize {
    let old = (0..40).map(|number| format!("cache.log.{number}"));
    let old = old.filter(|name| program.dir().join(name).exists());
    let all = old.chain(["cache.log".to_owned()]);
    all.map(|name| program.read(&name).matches(words).count())
        .sum()
}

/// The configuration it was started with, ready for more lines.
fn conf(program: &Program) -> String {
    program.read("squid.conf") + "\n"
}

/// Asks for something by signal and waits until the program says that it is done.
fn ask(program: &Program, signal: Signal, words: &str) {
    let before = said(program, words);
    program.signal(signal);
    until(words, || (said(program, words) > before).then_some(()));
}

/// Lets the program serve by this configuration.
fn reload(program: &Program, conf: &str) {
    program.write("squid.conf", conf);
    ask(program, Signal::HUP, "Reconfigured.");
}

/// Lets the program refuse this configuration.
fn refused(program: &Program, conf: &str) {
    program.write("squid.conf", conf);
    ask(program, Signal::HUP, "the configuration stays as it was");
}

/// Threads that are workers.
fn workers(program: &Program) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", program.pid())).unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("worker-")).count()
}

fn at(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// An origin of hits, misses, a large body and an answer whose end waits for the gate.
fn origin(gate: &Gate) -> Origin {
    let (gate, large) = (gate.clone(), Pattern::new("large", 4 << 20));
    Origin::start(move |request: &Request| match request.target.as_str() {
        "/halting" => Reply::ok("first ").pass(&gate).send("last"),
        "/large" => Reply::pattern(&large).field("Cache-Control", "no-store"),
        "/miss" => Reply::ok("miss").field("Cache-Control", "no-store"),
        _ => Reply::ok("hit").field("Cache-Control", "max-age=600"),
    })
}

/// A port that is added serves, one that is removed is closed, one that stays keeps its clients, and all that
/// within their connections.
#[test]
fn ports_come_and_go() {
    let gate = Gate::new();
    let origin = origin(&gate);
    let program = forward("");
    let conf = conf(&program);
    let mut stays = client(&program);
    assert_eq!(stays.get(&origin.url("/hit")).text(), "hit");
    let added = free_port();
    reload(&program, &format!("http_port 127.0.0.1:{added}\n{conf}"));
    let mut guest = Client::connect(at(added));
    assert_eq!(guest.get(&origin.url("/hit")).text(), "hit");
    assert_eq!(stays.get(&origin.url("/hit")).text(), "hit");
    guest.send_request("GET", &origin.url("/halting"), &[]);
    gate.wait_for_arrivals(1);
    reload(&program, &conf);
    until("a closed door", || {
        TcpStream::connect(at(added)).is_err().then_some(())
    });
    gate.open();
    assert_eq!(guest.response().text(), "first last");
    assert_eq!(
        guest.get(&origin.url("/hit")).text(),
        "hit",
        "its port is gone, its connection is not"
    );
    assert_eq!(stays.get(&origin.url("/hit")).text(), "hit");
    assert_eq!(origin.count("/hit"), 1);
}

/// The same port may take another mode, name or address without being closed; who is connected keeps the old one.
#[test]
fn a_port_changes_its_settings() {
    let origin = origin(&Gate::new());
    let program = forward("");
    let conf = conf(&program);
    let port = program.port();
    let mut before = client(&program);
    assert_eq!(before.get(&origin.url("/hit")).status, 200);
    let host = origin.addr().to_string();
    let accel = conf.replace(
        &format!("http_port 127.0.0.1:{port}"),
        &format!("http_port 127.0.0.1:{port} accel defaultsite={host} name=front"),
    ) + &format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query originserver\nacl front myportname front\nacl named urlpath_regex ^/named\nhttp_access deny named !front\n",
        origin.port()
    );
    reload(&program, &accel);
    assert_eq!(before.get(&origin.url("/miss")).status, 200);
    let mut after = client(&program);
    assert_eq!(
        after.request("GET", "/miss", &[("Host", &host)]).text(),
        "miss"
    );
    let everywhere = conf.replace(&format!("127.0.0.1:{port}"), &format!("0.0.0.0:{port}"));
    reload(&program, &everywhere);
    assert_eq!(client(&program).get(&origin.url("/hit")).text(), "hit");
    reload(&program, &conf);
    assert_eq!(client(&program).get(&origin.url("/hit")).text(), "hit");
}

/// Workers become more and fewer; those too many finish what they do.
#[test]
fn workers_come_and_go() {
    let gate = Gate::new();
    let origin = origin(&gate);
    let program = forward("workers 3");
    let conf = conf(&program);
    let with = |workers: usize| conf.replace("workers 3", &format!("workers {workers}"));
    let mut busy: Vec<Client> = (0..12).map(|_| client(&program)).collect();
    for client in &mut busy {
        client.send_request("GET", &origin.url("/halting"), &[]);
    }
    let threads = || workers(&program);
    assert_eq!(threads(), 3);
    reload(&program, &with(1));
    for _ in 0..20 {
        assert_eq!(client(&program).get(&origin.url("/hit")).text(), "hit");
    }
    gate.open();
    for client in &mut busy {
        assert_eq!(client.response().text(), "first last");
    }
    drop(busy);
    until("the end of those too many", || {
        (threads() == 1).then_some(())
    });
    reload(&program, &with(4));
    until("four", || (threads() == 4).then_some(()));
    for _ in 0..20 {
        assert_eq!(client(&program).get(&origin.url("/hit")).text(), "hit");
    }
}

/// New workers relieve the old ones on `SIGTTIN`; connections go on, the cache stays.
#[test]
fn a_restart_of_the_workers_cuts_nobody() {
    let gate = Gate::new();
    let origin = origin(&gate);
    let program = forward("workers 2");
    let mut busy = client(&program);
    assert_eq!(busy.get(&origin.url("/hit")).text(), "hit");
    busy.send_request("GET", &origin.url("/halting"), &[]);
    gate.wait_for_arrivals(1);
    ask(&program, Signal::TTIN, "Restarting the workers");
    assert_eq!(client(&program).get(&origin.url("/hit")).text(), "hit");
    gate.open();
    assert_eq!(busy.response().text(), "first last");
    assert_eq!(origin.count("/hit"), 1);
}

/// A response goes on arriving for the clients of other workers, when its own worker has no more clients and ends. Who
/// is whose client is up to the kernel, so it is tried several times.
#[test]
fn who_reads_along_is_not_cut_by_a_restart_of_the_workers() {
    let program = forward("workers 2");
    for round in 0..8 {
        let gate = Gate::new();
        let halting = gate.clone();
        let origin = Origin::start(move |_: &Request| {
            let reply = Reply::ok("first ").field("Cache-Control", "max-age=600");
            reply.pass(&halting).send("last")
        });
        let url = origin.url("/");
        let mut first = client(&program);
        first.send_request("GET", &url, &[]);
        first.read_exact(1);
        let mut second = client(&program);
        second.send_request("GET", &url, &[("Connection", "close")]);
        second.read_exact(1);
        drop(first);
        ask(&program, Signal::TTIN, "Restarting the workers");
        // That is all that its worker had to do for its own clients.
        let ended = |line: &str| line.contains(&url);
        program.wait_for_log(ended);
        thread::sleep(Duration::from_millis(50));
        gate.open();
        let rest = String::from_utf8(second.read_to_close()).unwrap();
        assert!(rest.contains("last"), "round {round}: {rest}");
        assert_eq!(origin.count("/"), 1);
    }
}

/// Another access log takes over: what begins now is logged there, what began before where it would have been.
#[test]
fn logs_change() {
    let gate = Gate::new();
    let origin = origin(&gate);
    let program = forward("");
    let conf = conf(&program);
    let mut busy = client(&program);
    busy.send_request("GET", &origin.url("/halting"), &[]);
    gate.wait_for_arrivals(1);
    reload(&program, &conf.replace("/access.log", "/other.log"));
    client(&program).get(&origin.url("/miss"));
    until("a line in the new log", || {
        program.read("other.log").contains("/miss").then_some(())
    });
    ask(&program, Signal::USR1, "Rotating the logs");
    gate.open();
    assert_eq!(busy.response().text(), "first last");
    program.wait_for_log(|line| line.contains("/halting"));
}

/// Sizes and the cache's limits change; what the process can't change it names.
#[test]
fn sizes_change() {
    let origin = origin(&Gate::new());
    let program = forward("cache_mem 8 MB");
    let conf = conf(&program);
    let mut client = client(&program);
    client.get(&origin.url("/hit"));
    reload(
        &program,
        &(conf.clone() + "maximum_object_size_in_memory 0 KB\numask 077\n"),
    );
    client.get(&origin.url("/hit"));
    assert_eq!(origin.count("/hit"), 1, "what is stored stays");
    client.get(&origin.url("/other"));
    client.get(&origin.url("/other"));
    assert_eq!(origin.count("/other"), 2, "and nothing comes after it");
    assert!(
        program
            .read("cache.log")
            .contains("umask takes effect at the next start")
    );
}

/// Whatever is wrong with a file, it changes nothing, and the cache log says where the fault is.
#[test]
fn a_broken_file_changes_nothing() {
    let origin = origin(&Gate::new());
    let program = forward("acl secret urlpath_regex ^/secret\nhttp_access deny secret");
    let good =
        conf(&program).replace("http_access allow all\nacl", "acl") + "http_access allow all\n";
    reload(&program, &good);
    let mut client = client(&program);
    let lines = good.lines().count();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    let cases = [
        (
            format!("{good}http_acess allow all\n"),
            format!("squid.conf({}): unrecognized", lines + 1),
        ),
        (
            format!("http_access allow nobody\n{good}"),
            "line 1: http_access allow nobody".into(),
        ),
        (
            format!("{good}access_log stdio:/nowhere/access.log\n"),
            "/nowhere/access.log".into(),
        ),
        (
            format!("{good}include /nowhere/*.conf\n"),
            "/nowhere/*.conf".into(),
        ),
        (
            good.replace(&format!("127.0.0.1:{}", program.port()), &taken.to_string()),
            format!("Cannot bind socket to {taken}"),
        ),
    ];
    for (conf, fault) in cases {
        refused(&program, &conf);
        let log = program.read("cache.log");
        assert!(log.contains(&fault), "{fault}: {log}");
        assert_eq!(client.get(&origin.url("/hit")).text(), "hit");
        assert_eq!(client.get(&origin.url("/secret")).status, 403);
    }
}

/// What clients of all kinds saw.
#[derive(Debug, Default)]
struct Seen {
    served: AtomicU64,
    logged: AtomicU64,
    faults: Mutex<Vec<String>>,
}

/// What a client does again and again.
type Round = Box<dyn FnMut(&Seen) -> Result<(), String> + Send>;

/// Clients that ask all the while: hits on one connection and on many, misses, large bodies, tunnels. Anything but
/// the right answer is a fault.
struct Load {
    stop: Arc<AtomicBool>,
    seen: Arc<Seen>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Load {
    fn start(addr: SocketAddr, origin: &Origin) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Seen::default());
        let hash = Pattern::new("large", 4 << 20).hash();
        let mut threads = Vec::new();
        let mut begin = |name: &'static str, mut round: Round| {
            let (stop, seen) = (Arc::clone(&stop), Arc::clone(&seen));
            threads.push(thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    match round(&seen) {
                        Ok(()) => {
                            seen.served.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(fault) => seen.faults.lock().unwrap().push(format!("{name}: {fault}")),
                    }
                }
            }));
        };
        let (hit, miss, large) = (
            origin.url("/hit"),
            origin.url("/miss"),
            origin.url("/large"),
        );
        let url = hit.clone();
        let mut kept: Option<Client> = None;
        begin(
            "kept connection",
            Box::new(move |seen| {
                let client = kept.get_or_insert_with(|| Client::connect(addr));
                let answer = exchange(client, &url, "hit", seen)?;
                if !answer {
                    kept = None;
                }
                Ok(())
            }),
        );
        begin(
            "new connections",
            Box::new(move |seen| {
                connect(addr)?;
                exchange(&mut Client::connect(addr), &hit, "hit", seen).map(drop)
            }),
        );
        begin(
            "misses",
            Box::new(move |seen| {
                exchange(&mut Client::connect(addr), &miss, "miss", seen).map(drop)
            }),
        );
        begin(
            "large bodies",
            Box::new(move |seen| {
                let mut client = Client::connect_narrow(addr).keep_no_bodies();
                client.send_request("GET", &large, &[]);
                let answer = client
                    .try_response_to("GET")
                    .map_err(|failed| format!("{failed:?}"))?;
                seen.logged.fetch_add(1, Ordering::Relaxed);
                (answer.status == 200 && answer.content.hash() == hash)
                    .then_some(())
                    .ok_or_else(|| format!("{}", answer.status))
            }),
        );
        let target = origin.addr().to_string();
        begin(
            "tunnels",
            Box::new(move |seen| {
                let mut client = Client::connect(addr);
                client.send_request("CONNECT", &target, &[]);
                let opened = client
                    .try_response_to("CONNECT")
                    .map_err(|failed| format!("{failed:?}"))?;
                seen.logged.fetch_add(1, Ordering::Relaxed);
                if opened.status != 200 {
                    return Err(format!("tunnel {}", opened.status));
                }
                for _ in 0..20 {
                    client.send_request("GET", "/miss", &[("Host", &target)]);
                    let answer = client
                        .try_response_to("GET")
                        .map_err(|failed| format!("{failed:?}"))?;
                    if answer.text() != "miss" {
                        return Err(format!("in the tunnel {}", answer.status));
                    }
                    thread::sleep(Duration::from_millis(5));
                }
                Ok(())
            }),
        );
        Self {
            stop,
            seen,
            threads,
        }
    }

    /// Ends the load; gives the number of transactions that the access log must have.
    fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        let faults = self.seen.faults.lock().unwrap();
        let served = self.seen.served.load(Ordering::Relaxed);
        println!("reload: {served} rounds served");
        assert!(
            faults.is_empty(),
            "{} faults of {served}: {:?}",
            faults.len(),
            &faults[..faults.len().min(5)]
        );
        assert!(served > 50, "{served}");
        self.seen.logged.load(Ordering::Relaxed)
    }
}

fn connect(addr: SocketAddr) -> Result<(), String> {
    TcpStream::connect(addr)
        .map(drop)
        .map_err(|error| format!("refused: {error}"))
}

/// One request; says whether the connection lives on.
fn exchange(client: &mut Client, url: &str, expected: &str, seen: &Seen) -> Result<bool, String> {
    client.send_request("GET", url, &[]);
    let answer = client
        .try_response_to("GET")
        .map_err(|failed| format!("{failed:?}"))?;
    seen.logged.fetch_add(1, Ordering::Relaxed);
    if answer.status != 200 || answer.text() != expected {
        return Err(format!("{} {}", answer.status, answer.text()));
    }
    Ok(!answer
        .field("Connection")
        .is_some_and(|said| said.eq_ignore_ascii_case("close")))
}

/// Reloads one after the other, with other ports, rules, logs, workers and peers each time, and broken files in
/// between: nobody is refused, cut, or given another answer.
#[test]
fn two_hundred_reloads_under_load() {
    let origin = origin(&Gate::new());
    let program = forward("workers 2");
    let conf = conf(&program);
    let others = [free_port(), free_port(), free_port()];
    let load = Load::start(program.addr(), &origin);
    for round in 0..200_usize {
        let mut next = conf.replace("workers 2", &format!("workers {}", 1 + round % 3));
        next += &format!(
            "acl net{round} dst 10.{}.0.0/16\nhttp_access deny net{round}\n",
            round % 200
        );
        if round % 2 == 0 {
            next += &format!("http_port 127.0.0.1:{} name=p{round}\n", others[round % 3]);
        }
        if round % 3 == 0 {
            next = next.replace("/access.log", "/other.log");
        }
        if round % 5 == 0 {
            next += "cache_peer 127.0.0.1 parent 9 0 no-query name=spare\ncache_peer_access spare deny all\n";
        }
        if round % 10 == 9 {
            refused(&program, &format!("{next}no_such_directive {round}\n"));
        }
        reload(&program, &next);
    }
    load.stop();
    assert_eq!(said(&program, "Reconfigured."), 200);
    assert_eq!(said(&program, "panic"), 0);
}

/// Rotation under load loses no line and tears none.
#[test]
fn rotation_under_load() {
    let origin = origin(&Gate::new());
    let program = forward("workers 2\nlogfile_rotate 40");
    let load = Load::start(program.addr(), &origin);
    for _ in 0..30 {
        thread::sleep(Duration::from_millis(60));
        ask(&program, Signal::USR1, "Rotating the logs");
    }
    let transactions = load.stop();
    let names: Vec<String> = (0..40)
        .map(|number| format!("access.log.{number}"))
        .collect();
    let lines = || -> Vec<String> {
        let files = names.iter().map(String::as_str).chain(["access.log"]);
        let texts = files
            .filter(|name| program.dir().join(name).exists())
            .map(|name| program.read(name));
        texts
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    };
    // A connection that closes before its first byte isn't a transaction of the load's.
    let counted = || {
        lines()
            .iter()
            .filter(|line| !line.contains("error:"))
            .count() as u64
    };
    until("all lines", || (counted() >= transactions).then_some(()));
    for line in lines() {
        Entry::of(&line);
    }
    assert_eq!(counted(), transactions);
    assert!(program.dir().join("access.log.20").exists());
}

/// `logfile_rotate` of a reload holds for the next rotation.
#[test]
fn the_number_of_old_logs_changes() {
    let program = forward("logfile_rotate 0");
    let conf = conf(&program);
    let origin = origin(&Gate::new());
    client(&program).get(&origin.url("/miss"));
    program.wait_for_log_lines(1);
    reload(
        &program,
        &conf.replace("logfile_rotate 0", "logfile_rotate 2"),
    );
    ask(&program, Signal::USR1, "Rotating the logs");
    until("an old log", || {
        program.dir().join("access.log.0").exists().then_some(())
    });
}
