//! What the resolver promises, shown with a name server of our own on 127.0.0.1.

use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::Mutex;

use hickory_resolver::proto::op::{Message, OpCode, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, AAAA, CNAME, PTR};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};

use super::*;
use crate::testing::{loopback, on_worker};

/// A name server that answers each question with the datagrams that a closure makes.
struct FakeServer {
    addr: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    fn start(reply: impl Fn(&Message) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let socket = UdpSocket::bind(loopback()).unwrap();
        let addr = socket.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut packet = [0; 1500];
            while let Ok((len, from)) = socket.recv_from(&mut packet) {
                let question = Message::from_vec(&packet[..len]).unwrap();
                let query = &question.queries[0];
                let line = format!("{} {}", query.name(), query.query_type());
                log.lock().unwrap().push(line);
                for datagram in reply(&question) {
                    socket.send_to(&datagram, from).unwrap();
                }
            }
        });
        Self { addr, asked }
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn kind(question: &Message) -> RecordType {
    question.queries[0].query_type()
}

fn reply_to(question: &Message, code: ResponseCode, answers: Vec<Record>) -> Vec<u8> {
    let mut message = Message::response(question.metadata.id, OpCode::Query);
    message.metadata.response_code = code;
    message.metadata.recursion_available = true;
    message.add_query(question.queries[0].clone());
    message.add_answers(answers);
    message.to_vec().unwrap()
}

/// The answer with the records that suit the question, from A and AAAA addresses.
fn answer(question: &Message, ttl: u32, addrs: &[&str]) -> Vec<u8> {
    let name = question.queries[0].name().clone();
    let record = |text: &&str| {
        let data = match text.parse::<IpAddr>().unwrap() {
            IpAddr::V4(addr) => RData::A(A(addr)),
            IpAddr::V6(addr) => RData::AAAA(AAAA(addr)),
        };
        (data.record_type() == kind(question)).then(|| Record::from_rdata(name.clone(), ttl, data))
    };
    let records = addrs.iter().filter_map(record).collect();
    reply_to(question, ResponseCode::NoError, records)
}

fn alias(from: &Name, to: &str) -> Record {
    let target = Name::from_ascii(to).unwrap();
    Record::from_rdata(from.clone(), 60, RData::CNAME(CNAME(target)))
}

fn options(servers: &[&FakeServer]) -> Options {
    Options {
        nameservers: servers.iter().map(|server| server.addr).collect(),
        resolv_conf: "/nonexistent".into(),
        hosts_file: None,
        timeout: Duration::from_secs(5),
        retransmit: Duration::from_millis(500),
        ipv6: true,
        ..Options::default()
    }
}

fn resolver(options: Options) -> Resolver {
    Resolver::start(options, Clock::new(), &Arc::default(), Arc::default()).unwrap()
}

fn resolve(resolver: &Resolver, name: &str) -> Result<Vec<String>, DnsError> {
    let answer = on_worker(resolver.resolve(name))?;
    Ok(answer.iter().map(ToString::to_string).collect())
}

fn strings(texts: &[&str]) -> Result<Vec<String>, DnsError> {
    Ok(texts.iter().map(ToString::to_string).collect())
}

#[test]
fn both_families_are_found_and_kept() {
    let server = FakeServer::start(|q| vec![answer(q, 300, &["10.0.0.1", "10.0.0.2", "fd00::1"])]);
    let ours = resolver(options(&[&server]));
    assert!(ours.cached("www.example.com").is_none());
    let expected = strings(&["fd00::1", "10.0.0.1", "10.0.0.2"]);
    assert_eq!(resolve(&ours, "www.example.com"), expected);
    assert_eq!(
        resolve(&ours, "WWW.Example.COM."),
        expected,
        "one name in all spellings"
    );
    assert!(ours.cached("www.example.com").is_some());
    assert_eq!((server.asked(), ours.names()), (2, 1));
    ours.clear();
    assert!(ours.cached("www.example.com").is_none());
}

#[test]
fn ipv4_comes_first_or_alone_where_that_is_wished() {
    let server = FakeServer::start(|q| vec![answer(q, 300, &["10.0.0.1", "fd00::1"])]);
    let first = resolver(Options {
        prefer_ipv4: true,
        ..options(&[&server])
    });
    assert_eq!(resolve(&first, "a.test"), strings(&["10.0.0.1", "fd00::1"]));
    let alone = resolver(Options {
        ipv6: false,
        ..options(&[&server])
    });
    assert_eq!(resolve(&alone, "a.test"), strings(&["10.0.0.1"]));
    assert_eq!(server.asked(), 3);
}

