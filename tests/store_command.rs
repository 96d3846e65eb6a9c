//! `squall store …`: what operators see of the disk, while the proxy serves from there and after it has ended.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::Duration;

use tempfile::TempDir;
use testkit::{Origin, Pattern, Program, Reply, Request, squall};

use crate::support::{client, forward};

/// What is stored is on its way to the disk within a second.
const COMMITTED: Duration = Duration::from_millis(1500);

/// A program with a `cache_dir` of its own, which has stored what the origin has.
struct Story {
    dir: TempDir,
    origin: Origin,
    program: Program,
}

/// `/large` is 700 KB, `/vary` has a variant for each `Accept`, all else says its path.
fn stored() -> Story {
    let dir = TempDir::new().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let large = Pattern::new("large", 700_000);
    let origin = Origin::start(move |request: &Request| {
        let reply = match request.target.as_str() {
            "/large" => Reply::pattern(&large),
            "/vary" => Reply::ok(request.field("Accept").unwrap_or("none")).field("Vary", "Accept"),
            path => Reply::ok(path).field("Content-Type", "text/plain"),
        };
        reply.field("Cache-Control", "max-age=600")
    });
    let program = forward(&format!(
        "cache_dir aufs {} 64 16 256\nworkers 1\nacl purge method PURGE",
        dir.path().display()
    ));
    for path in ["/a", "/b", "/large"] {
        client(&program).get(&origin.url(path));
    }
    for kind in ["x/one", "x/two"] {
        client(&program).request("GET", &origin.url("/vary"), &[("Accept", kind)]);
    }
    std::thread::sleep(COMMITTED);
    Story {
        dir,
        origin,
        program,
    }
}

impl Story {
    fn run(&self, args: &[&str]) -> Output {
        Command::new(squall())
            .arg("store")
            .args(args)
            .arg("-f")
            .arg(self.program.dir().join("squid.conf"))
            .output()
            .unwrap()
    }

    /// Its lines in order, and whether it says that all is well.
    fn lines(&self, args: &[&str]) -> (Vec<String>, bool) {
        let output = self.run(args);
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        (lines, output.status.success())
    }

    fn url(&self, path: &str) -> String {
        self.origin.url(path)
    }

    fn urls(&self, paths: &[&str]) -> Vec<String> {
        paths.iter().map(|path| self.url(path)).collect()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The same is seen while the proxy serves and when it has ended, and looking changes nothing.
#[test]
fn what_is_stored_is_listed() {
    let mut story = stored();
    for open in [true, false] {
        if !open {
            story.program.stop();
        }
        let all = story.urls(&["/a", "/b", "/large", "/vary", "/vary"]);
        assert_eq!(story.lines(&["ls"]), (all, true), "{open}");
        let large = story.urls(&["/large"]);
        assert_eq!(story.lines(&["grep", "/(large|none)$"]), (large, true));
        assert_eq!(story.lines(&["grep", "/none$"]), (Vec::new(), false));
        let (long, _) = story.lines(&["ls", "--long"]);
        let line = |path: &str, end: &str| {
            let line = long
                .iter()
                .find(|line| line.contains(path) && line.ends_with(end));
            line.unwrap().split_whitespace().collect::<Vec<_>>()
        };
        let plain = line("/a", "/a");
        assert_eq!((plain[0], plain[1], plain[4]), ("200", "2", "text/plain"));
        assert!(plain[2] < plain[3], "it is fresh for a while");
        assert_eq!(line("/large", "")[1], "700000");
        assert_eq!(
            *line("/vary", "accept=x/two").last().unwrap(),
            "accept=x/two"
        );
    }
}

#[test]
fn a_response_is_written_as_it_is_stored() {
    let story = stored();
    let dump = |args: &[&str]| story.run(&[&["dump"], args].concat());
    let output = dump(&[&story.url("/a")]);
    let text = String::from_utf8(output.stdout).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("Content-Type: text/plain"), "{head}");
    assert_eq!(body, "/a");
    let large = dump(&[&story.url("/large")]).stdout;
    assert!(large.ends_with(&Pattern::new("large", 700_000).to_vec()));
    let vary = story.url("/vary");
    let named = dump(&[&vary]);
    assert!(!named.status.success() && named.stdout.is_empty());
    assert!(stderr(&named).contains("  1 200"), "{}", stderr(&named));
    for (number, kind) in [("1", "x/one"), ("2", "x/two")] {
        let one = dump(&[&vary, "--variant", number]);
        assert!(one.stdout.ends_with(kind.as_bytes()), "{number}");
    }
    assert!(stderr(&dump(&[&vary, "--variant", "3"])).contains("variants 1 to 2"));
    assert!(stderr(&dump(&["http://nowhere.test/\n"])).contains("nowhere.test/%0A: not stored"));
}

#[test]
fn damage_is_found_and_named() {
    let mut story = stored();
    let file = story.dir.path().join("squall.log");
    let (lines, good) = story.lines(&["verify"]);
    assert!(good, "{lines:?}");
    assert!(lines[0].ends_with(" 0 damaged, 0 chunks damaged, 0 overwritten"));
    story.program.stop();
    let mut bytes = fs::read(&file).unwrap();
    let body = Pattern::new("large", 700_000).to_vec();
    let piece = &body[400_000..400_100];
    let at = bytes
        .windows(100)
        .position(|window| window == piece)
        .unwrap();
    bytes[at] ^= 1;
    fs::write(&file, bytes).unwrap();
    let (lines, good) = story.lines(&["verify"]);
    assert!(!good && lines.len() == 2, "{lines:?}");
    let url = story.url("/large");
    let damaged = |line: &String| line.contains(": damaged at ") && line.ends_with(&url);
    assert!(lines.iter().any(damaged), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains(" 1 damaged, ")));
    assert!(!story.run(&["dump", &url]).status.success());
}

