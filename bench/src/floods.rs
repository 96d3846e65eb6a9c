//! `bench floods`: what hostile or careless traffic costs, and whether ordinary requests notice: one URL with many variants,
//! very many URLs, long chains of forwarders. Each server gets the same requests, counted, over a few connections.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use memchr::memmem;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::hits::{Origin, start};
use crate::machine::Machine;
use crate::process::Usage;
use crate::server::{Cores, Running, Server};
use crate::workload::FLOODED;

/// Connections that take turns.
const CONNECTIONS: usize = 32;

/// What to measure.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Servers
    #[arg(long, value_delimiter = ',', default_values = ["squall", "squid"])]
    servers: Vec<Server>,
    /// Distinct URLs
    #[arg(long, default_value_t = 1_000_000)]
    urls: usize,
    /// Where the result goes
    #[arg(long, default_value = "bench/results")]
    results: PathBuf,
}

/// One step; they follow each other in one run of a server.
struct Step {
    title: &'static str,
    requests: usize,
    /// Path and further lines of the request with that number.
    request: fn(usize) -> (String, String),
    /// The steps before it whose cost it should be near to.
    like: Option<&'static str>,
}

const ORDINARY: &str = "ordinary hit";
const MISS: &str = "unique URL, may be kept";
const VARIANTS: usize = 10_000;

fn steps(urls: usize) -> [Step; 12] {
    let hit = |_| ("/bytes/600/1".to_owned(), String::new());
    let step = |title, requests, request| Step {
        title,
        requests,
        request,
        like: None,
    };
    let near = |like, step| Step {
        like: Some(like),
        ..step
    };
    [
        step(ORDINARY, 200_000, hit),
        step("miss, no-store", 50_000, |number| {
            (format!("/fresh/600/{}", number % 1000), String::new())
        }),
        step(
            "the same that says nothing of its lifetime",
            50_000,
            |number| (format!("/page/600/{}", number % 1000), String::new()),
        ),
        step(MISS, 50_000, |number| {
            (format!("/once/600/a{number}"), String::new())
        }),
        near(MISS, step("variants of one URL", VARIANTS, variant)),
        near(
            MISS,
            step("ten times as many more", 10 * VARIANTS, |number| {
                variant(number + VARIANTS)
            }),
        ),
        near(ORDINARY, step("ordinary hit, beside them", 200_000, hit)),
        near(
            ORDINARY,
            step("hit among the variants, the newest", 50_000, |_| {
                variant(11 * VARIANTS - 1)
            }),
        ),
        near(
            MISS,
            step("unique URLs", urls, |number| {
                (format!("/once/600/b{number}"), String::new())
            }),
        ),
        near(ORDINARY, step("ordinary hit, after them", 200_000, hit)),
        near(
            ORDINARY,
            step("hit with one forwarder", 50_000, |_| forwarded(1)),
        ),
        step("hit with 2,000 forwarders", 10_000, |_| forwarded(2000)),
    ]
}

fn variant(number: usize) -> (String, String) {
    let field = format!("User-Agent: agent/{number}\r\n");
    ("/vary/600/1".to_owned(), field)
}

fn forwarded(hops: usize) -> (String, String) {
    let chain = vec!["192.0.2.1"; hops].join(", ");
    let field = format!("X-Forwarded-For: {chain}\r\n");
    ("/bytes/600/1".to_owned(), field)
}

/// Measures, prints, and writes the result.
pub(crate) fn run(options: &Options) -> Result<()> {
    let origin = Origin::start()?;
    let mut running = Vec::new();
    for server in &options.servers {
        running.push(start(*server, &FLOODED, Cores::One, &origin)?);
    }
    // The server has the other core for itself.
    let mut second = CpuSet::new();
    second.set(1);
    sched_setaffinity(None, &second)?;
    let mut columns = Vec::new();
    for server in &running {
        columns.push(measure(server, &steps(options.urls))?);
    }
    let versions = running
        .iter()
        .map(|running| (running.server.name().to_owned(), running.server.version()));
    let machine = Machine::read(versions.collect());
    let text = render(&machine, &running, &steps(options.urls), &columns)?;
    print!("{text}");
    fs::create_dir_all(&options.results)?;
    fs::write(options.results.join("floods.md"), text)?;
    Ok(())
}

