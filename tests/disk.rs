//! `cache_dir`: what outlives the process, what doesn't come back, and what happens when the disk isn't there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;
use testkit::{Client, Origin, Pattern, Program, Reply, Request, until, until_within};

use crate::support::{client, forward, results};
use crate::versions::Versions;

/// What is stored is on its way to the disk within a second.
const COMMITTED: Duration = Duration::from_millis(1500);

/// Responses that are more than eight small directories have room for, and those that came last of them.
const OVERFLOWING: usize = 1000;
const LAST: usize = 40;
/// By then each of those is taken, on however busy a disk.
const TAKEN: Duration = Duration::from_secs(60);

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

/// Where the beginning of a large body is damaged it is a miss, as nothing of it was sent yet; farther on the response is
/// cut, and is a miss from then on.
#[test]
fn large_responses_that_are_damaged() {
    let (dir, pattern) = (cache(), Pattern::new("large", 3_500_000));
    let reply = Reply::pattern(&pattern).field("Cache-Control", "max-age=600");
    let origin = Origin::start(move |_: &Request| reply.clone());
    let (url, body) = (origin.url("/"), Pattern::new("large", 3_500_000).to_vec());
    let log = dir.path().join("squall.log");
    let damage = |at: usize| {
        let mut bytes = fs::read(&log).unwrap();
        let sought = &body[at..at + 64];
        // All copies of it: the reload has left one behind.
        let places: Vec<usize> = (0..bytes.len() - 64)
            .filter(|place| &bytes[*place..place + 64] == sought)
            .collect();
        assert!(!places.is_empty());
        places.iter().for_each(|place| bytes[*place] ^= 1);
        fs::write(&log, bytes).unwrap();
    };
    let mut program = with_disk(&dir, "");
    assert!(client(&program).get(&url).body() == body);
    program.stop();
    damage(100);
    let mut program = again(&dir, "");
    assert!(client(&program).get(&url).body() == body);
    assert_eq!(origin.total(), 2);
    program.stop();
    damage(2_000_000);
    let program = again(&dir, "");
    let part = client(&program).request("GET", &url, &[("Range", "bytes=2000000-2000009")]);
    assert_eq!(
        (part.status, part.body()),
        (206, &body[2_000_000..2_000_010])
    );
    assert_eq!(origin.total(), 3, "a range that begins there is a miss");
    assert!(client(&program).get(&url).body() == body);
}

/// What a 304 says is kept on disk too, also of what is in memory and lies on disk in fragments.
#[test]
fn validation_lasts() {
    for bytes in [1, 400_000] {
        check_validation(&"x".repeat(bytes));
    }
}

