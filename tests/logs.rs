//! The access log: where it goes, what it is asked to leave out, its other formats, and its rotation.

use testkit::{Origin, Program, Reply, Request, Signal, until};

use crate::support::{Entry, client, forward};

fn plain() -> Origin {
    Origin::start(|_: &Request| Reply::ok("x").field("Content-Type", "text/plain"))
}

/// The lines of a file once there are `count`.
fn lines(program: &Program, name: &str, count: usize) -> Vec<String> {
    until(&format!("{count} lines of {name}"), || {
        let lines: Vec<String> = program.read(name).lines().map(str::to_owned).collect();
        (lines.len() >= count).then_some(lines)
    })
}

/// Several logs, each for its own requests; `none` with an acl keeps what it matches out of all that follow.
#[test]
fn several_logs() {
    let origin = plain();
    let program = forward(
        "acl quiet urlpath_regex ^/health
acl api urlpath_regex ^/api/
acl strange method PUT DELETE
access_log none quiet
access_log stdio:{dir}/api.log squid api
access_log stdio:{dir}/strange.log squid api strange
access_log stdio:{dir}/access.log squid",
    );
    let mut client = client(&program);
    for (method, path) in [
        ("GET", "/health"),
        ("GET", "/api/1"),
        ("DELETE", "/api/2"),
        ("GET", "/page"),
    ] {
        assert_eq!(client.request(method, &origin.url(path), &[]).status, 200);
    }
    let all = lines(&program, "access.log", 3);
    let urls: Vec<String> = all.iter().map(|line| Entry::of(line).url).collect();
    assert_eq!(
        urls,
        ["/api/1", "/api/2", "/page"].map(|path| origin.url(path))
    );
    assert_eq!(lines(&program, "api.log", 2).len(), 2);
    let strange = lines(&program, "strange.log", 1);
    assert!(
        strange.len() == 1 && strange[0].contains("DELETE"),
        "{strange:?}"
    );
}

/// `access_log none` is none at all.
#[test]
fn no_log() {
    let origin = plain();
    let mut program = forward("access_log none");
    client(&program).get(&origin.url("/"));
    assert!(program.stop().success());
    assert!(!program.dir().join("access.log").exists());
}

/// The log may go to standard output.
#[test]
fn a_log_on_standard_output() {
    let origin = plain();
    for place in ["stdio:/dev/stdout", "stdio:-"] {
        let program = forward(&format!("access_log {place}"));
        client(&program).get(&origin.url("/"));
        let line = lines(&program, "stdout", 1).remove(0);
        assert_eq!(Entry::of(&line).result, "TCP_MISS/200", "{place}");
    }
}

/// The formats of web servers.
#[test]
fn other_formats() {
    let origin = plain();
    let program = forward(
        "access_log stdio:{dir}/common.log common
access_log stdio:{dir}/combined.log combined
access_log stdio:{dir}/referrer.log referrer
access_log stdio:{dir}/useragent.log useragent",
    );
    let url = origin.url("/p");
    let fields = [
        ("Referer", "http://from.example/"),
        ("User-Agent", "Me \"quoted\"/1"),
    ];
    let answer = client(&program).request("GET", &url, &fields);
    let bytes = answer.head.raw.len() + 1;
    let common = lines(&program, "common.log", 1).remove(0);
    assert!(common.starts_with("127.0.0.1 - - ["), "{common}");
    let rest = format!("\"GET {url} HTTP/1.1\" 200 {bytes} TCP_MISS:HIER_DIRECT");
    assert!(common.ends_with(&rest), "{common}");
    let combined = lines(&program, "combined.log", 1).remove(0);
    assert!(
        combined.contains("\"http://from.example/\" \"Me "),
        "{combined}"
    );
    assert!(
        !combined.contains("\"quoted\""),
        "quotes must not end the field: {combined}"
    );
    assert!(combined.ends_with("TCP_MISS:HIER_DIRECT"), "{combined}");
    let referrer = lines(&program, "referrer.log", 1).remove(0);
    assert!(
        referrer.ends_with(&format!("127.0.0.1 http://from.example/ {url}")),
        "{referrer}"
    );
    let agent = lines(&program, "useragent.log", 1).remove(0);
    assert!(
        agent.starts_with("127.0.0.1 [") && agent.contains("Me "),
        "{agent}"
    );
}

