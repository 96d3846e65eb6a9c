//! Helpers that are killed, hang, babble, end and are too slow, under load: it costs at most their own questions. Nobody
//! is let in by mistake, other helpers' users notice nothing, and the proxy stays as large as it was.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, kill_process};
use testkit::{Client, Origin, Program, Reply, Request, Response, Signal, until};

use crate::support::client;

/// Says no to what has `no` in it, and yes to all else; a rewriter's yes adds `?seen`.
const WELL: &str = r#"while read -r c q rest; do
  case "$q $rest" in
    *no*) echo "$c ERR" ;;
    *) echo "$c OK rewrite-url=\"$q?seen\"" ;;
  esac
done"#;

/// Clients at a time, and requests of each while helpers are killed.
const CLIENTS: usize = 8;
const REQUESTS: usize = 400;

/// A helper is killed after so many answers.
const ANSWERS_PER_DEATH: usize = 25;

/// The proxy may have grown by so much.
const GROWTH_KIB_MAX: u64 = 64 << 10;

/// What a helper decides over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    ExternalAcl,
    Rewriter,
    Login,
}

/// What became of a request whose answer is known beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Right,
    /// The helper's word was lost, and the request with it.
    Lost,
    Wrong,
}

impl Kind {
    /// The lines for a helper of this kind, whose pool has these options.
    fn conf(self, options: &str) -> String {
        let words: Vec<String> = match self {
            Self::ExternalAcl => {
                let options = options
                    .split(' ')
                    .map(|option| match option.split_once('=') {
                        Some(("max" | "startup" | "idle", _)) => format!("children-{option}"),
                        _ => option.to_owned(),
                    });
                options.collect()
            }
            Self::Rewriter | Self::Login => vec![options.replace("max=", "")],
        };
        let options = words.join(" ");
        match self {
            Self::ExternalAcl => format!(
                "external_acl_type asked ttl=0 negative_ttl=0 {options} %URI /bin/sh {{dir}}/helper\n\
                 acl asked external asked\nhttp_access deny odd !asked\n"
            ),
            Self::Rewriter => format!(
                "url_rewrite_program /bin/sh {{dir}}/helper\nurl_rewrite_children {options}\n\
                 url_rewrite_access allow odd\nurl_rewrite_access deny all\n"
            ),
            Self::Login => format!(
                "auth_param basic program /bin/sh {{dir}}/helper\nauth_param basic children {options}\n\
                 auth_param basic credentialsttl 1 second\nacl user proxy_auth REQUIRED\n\
                 http_access deny odd !user\n"
            ),
        }
    }

    /// Sends a request to which the helper has to say this; every number is another question.
    fn ask(self, client: &mut Client, yes: bool, number: usize) -> Fate {
        let word = if yes { "yes" } else { "no" };
        let url = format!("http://odd.test/{word}/{number}");
        let login = format!("Basic {}", STANDARD.encode(format!("{word}{number}:x")));
        let fields = [("Proxy-Authorization", &*login)];
        let answer = match self {
            Self::Login => client.request("GET", "http://odd.test/", &fields),
            Self::ExternalAcl | Self::Rewriter => client.get(&url),
        };
        let seen = answer.status == 200 && answer.text().ends_with("?seen");
        match (self, yes, answer.status) {
            (Self::Rewriter, yes, 200) if seen == yes => Fate::Right,
            (Self::Rewriter, _, 500) => Fate::Lost,
            (Self::ExternalAcl | Self::Login, true, 200) => Fate::Right,
            (Self::ExternalAcl, yes, 403) | (Self::Login, yes, 407) if yes => Fate::Lost,
            (Self::ExternalAcl, false, 403) | (Self::Login, false, 407) => Fate::Right,
            _ => Fate::Wrong,
        }
    }
}

/// A proxy that asks `helper` about `odd.test`, and one that is well about all other hosts; an origin that is all hosts.
struct Stage {
    program: Program,
    _origin: Origin,
}

impl Stage {
    fn new(kind: Kind, options: &str, helper: &str, conf: &str) -> Self {
        let origin = Origin::start(|request: &Request| Reply::ok(&request.target));
        let conf = format!(
            "{conf}\nacl odd dstdomain odd.test\n{}
external_acl_type well ttl=0 negative_ttl=0 children-max=2 concurrency=20 %URI /bin/sh {{dir}}/well
acl well external well
http_access deny !odd !well
http_access allow all
cache deny all
cache_peer 127.0.0.1 parent {} 0 no-query originserver
never_direct allow all
",
            kind.conf(options),
            origin.port()
        );
        let program = Program::builder(&conf)
            .file("helper", helper)
            .file("well", WELL)
            .start();
        Self {
            program,
            _origin: origin,
        }
    }