#[test]
fn failures_have_their_names_and_are_kept() {
    for (code, error) in [
        (ResponseCode::NXDomain, DnsError::NotFound),
        (ResponseCode::NoError, DnsError::NoAddress),
        (ResponseCode::ServFail, DnsError::ServerFailed),
        (ResponseCode::Refused, DnsError::ServerFailed),
    ] {
        let server = FakeServer::start(move |q| vec![reply_to(q, code, Vec::new())]);
        let ours = resolver(options(&[&server]));
        assert_eq!(resolve(&ours, "a.test"), Err(error), "{code}");
        let asked = server.asked();
        assert_eq!(ours.cached("a.test"), Some(Err(error)), "{code}");
        assert_eq!(resolve(&ours, "a.test"), Err(error));
        assert_eq!(server.asked(), asked);
        assert_eq!(ours.cells.get(Counter::DnsNegativeHits), 2);
    }
}

#[test]
fn a_server_that_never_answers_is_a_timeout() {
    let server = FakeServer::start(|_| Vec::new());
    let ours = resolver(Options {
        timeout: Duration::from_millis(100),
        retransmit: Duration::from_millis(50),
        ..options(&[&server])
    });
    assert_eq!(resolve(&ours, "a.test"), Err(DnsError::TimedOut));
}

#[test]
fn a_dead_server_gives_way_to_the_next() {
    let (dead, good) = (
        FakeServer::start(|_| Vec::new()),
        FakeServer::start(|q| vec![answer(q, 300, &["10.0.0.1"])]),
    );
    let ours = resolver(options(&[&dead, &good]));
    for name in ["a.test", "b.test", "c.test"] {
        assert_eq!(resolve(&ours, name), strings(&["10.0.0.1"]));
    }
}

#[test]
fn one_silent_family_does_not_hold_up_the_other() {
    let server = FakeServer::start(|q| match kind(q) {
        RecordType::A => vec![answer(q, 300, &["10.0.0.1"])],
        _ => Vec::new(),
    });
    let ours = resolver(Options {
        timeout: Duration::from_secs(1000),
        retransmit: Duration::from_secs(1000),
        ..options(&[&server])
    });
    assert_eq!(resolve(&ours, "a.test"), strings(&["10.0.0.1"]));
}

#[test]
fn answers_that_do_not_fit_the_question_are_passed_over() {
    let server = FakeServer::start(|q| {
        let forged = |change: fn(&mut Message)| {
            let mut message = Message::from_vec(&answer(q, 300, &["6.6.6.6", "::6"])).unwrap();
            change(&mut message);
            message.to_vec().unwrap()
        };
        vec![
            b"".to_vec(),
            b"not DNS at all".to_vec(),
            forged(|message| message.metadata.id ^= 1),
            forged(|message| {
                message.queries[0].set_name(Name::from_ascii("other.test.").unwrap());
            }),
            answer(q, 300, &["10.0.0.1"]),
        ]
    });
    let ours = resolver(options(&[&server]));
    assert_eq!(resolve(&ours, "a.test"), strings(&["10.0.0.1"]));
}

#[test]
fn addresses_of_other_names_in_an_answer_are_not_taken() {
    let server = FakeServer::start(|q| {
        let name = q.queries[0].name();
        let evil = RData::A(A(Ipv4Addr::new(6, 6, 6, 6)));
        let good = RData::A(A(Ipv4Addr::new(10, 0, 0, 1)));
        let records = vec![
            Record::from_rdata(Name::from_ascii("evil.test.").unwrap(), 60, evil),
            alias(name, "real.test."),
            Record::from_rdata(Name::from_ascii("real.test.").unwrap(), 60, good),
        ];
        vec![reply_to(q, ResponseCode::NoError, records)]
    });
    let ours = resolver(Options {
        ipv6: false,
        ..options(&[&server])
    });
    assert_eq!(resolve(&ours, "a.test"), strings(&["10.0.0.1"]));
}