#[test]
fn directories_say_how_full_they_are() {
    let mut story = stored();
    story.program.stop();
    let output = story.run(&["stats", "--json"]).stdout;
    let stats: serde_json::Value = serde_json::from_slice(&output).unwrap();
    let dir = &stats["cache_dirs"][0];
    assert_eq!(dir["path"], story.dir.path().to_str().unwrap());
    // The fork of the variants is one too.
    assert_eq!(dir["records"], 6);
    assert_eq!(dir["opened"], 1);
    assert!(
        dir["bytes"].as_u64() >= Some(700_000)
            && dir["bytes"].as_u64() <= dir["bytes_max"].as_u64()
    );
    let (lines, good) = story.lines(&["stats"]);
    assert!(
        good && lines.contains(&"  records         6".to_owned()),
        "{lines:?}"
    );
    fs::remove_file(story.dir.path().join("squall.log")).unwrap();
    for command in [&["ls"][..], &["verify"], &["stats"]] {
        let output = story.run(command);
        assert!(!output.status.success(), "{command:?}");
        assert!(stderr(&output).contains(story.dir.path().to_str().unwrap()));
    }
}

/// A volume that a proxy has open is left to it; it finds what was purged gone when it starts again.
#[test]
fn what_is_purged_between_two_runs_is_gone() {
    let mut story = stored();
    let refused = story.run(&["purge", &story.url("/a")]);
    assert!(!refused.status.success());
    assert!(
        stderr(&refused).contains("the method PURGE"),
        "{}",
        stderr(&refused)
    );
    story.program.stop();
    for path in ["/a", "/vary"] {
        let purged = story.run(&["purge", &story.url(path)]);
        assert!(purged.status.success(), "{}", stderr(&purged));
        let again = story.run(&["purge", &story.url(path)]);
        assert!(stderr(&again).contains("not stored"), "{}", stderr(&again));
    }
    assert_eq!(story.lines(&["ls"]), (story.urls(&["/b", "/large"]), true));
    let conf = story.program.read("squid.conf");
    let lines = conf.lines().filter(|line| !line.starts_with("http_port"));
    let lines: Vec<&str> = lines.collect();
    let program = Program::start(&lines.join("\n"));
    for (path, asked) in [("/b", 1), ("/a", 2)] {
        assert_eq!(client(&program).get(&story.url(path)).text(), path);
        assert_eq!(story.origin.count(path), asked, "{path}");
    }
}
