//! What others make of our logs: Debian's calamaris, goaccess, sarg, lightsquid, webalizer and awstats count what the
//! client counted. Each is left out where it isn't installed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::{Client, Origin, Program, Reply, Request, until};

/// What the client has counted.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    requests: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, bytes: u64) {
        self.requests += 1;
        self.bytes += bytes;
    }
}

#[derive(Debug, Default)]
struct Totals {
    all: Count,
    hits: Count,
    denied: Count,
    by_client: BTreeMap<String, Count>,
    /// Without what was denied.
    served: BTreeMap<String, Count>,
    by_status: BTreeMap<u16, Count>,
}

/// Traffic of three clients: misses, hits, errors, refusals.
fn traffic() -> (Program, Totals) {
    let program = Program::start(
        "acl no urlpath_regex ^/no
http_access deny no
http_access allow all
access_log stdio:{dir}/access.log squid
access_log stdio:{dir}/common.log common
access_log stdio:{dir}/combined.log combined
workers 1",
    );
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/missing" => Reply::new("404 Not Found").field("Content-Type", "text/plain"),
        path => Reply::ok("x".repeat(path.len() * 40))
            .field("Content-Type", "text/html; charset=utf-8")
            .field("Cache-Control", "max-age=3600"),
    });
    let mut totals = Totals::default();
    for number in 0_u8..60 {
        let from = format!("127.0.0.{}", 2 + number % 3);
        let path = match number % 6 {
            0 | 1 => format!("/page{}?query=1", number / 12),
            2 | 3 => format!("/own/{number}"),
            4 => "/missing".to_owned(),
            _ => "/no/way".to_owned(),
        };
        let mut client = Client::connect_from(from.parse().unwrap(), program.addr());
        let fields = [
            ("User-Agent", "Mine/1 \"q\" [b]"),
            ("Referer", "http://from/?a b"),
        ];
        let answer = client.request("GET", &origin.url(&path), &fields);
        let bytes = (answer.head.raw.len() + answer.body().len()) as u64;
        totals.all.add(bytes);
        if answer.status != 403 {
            let served = totals.served.entry(from.clone()).or_default();
            served.add(bytes);
        }
        totals.by_client.entry(from).or_default().add(bytes);
        totals
            .by_status
            .entry(answer.status)
            .or_default()
            .add(bytes);
        if answer
            .field("Cache-Status")
            .is_some_and(|said| said.contains("hit"))
        {
            totals.hits.add(bytes);
        }
        if answer.status == 403 {
            totals.denied.add(bytes);
        }
    }
    for name in ["access.log", "common.log", "combined.log"] {
        until(name, || {
            (program.read(name).lines().count() == 60).then_some(())
        });
    }
    assert!(totals.hits.requests > 0 && totals.denied.requests == 10);
    (program, totals)
}

/// What a program says, or nothing where there is none.
fn run(program: &str, args: &[&str], dir: &Path) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(dir)
        .env("TZ", "UTC")
        .output();
    let Ok(output) = output else {
        println!("skipped: no {program}");
        return None;
    };
    let said = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&said).into_owned())
}

fn at(dir: &Path, name: &str) -> String {
    dir.join(name).display().to_string()
}

/// The first number in the line that begins so.
fn figure(text: &str, line: &str) -> u64 {
    let found = text
        .lines()
        .find_map(|it| it.trim_start().strip_prefix(line));
    let found = found.unwrap_or_else(|| panic!("no {line:?} in\n{text}"));
    let number = found.split_whitespace().find_map(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("no number behind {line:?}: {found:?}"))
}

#[test]
fn readers_of_logs_count_what_the_client_counted() {
    let (program, totals) = traffic();
    let dir = program.dir();
    calamaris(dir, &totals);
    goaccess(dir, &totals);
    sarg(dir, &totals);
    lightsquid(dir, &totals);
    webalizer(dir, &totals);
    awstats(dir, &totals);
}

fn calamaris(dir: &Path, totals: &Totals) {
    let command = format!("calamaris -a < {}", at(dir, "access.log"));
    let Some(said) = run("sh", &["-c", &command], dir).filter(|said| said.contains("lines parsed"))
    else {
        println!("skipped: no calamaris");
        return;
    };
    assert_eq!(figure(&said, "lines parsed:"), 60);
    assert_eq!(figure(&said, "invalid lines:"), 0);
    assert_eq!(figure(&said, "Total amount:"), totals.all.requests);
    assert_eq!(figure(&said, "Total Bandwidth:"), totals.all.bytes);
    assert_eq!(figure(&said, "Total amount cached:"), totals.hits.requests);
    assert_eq!(figure(&said, "Bandwidth savings:"), totals.hits.bytes);
    assert_eq!(figure(&said, "TCP_DENIED"), totals.denied.requests);
}

