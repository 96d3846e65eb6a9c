//! Whole configurations: what stops them, what is only said, and how fast they are read.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::{
    Config, Event, Options, PortMode, Severity, built_in, fuzz, load, load_telling, parse,
};

fn messages(text: &str) -> Vec<String> {
    let config = parse(text, "squid.conf").unwrap();
    config.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn an_empty_file_has_the_defaults_and_the_predefined_acls() {
    let config = parse("", "squid.conf").unwrap();
    assert!(config.acls.iter().all(|acl| acl.predefined));
    assert_eq!(
        Config {
            acls: Vec::new(),
            ..config
        },
        Config::default()
    );
}

#[test]
fn the_built_in_rules_are_the_stock_ones_with_places() {
    let config = built_in();
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert_eq!(config.http_access.len(), 8);
    assert!(
        config
            .http_access
            .iter()
            .all(|rule| &*rule.place.file == "built-in")
    );
    let denied: Vec<&str> = config
        .http_access
        .iter()
        .filter(|rule| !rule.allow)
        .map(|rule| &*rule.acls[0].name)
        .collect();
    assert_eq!(
        denied,
        [
            "Safe_ports",
            "CONNECT",
            "manager",
            "to_localhost",
            "to_linklocal",
            "all"
        ]
    );
    assert_eq!(config.ports.len(), 1);
    assert_eq!(config.ports[0].mode, PortMode::Forward);
    assert!(config.ports[0].addr.unwrap().is_loopback());
    assert_eq!(config.refresh_patterns.len(), 3);
}

#[test]
fn unknown_directives_are_counted_and_stop_the_start() {
    let problems = parse("frobnicate on\nvia on\nhttp_acces allow all", "squid.conf").unwrap_err();
    assert_eq!(problems.exit_code(), 2);
    assert_eq!(problems.0[1].hint, "Did you mean http_access?");
    let first = problems.0[0].to_string();
    assert_eq!(
        first,
        "ERROR: squid.conf(1): unrecognized: 'frobnicate'. Remove the line."
    );
}

#[test]
fn all_problems_of_a_file_come_at_once() {
    let problems = parse("via maybe\nhttp_access allow x\nfoo\nread_timeout 5", "f").unwrap_err();
    let severities: Vec<Severity> = problems.0.iter().map(|problem| problem.severity).collect();
    let expected = [
        Severity::Fatal,
        Severity::Fatal,
        Severity::Unrecognized,
        Severity::Warning,
    ];
    assert_eq!(severities, expected);
    assert_eq!(problems.exit_code(), 1);
}

#[test]
fn a_bungled_line_comes_first_then_why_and_what_to_do() {
    let problems = parse("cache_mem 256MB\nhttp_access allow x y", "f").unwrap_err();
    let expected = "FATAL: Bungled f line 1: cache_mem 256MB\n  \
                    Invalid value: '256MB' is supposed to be a number. \
                    Write a number, a blank and bytes, KB, MB or GB.\n\
                    FATAL: Bungled f line 2: http_access allow x y\n  \
                    ACL not found: x. Define it above this line: acl x TYPE VALUE…";
    assert_eq!(problems.to_string(), expected);
    let marked = problems.0.iter().map(|problem| {
        let mark = problem.mark.clone().unwrap();
        problem.text.get(mark).unwrap()
    });
    assert!(marked.eq(["256MB", "x"]));
}

#[test]
fn what_is_not_yet_done_is_said_once_per_name() {
    let said = messages("icap_enable on\nicap_enable on\nssl_bump peek all\nssl_bump bump all");
    assert_eq!(
        said,
        [
            "WARNING: not yet: icap_enable [squid.conf line 1]: It belongs to ICAP: turn ICAP on.",
            "WARNING: not yet: ssl_bump [squid.conf line 3]: It belongs to TLS: TLS interception \
         decision per step: peek, stare, splice, bump, terminate, client-first, server-first, none.",
        ]
    );
}

#[test]
fn switching_off_what_is_not_there_needs_no_word() {
    assert!(messages("icp_port 0\nhtcp_port 0\nicap_enable off\nsnmp_access deny all").is_empty());
    assert_eq!(messages("allow_underscore off").len(), 1);
}

#[test]
fn what_asks_for_what_we_do_anyhow_needs_no_word() {
    let quiet = [
        "cache_store_log stdio:/x",
        "offline_mode off # as ever",
        "dead_peer_timeout 10 seconds",
        "log_mime_hdrs on",
        "pconn_lifetime 0 seconds",
        "read_ahead_gap 16 KB",
        "retry_on_error off",
        "buffered_logs on",
        "pipeline_prefetch 4",
    ];
    for text in quiet {
        assert!(messages(text).is_empty(), "{text}");
    }
    let told = [
        "dead_peer_timeout 100 seconds",
        "pconn_lifetime 1 minute",
        "read_ahead_gap 160 KB",
        "retry_on_error on",
    ];
    for text in told {
        let said = messages(&format!("{text}\n{text}"));
        assert_eq!(said.len(), 1, "{text}: {said:?}");
        assert!(said[0].starts_with("WARNING: not yet: "), "{said:?}");
    }
}

#[test]
fn what_is_still_to_come_has_to_be_well_formed_all_the_same() {
    for text in ["minimum_object_size x", "client_db maybe"] {
        assert!(parse(text, "squid.conf").is_err(), "{text}");
    }
}

#[test]
fn obsolete_directives_are_named_once_and_translated() {
    let text = "announce_port 0\nannounce_port 0\ndns_v4_first on\nhierarchy_stoplist cgi-bin ?";
    let config = parse(text, "squid.conf").unwrap();
    assert_eq!(config.warnings.len(), 3);
    let first = config.warnings[0].to_string();
    assert!(
        first.starts_with("ERROR: Directive 'announce_port' is obsolete."),
        "{first}"
    );
    assert!(config.dns_v4_first);
    assert_eq!(config.hierarchy_stoplist, ["cgi-bin", "?"]);
}

#[test]
fn aliases_are_the_directives_they_stand_for() {
    let text = "pconn_timeout 5 seconds\nno_cache deny all\ncache_access_log /x\nascii_port 3128";
    let config = parse(text, "squid.conf").unwrap();
    assert_eq!(config.server_idle_pconn_timeout, Duration::from_secs(5));
    assert_eq!(
        (
            config.cache.len(),
            config.access_logs.len(),
            config.ports.len()
        ),
        (1, 1, 1)
    );
}

#[test]
fn a_file_that_is_not_there_is_fatal() {
    let problems = load(Path::new("/nonexistent/squid.conf")).unwrap_err();
    assert_eq!(problems.exit_code(), 1);
    let text = problems.to_string();
    assert!(
        text.starts_with("FATAL: Unable to open configuration file: /nonexistent/squid.conf: "),
        "{text}"
    );
}

/// Every logical line is told before what is wrong with it, taken or not.
#[test]
fn events_come_in_the_order_in_which_squid_prints() {
    let dir = tempfile::tempdir().unwrap();
    let (main, inner) = (dir.path().join("main"), dir.path().join("inner"));
    std::fs::write(&inner, "via off # why\nif 1 = 2\nbad\nendif").unwrap();
    let text = format!(
        "acl a src \\\n  10.0.0.1 \\\n# no\n 10.0.0.2  \nvisible_hostname ${{service_name}}.x\n\
         include {}\nfrob\nvia maybe",
        inner.display()
    );
    std::fs::write(&main, text).unwrap();
    let mut told = Vec::new();
    let options = Options {
        service_name: "blue",
    };
    let read = load_telling(&main, &options, &mut |event| {
        told.push(match event {
            Event::File { path, depth } => {
                let name = Path::new(path).file_name().unwrap();
                format!("{} (depth {depth})", name.display())
            }
            Event::Line { place, text, row } => {
                let reader = row.map_or("-", |row| row.name);
                format!("{} {reader}: {text}", place.line)
            }
            Event::Problem(problem) => format!("! {:?}", problem.severity),
        });
    });
    assert_eq!(read.unwrap_err().0.len(), 2);
    let include = format!("6 -: include {}", inner.display());
    let expected = [
        "main (depth 0)",
        "1 acl: acl a src 10.0.0.1 10.0.0.2",
        "5 visible_hostname: visible_hostname blue.x",
        &include,
        "inner (depth 1)",
        "1 via: via off # why",
        "2 -: if 1 = 2",
        "3 -: bad",
        "4 -: endif",
        "7 -: frob",
        "! Unrecognized",
        "8 via: via maybe",
        "! Fatal",
    ];
    assert_eq!(told, expected);
}

#[test]
fn an_include_that_is_not_there_is_named_as_squid_does() {
    let problems = parse("include /nonexistent/a.conf", "f").unwrap_err();
    let expected = "FATAL: Unable to find configuration file: /nonexistent/a.conf: \
                    (2) No such file or directory [f line 1]";
    assert!(problems.to_string().starts_with(expected), "{problems}");
}

/// Configurations as they were written for one Squid or another, and the exit status they have.
const SAMPLES: [(&str, u8); 8] = [
    ("2.5-accelerator.conf", 0),
    ("2.7.conf", 0),
    ("3.conf", 0),
    ("4.conf", 0),
    ("accelerator.conf", 0),
    ("forward.conf", 0),
    ("old.conf", 0),
    ("refused.conf", 1),
];

#[test]
fn every_sample_has_the_verdict_that_is_written_down() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let mut verdicts = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".conf") {
            let code = load(&path).map_or_else(|problems| problems.exit_code(), |_| 0);
            verdicts.push((name, code));
        }
    }
    verdicts.sort();
    assert_eq!(
        verdicts,
        SAMPLES.map(|(name, code)| (name.to_owned(), code))
    );
}

