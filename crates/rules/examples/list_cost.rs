//! What a list of many values costs: time to load, memory kept and at the peak, time of a test that matches and of one
//! that doesn't. `cargo run --release -p rules --example list_cost -- dstdomain 1000000`; kinds: see [`KINDS`].
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Instant;

use http::Method;
use rules::{Environment, Facts, Learnt, List, Rules};
use wire::target::UriWhitespace;
use wire::{Fields, Target};

/// Name on the command line, ACL type with flags, writer of the value of a number.
type Kind = (&'static str, &'static str, fn(u32) -> String);

const KINDS: &[Kind] = &[
    ("dstdomain", "dstdomain -n", domain),
    ("src", "src", |n| {
        format!(
            "{}/24",
            Ipv4Addr::from_bits(0x0100_0000 + spread(n) % 0xd000_0000)
        )
    }),
    ("words", "url_regex -i", |n| {
        format!("/ads{:x}/banner", spread(n))
    }),
    ("starts", "url_regex -i", |n| {
        format!(r"^https?://ads{:x}\.example\.net/", spread(n))
    }),
    ("mixed", "url_regex -i", |n| match n % 10 {
        0 => format!(
            r"^https?://([a-z0-9-]+\.)*ads{:x}\.example\.net/.*banner",
            spread(n)
        ),
        1..4 => format!(r"^https?://ads{:x}\.example\.net/", spread(n)),
        _ => format!(r"ads{:x}\.example\.org/", spread(n)),
    }),
    ("bare", "url_regex -i", |n| {
        format!("[0-9]a?{:x}[a-z]+[0-9]", spread(n) % 256)
    }),
    ("regex", "url_regex -i", |n| {
        format!(
            r"^https?://([a-z0-9-]+\.)*ads{:x}\.example\.net/.*banner",
            spread(n)
        )
    }),
];

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_default();
    if Path::new(&name).is_file() {
        load(&name, Path::new(&name));
        return;
    }
    let count: u32 = args.next().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let Some(&(_, acl, value)) = KINDS.iter().find(|kind| kind.0 == name) else {
        println!(
            "kinds: {:?}",
            KINDS.iter().map(|kind| kind.0).collect::<Vec<_>>()
        );
        return;
    };
    let path = std::env::temp_dir().join(format!("list_cost-{}", std::process::id()));
    let conf = path.with_extension("conf");
    let text: String = (0..count).map(|n| value(n) + "\n").collect();
    let bytes = text.len();
    std::fs::write(&path, text).expect("the list can be written");
    let rules = format!(
        "acl x {acl} \"{}\"\nhttp_access deny x\nhttp_access allow all\n",
        path.display()
    );
    std::fs::write(&conf, rules).expect("the configuration can be written");
    measure(&name, count, bytes, &conf, value(count / 2).as_str());
    std::fs::remove_file(&path).ok();
    std::fs::remove_file(&conf).ok();
}

/// Reads a configuration and compiles it, telling what that takes.
fn load(name: &str, conf: &Path) -> Option<(Rules, u64)> {
    let before = status("VmRSS");
    let (started, cpu) = (Instant::now(), cpu_secs());
    let config = config::load(conf).expect("the configuration is right");
    let read = started.elapsed();
    let zone = jiff::tz::TimeZone::UTC;
    let environment = Environment {
        resolve: &|_| Vec::new(),
        zone: &zone,
    };
    let rules = Rules::compile(&config, &environment);
    drop(config);
    let (done, cpu) = (started.elapsed(), cpu_secs() - cpu);
    let (kept, peak) = (status("VmRSS").saturating_sub(before), status("VmHWM"));
    println!(
        "{name}: load {:.3} s ({cpu:.3} s of the processor; reading {:.3} s), kept {kept} kB, peak {peak} kB",
        done.as_secs_f64(),
        read.as_secs_f64(),
    );
    match rules {
        Ok(rules) => Some((rules, kept)),
        Err(problems) => {
            println!("refused: {problems}");
            None
        }
    }
}

