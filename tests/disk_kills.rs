//! SIGKILL while responses are stored, renewed and purged, again and again: what was stored a moment before is a hit after
//! the next start, what was purged stays away, and whatever is served is what the origin gave. More of it by
//! `SQUALL_KILLS` and `SQUALL_OBJECTS`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;
use testkit::{Client, Failed, Program, until};

use crate::disk::{FOUND, cache, logged};
use crate::support::{client, forward};
use crate::versions::{Versions, ask};

/// What is stored is on its way to the disk within a second.
const SETTLED: Duration = Duration::from_millis(1500);
/// The least between a start and a kill: some of what is stored meanwhile is settled.
const LIFE_MIN: Duration = Duration::from_millis(2500);
const WRITERS: usize = 4;
/// Of what was settled, so much may be lost.
const LOST_SHARE_MAX: f64 = 0.001;

/// What a writer knows of one of its URLs.
#[derive(Clone, Debug)]
struct Known {
    path: String,
    version: u64,
    stored: Instant,
    state: State,
    /// Nothing was done with it since it was judged last.
    judged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Stored,
    /// A request was under way that may have changed it.
    Doubtful,
    Purged(Instant),
    Gone,
}

/// One of those who store, with URLs of its own.
#[derive(Debug)]
struct Writer {
    number: usize,
    steps: usize,
    known: Vec<Known>,
}

/// How a look at what was known went.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Stored longer than [`SETTLED`] before the kill, and of those what was lost.
    settled: usize,
    lost: usize,
    /// The same for one second.
    a_second: usize,
    a_second_lost: usize,
    /// Purged within the last moment, and back.
    back: usize,
}

