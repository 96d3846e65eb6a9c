//! `cache_dir`: what outlives the process, what doesn't come back, and what happens when the disk isn't there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;
use testkit::{Client, Origin, Pattern, Program, Reply, Request, until};

use crate::support::{client, forward, results};

/// What is stored is on its way to the disk within a second.
const COMMITTED: Duration = Duration::from_millis(1500);

/// The line that says that a directory is as it was.
pub(crate) const FOUND: &str = "all is found that it holds";

/// A directory that whoever the program becomes may write to.
pub(crate) fn cache() -> TempDir {
    let dir = TempDir::new().unwrap();
    open_to_all(dir.path());
    dir
}

pub(crate) fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
}

/// A program with a `cache_dir` there, and these lines more.
fn with_disk(dir: &TempDir, conf: &str) -> Program {
    forward(&format!(
        "cache_dir aufs {} 64 16 256\nworkers 1\n{conf}",
        dir.path().display()
    ))
}

/// Waits until the cache log has a text so often.
pub(crate) fn logged(program: &Program, text: &str, times: usize) {
    until(text, || {
        let log = program.read("cache.log");
        (log.matches(text).count() == times).then_some(())
    });
}

/// A program with a `cache_dir` there, when it knows all that it holds.
fn again(dir: &TempDir, conf: &str) -> Program {
    let program = with_disk(dir, conf);
    logged(&program, FOUND, 1);
    program
}

fn fresh(content: &str) -> Reply {
    Reply::ok(content).field("Cache-Control", "max-age=600")
}

/// An origin that answers each path with its own, fresh.
fn origin() -> Origin {
    Origin::start(|request: &Request| fresh(&request.target))
}