    /// What a neighbour of the odd helper's users gets, whose own helper is well.
    fn neighbour(&self, client: &mut Client, number: usize) -> Response {
        client.get(&format!("http://even.test/yes/{number}"))
    }

    /// The processes that the program has started.
    fn children(&self) -> Vec<Pid> {
        let tasks = format!("/proc/{}/task", self.program.pid());
        let tasks = std::fs::read_dir(tasks).into_iter().flatten().flatten();
        let lists = tasks.map(|task| task.path().join("children"));
        let texts = lists.filter_map(|list: PathBuf| std::fs::read_to_string(list).ok());
        let texts: Vec<String> = texts.collect();
        let pids = texts.iter().flat_map(|text| text.split_whitespace());
        pids.filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
            .collect()
    }

    fn is_sound(&mut self, rss_kib: u64) {
        assert!(self.program.try_wait().is_none(), "the proxy has ended");
        let grown = self.program.rss_kib().saturating_sub(rss_kib);
        assert!(grown < GROWTH_KIB_MAX, "{grown} KiB more");
        let log = self.program.read("cache.log");
        assert!(!log.contains("panicked"), "{log}");
    }
}

/// Kills a process of the program after every so many answers, another one each time, until `over`. Says how many.
fn kill_at_random(stage: &Stage, answered: &AtomicUsize, over: &AtomicBool) -> usize {
    let (mut kills, mut luck) = (0, 1_usize);
    while !over.load(Relaxed) {
        if answered.load(Relaxed) < (kills + 1) * ANSWERS_PER_DEATH {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        let children = stage.children();
        luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if let Some(pid) = children.get((luck >> 33) % children.len().max(1)) {
            // It may have ended by itself since.
            kill_process(*pid, Signal::KILL).ok();
        }
        kills += 1;
    }
    kills
}

/// Helpers of each kind are killed while they are asked as fast as the proxy can: no answer is given to another question,
/// hardly one is lost, and afterwards none.
#[test]
fn helpers_killed_at_random_give_no_wrong_answer() {
    for kind in [Kind::ExternalAcl, Kind::Rewriter, Kind::Login] {
        let mut stage = Stage::new(kind, "max=4 startup=4 concurrency=20", WELL, "");
        let (answered, over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let rss_kib = stage.program.rss_kib();
        let ask_all = |thread: usize| {
            let mut client = client(&stage.program);
            let numbers = (0..REQUESTS).map(|request| thread * REQUESTS + request);
            let fates = numbers.map(|number| {
                let fate = kind.ask(&mut client, number % 2 == 0, number);
                answered.fetch_add(1, Relaxed);
                fate
            });
            fates.collect::<Vec<_>>()
        };
        let (fates, kills) = thread::scope(|scope| {
            let killer = scope.spawn(|| kill_at_random(&stage, &answered, &over));
            let asking: Vec<_> = (0..CLIENTS)
                .map(|thread| scope.spawn(move || ask_all(thread)))
                .collect();
            let fates = asking.into_iter().flat_map(|thread| thread.join().unwrap());
            let fates: Vec<Fate> = fates.collect();
            over.store(true, Relaxed);
            (fates, killer.join().unwrap())
        });
        let count = |wanted| fates.iter().filter(|fate| **fate == wanted).count();
        let (lost, wrong) = (count(Fate::Lost), count(Fate::Wrong));
        println!("{kind:?}: {kills} killed, {lost} of {} lost", fates.len());
        assert!(kills > REQUESTS / ANSWERS_PER_DEATH, "{kills}");
        assert_eq!((fates.len(), wrong), (CLIENTS * REQUESTS, 0), "{kind:?}");
        assert!(lost * 20 <= fates.len(), "{kind:?}: {lost} lost");
        until("a pool that is well again", || {
            let mut client = client(&stage.program);
            let all = (1..20)
                .all(|number| kind.ask(&mut client, true, 1_000_000 + number) == Fate::Right);
            all.then_some(())
        });
        stage.is_sound(rss_kib);
    }
}

/// Each way to misbehave, under load: nobody is let in by it, whose helper is well gets every answer, and the proxy
/// doesn't grow.
#[test]
fn misbehaviour_costs_its_own_questions() {
    const LATE: &str = "url_rewrite_timeout 200 milliseconds on_timeout=fail";
    let many = "max=3 startup=3 concurrency=10";
    let one = "max=2 startup=2 concurrency=0 queue-size=1000";
    for (what, kind, options, conf, helper, fate) in [
        (
            "says nothing",
            Kind::Rewriter,
            many,
            LATE,
            "while read -r q; do :; done",
            Fate::Lost,
        ),
        (
            "reads nothing",
            Kind::Rewriter,
            many,
            LATE,
            "exec sleep 600",
            Fate::Lost,
        ),
        (
            "babbles",
            Kind::ExternalAcl,
            many,
            "",
            "while read -r c q; do echo \"hello $c\"; done",
            Fate::Lost,
        ),
        (
            "says bytes",
            Kind::ExternalAcl,
            many,
            "",
            "while read -r c q; do printf '\\377\\000\\001%s OK\\n' \"$c\"; done",
            Fate::Lost,
        ),
        (
            "says a megabyte",
            Kind::ExternalAcl,
            many,
            "",
            "x=$(head -c 1000000 /dev/zero | tr '\\0' x); while read -r c q; do echo \"$c OK tag=$x\"; done",
            Fate::Lost,
        ),
        (
            "never ends its line",
            Kind::ExternalAcl,
            many,
            "",
            "read -r q; exec cat /dev/zero",
            Fate::Lost,
        ),
        (
            "answers what wasn't asked",
            Kind::ExternalAcl,
            many,
            "",
            "while read -r c q; do echo \"$((c + 1000)) OK\"; done",
            Fate::Lost,
        ),
        (
            "closes its input",
            Kind::ExternalAcl,
            many,
            "",
            "exec <&-; exec sleep 600",
            Fate::Lost,
        ),
        (
            "closes its output",
            Kind::ExternalAcl,
            many,
            "",
            "exec >&-; exec cat",
            Fate::Lost,
        ),
        (
            "ends at the start",
            Kind::ExternalAcl,
            many,
            "",
            "exit 1",
            Fate::Lost,
        ),
        (
            "dies of each question",
            Kind::ExternalAcl,
            many,
            "",
            "read -r q; exit 1",
            Fate::Lost,
        ),
        (
            "ends now and then",
            Kind::ExternalAcl,
            many,
            "",
            "n=0; while read -r c q; do n=$((n + 1)); [ $n -gt 45 ] && exit 1; echo \"$c OK\"; done",
            Fate::Right,
        ),
        (
            "is slower than the load",
            Kind::ExternalAcl,
            one,
            "",
            "while read -r q; do sleep 0.02; echo OK; done",
            Fate::Right,
        ),
    ] {
        let mut stage = Stage::new(kind, options, helper, conf);
        let mut first = client(&stage.program);
        assert_eq!(stage.neighbour(&mut first, 0).status, 200, "{what}");
        let rss_kib = stage.program.rss_kib();
        thread::scope(|scope| {
            for thread in 0..CLIENTS {
                let stage = &stage;
                scope.spawn(move || {
                    let mut client = client(&stage.program);
                    for number in 0..10 {
                        let got = kind.ask(&mut client, true, thread * 10 + number);
                        assert_eq!(got, fate, "a helper that {what}");
                    }
                });
                scope.spawn(move || {
                    let mut client = client(&stage.program);
                    for number in 0..50 {
                        let answer = stage.neighbour(&mut client, thread * 50 + number);
                        assert_eq!(answer.status, 200, "beside a helper that {what}");
                    }
                });
            }
        });
        stage.is_sound(rss_kib);
    }
}

/// More questions than a helper answers wait, with a word in the log, or go by where that is allowed; who leaves waits
/// no longer; and a reload with a helper that is well ends it. Both words of `on-persistent-overload` are read.
#[test]
fn an_overloaded_helper_keeps_only_its_own_users_waiting() {
    for overload in ["ERR", "die"] {
        let options = format!("max=1 startup=1 queue-size=4 on-persistent-overload={overload}");
        let hang = "while read -r q; do exec sleep 600; done";
        let mut stage = Stage::new(Kind::Rewriter, &options, hang, "");
        let rss_kib = stage.program.rss_kib();
        let mut waiting: Vec<Client> = (0..40).map(|_| client(&stage.program)).collect();
        for (number, client) in waiting.iter_mut().enumerate() {
            client.send_request("GET", &format!("http://odd.test/yes/{number}"), &[]);
        }
        until("a word in the log", || {
            let log = stage.program.read("cache.log");
            log.contains("redirector: 5 questions wait for 1 processes")
                .then_some(())
        });
        let mut beside = client(&stage.program);
        for number in 0..20 {
            assert_eq!(stage.neighbour(&mut beside, number).status, 200);
        }
        drop(waiting);
        stage.program.write(
            "helper",
            WELL.replace("read -r c q", "read -r q").replace("$c ", ""),
        );
        let conf = stage
            .program
            .read("squid.conf")
            .replace("startup=1", "startup=0");
        stage.program.write("squid.conf", conf);
        stage.program.signal(Signal::HUP);
        until("right answers after a reload", || {
            let mut client = client(&stage.program).wait(Duration::from_millis(500));
            client.send_request("GET", "http://odd.test/yes/again", &[]);
            let answer = client.try_response_to("GET").ok()?;
            answer.text().ends_with("?seen").then_some(())
        });
        stage.is_sound(rss_kib);
    }
}