#[test]
fn aliases_are_followed_and_a_loop_of_them_ends() {
    let server = FakeServer::start(|q| {
        let name = q.queries[0].name();
        let target = match name.to_string().as_str() {
            "one.test." => "two.test.",
            "two.test." => "three.test.",
            "loop.test." => "pool.test.",
            "pool.test." => "loop.test.",
            _ => return vec![answer(q, 300, &["10.0.0.1", "fd00::1"])],
        };
        vec![reply_to(
            q,
            ResponseCode::NoError,
            vec![alias(name, target)],
        )]
    });
    let ours = resolver(options(&[&server]));
    assert_eq!(
        resolve(&ours, "one.test"),
        strings(&["fd00::1", "10.0.0.1"])
    );
    let before = server.asked();
    assert!(resolve(&ours, "loop.test").is_err());
    assert!(server.asked() - before < 64, "{}", server.asked() - before);
}

#[test]
fn an_answer_of_very_many_addresses_is_cut() {
    let server = FakeServer::start(|q| {
        let name = q.queries[0].name();
        let record = |i: u16| {
            let data = RData::AAAA(AAAA(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, i)));
            Record::from_rdata(name.clone(), 60, data)
        };
        let records = match kind(q) {
            RecordType::AAAA => (0..120).map(record).collect(),
            _ => Vec::new(),
        };
        vec![reply_to(q, ResponseCode::NoError, records)]
    });
    let ours = resolver(Options {
        packet_bytes_max: Some(4096),
        ..options(&[&server])
    });
    assert_eq!(resolve(&ours, "a.test").unwrap().len(), ADDRESSES_MAX);
}

#[test]
fn a_ttl_of_zero_is_not_kept_and_extreme_ones_are_bounded() {
    for (ttl, kept_secs) in [
        (0, 0),
        (300, 300),
        (i32::MAX.unsigned_abs(), 3600),
        (1 << 31, 3600),
    ] {
        let server = FakeServer::start(move |q| vec![answer(q, ttl, &["10.0.0.1"])]);
        let ours = resolver(Options {
            negative_ttl: Duration::ZERO,
            positive_ttl_max: Duration::from_secs(3600),
            ipv6: false,
            ..options(&[&server])
        });
        let asked_ns = ours.shared.now_ns();
        resolve(&ours, "a.test").unwrap();
        let expires_ns = ours.shared.addresses.expires_ns("a.test");
        let kept_ns = expires_ns - asked_ns;
        let lowest_ns = kept_secs * 1_000_000_000;
        assert!(
            (lowest_ns..lowest_ns + 5_000_000_000).contains(&kept_ns),
            "{ttl}: {kept_ns}"
        );
        assert_eq!(ours.cached("a.test").is_some(), kept_secs > 0, "{ttl}");
    }
}

#[test]
fn old_addresses_serve_while_the_servers_fail() {
    let calls = Mutex::new(0);
    let server = FakeServer::start(move |q| {
        *calls.lock().unwrap() += 1;
        match *calls.lock().unwrap() {
            1 => vec![answer(q, 0, &["10.0.0.1"])],
            _ => vec![reply_to(q, ResponseCode::ServFail, Vec::new())],
        }
    });
    let ours = resolver(Options {
        negative_ttl: Duration::ZERO,
        ipv6: false,
        ..options(&[&server])
    });
    assert_eq!(resolve(&ours, "a.test"), strings(&["10.0.0.1"]));
    assert_eq!(
        resolve(&ours, "a.test"),
        strings(&["10.0.0.1"]),
        "the server fails now"
    );
    assert_eq!(resolve(&ours, "b.test"), Err(DnsError::ServerFailed));
}

#[test]
fn who_asks_for_the_same_name_meanwhile_shares_the_query() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Mutex::new(released);
    let server = FakeServer::start(move |q| {
        // Holds the answer back until all have asked; later questions are answered at once.
        released.lock().unwrap().recv().unwrap_or_default();
        vec![answer(q, 300, &["10.0.0.1"])]
    });
    let ours = resolver(Options {
        ipv6: false,
        ..options(&[&server])
    });
    let waiting: Vec<_> = (0..50).map(|_| ours.ask("a.test")).collect();
    assert_eq!(ours.shared.addresses.in_flight(), 1);
    assert_eq!(ours.questions(10).len(), 1);
    assert_eq!(ours.cells.get(Counter::DnsShared), 49);
    drop(release);
    let threads: Vec<_> = waiting
        .into_iter()
        .map(|one| std::thread::spawn(move || on_worker(one).unwrap().unwrap()))
        .collect();
    for thread in threads {
        assert_eq!(*thread.join().unwrap(), [IpAddr::from([10, 0, 0, 1])]);
    }
    assert_eq!(ours.shared.addresses.in_flight(), 0);
}

