//! `url_rewrite_program` and `store_id_program` with helpers of every kind: those of Squid, squidGuard, and scripts
//! that answer, lie, sleep and die.

use std::path::Path;
use std::thread;

use testkit::{Origin, Program, Reply, Request, Response, Signal, until};

use crate::support::{Entry, client, forward};

/// Answers as a shell script gives them, by the URL's path.
const ANSWERS: &str = r#"
while read -r url rest; do
  path=/${url#*://*/}
  case $path in
    /ok) echo OK ;;
    /err) echo 'ERR rewrite-url="{origin}/target"' ;;
    /bh) echo 'BH message="no disk"' ;;
    /empty) echo ;;
    /echo) echo "$url $rest" ;;
    /new*) echo 'OK rewrite-url="{origin}/target"' ;;
    /bare) echo "{origin}/target $rest" ;;
    /grouped) echo '!news!{origin}/target' ;;
    /spaced) echo 'OK rewrite-url="{origin}/a b"' ;;
    /302) echo '302:http://else.example/x' ;;
    /default) echo 'OK url="http://else.example/x"' ;;
    /308) echo 'OK status=308 url="http://else.example/x" rewrite-url="{origin}/target"' ;;
    /200) echo 'OK status=200 url="http://else.example/x"' ;;
    /split) echo 'OK url=http://else.example/%0d%0aSet-Cookie:%20stolen=1' ;;
    /nonsense) echo 'OK rewrite-url="nonsense"' ;;
    /user) echo 'OK rewrite-url="http://user:pass@else.example/"' ;;
    /pid) echo "OK url=http://else.example/$$" ;;
    /die) exit 1 ;;
    /never) ;;
    *) case $url in
      tunnel.example*) echo 'OK rewrite-url="{authority}"' ;;
      moved.example*) echo '302:http://else.example/' ;;
      *) echo OK ;;
    esac ;;
  esac
done
"#;

/// A proxy with that script, and an origin that stands for every host that isn't itself.
struct Stage {
    origin: Origin,
    program: Program,
}

impl Stage {
    fn new(conf: &str) -> Self {
        Self::with_script(ANSWERS, conf)
    }

    fn with_script(script: &str, conf: &str) -> Self {
        let origin = Origin::start(|request: &Request| {
            let host = request.field("Host").unwrap_or_default();
            Reply::ok(format!("{} of {host}", request.target)).field("Cache-Control", "max-age=600")
        });
        let script = script.replace("{origin}", origin.url("").trim_end_matches('/'));
        let script = script.replace("{authority}", &origin.addr().to_string());
        let conf = format!(
            "{conf}
http_access allow all
url_rewrite_program /bin/sh {{dir}}/rewrite.sh
acl origin dst 127.0.0.1
always_direct allow origin
cache_peer 127.0.0.1 parent {} 0 no-query originserver
never_direct allow all
",
            origin.port()
        );
        let program = Program::builder(&conf)
            .file("rewrite.sh", script.as_bytes())
            .start();
        Self { origin, program }
    }

    fn get(&self, path: &str) -> Response {
        client(&self.program).get(&format!("http://site.example{path}"))
    }

    /// What the origin was asked for.
    fn asked(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text()
    }

    /// Where the client is sent, and with which status.
    fn sent(&self, path: &str) -> (u16, String) {
        let answer = self.get(path);
        let location = answer.field("Location").unwrap_or_default();
        (answer.status, location.to_owned())
    }

    fn said(&self, words: &str) {
        until(words, || {
            let log = self.program.read("cache.log");
            log.contains(words).then_some(())
        });
    }
}

/// In each dialect: the new target decides on hop, Host, key and log.
#[test]
fn requests_go_elsewhere() {
    let stage = Stage::new("");
    let target = format!("/target of {}", stage.origin.addr());
    for path in ["/new", "/bare", "/grouped"] {
        assert_eq!(stage.asked(path), target, "{path}");
    }
    assert_eq!(stage.origin.count("/target"), 1, "the key is the new URL");
    let lines = stage.program.wait_for_log_lines(3);
    // Each worker writes lines of its own: their order says nothing.
    let results = lines.iter().map(|line| Entry::of(line).result);
    let hits = results.filter(|result| result == "TCP_MEM_HIT/200").count();
    assert_eq!(hits, 2);
    assert_eq!(Entry::of(&lines[0]).url, stage.origin.url("/target"));
    assert_eq!(
        stage.asked("/spaced"),
        format!("/ab of {}", stage.origin.addr())
    );
}