fn check_validation(body: &str) {
    let (dir, content) = (cache(), body.to_owned());
    let origin = Origin::start(
        move |request: &Request| match request.field("If-None-Match") {
            Some(_) => Reply::new("304 Not Modified")
                .field("ETag", "\"v\"")
                .field("X-Round", "2")
                .field("Cache-Control", "max-age=600"),
            None => Reply::ok(content.clone())
                .field("ETag", "\"v\"")
                .field("Cache-Control", "max-age=60")
                .field("Age", "100"),
        },
    );
    let url = origin.url("/");
    let mut program = with_disk(&dir, "");
    for _ in 0..2 {
        assert!(client(&program).get(&url).text() == body);
    }
    assert_eq!(origin.total(), 2);
    program.stop();
    let program = again(&dir, "");
    let answer = client(&program).get(&url);
    assert!(answer.text() == body);
    assert_eq!(answer.field("X-Round"), Some("2"));
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

/// In the place of a directory `coss` may have a file: `-z` begins with one that is blank, and leaves one that isn't.
#[test]
fn a_file_for_coss() {
    let (parent, origin) = (cache(), origin());
    let [blank, taken] = ["blank", "taken"].map(|name| parent.path().join(name));
    for (path, content) in [(&blank, &[0; 5000][..]), (&taken, b"somebody's own")] {
        fs::write(path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
    }
    let conf = |path: &Path| format!("cache_dir coss {} 16 max-size=99999", path.display());
    let refused = Program::builder(&conf(&taken)).arg("-z").run();
    assert!(!refused.status.success());
    assert_eq!(fs::read_to_string(&taken).unwrap(), "somebody's own");
    let made = Program::builder(&conf(&blank)).arg("-z").run();
    assert!(made.status.success(), "{}", made.stderr);
    let conf = format!("workers 1\n{}", conf(&blank));
    let mut program = forward(&conf);
    client(&program).get(&origin.url("/a"));
    program.stop();
    let program = forward(&conf);
    logged(&program, FOUND, 1);
    assert_eq!(client(&program).get(&origin.url("/a")).text(), "/a");
    assert_eq!(origin.total(), 1);
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

/// The same eight, filled far beyond their size, while a reload takes one away and brings another: whatever is served is
/// right, no file outgrows its line, and most of what came last is there, also after a restart.
#[test]
fn many_directories_that_overflow() {
    let (parent, origin) = (cache(), Versions::start());
    let path = |kind: &str, number: usize| parent.path().join(format!("{kind}{number}"));
    let conf = |numbers: [usize; 4]| {
        let lines = numbers.map(|number| {
            let [coss, aufs] = ["coss", "aufs"].map(|kind| path(kind, number));
            format!(
                "cache_dir coss {} 2 max-size=24576 block-size=1024\n\
                 cache_dir aufs {} 8 290 256 min-size=24576\n",
                coss.display(),
                aufs.display()
            )
        });
        let policy = "cache_replacement_policy heap LFUDA";
        // By load, all that came last could be in the one that had just made room, and be taken away.
        let choice = "store_dir_select_algorithm round-robin";
        let memory = "memory_cache_mode never\nmaximum_object_size 8 MB\nworkers 1";
        format!("{policy}\n{choice}\n{memory}\n{}", lines.concat())
    };
    let (before, after) = (conf([1, 2, 3, 4]), conf([1, 2, 3, 5]));
    for conf in [&before, &after] {
        assert!(Program::builder(conf).arg("-z").run().status.success());
    }
    // Three times what there is room for, some of it asked for again and again.
    let name = |round: usize, number: usize| match number % 20 {
        0 => format!("/{}/large-{round}-{number}", 30_000 + number * 1500),
        _ => format!("/{}/{round}-{number}", 100 + number * 37),
    };
    let fill = |program: &Program, round: usize| {
        let mut client = client(program).keep_no_bodies();
        for number in 0..OVERFLOWING {
            origin.fetch(&mut client, &name(round, number));
            if number % 5 == 0 {
                origin.fetch(&mut client, &name(round, number / 2));
            }
        }
        // So small directories are often too full to take anything: what is asked for again is taken in the end.
        for number in OVERFLOWING - LAST..OVERFLOWING {
            let path = name(round, number);
            let hit = || origin.is_hit(&mut client, &path).then_some(());
            assert!(until_within(TAKEN, hit).is_some(), "{path}");
        }
    };
    let hits = |program: &Program, round: usize| {
        let mut client = client(program).keep_no_bodies();
        let last = (OVERFLOWING - LAST..OVERFLOWING).rev();
        last.filter(|number| origin.is_hit(&mut client, &name(round, *number)))
            .count()
    };
    let sizes = || {
        for (kind, mib) in [("coss", 2), ("aufs", 8)] {
            for number in 1..=5 {
                let log = path(kind, number).join("squall.log");
                let bytes = fs::metadata(&log).unwrap().len();
                assert!(bytes <= mib << 20, "{}: {bytes}", log.display());
            }
        }
    };
    let mut program = forward(&before);
    logged(&program, FOUND, 8);
    fill(&program, 1);
    let found = hits(&program, 1);
    assert!(found > LAST / 2, "{found} of the last {LAST}");
    sizes();
    let text = program.read("squid.conf").replace(&before, &after);
    program.write("squid.conf", &text);
    program.signal(Signal::HUP);
    logged(&program, "Reconfigured.", 1);
    logged(&program, FOUND, 10);
    let kept = hits(&program, 1);
    assert!(kept > LAST / 4 && kept <= found, "{kept} of {found}");
    fill(&program, 2);
    sizes();
    assert!(program.stop().success());
    let program = forward(&after);
    logged(&program, FOUND, 8);
    let found = hits(&program, 2);
    assert!(found > LAST / 2, "{found} of the last {LAST}");
    sizes();
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