#[test]
fn too_many_names_at_once_are_refused() {
    let server = FakeServer::start(|_| Vec::new());
    let ours = resolver(options(&[&server]));
    let mut waiting = Vec::new();
    for number in 0..QUERIES_MAX {
        let name = format!("n{number}.test").into();
        let addresses = &ours.shared.addresses;
        waiting.push(addresses.ask(name, 0, &ours.cells, || Ok(())));
    }
    assert_eq!(resolve(&ours, "one.more.test"), Err(DnsError::Overloaded));
    assert_eq!(ours.cells.get(Counter::LimitDnsQueries), 1);
}

#[test]
fn literals_and_localhost_are_answered_at_once_and_half_literals_are_names() {
    let server = FakeServer::start(|q| vec![reply_to(q, ResponseCode::NXDomain, Vec::new())]);
    let ours = resolver(options(&[&server]));
    for literal in ["10.1.2.3", "fd00::1", "::ffff:127.0.0.1"] {
        let expected: IpAddr = literal.parse().unwrap();
        assert_eq!(*ours.cached(literal).unwrap().unwrap(), [expected]);
    }
    assert_eq!(resolve(&ours, "localhost"), strings(&["127.0.0.1", "::1"]));
    assert_eq!(server.asked(), 0);
    for odd in ["127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1"] {
        assert_eq!(resolve(&ours, odd), Err(DnsError::NotFound), "{odd}");
    }
}

#[test]
fn what_cannot_be_a_name_is_not_asked_for() {
    let server = FakeServer::start(|q| vec![answer(q, 300, &["10.0.0.1"])]);
    let ours = resolver(options(&[&server]));
    let long_label = "a".repeat(64);
    let long_name = "a.".repeat(128);
    for bad in [
        "",
        ".",
        "a..b",
        ".a",
        "a b",
        "a\0b",
        "ä.test",
        &long_label,
        &long_name,
    ] {
        assert_eq!(resolve(&ours, bad), Err(DnsError::BadName), "{bad:?}");
    }
    assert_eq!(server.asked(), 0);
    assert!(resolve(&ours, "_under_score.test").is_ok());
}

#[test]
fn the_hosts_file_comes_first_and_can_be_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hosts");
    std::fs::write(&path, "10.9.9.9 www.test\n10.8.8.8 short.corp.test").unwrap();
    let server = FakeServer::start(|q| vec![reply_to(q, ResponseCode::NXDomain, Vec::new())]);
    let ours = resolver(Options {
        hosts_file: Some(path.clone()),
        append_domain: Some(".corp.test".into()),
        ..options(&[&server])
    });
    assert_eq!(resolve(&ours, "WWW.test"), strings(&["10.9.9.9"]));
    assert_eq!(resolve(&ours, "short"), strings(&["10.8.8.8"]));
    assert_eq!(server.asked(), 0);

    std::fs::write(&path, "10.7.7.7 www.test").unwrap();
    ours.reload_hosts().unwrap();
    assert_eq!(resolve(&ours, "www.test"), strings(&["10.7.7.7"]));
    std::fs::remove_file(&path).unwrap();
    assert!(ours.reload_hosts().is_err());
    assert_eq!(
        resolve(&ours, "www.test"),
        strings(&["10.7.7.7"]),
        "the old one stays"
    );
}

#[test]
fn short_names_get_their_domain() {
    let server = FakeServer::start(|q| match q.queries[0].name().to_string().as_str() {
        "web.corp.test." => vec![answer(q, 300, &["10.0.0.1"])],
        "web.two.test." => vec![answer(q, 300, &["10.0.0.2"])],
        _ => vec![reply_to(q, ResponseCode::NXDomain, Vec::new())],
    });
    let appended = resolver(Options {
        append_domain: Some(".corp.test".into()),
        ..options(&[&server])
    });
    assert_eq!(resolve(&appended, "web"), strings(&["10.0.0.1"]));
    assert_eq!(resolve(&appended, "web.test"), Err(DnsError::NotFound));

    let folder = tempfile::tempdir().unwrap();
    let resolv_conf = folder.path().join("resolv.conf");
    std::fs::write(
        &resolv_conf,
        "nameserver 127.0.0.1\nsearch one.test two.test\n",
    )
    .unwrap();
    let searched = resolver(Options {
        search: true,
        resolv_conf,
        ..options(&[&server])
    });
    assert_eq!(resolve(&searched, "web"), strings(&["10.0.0.2"]));
}