/// The program names the command as it was given; problems name it without the sign.
#[test]
fn a_command_may_print_the_configuration() {
    for sign in ['!', '|'] {
        let name = format!("{sign}echo visible_hostname \\$x; echo frob");
        let problems = load(Path::new(&name)).unwrap_err();
        assert_eq!(problems.exit_code(), 1);
        let place = &problems.0[0].place;
        assert_eq!(
            (&*place.file, place.line),
            (name.trim_start_matches(sign), 2)
        );
    }
    assert!(!load(Path::new("!echo via off")).unwrap().via);
    let problems = load(Path::new("!echo via off; exit 3")).unwrap_err();
    let text = problems.to_string();
    let expected =
        "FATAL: parseConfigFile: '!echo via off; exit 3' failed with exit code 768. Run ";
    assert!(text.starts_with(expected), "{text}");
}

/// Words of files too: a quote that makes no sense stops the line, whatever its reader says.
#[test]
fn with_quoting_on_words_are_squids_own() {
    let quoting = "configuration_includes_quoted_values on\n";
    let fatal = |text: &str| {
        let problems = parse(&format!("{quoting}{text}"), "f").unwrap_err();
        let stops: Vec<_> = problems.0.iter().filter(|said| said.stops()).collect();
        assert_eq!(stops.len(), 1, "{problems}");
        stops[0].message.clone()
    };
    assert_eq!(
        fatal("http_access allow !localhost"),
        "Not alphanumeric character '!' in unquoted token !localhost"
    );
    assert_eq!(
        fatal("visible_hostname \"a\"b"),
        "Expecting space after the end of quoted token: \"a\"b"
    );
    assert_eq!(
        fatal("acl a dstdomain foo(\"x\")"),
        "Unknown cfg function: foo(\"x\")"
    );
    let config = parse(&format!("{quoting}http_access deny \"!localhost\""), "f").unwrap();
    assert!(config.http_access[0].acls[0].negated);
}

