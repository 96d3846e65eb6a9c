//! One program with one rule set: started, asked, ended.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use testkit::{
    Client, Failed, Origin, Program, Request, WAIT, free_port, is_listening, until_within,
};

use super::rule_set::{Ask, RuleSet};
use super::verdict::{answer, verdict};

/// Lines that keep both programs small and quiet, and give them the same names.
const COMMON: &str = "\
access_log none
visible_hostname proxy.test
hosts_file {dir}/hosts
dns_nameservers 127.0.0.1
dns_timeout 1 second
cache_mem 8 MB
coredump_dir {dir}
workers 1
shutdown_lifetime 0 seconds
";

/// Squid's alone: what we don't have, or have no use for.
const SQUIDS: &str =
    "pinger_enable off\nnetdb_filename none\nminimum_direct_hops 0\nminimum_direct_rtt 0\n";

const HOSTS: &str = "\
127.0.0.1 localhost
127.0.0.2 two.clients.example two
127.0.0.3 three.clients.example
192.0.2.1 one.hosts.example
192.0.2.2 two.hosts.example
198.51.100.7 seven.hosts.example
";

/// What both write to the cache log once they have read their rules.
const ACCEPTS: &str = "Accepting HTTP Socket connections";

static NAMES: AtomicUsize = AtomicUsize::new(0);

/// Which of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Squid,
    Squall,
}

/// Runs a program with a rule set: the verdict of each request, in order.
pub(crate) fn verdicts(side: Side, binary: &Path, rules: &RuleSet) -> Vec<String> {
    let origin = counting_origin();
    // The same at another port, for rules that choose between the two.
    let parent = counting_origin();
    let number = NAMES.fetch_add(1, Ordering::Relaxed);
    let service = format!("conf{}x{number}", process::id());
    let second = free_port();
    let extra = match side {
        Side::Squid => SQUIDS,
        Side::Squall => "",
    };
    let conf = format!("{COMMON}{extra}{}\n", rules.conf);
    let builder = Program::builder(&conf)
        .binary(binary)
        .with("origin", origin.port())
        .with("parent", parent.port())
        .with("second", second)
        .file("hosts", HOSTS)
        .arg("-n")
        .arg(&service);
    let builder = rules
        .files
        .iter()
        .fold(builder, |builder, (name, text)| builder.file(name, text));
    if rules.asks.is_empty() {
        let finished = builder.arg("-k").arg("parse").run();
        return vec![parsed(finished.status.success())];
    }
    let mut program = builder.arg("-N").launch();
    let ports = [program.port(), second];
    let used = if rules.conf.contains("{second}") {
        2
    } else {
        1
    };
    let used = ports.get(..used).unwrap_or_default();
    let started = serves(&mut program, used);
    let said = if started {
        let mut talk = Talk {
            program: &mut program,
            ports,
            origin: origin.port().to_string(),
            open: None,
        };
        rules.asks.iter().map(|ask| talk.ask(ask)).collect()
    } else {
        vec!["doesn't start".to_owned(); rules.asks.len()]
    };
    drop(program);
    forget(&service);
    said
}

/// An origin that counts how often it was asked for a target.
fn counting_origin() -> Origin {
    let serials = Mutex::new(HashMap::<String, usize>::new());
    Origin::start(move |request: &Request| {
        let mut serials = serials.lock().unwrap_or_else(PoisonError::into_inner);
        let serial = serials.entry(request.target.clone()).or_default();
        *serial += 1;
        answer(request, *serial)
    })
}

fn parsed(fine: bool) -> String {
    if fine { "starts" } else { "doesn't start" }.to_owned()
}

/// Waits until the program says that it accepts connections, and does at all these ports, or has ended.
fn serves(program: &mut Program, ports: &[u16]) -> bool {
    let fate = until_within(WAIT, || {
        let gone = program.try_wait().is_some();
        let says = || program.read("cache.log").contains(ACCEPTS);
        let open = !gone && says() && ports.iter().all(|port| is_listening(*port));
        (gone || open).then_some(open)
    });
    fate == Some(true)
}

/// Squid leaves its segments of shared memory behind when it is killed.
pub(crate) fn forget(service: &str) {
    let files = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    for file in files {
        let name = file.file_name();
        let ours = name
            .to_str()
            .and_then(|name| name.strip_prefix(service))
            .is_some_and(|rest| rest.starts_with('-'));
        if ours {
            drop(fs::remove_file(file.path()));
        }
    }
}

/// The client's side: one connection is kept as long as requests come from the same place to the same place.
struct Talk<'a> {
    program: &'a mut Program,
    ports: [u16; 2],
    /// The origin's port: `{origin}` in a target, and in verdicts.
    origin: String,
    open: Option<(Place, Client)>,
}

type Place = (IpAddr, SocketAddr);

impl Talk<'_> {
    fn ask(&mut self, ask: &Ask) -> String {
        let place = self.place(ask);
        if self.program.try_wait().is_some() {
            return "ended".to_owned();
        }
        let others: Vec<Client> = (0..ask.beside).map(|_| self.busy(place, ask)).collect();
        let kept = self.open.take();
        let kept = kept.filter(|(other, _)| *other == place && !ask.fresh);
        let mut client = match kept {
            Some((_, client)) => client,
            None => Client::connect_from(place.0, place.1),
        };
        let answer = self.converse(&mut client, ask);
        if answer
            .as_ref()
            .is_ok_and(|answer| !answer.head.has("Connection", "close") && ask.method != "CONNECT")
        {
            self.open = Some((place, client));
        }
        drop(others);
        verdict(&answer).replace(&format!(":{}", self.origin), ":{origin}")
    }

    fn place(&self, ask: &Ask) -> Place {
        let [first, second] = self.ports;
        let port = if ask.port == 2 { second } else { first };
        (ask.source.into(), SocketAddr::new(ask.to.into(), port))
    }

    /// Another connection, which the program surely knows of: it has answered there.
    fn busy(&self, place: Place, ask: &Ask) -> Client {
        let mut client = Client::connect_from(place.0, place.1);
        drop(self.converse(&mut client, ask));
        client
    }

    fn converse(&self, client: &mut Client, ask: &Ask) -> Result<testkit::Response, Failed> {
        let target = ask.target.replace("{origin}", &self.origin);
        let host = host(&target);
        let mut fields = vec![("Host", host)];
        let given = ask.fields.iter();
        fields.extend(given.map(|(name, value)| (name.as_str(), value.as_str())));
        client.send_request(ask.method, &target, &fields);
        client.try_response_to(ask.method)
    }
}

/// A URL's host and port, without user information.
fn host(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}