#[test]
fn an_address_that_failed_comes_last_for_a_while() {
    let server = FakeServer::start(|q| vec![answer(q, 300, &["10.0.0.1", "10.0.0.2"])]);
    let ours = resolver(options(&[&server]));
    let bad = IpAddr::from([10, 0, 0, 1]);
    ours.mark_bad(bad);
    assert_eq!(resolve(&ours, "a.test"), strings(&["10.0.0.2", "10.0.0.1"]));
    assert_eq!(
        resolve(&ours, "a.test"),
        strings(&["10.0.0.2", "10.0.0.1"]),
        "from the cache, too"
    );
    ours.mark_good(bad);
    assert_eq!(resolve(&ours, "a.test"), strings(&["10.0.0.1", "10.0.0.2"]));
}

#[test]
fn names_kept_are_bounded() {
    let server = FakeServer::start(|q| vec![answer(q, 300, &["10.0.0.1"])]);
    let ours = resolver(Options {
        names_max: 16,
        ipv6: false,
        ..options(&[&server])
    });
    for number in 0..100 {
        resolve(&ours, &format!("n{number}.test")).unwrap();
    }
    assert!(ours.names() <= 16, "{}", ours.names());
}

#[test]
fn the_thread_ends_with_the_last_clone() {
    let server = FakeServer::start(|q| vec![answer(q, 300, &["10.0.0.1"])]);
    let ours = resolver(options(&[&server]));
    let shared = Arc::downgrade(&ours.shared);
    let (clone, queries) = (ours.counting_in(&Arc::default()), ours.queries.downgrade());
    drop(ours);
    assert!(resolve(&clone, "a.test").is_ok());
    drop(clone);
    assert!(queries.upgrade().is_none());
    while shared.strong_count() > 0 {
        std::thread::yield_now();
    }
}

/// A reply with PTR records for the name that was asked for.
fn names(question: &Message, ttl: u32, targets: &[&str]) -> Vec<u8> {
    let owner = question.queries[0].name().clone();
    let record = |text: &&str| pointer(&owner, ttl, Name::from_ascii(text).unwrap());
    reply_to(
        question,
        ResponseCode::NoError,
        targets.iter().map(record).collect(),
    )
}

fn pointer(owner: &Name, ttl: u32, target: Name) -> Record {
    Record::from_rdata(owner.clone(), ttl, RData::PTR(PTR(target)))
}

fn name_of(resolver: &Resolver, addr: &str) -> Result<String, DnsError> {
    let addr = addr.parse().unwrap();
    on_worker(resolver.name_of(addr)).map(|name| name.to_string())
}

#[test]
fn an_address_has_a_name_that_is_kept() {
    let server = FakeServer::start(|q| vec![names(q, 300, &["Web.Example.COM.", "b.example."])]);
    let ours = resolver(options(&[&server]));
    assert!(ours.known_name("192.0.2.7".parse().unwrap()).is_none());
    for spelling in ["192.0.2.7", "::ffff:192.0.2.7"] {
        assert_eq!(name_of(&ours, spelling).as_deref(), Ok("web.example.com"));
    }
    assert_eq!(
        name_of(&ours, "2001:db8::1").as_deref(),
        Ok("web.example.com")
    );
    let asked = server.asked.lock().unwrap().clone();
    assert_eq!(asked[0], "7.2.0.192.in-addr.arpa. PTR");
    assert!(
        asked[1].ends_with(".8.b.d.0.1.0.0.2.ip6.arpa. PTR"),
        "{asked:?}"
    );
    assert_eq!(asked.len(), 2);
    ours.clear();
    assert!(ours.known_name("192.0.2.7".parse().unwrap()).is_none());
}