/// Queries are left out unless asked for.
#[test]
fn queries() {
    let origin = plain();
    for (conf, shown) in [("", "/p?"), ("strip_query_terms off", "/p?a=1&b=2")] {
        let program = forward(conf);
        client(&program).get(&origin.url("/p?a=1&b=2"));
        let line = program.wait_for_log_lines(1).remove(0);
        assert_eq!(Entry::of(&line).url, origin.url(shown));
    }
}

/// SIGUSR1 begins new files and keeps as many old ones as `logfile_rotate` says; nothing is lost between.
#[test]
fn rotation() {
    let origin = plain();
    let program = forward("logfile_rotate 2");
    let mut client = client(&program);
    for round in 0..4 {
        client.get(&origin.url(&format!("/{round}")));
        program.wait_for_log(|line| line.contains(&format!("/{round} ")));
        program.signal(Signal::USR1);
        until("a new access log", || {
            program
                .read("access.log.0")
                .contains(&format!("/{round} "))
                .then_some(())
        });
    }
    client.get(&origin.url("/last"));
    program.wait_for_log(|line| line.contains("/last "));
    assert!(program.read("access.log.0").contains("/3 "));
    assert!(program.read("access.log.1").contains("/2 "));
    assert!(!program.dir().join("access.log.2").exists());
    until("a new cache log", || {
        program.dir().join("cache.log.0").exists().then_some(())
    });
}

/// With `logfile_rotate 0` the files are opened anew, for tools that have moved them away.
#[test]
fn reopening() {
    let origin = plain();
    let program = forward("logfile_rotate 0");
    let mut client = client(&program);
    client.get(&origin.url("/before"));
    program.wait_for_log(|line| line.contains("/before "));
    let log = program.dir().join("access.log");
    std::fs::rename(&log, program.dir().join("moved")).unwrap();
    program.signal(Signal::USR1);
    until("the file to be there again", || log.exists().then_some(()));
    client.get(&origin.url("/after"));
    program.wait_for_log(|line| line.contains("/after "));
    assert!(program.read("moved").contains("/before "));
}

/// What was logged is in the file when the program has ended.
#[test]
fn nothing_is_lost_at_the_end() {
    let origin = plain();
    let mut program = forward("");
    let mut client = client(&program);
    for number in 0..100 {
        client.get(&origin.url(&format!("/{number}")));
    }
    assert!(program.stop().success());
    assert_eq!(program.access_log_lines().len(), 100);
}

/// `http_status` chooses what a log gets.
#[test]
fn statuses_choose_a_log() {
    let program = forward(
        "acl failed http_status 400-499
access_log stdio:{dir}/failed.log squid failed
access_log stdio:{dir}/access.log squid",
    );
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/no" => Reply::new("404 Not Found"),
        _ => Reply::ok("x"),
    });
    let mut client = client(&program);
    assert_eq!(client.get(&origin.url("/yes")).status, 200);
    assert_eq!(client.get(&origin.url("/no")).status, 404);
    program.wait_for_log_lines(2);
    until("the second log", || {
        program.read("failed.log").contains("/no").then_some(())
    });
    assert_eq!(program.read("failed.log").lines().count(), 1);
}

/// What an ACL notes may have blanks and codes, where it stands in quotes; without them it is as it is.
#[test]
fn annotations_have_codes() {
    let origin = plain();
    let program = forward(
        "acl mine annotate_transaction first=\"%rm of %>rP\" bare=%rm said=\"it's \\\"%un\\\"\"
acl too annotate_transaction second=\"%note{first}, too\"
acl again annotate_transaction second+=\"%rm\"
acl known annotate_client who=\"%>a\"
cache deny mine too again known
logformat told %note{first}|%note{bare}|%note{said}|%note{second}|%note{who}
access_log stdio:{dir}/told.log told",
    );
    let mut client = client(&program);
    let url = origin.url("/");
    client.get(&url);
    client.get(&url);
    let line = format!(
        "GET%20of%20{port}|%rm|it%27s%20%22-%22|GET%20of%20{port},%20too,GET|127.0.0.1",
        port = origin.port()
    );
    assert_eq!(lines(&program, "told.log", 2), [&*line, &*line]);
    let bad = Program::builder("acl x annotate_transaction k=\"%nonsense\"")
        .arg("-k")
        .arg("parse")
        .run();
    let told = bad.stdout + &bad.stderr;
    assert!(!bad.status.success() && told.contains("nonsense"), "{told}");
}