#[test]
fn a_file_of_anything_else_has_no_more_problems_than_are_kept() {
    let problems = parse(&"x\n".repeat(200_000), "junk").unwrap_err();
    assert_eq!(problems.0.len(), 100_001);
    assert_eq!(problems.exit_code(), 1);
}

/// Linear work takes some tens of milliseconds; a lookup that walks all ACLs, many seconds.
#[test]
fn forty_thousand_lines_are_read_without_quadratic_work() {
    let mut text = String::new();
    for n in 0..13_400 {
        let _ = writeln!(text, "acl name{n} dstdomain .host{n}.example");
        let _ = writeln!(text, "http_access deny name{n} !localhost");
        let _ = writeln!(text, "refresh_pattern ^http://host{n}/ 0 20% 4320");
    }
    let start = Instant::now();
    let config = parse(&text, "big").unwrap();
    assert_eq!(config.http_access.len(), 13_400);
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
}

/// One finding per option would repeat the whole line each time.
#[test]
fn a_line_of_many_faults_is_cut_short() {
    let text = format!("cache_peer a parent 80 0 no-query{}", " x".repeat(200_000));
    let config = parse(&text, "long").unwrap();
    assert_eq!(config.warnings.len(), 50);
    assert!(
        config
            .warnings
            .iter()
            .all(|problem| problem.text.len() <= 1_000)
    );
}

#[test]
fn deep_conditionals_cost_no_more_than_flat_ones() {
    let text = format!(
        "{}via off\n{}",
        "if true\n".repeat(100_000),
        "endif\n".repeat(100_000)
    );
    assert!(!parse(&text, "deep").unwrap().via);
}

/// Directive names and words that make deep paths likely.
fn line() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = crate::directives::rows().map(|row| row.name).collect();
    let words = prop::sample::select(vec![
        "allow",
        "deny",
        "all",
        "!all",
        "none",
        "on",
        "off",
        "-1",
        "0",
        "1",
        "KB",
        "seconds",
        "-i",
        "+i",
        "--",
        "url_regex",
        "src",
        "req_header",
        "any-of",
        "parent",
        "name=x",
        "accel",
        "vport=",
        "[::1]:80",
        "\"",
        "'",
        "\"a b",
        "\\",
        "#",
        "${process_number}",
        "=",
        "stdio:",
        "logformat=",
        "20%",
        "99999999999999999999",
        "-i",
        ".",
        "heap",
        "LRU",
        "cores=1",
        "é",
    ]);
    let words = prop::collection::vec(words, 0..6);
    (prop::sample::select(names), words)
        .prop_map(|(name, words)| format!("{name} {}", words.join(" ")))
}

proptest! {
    #[test]
    fn no_bytes_panic(data in prop::collection::vec(any::<u8>(), 0..400)) {
        fuzz(&data);
    }

    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        fuzz(text.as_bytes());
    }

    #[test]
    fn no_lines_panic(lines in prop::collection::vec(line(), 0..12)) {
        fuzz(lines.join("\n").as_bytes());
    }
}