fn goaccess(dir: &Path, totals: &Totals) {
    for (log, format, date, time) in [
        (
            "access.log",
            "%x.%^ %~%L %h %^/%s %b %m %U %^ %^ %^",
            "%s",
            "%s",
        ),
        (
            "combined.log",
            "%h %^ %^ [%d:%t %^] \"%r\" %s %b \"%R\" \"%u\" %^",
            "%d/%b/%Y",
            "%T",
        ),
        (
            "common.log",
            "%h %^ %^ [%d:%t %^] \"%r\" %s %b %^",
            "%d/%b/%Y",
            "%T",
        ),
    ] {
        let forms = [
            "--date-format",
            "--time-format",
            "--datetime-format",
            "--log-format",
        ];
        let forms = [
            forms[0], date, forms[1], time, forms[2], date, forms[3], format,
        ];
        let args = [&[log, "-o", "json", "--no-progress"][..], &forms].concat();
        let Some(said) = run("goaccess", &args, dir) else {
            return;
        };
        let told: Value = serde_json::from_str(said.lines().next().unwrap()).expect(&said);
        let general = &told["general"];
        assert_eq!(general["valid_requests"], 60, "{log}: {general}");
        assert_eq!(general["failed_requests"], 0, "{log}");
        assert_eq!(general["bandwidth"], totals.all.bytes, "{log}");
        for host in told["hosts"]["data"].as_array().unwrap() {
            let counted = totals.by_client[host["data"].as_str().unwrap()];
            assert_eq!(host["hits"]["count"], counted.requests);
            assert_eq!(host["bytes"]["count"], counted.bytes);
        }
    }
}

fn sarg(dir: &Path, totals: &Totals) {
    let out = at(dir, "sarg");
    fs::create_dir(&out).unwrap();
    if run("sarg", &["-l", &at(dir, "access.log"), "-o", &out], dir).is_none() {
        return;
    }
    let report = fs::read_dir(&out)
        .unwrap()
        .flatten()
        .find_map(|entry| fs::read_to_string(entry.path().join("sarg-general")).ok());
    let report = report.expect("a report");
    let fields = |line: &str| -> Vec<String> {
        let found = report.lines().find(|found| found.starts_with(line));
        found.expect(line).split('\t').map(str::to_owned).collect()
    };
    let total = fields("TOTAL");
    assert_eq!(total[1], totals.all.requests.to_string());
    assert_eq!(total[2], totals.all.bytes.to_string());
}

/// It leaves refusals out.
fn lightsquid(dir: &Path, totals: &Totals) {
    let own = fs::read_to_string("/etc/lightsquid/lightsquid.cfg");
    let Ok(own) = own else {
        println!("skipped: no lightsquid");
        return;
    };
    fs::create_dir(dir.join("light")).unwrap();
    let moved = format!(
        "$logpath=\"{0}\";\n$reportpath=\"{0}/light\";\n$lockpath=\"{0}/light\";\n1;\n",
        dir.display()
    );
    fs::write(dir.join("lightsquid.cfg"), own + "\n" + &moved).unwrap();
    // Without a day it reads nothing from after 2020.
    let log = fs::read_to_string(dir.join("access.log")).unwrap();
    let seconds: i64 = log.split('.').next().unwrap().parse().unwrap();
    let day = run(
        "date",
        &["-u", "-d", &format!("@{seconds}"), "+%Y%m%d"],
        dir,
    )
    .unwrap();
    let include = format!("-I{}", dir.display());
    let parser = "/usr/share/lightsquid/lightparser.pl";
    run("perl", &[&include, parser, day.trim()], dir).unwrap();
    let total = fs::read_to_string(dir.join("light").join(day.trim()).join(".total")).unwrap();
    assert_eq!(figure(&total, "user:"), 3);
    assert_eq!(
        figure(&total, "size:"),
        totals.all.bytes - totals.denied.bytes
    );
    for (client, count) in &totals.served {
        assert_eq!(figure(&total, client), count.bytes);
    }
}

fn webalizer(dir: &Path, totals: &Totals) {
    let out = at(dir, "webalizer");
    fs::create_dir(&out).unwrap();
    let args = ["-F", "squid", "-Q", "-o", &out, &at(dir, "access.log")];
    if run("webalizer", &args, dir).is_none() {
        return;
    }
    let history = fs::read_to_string(dir.join("webalizer/webalizer.hist")).unwrap();
    let newest: Vec<&str> = history.lines().nth(1).unwrap().split(' ').collect();
    assert_eq!(newest[2], totals.all.requests.to_string(), "{history}");
}

fn awstats(dir: &Path, totals: &Totals) {
    let program = "/usr/lib/cgi-bin/awstats.pl";
    if !Path::new(program).exists() {
        println!("skipped: no awstats");
        return;
    }
    let data = at(dir, "awstats");
    fs::create_dir(&data).unwrap();
    let conf = format!(
        "LogFile=\"{0}/combined.log\"\nLogType=W\nSiteDomain=\"test\"\nDNSLookup=0\nDirData=\"{data}\"\n\
         LogFormat=\"%host %other %logname %time1 %methodurl %code %bytesd %refererquot %uaquot %other\"\n",
        dir.display()
    );
    fs::write(dir.join("awstats.test.conf"), conf).unwrap();
    let include = format!("-configdir={}", dir.display());
    let said = run("perl", &[program, "-config=test", &include, "-update"], dir).unwrap();
    assert_eq!(figure(&said, "Parsed lines in file:"), 60, "{said}");
    assert!(said.contains("Found 0 corrupted records"), "{said}");
    assert!(said.contains("Found 60 new qualified records"), "{said}");
    let file = fs::read_dir(&data).unwrap().flatten().next().unwrap();
    let file = fs::read_to_string(file.path()).unwrap();
    let errors = file.split("BEGIN_ERRORS").nth(1).unwrap();
    for status in [403, 404] {
        let count = totals.by_status[&status];
        let line = format!("\n{status} {} {}\n", count.requests, count.bytes);
        assert!(errors.contains(&line), "{line} in {errors}");
    }
}