fn measure(name: &str, count: u32, bytes: usize, conf: &Path, value: &str) {
    let Some((rules, kept)) = load(&format!("{name} {count} ({bytes} bytes)"), conf) else {
        return;
    };
    println!(
        "  {:.1} bytes a value",
        kept as f64 * 1024.0 / f64::from(count)
    );
    let after = status("VmRSS");
    let literal = value
        .replace(['\\', '^'], "")
        .replace("s?", "")
        .replace("([a-z0-9-]+.)*", "x.");
    let host = literal
        .trim_start_matches('.')
        .replace("https://", "")
        .replace("http://", "");
    let hit = match name {
        "dstdomain" => format!("http://www.{host}/"),
        "bare" => {
            let path = value.replace("[0-9]", "7").replace("a?", "");
            format!("http://www.example.com/{}", path.replace("[a-z]+", "abc"))
        }
        "words" => format!("http://www.example.com{literal}/x.gif"),
        _ => format!("http://{}", host.replace(".*", "/some/path/to/a/")),
    };
    let miss = "http://www.news.example.com/section/2026/11/20/a-story-of-some-length/picture.jpeg?width=640&q=75&v=17";
    let client = value
        .split('/')
        .next()
        .and_then(|ip| ip.parse::<IpAddr>().ok());
    for (what, url, client) in [
        (
            "hit",
            hit.as_str(),
            client.unwrap_or(Ipv4Addr::LOCALHOST.into()),
        ),
        ("miss", miss, Ipv4Addr::LOCALHOST.into()),
    ] {
        check(&rules, what, url, client);
    }
    println!(
        "  after the tests: {} kB more",
        status("VmRSS").saturating_sub(after)
    );
}

fn check(rules: &Rules, what: &str, url: &str, client: IpAddr) {
    let mut target = Target::new();
    target
        .set_absolute(url.as_bytes(), UriWhitespace::Strip)
        .expect("a URL");
    let request = Fields::new();
    let client = SocketAddr::from((client, 40_000));
    let (asked, learnt) = ((&Method::GET, &target, &request), Learnt::default());
    let facts = Facts::new(client, client, "3128", asked, &learnt, 0);
    let started = Instant::now();
    let denied = !rules.check(List::HttpAccess, &facts).is_allow();
    let first = started.elapsed();
    let started = Instant::now();
    let round = |_| {
        let started = Instant::now();
        for _ in 0..100 {
            black_box(rules.check(List::HttpAccess, black_box(&facts)).is_allow());
        }
        started.elapsed()
    };
    let rounds = (0..2000).take_while(|_| started.elapsed().as_secs() < 2);
    let best = rounds.map(round).min().unwrap_or_default();
    println!(
        "  {what}: {:.1} ns, the first time {:.0} (denied: {denied})",
        best.as_secs_f64() * 1e7,
        first.as_secs_f64() * 1e9
    );
}

/// Time that this thread was given.
fn cpu_secs() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text
        .split(' ')
        .next()
        .and_then(|nanos| nanos.parse::<f64>().ok());
    nanos.unwrap_or(0.0) / 1e9
}

/// A line of `/proc/self/status`, in kB.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let digits = line.map(|line| {
        line.chars()
            .filter(char::is_ascii_digit)
            .collect::<String>()
    });
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Different numbers give different numbers, in no order (odd multiplier).
fn spread(n: u32) -> u32 {
    n.wrapping_mul(0x9E37_79B1).rotate_left(7)
}

fn domain(n: u32) -> String {
    let tld = match n % 5 {
        0 => "com",
        1 => "net",
        2 => "org",
        3 => "co.uk",
        _ => "info",
    };
    let mut text = String::from(if n.is_multiple_of(3) { "" } else { "." });
    write!(text, "{:x}-site{}.{tld}", spread(n), n % 97).expect("it is a String");
    text
}