/// Answers without a change, and those of helpers that could not find out.
#[test]
fn requests_go_on_as_they_are() {
    let stage = Stage::new("");
    for path in ["/ok", "/err", "/bh", "/empty", "/echo"] {
        assert_eq!(stage.asked(path), format!("{path} of site.example"));
    }
    stage.said("no disk");
}

/// A helper's nonsense changes nothing, and is named in the log.
#[test]
fn nonsense_changes_nothing() {
    let stage = Stage::new("");
    for path in ["/nonsense", "/user", "/200", "/split"] {
        assert_eq!(stage.asked(path), format!("{path} of site.example"));
    }
    stage.said("URL-rewrite produces invalid request: GET nonsense");
    stage.said("URL-rewrite produces invalid 200 redirect Location: http://else.example/x");
    stage.said(r"Location: http://else.example/\r\nSet-Cookie");
}

/// Squid's redirects: no content, TCP_REDIRECT, and the connection lives on.
#[test]
fn clients_are_sent_elsewhere() {
    let stage = Stage::new("");
    let there = |status| (status, "http://else.example/x".to_owned());
    assert_eq!(stage.sent("/302"), there(302));
    assert_eq!(stage.sent("/default"), there(302));
    assert_eq!(stage.sent("/308"), there(308));
    assert_eq!(stage.origin.total(), 0);
    let mut same = client(&stage.program);
    let first = same.get("http://site.example/302");
    assert!(first.body().is_empty());
    assert_eq!(same.get("http://site.example/302").status, 302);
    let line = stage.program.wait_for_log(|line| line.contains("/308"));
    let entry = Entry::of(&line);
    assert_eq!(entry.result, "TCP_REDIRECT/308");
    assert_eq!(entry.hierarchy, "HIER_NONE/-");
    assert_eq!(entry.url, "http://site.example/308");
}

/// A CONNECT may be rewritten and redirected too.
#[test]
fn tunnels_go_elsewhere() {
    let stage = Stage::new("");
    let mut tunnel = client(&stage.program);
    let opened = tunnel.request("CONNECT", "tunnel.example:443", &[]);
    assert_eq!(opened.status, 200);
    let inside = tunnel.request("GET", "/inside", &[("Host", "tunnel.example")]);
    assert_eq!(inside.text(), "/inside of tunnel.example");
    let refused = client(&stage.program).request("CONNECT", "moved.example:443", &[]);
    assert_eq!(refused.field("Location"), Some("http://else.example/"));
}

/// `url_rewrite_host_header off` keeps the client's Host.
#[test]
fn host_may_stay() {
    let stage = Stage::new("url_rewrite_host_header off");
    assert_eq!(stage.asked("/new"), "/target of site.example");
}

/// Who is asked about, and what rules see before and after.
#[test]
fn rules_see_both_targets() {
    let stage = Stage::new(
        "acl old dstdomain site.example
acl target urlpath_regex ^/target
acl asked urlpath_regex ^/(new|302)$
url_rewrite_access allow asked
http_access deny target
adapted_http_access deny target
adapted_http_access allow old",
    );
    assert_eq!(
        stage.asked("/bare"),
        "/bare of site.example",
        "not asked about"
    );
    assert_eq!(stage.get("/new").status, 403, "refused after rewriting");
    assert_eq!(stage.sent("/302").0, 302);
    let page = stage.get("/new").text();
    assert!(page.contains("adapted_http_access deny target"), "{page}");
}

/// What the helper is told: today's words, and those of `url_rewrite_extras`.
#[test]
fn helpers_are_told_of_the_request() {
    let told = "while read -r line; do echo \"OK url=http://else.example/$(echo $line | tr ' ' '_')\"; done";
    let stage = Stage::with_script(told, "");
    let (_, location) = stage.sent("/a?b");
    let expected = format!(
        "http://else.example/http://site.example/a?b_127.0.0.1/127.0.0.1_-_GET_myip=127.0.0.1_myport={}",
        stage.program.port()
    );
    assert_eq!(location, expected);
    let stage = Stage::with_script(told, "url_rewrite_extras \"%>rm %un\"");
    let (_, location) = stage.sent("/a");
    assert_eq!(location, "http://else.example/http://site.example/a_GET_-");
}

/// The log knows both URLs, and what the helper has noted.
#[test]
fn both_urls_are_logged() {
    let log = "access_log stdio:{dir}/access.log both";
    let stage = Stage::new(&format!("logformat both %>ru %ru %note{{urlgroup}}\n{log}"));
    stage.asked("/grouped");
    let lines = stage.program.wait_for_log_lines(1);
    let target = stage.origin.url("/target");
    assert_eq!(
        lines,
        [format!("http://site.example/grouped {target} news")]
    );
}