fn purge(client: &mut Client, url: &str, fields: &[(&str, &str)]) {
    let answer = client.request("PURGE", url, fields);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// What was fetched before a stop is a hit after the next start: first from disk, then from memory.
#[test]
fn hits_after_a_restart() {
    let (dir, origin) = (cache(), origin());
    let mut program = with_disk(&dir, "");
    let urls: Vec<String> = (0..50)
        .map(|number| origin.url(&format!("/{number}")))
        .collect();
    for url in &urls {
        assert_eq!(client(&program).get(url).status, 200);
    }
    assert!(program.stop().success());
    let program = again(&dir, "");
    for _ in 0..2 {
        for (number, url) in urls.iter().enumerate() {
            assert_eq!(client(&program).get(url).text(), format!("/{number}"));
        }
    }
    assert_eq!(origin.total(), urls.len());
    let results = results(&program, 2 * urls.len());
    let (first, again) = results.split_at(urls.len());
    assert!(
        first.iter().all(|result| result == "TCP_HIT/200"),
        "{first:?}"
    );
    assert!(
        again.iter().all(|result| result == "TCP_MEM_HIT/200"),
        "{again:?}"
    );
}

/// The same after SIGKILL; and what was purged, by URL or by tag, doesn't come back with it.
#[test]
fn hits_after_a_kill_but_no_purged_ones() {
    let dir = cache();
    let origin = Origin::start(|request: &Request| {
        fresh(&request.target).field("Surrogate-Key", &request.target[1..2])
    });
    let conf = "acl purge method PURGE";
    let mut program = with_disk(&dir, conf);
    let url = |path: &str| origin.url(path);
    for path in ["/a1", "/a2", "/b", "/c"] {
        client(&program).get(&url(path));
    }
    purge(&mut client(&program), &url("/b"), &[]);
    purge(&mut client(&program), &url("/"), &[("Surrogate-Key", "a")]);
    client(&program).get(&url("/d"));
    std::thread::sleep(COMMITTED);
    program.signal(Signal::KILL);
    program.wait();
    let program = again(&dir, conf);
    for path in ["/d", "/a1", "/a2", "/b"] {
        assert_eq!(client(&program).get(&url(path)).text(), path);
    }
    client(&program).get(&url("/c"));
    for path in ["/c", "/d"] {
        assert_eq!(origin.count(path), 1, "{path} was there");
    }
    for path in ["/a1", "/a2", "/b"] {
        assert_eq!(origin.count(path), 2, "{path} was purged");
    }
}

/// Variants outlive the process, each for its requests; a purge of their URL is one of all of them.
#[test]
fn variants_have_places_of_their_own() {
    let dir = cache();
    let origin = Origin::start(|request: &Request| {
        fresh(request.field("Accept").unwrap_or("none")).field("Vary", "Accept")
    });
    let conf = "acl purge method PURGE";
    let url = origin.url("/");
    let ask = |program: &Program, kind: &str| {
        client(program)
            .request("GET", &url, &[("Accept", kind)])
            .text()
    };
    let mut program = with_disk(&dir, conf);
    for kind in ["one", "two", "three"] {
        assert_eq!(ask(&program, kind), kind);
    }
    program.stop();
    let mut program = again(&dir, conf);
    for kind in ["three", "one", "two"] {
        assert_eq!(ask(&program, kind), kind);
    }
    assert_eq!(origin.total(), 3);
    purge(&mut client(&program), &url, &[]);
    program.stop();
    let program = again(&dir, conf);
    assert_eq!(ask(&program, "one"), "one");
    assert_eq!(ask(&program, "two"), "two");
    assert_eq!(origin.total(), 5);
}

/// What is too large for the memory is served from the disk, whole and in ranges, before and after a restart.
#[test]
fn large_responses_stay_on_disk() {
    let dir = cache();
    let pattern = Pattern::new("large", 3_500_000);
    let reply = Reply::pattern(&pattern).field("Cache-Control", "max-age=600");
    let origin = Origin::start(move |_: &Request| reply.clone());
    let (url, pattern) = (origin.url("/"), Pattern::new("large", 3_500_000).to_vec());
    let check = |program: &Program| {
        assert!(client(program).get(&url).body() == pattern);
        for (first, last) in [
            (0, 0),
            (1, 300_000),
            (1_048_570, 1_048_590),
            (3_000_000, 3_499_999),
        ] {
            let range = format!("bytes={first}-{last}");
            let part = client(program).request("GET", &url, &[("Range", &range)]);
            assert_eq!(part.status, 206);
            assert!(part.body() == &pattern[first..=last], "{range}");
        }
    };
    let mut program = with_disk(&dir, "");
    client(&program).get(&url);
    check(&program);
    program.stop();
    let program = again(&dir, "");
    check(&program);
    assert_eq!(origin.total(), 1);
    let results = results(&program, 5);
    assert!(
        results.iter().all(|result| result.starts_with("TCP_HIT/")),
        "{results:?}"
    );
}

/// What a 304 says is kept on disk too.
#[test]
fn validation_lasts() {
    let dir = cache();
    let origin = Origin::start(|request: &Request| match request.field("If-None-Match") {
        Some(_) => Reply::new("304 Not Modified")
            .field("ETag", "\"v\"")
            .field("X-Round", "2")
            .field("Cache-Control", "max-age=600"),
        None => Reply::ok("x")
            .field("ETag", "\"v\"")
            .field("Cache-Control", "max-age=60")
            .field("Age", "100"),
    });
    let url = origin.url("/");
    let mut program = with_disk(&dir, "");
    for _ in 0..2 {
        assert_eq!(client(&program).get(&url).text(), "x");
    }
    assert_eq!(origin.total(), 2);
    program.stop();
    let program = again(&dir, "");
    let answer = client(&program).get(&url);
    assert_eq!(
        (answer.text().as_str(), answer.field("X-Round")),
        ("x", Some("2"))
    );
    assert_eq!(origin.total(), 2);
}

/// A `cache_dir` comes and goes with a reload: what it has is there while it is.
#[test]
fn directories_come_and_go_live() {
    let (dir, origin) = (cache(), origin());
    let line = format!("cache_dir rock {} 64\n", dir.path().display());
    let program = forward("cache_mem 0 MB\nmemory_cache_mode never\nworkers 1");
    let before = program.read("squid.conf");
    let url = origin.url("/a");
    let reload = |conf: &str, times: usize| {
        program.write("squid.conf", conf);
        program.signal(Signal::HUP);
        logged(&program, "Reconfigured.", times);
    };
    let asked = |count: usize| {
        client(&program).get(&url);
        assert_eq!(origin.total(), count);
    };
    asked(1);
    asked(2);
    reload(&format!("{before}\n{line}"), 1);
    logged(&program, FOUND, 1);
    asked(3);
    asked(3);
    reload(&before, 2);
    asked(4);
    reload(&format!("{before}\n{line}"), 3);
    logged(&program, FOUND, 2);
    asked(4);
}

/// Without its directory the proxy serves all the same, and says once what is wrong; `-z` makes it, with what scripts
/// that start Squid look for.
#[test]
fn a_directory_that_is_missing() {
    let (parent, origin) = (cache(), origin());
    let dir = parent.path().join("spool");
    let conf = format!("cache_dir ufs {} 64 16 256\nworkers 1", dir.display());
    let mut program = forward(&conf);
    for _ in 0..2 {
        client(&program).get(&origin.url("/a"));
    }
    assert_eq!(origin.total(), 1, "the memory serves");
    let log = program.wait_for_log(|_| true) + &program.read("cache.log");
    assert_eq!(log.matches("going on without it").count(), 1, "{log}");
    program.stop();
    let made = Program::builder(&conf).arg("-z").run();
    assert!(made.status.success(), "{}", made.stderr);
    assert!(dir.join("00").is_dir() && dir.join("squall.log").is_file());
    let again = Program::builder(&conf).arg("-z").run();
    assert!(again.status.success() && (again.stdout + &again.stderr).contains("exists"));
    let mut program = forward(&conf);
    client(&program).get(&origin.url("/b"));
    program.stop();
    // Squid's own start scripts call -z each time: it keeps what is there.
    assert!(Program::builder(&conf).arg("-z").run().status.success());
    let program = forward(&conf);
    logged(&program, FOUND, 1);
    client(&program).get(&origin.url("/b"));
    assert_eq!(origin.count("/b"), 1);
}

/// An accelerator's eight directories, four for small responses and four for large ones: each goes where it fits.
#[test]
fn many_directories_by_size() {
    let (parent, origin) = (
        cache(),
        Origin::start(|request: &Request| {
            let bytes = request.target[1..].parse().unwrap();
            Reply::ok(vec![b'x'; bytes]).field("Cache-Control", "max-age=600")
        }),
    );
    let mut conf = String::from("cache_replacement_policy heap LFUDA\nworkers 2\n");
    for number in 1..=4 {
        let path = parent.path().join(number.to_string());
        conf += &format!(
            "cache_dir coss {}-coss 64 max-size=24576 block-size=1024\n",
            path.display()
        );
        conf += &format!(
            "cache_dir aufs {}-aufs 64 290 256 min-size=24576\n",
            path.display()
        );
    }
    assert!(Program::builder(&conf).arg("-z").run().status.success());
    let mut program = forward(&conf);
    let sizes = [10, 1000, 24_575, 24_576, 24_577, 100_000, 600_000];
    let urls = sizes.map(|size| origin.url(&format!("/{size}")));
    for url in &urls {
        client(&program).get(url);
    }
    program.stop();
    let program = forward(&conf);
    logged(&program, FOUND, 8);
    for (url, size) in urls.iter().zip(sizes) {
        assert_eq!(client(&program).get(url).body().len(), size);
    }
    assert_eq!(origin.total(), sizes.len());
}

/// `memory_cache_mode`: what is kept in memory of what comes from the network and from disk.
#[test]
fn memory_cache_modes() {
    let tags = |mode: &str| {
        let (dir, origin) = (cache(), origin());
        let program = with_disk(&dir, &format!("memory_cache_mode {mode}"));
        for _ in 0..3 {
            client(&program).get(&origin.url("/"));
        }
        results(&program, 3).join(" ")
    };
    assert_eq!(
        tags("always"),
        "TCP_MISS/200 TCP_MEM_HIT/200 TCP_MEM_HIT/200"
    );
    assert_eq!(tags("disk"), "TCP_MISS/200 TCP_HIT/200 TCP_MEM_HIT/200");
    assert_eq!(
        tags("network"),
        "TCP_MISS/200 TCP_MEM_HIT/200 TCP_MEM_HIT/200"
    );
    assert_eq!(tags("never"), "TCP_MISS/200 TCP_HIT/200 TCP_HIT/200");
}