fn asked(name: &str, usual: usize) -> usize {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

impl Writer {
    fn new(number: usize) -> Self {
        Self {
            number,
            steps: 0,
            known: Vec::new(),
        }
    }

    /// Stores, renews, purges and reads until the program is gone.
    fn work(&mut self, client: &mut Client, origin: &Versions, pace: impl Fn()) {
        while self.step(client, origin).is_ok() {
            pace();
        }
    }

    fn step(&mut self, client: &mut Client, origin: &Versions) -> Result<(), Failed> {
        self.steps += 1;
        let at = self.steps.wrapping_mul(0x9e37_79b9) % self.known.len().max(1);
        let standing = self.known.get_mut(at);
        let standing = standing.filter(|known| known.state == State::Stored);
        let act = match self.steps % 50 {
            7 | 27 => Known::renew,
            13 => Known::purge,
            21 | 42 => Known::read,
            _ => return self.store(client, origin),
        };
        let Some(known) = standing else { return Ok(()) };
        (known.state, known.judged) = (State::Doubtful, false);
        act(known, client, origin)
    }

    fn store(&mut self, client: &mut Client, origin: &Versions) -> Result<(), Failed> {
        let bytes = match self.steps % 200 {
            3 => 300_000,
            other => 100 + other * 37,
        };
        let path = format!("/{bytes}/{}-{}", self.number, self.steps);
        let answer = ask(client, "GET", &origin.url(&path), &[])?;
        self.known.push(Known {
            version: origin.judge(&path, &answer),
            path,
            stored: Instant::now(),
            state: State::Stored,
            judged: false,
        });
        Ok(())
    }

    /// Looks after the end of the program whether what was done since the last one, and some of the rest, is as it
    /// should be.
    fn judge(&mut self, client: &mut Client, origin: &Versions, killed: Instant) -> Tally {
        let mut tally = Tally::default();
        for (number, known) in self.known.iter_mut().enumerate() {
            if !known.judged || number % 10 == 0 {
                known.judge(client, origin, killed, &mut tally);
            }
        }
        tally
    }

    /// Something that was stored long before the kill.
    fn settled(&self, killed: Instant) -> Option<String> {
        let mut known = self.known.iter();
        let known = known.find(|known| {
            known.state == State::Stored && killed.duration_since(known.stored) > SETTLED
        });
        Some(known?.path.clone())
    }
}

impl Known {
    fn renew(&mut self, client: &mut Client, origin: &Versions) -> Result<(), Failed> {
        let fields = [("Cache-Control", "no-cache")];
        let answer = ask(client, "GET", &origin.url(&self.path), &fields)?;
        let version = origin.judge(&self.path, &answer);
        assert!(version > self.version, "{}", self.path);
        (self.version, self.stored) = (version, Instant::now());
        self.state = State::Stored;
        Ok(())
    }

    fn purge(&mut self, client: &mut Client, origin: &Versions) -> Result<(), Failed> {
        let answer = ask(client, "PURGE", &origin.url(&self.path), &[])?;
        assert!(matches!(answer.status, 200 | 404), "{}", answer.status);
        self.state = State::Purged(Instant::now());
        Ok(())
    }

    fn read(&mut self, client: &mut Client, origin: &Versions) -> Result<(), Failed> {
        let before = origin.latest();
        let answer = ask(client, "GET", &origin.url(&self.path), &[])?;
        let version = origin.judge(&self.path, &answer);
        assert!(version == self.version || version > before, "{}", self.path);
        if version > before {
            (self.version, self.stored) = (version, Instant::now());
        }
        self.state = State::Stored;
        Ok(())
    }

    fn judge(
        &mut self,
        client: &mut Client,
        origin: &Versions,
        killed: Instant,
        tally: &mut Tally,
    ) {
        if self.state == State::Gone {
            return;
        }
        let fields = [("Cache-Control", "only-if-cached")];
        let answer = client.request("GET", &origin.url(&self.path), &fields);
        let found = match answer.status {
            504 => None,
            _ => Some(origin.judge(&self.path, &answer)),
        };
        let since = |moment: Instant| killed.saturating_duration_since(moment);
        match self.state {
            State::Purged(moment) => {
                let back = found.is_some();
                assert!(!back || since(moment) < SETTLED, "{} is back", self.path);
                tally.back += usize::from(back);
            }
            State::Stored => {
                let lost = found.is_none();
                if since(self.stored) >= SETTLED {
                    tally.settled += 1;
                    tally.lost += usize::from(lost);
                }
                if since(self.stored) >= Duration::from_secs(1) {
                    tally.a_second += 1;
                    tally.a_second_lost += usize::from(lost);
                }
                let stale = found.is_some_and(|found| found < self.version);
                assert!(
                    !stale || since(self.stored) < SETTLED,
                    "{} is old",
                    self.path
                );
            }
            State::Doubtful | State::Gone => {}
        }
        self.judged = true;
        match found {
            Some(version) => (self.version, self.state) = (version, State::Stored),
            None => self.state = State::Gone,
        }
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.settled += other.settled;
        self.lost += other.lost;
        self.a_second += other.a_second;
        self.a_second_lost += other.a_second_lost;
        self.back += other.back;
    }
}

/// Time from the start of the program to the first answer from disk, and until all is found.
fn begin(dir: &TempDir, mib: usize, origin: &Versions, settled: Option<&str>) -> Program {
    let began = Instant::now();
    let program = forward(&format!(
        "cache_dir aufs {} {mib} 16 256\nacl purge method PURGE\naccess_log none",
        dir.path().display()
    ));
    if let Some(path) = settled {
        until("a hit from disk", || {
            let fields = [("Cache-Control", "only-if-cached")];
            let answer = client(&program).request("GET", &origin.url(path), &fields);
            (answer.status == 200).then_some(())
        });
        let first = began.elapsed();
        logged(&program, FOUND, 1);
        println!(
            "first hit from disk after {first:?}, all found after {:?}",
            began.elapsed()
        );
    }
    program
}

/// Does something with each writer, on a thread and with a connection of its own.
fn each<T: Send>(
    writers: &mut [Writer],
    program: &Program,
    act: impl Fn(&mut Writer, &mut Client) -> T + Sync,
) -> Vec<T> {
    let act = &act;
    thread::scope(|scope| {
        let threads = writers.iter_mut().map(|writer| {
            let mut client = client(program).keep_no_bodies();
            scope.spawn(move || act(writer, &mut client))
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// Lets all work until `share` more is done, and kills the program meanwhile.
fn live_and_die(
    writers: &mut [Writer],
    program: &mut Program,
    origin: &Versions,
    share: usize,
) -> Instant {
    let (began, done) = (Instant::now(), AtomicU64::new(0));
    let is_done = || done.load(Relaxed) >= share as u64;
    let pid = rustix::process::Pid::from_raw(program.pid() as i32).unwrap();
    let killed = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            while !is_done() || began.elapsed() < LIFE_MIN {
                thread::sleep(Duration::from_millis(5));
            }
            let killed = Instant::now();
            rustix::process::kill_process(pid, Signal::KILL).unwrap();
            killed
        });
        each(writers, program, |writer, client| {
            writer.work(client, origin, || {
                done.fetch_add(1, Relaxed);
                if is_done() {
                    thread::sleep(Duration::from_millis(2)); // there is enough to judge
                }
            });
        });
        killer.join().unwrap()
    });
    program.wait();
    println!("{} requests in {:?}", done.load(Relaxed), killed - began);
    killed
}

#[test]
fn kills_lose_nothing_but_the_last_moment() {
    let (kills, objects) = (asked("SQUALL_KILLS", 4), asked("SQUALL_OBJECTS", 10_000));
    let (dir, origin) = (cache(), Versions::start());
    let mut writers: Vec<Writer> = (0..WRITERS).map(Writer::new).collect();
    let mut all = Tally::default();
    let mib = objects / 100 + 100;
    let mut program = begin(&dir, mib, &origin, None);
    for _ in 0..kills {
        let killed = live_and_die(&mut writers, &mut program, &origin, objects / kills);
        let settled = writers[0].settled(killed);
        program = begin(&dir, mib, &origin, settled.as_deref());
        let tallies = each(&mut writers, &program, |writer, client| {
            writer.judge(client, &origin, killed)
        });
        let mut tally = Tally::default();
        tallies.into_iter().for_each(|one| tally += one);
        println!("{tally:?}");
        all += tally;
    }
    println!(
        "{} kills, {} answers of the origin: {all:?}",
        kills,
        origin.latest()
    );
    assert!(all.settled > 0);
    assert!(
        all.lost as f64 <= all.settled as f64 * LOST_SHARE_MAX,
        "{all:?}"
    );
    let log = program.read("cache.log");
    assert!(!log.contains("panic"), "{log}");
}
