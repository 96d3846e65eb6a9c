//! `/squall/` in a real browser (Debian's chromium-headless-shell): with and without scripts, light, dark, and as small as a
//! phone. `SQUALL_PICTURES=FOLDER` keeps the pictures.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use testkit::{Client, Origin, Program, Reply, Request, until};

use crate::support::client;

/// Longest life of a browser.
const PATIENCE: Duration = Duration::from_secs(60);

/// What hostile clients and origins could name things.
const HOSTILE: &str = "/<script>document.title='owned'</script>\"'&";

/// A proxy that has something to show, and its origin.
struct Story {
    program: Program,
    origin: Origin,
}

fn story() -> Story {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/missing" => Reply::new("404 Not Found"),
        path => Reply::ok(path)
            .field("Cache-Control", "max-age=600")
            .field("Content-Type", "text/plain"),
    });
    let program =
        Program::start("http_access allow localhost\nworkers 1\nvisible_hostname proxy.example");
    let story = Story { program, origin };
    story.look();
    for path in ["/a", "/a", "/b", "/missing", HOSTILE] {
        client(&story.program).get(&story.origin.url(path));
    }
    story
}

impl Story {
    fn url(&self, page: &str) -> String {
        format!("http://{}/squall/{page}", self.program.addr())
    }

    fn page(&self, page: &str) -> testkit::Response {
        Client::connect(self.program.addr()).get(&format!("/squall/{page}"))
    }

    /// Whoever looks makes the workers tell of transactions.
    fn look(&self) {
        assert_eq!(self.page("").status, 200);
    }

    fn live(&self, query: &str) -> serde_json::Value {
        serde_json::from_slice(self.page(&format!("live{query}")).body()).unwrap()
    }
}

/// A browser with a home of its own.
struct Browser {
    home: TempDir,
    args: Vec<String>,
}

impl Browser {
    fn new() -> Self {
        Self {
            home: TempDir::new().unwrap(),
            args: Vec::new(),
        }
    }