/// Microseconds per request, and what the server holds afterwards.
struct Cost {
    micros: f64,
    rss_kib: u64,
}

fn measure(server: &Running, steps: &[Step]) -> Result<Vec<Cost>> {
    let mut load = Turns::new(server.port)?;
    let mut costs = Vec::new();
    for step in steps {
        eprintln!("{}: {}", server.server.name(), step.title);
        let before = server.tree.usage();
        load.ask(step).context(step.title)?;
        costs.push(cost(server.tree.usage() - before, step.requests));
    }
    Ok(costs)
}

#[expect(clippy::cast_precision_loss, reason = "a measurement")]
fn cost(used: Usage, requests: usize) -> Cost {
    Cost {
        micros: used.time() as f64 / requests.max(1) as f64,
        rss_kib: used.rss_kib,
    }
}

/// Connections that each carry one request at a time.
struct Turns {
    streams: Vec<TcpStream>,
    buf: Vec<u8>,
}

impl Turns {
    fn new(port: u16) -> Result<Self> {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut streams = Vec::new();
        for _ in 0..CONNECTIONS {
            let stream = TcpStream::connect(addr)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            streams.push(stream);
        }
        let buf = vec![0; 64 << 10];
        Ok(Self { streams, buf })
    }

    fn ask(&mut self, step: &Step) -> Result<()> {
        let mut number = 0;
        let mut request = String::new();
        while number < step.requests {
            let most = self.streams.len().min(step.requests - number);
            for stream in self.streams.iter_mut().take(most) {
                let (path, fields) = (step.request)(number);
                number += 1;
                request.clear();
                write!(
                    request,
                    "GET {path} HTTP/1.1\r\nHost: www.bench.test\r\n{fields}\r\n"
                )?;
                stream.write_all(request.as_bytes())?;
            }
            for stream in self.streams.iter_mut().take(most) {
                answer(stream, &mut self.buf, FLOODED.size)?;
            }
        }
        Ok(())
    }
}

/// Reads a whole answer, which must be a 200 with that much content.
fn answer(stream: &mut TcpStream, buf: &mut [u8], size: usize) -> Result<()> {
    let mut held = 0;
    loop {
        let room = buf.get_mut(held..).unwrap_or_default();
        let len = stream.read(room)?;
        ensure!(len > 0, "the server closed");
        held += len;
        let got = buf.get(..held).unwrap_or_default();
        let Some(end) = memmem::find(got, b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(got.get(..end).unwrap_or_default());
        ensure!(head.starts_with("HTTP/1.1 200 "), "{head}");
        if held >= end + 4 + size {
            return Ok(());
        }
    }
}

fn render(
    machine: &Machine,
    running: &[Running],
    steps: &[Step],
    columns: &[Vec<Cost>],
) -> Result<String> {
    let mut text = format!("# Floods\n\n{}.\n", machine.line());
    writeln!(
        text,
        "One worker on core 0, requests and origin on core 1; 600 bytes of content; `cache_mem 256 MB`.\n\
         µs: processor time of the server's processes per request. ×: by the step that it should be near to.\n"
    )?;
    let mut head = "| step, in this order | requests |".to_owned();
    let mut line = "|---|--:|".to_owned();
    for server in running {
        write!(head, " {} µs | × | RSS MiB |", server.server.name())?;
        line += "--:|--:|--:|";
    }
    writeln!(text, "{head}\n{line}")?;
    for (place, step) in steps.iter().enumerate() {
        write!(text, "| {} | {} |", step.title, step.requests)?;
        for costs in columns {
            let Some(cost) = costs.get(place) else {
                continue;
            };
            let like = steps
                .iter()
                .position(|other| Some(other.title) == step.like);
            let like = like.and_then(|place| costs.get(place));
            let times = like.map_or(String::new(), |like| {
                format!("{:.2}", cost.micros / like.micros)
            });
            let mib = cost.rss_kib / 1024;
            write!(text, " {:.2} | {times} | {mib} |", cost.micros)?;
        }
        text.push('\n');
    }
    Ok(text)
}