/// Channels: answers come in any order, and each finds its request.
#[test]
fn many_are_asked_about_at_once() {
    // Keeps a question back until the next one has come.
    let script = "held=
while read -r channel url rest; do
  if [ -n \"$held\" ]; then
    echo \"$channel OK rewrite-url=\\\"{origin}/target?${url##*/}\\\"\"
    echo \"$held\"
    held=
  else
    held=\"$channel OK rewrite-url=\\\"{origin}/target?${url##*/}\\\"\"
  fi
done";
    let conf = "url_rewrite_children 1 concurrency=50 queue-size=100";
    let stage = Stage::with_script(script, conf);
    thread::scope(|scope| {
        for number in 0..40 {
            let stage = &stage;
            scope.spawn(move || {
                let expected = format!("/target?{number} of {}", stage.origin.addr());
                assert_eq!(stage.asked(&format!("/{number}")), expected);
            });
        }
    });
}

/// Helpers that die under load: nobody notices.
#[test]
fn deaths_are_not_noticed() {
    let script = "count=0
while read -r url rest; do
  count=$((count + 1))
  # No question is the death of two.
  [ $count -lt 30 ] || ! mkdir \"$0.${url##*/}\" 2>/dev/null || exit 1
  echo 'OK rewrite-url=\"{origin}/target\"'
done";
    let stage = Stage::with_script(script, "url_rewrite_children 3 startup=3");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..50 {
                    let asked = stage.asked(&format!("/{number}"));
                    assert!(asked.starts_with("/target of"), "{asked}");
                }
            });
        }
    });
}

/// A question that every helper dies of opens nothing, unless the configuration says so.
#[test]
fn a_deadly_question_is_refused() {
    let conf = "url_rewrite_children 2 startup=2";
    let stage = Stage::new(conf);
    let answer = stage.get("/die");
    assert_eq!(answer.status, 500);
    assert!(
        answer
            .field("X-Squid-Error")
            .is_none_or(|error| error.contains("ERR_GATEWAY_FAILURE"))
    );
    assert_eq!(stage.origin.count("/die"), 0);
    let stage = Stage::new(&format!("{conf}\nurl_rewrite_bypass on"));
    assert_eq!(stage.asked("/die"), "/die of site.example");
}

/// `url_rewrite_timeout`, with each of its actions.
#[test]
fn late_answers() {
    let late = |action: &str| {
        let conf = format!("url_rewrite_timeout 300 milliseconds {action}");
        let stage = Stage::new(&format!(
            "{conf}\nurl_rewrite_children 4 startup=4 concurrency=0"
        ));
        let answer = stage.get("/never");
        let location = answer.field("Location").unwrap_or_default().to_owned();
        (answer.status, location)
    };
    assert_eq!(late(""), (200, String::new()));
    assert_eq!(late("on_timeout=bypass"), (200, String::new()));
    assert_eq!(late("on_timeout=fail"), (500, String::new()));
    assert_eq!(late("on_timeout=retry"), (500, String::new()));
    let configured = "on_timeout=use_configured_response response=\"OK url=http://late.example/\"";
    assert_eq!(late(configured), (302, "http://late.example/".to_owned()));
}

/// `url_rewrite_bypass on`: a full queue isn't waited for.
#[test]
fn a_full_queue_is_passed_by() {
    let conf = "url_rewrite_children 1 queue-size=1\nurl_rewrite_bypass on";
    let stage = Stage::new(conf);
    let mut waiting: Vec<_> = (0..3).map(|_| client(&stage.program)).collect();
    for client in &mut waiting {
        client.send_request("GET", "http://site.example/never", &[]);
    }
    // Once those wait, nobody else does, and the helper isn't asked.
    until("a full queue", || {
        let mut next = client(&stage.program).wait(std::time::Duration::from_millis(300));
        next.send_request("GET", "http://site.example/new", &[]);
        let answer = next.try_response_to("GET").ok()?;
        (answer.text() == "/new of site.example").then_some(())
    });
}