#[test]
fn the_cache_can_be_listed() {
    let server = FakeServer::start(|q| match kind(q) {
        RecordType::PTR => vec![names(q, 300, &["web.example.com."])],
        _ => vec![answer(q, 300, &["10.0.0.1", "10.0.0.2"])],
    });
    let hosts = std::env::temp_dir().join(format!("hosts-listed-{}", std::process::id()));
    std::fs::write(&hosts, "127.0.0.9 printer lp\n").unwrap();
    let ours = resolver(Options {
        hosts_file: Some(hosts.clone()),
        ipv6: false,
        ..options(&[&server])
    });
    std::fs::remove_file(hosts).unwrap();
    resolve(&ours, "a.test").unwrap();
    ours.mark_bad("10.0.0.1".parse().unwrap());
    name_of(&ours, "192.0.2.7").unwrap();
    let names = ours.known_names(10);
    let shown = names
        .iter()
        .map(|known| (&*known.name, known.waited.is_some()));
    let shown: Vec<_> = shown.collect();
    assert_eq!(shown, [("lp", false), ("printer", false), ("a.test", true)]);
    assert_eq!(names[2].bad, ["10.0.0.1".parse::<IpAddr>().unwrap()]);
    let ttl_secs = names[2].waited.unwrap().ttl_secs;
    assert!((1..=300).contains(&ttl_secs), "{ttl_secs}");
    let addresses = ours.known_addresses(10);
    let shown: Vec<_> = addresses
        .iter()
        .map(|known| known.addr.to_string())
        .collect();
    assert_eq!(shown, ["127.0.0.9", "192.0.2.7"]);
    assert_eq!((ours.sizes(), ours.hosts_sizes()), ((1, 1), (2, 1)));
    assert_eq!(
        (ours.known_names(1).len(), ours.known_addresses(1).len()),
        (1, 1)
    );
    let [asked] = ours.name_servers() else {
        panic!("one server");
    };
    assert_eq!(
        (asked.addr, asked.queries(), asked.replies()),
        (server.addr, 2, 2)
    );
    assert!(ours.questions(10).is_empty());
}

#[test]
fn an_address_without_a_name_is_kept_too() {
    for (code, error) in [
        (ResponseCode::NXDomain, DnsError::NotFound),
        (ResponseCode::NoError, DnsError::NoAddress),
        (ResponseCode::ServFail, DnsError::ServerFailed),
    ] {
        let server = FakeServer::start(move |q| vec![reply_to(q, code, Vec::new())]);
        let ours = resolver(options(&[&server]));
        assert_eq!(name_of(&ours, "192.0.2.7"), Err(error));
        let asked = server.asked();
        assert_eq!(name_of(&ours, "192.0.2.7"), Err(error));
        assert_eq!(server.asked(), asked, "{code}");
    }
}

#[test]
fn the_hosts_file_names_addresses_first() {
    let server = FakeServer::start(|q| vec![names(q, 300, &["dns.example."])]);
    let dir = tempfile::tempdir().unwrap();
    let hosts = dir.path().join("hosts");
    std::fs::write(&hosts, "192.0.2.7 Here.example web\n").unwrap();
    let ours = resolver(Options {
        hosts_file: Some(hosts),
        ..options(&[&server])
    });
    assert_eq!(name_of(&ours, "192.0.2.7").as_deref(), Ok("here.example"));
    assert_eq!(name_of(&ours, "192.0.2.8").as_deref(), Ok("dns.example"));
    assert_eq!(server.asked(), 1);
}

#[test]
fn what_is_no_host_name_is_no_name() {
    let server = FakeServer::start(|q| {
        let owner = q.queries[0].name();
        let odd = Name::from_labels([&b"a b\nc"[..], b"example"]).unwrap();
        vec![reply_to(
            q,
            ResponseCode::NoError,
            vec![pointer(owner, 300, odd)],
        )]
    });
    assert_eq!(
        name_of(&resolver(options(&[&server])), "192.0.2.7"),
        Err(DnsError::NoAddress)
    );
}

#[test]
fn aliases_of_addresses_are_followed_and_strangers_are_not() {
    let server = FakeServer::start(|q| {
        let owner = q.queries[0].name().clone();
        let subnet = Name::from_ascii("7.0-25.2.0.192.in-addr.arpa.").unwrap();
        let stranger = Name::from_ascii("9.2.0.192.in-addr.arpa.").unwrap();
        let named = |owner: &Name, text: &str| pointer(owner, 300, Name::from_ascii(text).unwrap());
        let records = vec![
            named(&stranger, "stranger.example."),
            alias(&owner, "7.0-25.2.0.192.in-addr.arpa."),
            named(&subnet, "right.example."),
        ];
        vec![reply_to(q, ResponseCode::NoError, records)]
    });
    assert_eq!(
        name_of(&resolver(options(&[&server])), "192.0.2.7").as_deref(),
        Ok("right.example")
    );
}