    fn with(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// Opens the page, and gives what it printed. It lives as long as the page needs, two seconds of its time more.
    fn run(&self, args: &[&str], url: &str) -> String {
        let mut child = Command::new("chromium-headless-shell")
            .args([
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--no-proxy-server",
                "--virtual-time-budget=3000",
            ])
            .arg(format!("--user-data-dir={}", self.home.path().display()))
            .args(&self.args)
            .args(args)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromium-headless-shell is installed (cargo xtask test)");
        let mut out = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        let begun = std::time::Instant::now();
        while child.try_wait().unwrap().is_none() {
            if begun.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("the browser doesn't end: {url}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        reader.join().unwrap()
    }

    fn dom(&self, url: &str) -> String {
        self.run(&["--dump-dom"], url)
    }

    fn picture(&self, url: &str, size: (u32, u32)) -> Vec<u8> {
        let file = self.home.path().join("picture.png");
        let shot = format!("--screenshot={}", file.display());
        let size = format!("--window-size={},{}", size.0, size.1);
        self.run(&[&shot, &size], url);
        std::fs::read(&file).unwrap()
    }
}

/// The page in a browser that runs no script of it.
fn still(page: &testkit::Response) -> String {
    let html = page.body().to_vec();
    let still = Origin::start(move |request: &Request| match request.target.as_str() {
        "/" => Reply::ok(&html)
            .field("Content-Type", "text/html;charset=utf-8")
            .field("Content-Security-Policy", "script-src 'none'"),
        _ => Reply::new("404 Not Found"),
    });
    Browser::new().dom(&still.url("/"))
}

fn keep(name: &str, picture: &[u8]) {
    if let Some(folder) = std::env::var_os("SQUALL_PICTURES") {
        let path: PathBuf = Path::new(&folder).join(name);
        std::fs::write(path, picture).unwrap();
    }
}

#[test]
fn the_page_is_whole_without_scripts() {
    let story = story();
    let page = story.page("");
    assert_eq!(page.field("Content-Type"), Some("text/html;charset=utf-8"));
    let policy = page.field("Content-Security-Policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    let dom = still(&page);
    for words in [
        "proxy.example",
        "Latest transactions",
        "TCP_MISS",
        "worker 1",
        "127.0.0.1",
    ] {
        assert!(dom.contains(words), "{words}: {dom}");
    }
    assert!(
        dom.contains(">404<") && dom.contains("TCP_MEM_HIT"),
        "{dom}"
    );
    // No script has marked it as living.
    assert!(!dom.contains("id=\"pulse\" class=\"live\""), "{dom}");
}

#[test]
fn a_script_keeps_the_page_up_to_date_and_nothing_hostile_is_run() {
    let story = story();
    let dom = Browser::new().dom(&story.url(""));
    assert!(dom.contains("id=\"pulse\" class=\"live\""), "{dom}");
    assert!(
        dom.contains("<title>proxy.example – Squall</title>"),
        "{dom}"
    );
    assert!(!dom.contains("<script>"), "{dom}");
    assert!(
        dom.contains("script%3E") || dom.contains("script&gt;"),
        "{dom}"
    );
    let dom = Browser::new().dom(&story.url("transactions"));
    assert!(
        dom.contains("class=\"live\"") && dom.contains(">Slowest"),
        "{dom}"
    );
}

#[test]
fn numbers_are_written_by_the_script_as_by_the_page() {
    let story = story();
    let still = still(&story.page("transactions"));
    let living = Browser::new().dom(&story.url("transactions"));
    let body = |dom: &str| {
        let start = dom.find("<tbody>").unwrap();
        let end = dom.find("</tbody>").unwrap();
        let cells = dom[start..end].split("<td").skip(1);
        let text = cells.map(|cell| {
            let text = cell.split_once('>').unwrap().1;
            let mut plain = String::new();
            let mut inside = false;
            for letter in text.chars() {
                match letter {
                    '<' => inside = true,
                    '>' => inside = false,
                    _ if !inside => plain.push(letter),
                    _ => {}
                }
            }
            plain
        });
        text.collect::<Vec<String>>()
    };
    assert_eq!(body(&still), body(&living));
    assert!(!body(&still).is_empty());
}

#[test]
fn one_transaction_is_followed_by_its_id() {
    let story = story();
    let id = until("the transaction", || {
        let live = story.live("");
        let rows = live["recent"].as_array()?;
        let row = rows.iter().find(|row| row["status"] == 404)?;
        Some(row["id"].as_str()?.to_owned())
    });
    let page = story.page(&format!("transaction?id={id}"));
    let text = page.text();
    for words in [
        "<dd>TCP_MISS</dd>",
        "HIER_DIRECT",
        "until the hop answered",
        "/missing",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let unknown = story.page("transaction?id=%3Cscript%3E");
    let text = unknown.text();
    assert!(text.contains("It isn't known") && !text.contains("<script>"));
    assert_eq!(story.page("nothing").status, 404);
    let moved = client(&story.program).get("/squall");
    assert_eq!(
        (moved.status, moved.field("Location")),
        (302, Some("squall/"))
    );
}

#[test]
fn scripts_of_other_sites_may_not_read_it() {
    let story = story();
    let foreign = [("Origin", "http://elsewhere.example")];
    let read = |path: &str| {
        let answer = client(&story.program).request("GET", path, &foreign);
        assert_eq!(answer.status, 200, "{path}");
        answer
            .field("Access-Control-Allow-Origin")
            .map(str::to_owned)
    };
    // Squid's own pages may be read so.
    assert_eq!(
        read("/squid-internal-mgr/menu").as_deref(),
        Some(foreign[0].1)
    );
    assert_eq!(read("/squall/live"), None);
    assert_eq!(read("/squall/"), None);
}

#[test]
fn the_feed_has_the_busiest_and_only_what_is_new() {
    let story = story();
    let live = until("hosts", || {
        let live = story.live("?by=bytes&rows=3");
        let known = live["hosts"]
            .as_array()
            .is_some_and(|hosts| !hosts.is_empty());
        (known && live["series"]["at"].as_array()?.len() > 1).then_some(live)
    });
    assert_eq!(live["hosts"][0]["requests"], 5);
    assert_eq!(live["clients"][0]["key"], "127.0.0.1");
    assert!(live["recent"].as_array().unwrap().len() <= 3);
    assert_eq!(live["by"], "bytes");
    let last = live["series"]["at"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    let more = story.live(&format!("?since={last}"));
    let at = more["series"]["at"].as_array().unwrap();
    assert!(
        at.iter().all(|at| at.as_i64() > last.as_i64()),
        "{at:?} {last}"
    );
}

#[test]
fn it_looks_as_it_should_in_the_light_in_the_dark_and_on_a_phone() {
    let story = story();
    let dark = "--blink-settings=preferredColorScheme=0";
    let light = Browser::new().picture(&story.url(""), (1280, 1000));
    let dark = Browser::new()
        .with(dark)
        .picture(&story.url(""), (1280, 1000));
    let phone = Browser::new().picture(&story.url(""), (390, 844));
    for (name, picture) in [
        ("light.png", &light),
        ("dark.png", &dark),
        ("phone.png", &phone),
    ] {
        assert!(picture.starts_with(b"\x89PNG"), "{name}");
        keep(name, picture);
    }
    assert!(light != dark, "both have the same colours");
}