/// A reload keeps helpers whose lines are the same, and ends those that aren't named any more.
#[test]
fn helpers_outlive_a_reload_that_leaves_them_alone() {
    let stage = Stage::new("url_rewrite_children 1 startup=1");
    let (status, pid) = stage.sent("/pid");
    assert_eq!(status, 302);
    let conf = stage.program.read("squid.conf");
    let reload = |conf: &str, count: usize| {
        stage.program.write("squid.conf", conf);
        stage.program.signal(Signal::HUP);
        until("a reload", || {
            let log = stage.program.read("cache.log");
            (log.matches("Reconfigured.").count() == count).then_some(())
        });
    };
    reload(&format!("{conf}\nvia off\n"), 1);
    assert_eq!(stage.sent("/pid"), (302, pid.clone()), "the same child");
    let without: Vec<&str> = conf
        .lines()
        .filter(|line| !line.starts_with("url_rewrite"))
        .collect();
    reload(&without.join("\n"), 2);
    assert_eq!(stage.asked("/pid"), "/pid of site.example");
    let pid = pid.rsplit('/').next().unwrap().to_owned();
    until("the child's end", || {
        (!Path::new("/proc").join(&pid).exists()).then_some(())
    });
}

/// A program that isn't there is found at the start.
#[test]
fn a_missing_program_is_named() {
    let conf = "http_access allow all\nurl_rewrite_program /no/such/helper -x";
    let finished = Program::builder(conf).run();
    assert!(!finished.status.success());
    let said = finished.stderr + &finished.stdout;
    assert!(
        said.contains("url_rewrite_program /no/such/helper"),
        "{said}"
    );
}

/// Where Squid's own helpers are installed: they say what they see, and change nothing.
#[test]
fn squids_own_rewriters() {
    for (helper, concurrency) in [("url_fake_rewrite", 5), ("url_fake_rewrite.sh", 0)] {
        let path = format!("/usr/lib/squid/{helper}");
        if !installed(&path) {
            continue;
        }
        let origin = Origin::start(|_: &Request| Reply::ok("as it was"));
        let conf = format!(
            "url_rewrite_program {path}\nurl_rewrite_children 2 startup=1 concurrency={concurrency}"
        );
        let program = forward(&conf);
        let mut client = client(&program);
        for path in ["/a", "/b?c=d%20e"] {
            assert_eq!(client.get(&origin.url(path)).text(), "as it was");
        }
    }
}

/// squidGuard with a small list: what is on it goes to the block page, the rest passes.
#[test]
fn squidguard_blocks() {
    if !installed("/usr/bin/squidGuard") {
        return;
    }
    let origin = Origin::start(|_: &Request| Reply::ok("passed"));
    let conf = format!(
        "http_access allow all
url_rewrite_program /bin/sh {{dir}}/guard.sh
url_rewrite_children 2 startup=1
cache_peer 127.0.0.1 parent {} 0 no-query originserver
never_direct allow all",
        origin.port()
    );
    let rules = "dbhome DIR
logdir DIR
dest bad {
  domainlist domains
}
acl {
  default {
    pass !bad all
    redirect 302:http://block.example/?url=%u
  }
}
";
    // Its rules name folders: written down once the folder is known.
    let start =
        "cd \"${0%/*}\" && sed \"s,DIR,$PWD,\" rules > guard.$$ && exec squidGuard -c guard.$$";
    let program = Program::builder(&conf)
        .file("domains", "bad.example\n")
        .file("rules", rules)
        .file("guard.sh", start)
        .start();
    let mut client = client(&program);
    let blocked = client.get("http://www.bad.example/x");
    assert_eq!(blocked.status, 302);
    let location = blocked.field("Location").unwrap();
    assert_eq!(
        location,
        "http://block.example/?url=http://www.bad.example/x"
    );
    assert_eq!(client.get("http://good.example/").text(), "passed");
    assert_eq!(origin.total(), 1);
}

fn installed(path: &str) -> bool {
    let there = Path::new(path).exists();
    if !there {
        println!("not installed: {path}");
    }
    there
}

/// One stored response for two URLs; PURGE and unsafe methods know it by either.
#[test]
fn a_store_id_is_the_key() {
    let script = "while read -r channel url rest; do
  case $url in
    */mirror*) echo \"$channel OK store-id=http://one.example.internal/file\" ;;
    */old*) echo \"$channel http://one.example.internal/old\" ;;
    */bh*) echo \"$channel BH message=broken\" ;;
    *) echo \"$channel ERR\" ;;
  esac
done";
    let origin = Origin::start(|request: &Request| {
        Reply::ok(request.target.clone()).field("Cache-Control", "max-age=600")
    });
    let conf = "http_access allow all
store_id_program /bin/sh {dir}/store_id.sh
store_id_children 2 concurrency=10
acl purge method PURGE
acl unasked urlpath_regex unasked
store_id_access deny unasked
store_id_access allow all";
    let program = Program::builder(conf).file("store_id.sh", script).start();
    let mut client = client(&program);
    let mut ask = |method: &str, path: &str| client.request(method, &origin.url(path), &[]).text();
    assert_eq!(ask("GET", "/mirror/1"), "/mirror/1");
    assert_eq!(
        ask("GET", "/mirror/2"),
        "/mirror/1",
        "stored under the same name"
    );
    assert_eq!(ask("GET", "/mirror/unasked"), "/mirror/unasked");
    ask("PURGE", "/mirror/3");
    assert_eq!(
        ask("GET", "/mirror/2"),
        "/mirror/2",
        "purged under that name"
    );
    ask("POST", "/mirror/4");
    assert_eq!(ask("GET", "/mirror/1"), "/mirror/1", "a POST made it stale");
    for path in ["/plain", "/bh"] {
        assert_eq!(ask("GET", path), path);
        ask("GET", path);
        assert_eq!(origin.count(path), 1, "the URL is the key");
    }
    assert_eq!(ask("GET", "/old/1"), "/old/1");
    assert_eq!(ask("GET", "/old/2"), "/old/1", "a bare URL, as 2.7 had it");
}

/// Squid's own store-ID helper with a list of patterns.
#[test]
fn squids_own_store_id_helper() {
    let helper = "/usr/lib/squid/storeid_file_rewrite";
    if !installed(helper) {
        return;
    }
    let origin = Origin::start(|request: &Request| {
        Reply::ok(request.target.clone()).field("Cache-Control", "max-age=600")
    });
    let conf = format!(
        "http_access allow all\nstore_id_program {helper} {{dir}}/patterns\nstore_id_children 1 concurrency=5 startup=1"
    );
    let patterns = "mirror[0-9]+/(.*)\thttp://mirrors.SQUIDINTERNAL/$1\n";
    let program = Program::builder(&conf).file("patterns", patterns).start();
    let mut client = client(&program);
    assert_eq!(
        client.get(&origin.url("/mirror1/x.deb")).text(),
        "/mirror1/x.deb"
    );
    assert_eq!(
        client.get(&origin.url("/mirror2/x.deb")).text(),
        "/mirror1/x.deb"
    );
    assert_eq!(
        client.get(&origin.url("/mirror2/y.deb")).text(),
        "/mirror2/y.deb"
    );
}

/// `location_rewrite_program`: Locations of fetched and stored replies, where the list says so; nonsense changes nothing.
#[test]
fn locations_are_rewritten() {
    let origin = Origin::start(|request: &Request| {
        let reply = Reply::new("302 Found").field("Cache-Control", "max-age=600");
        let location = match &*request.target {
            "/none" => return reply,
            "/odd" => "http://inside.test/a \"b\"",
            path => &format!("http://inside.test{path}"),
        };
        reply.field("Location", location)
    });
    let script = "while read -r c location url group; do
  echo \"$location $url $group\" >> \"$1\"
  case $location in
    */keep) echo \"$c\" ;;
    */split) echo \"$c OK rewrite-url=http://x/%0d%0aSet-Cookie:%20stolen=1\" ;;
    */new) echo \"$c OK rewrite-url=http://new.test/\" ;;
    */die) exit 1 ;;
    *) echo \"$c http://outside.test/${location##*/}\" ;;
  esac
done";
    let program = Program::builder(
        "location_rewrite_program /bin/sh {dir}/script {dir}/asked
location_rewrite_children 2
location_rewrite_concurrency 5
acl spared urlpath_regex ^/spared
location_rewrite_access deny spared
http_access allow all",
    )
    .file("script", script)
    .file("asked", "")
    .start();
    std::fs::set_permissions(
        program.dir().join("asked"),
        std::os::unix::fs::PermissionsExt::from_mode(0o666),
    )
    .unwrap();
    let mut client = client(&program);
    for (path, expected) in [
        ("/a", Some("http://outside.test/a")),
        ("/a", Some("http://outside.test/a")),
        ("/keep", Some("http://inside.test/keep")),
        ("/split", Some("http://inside.test/split")),
        ("/new", Some("http://new.test/")),
        ("/die", Some("http://inside.test/die")),
        ("/spared", Some("http://inside.test/spared")),
        ("/odd", Some("http://outside.test/a%20%22b%22")),
        ("/none", None),
    ] {
        let answer = client.get(&origin.url(path));
        assert_eq!(
            (answer.status, answer.field("Location")),
            (302, expected),
            "{path}"
        );
    }
    assert_eq!(origin.count("/a"), 1);
    let asked = program.read("asked");
    assert_eq!(
        asked.lines().next(),
        Some(&*format!("http://inside.test/a {} -", origin.url("/a")))
    );
}
