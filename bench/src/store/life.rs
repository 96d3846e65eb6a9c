//! A server's life with a full disk cache: filled, asked for all of it, stopped, killed, started again.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use testkit::until_within;

use super::asker::ask;
use super::home::{Home, Room};
use super::measures::{Ending, Pass, Restart, Sample};
use super::scheme::{Keeps, Scheme};
use super::{disk, mix};
use crate::hits::Origin;
use crate::probe;
use crate::process::{Tree, ended_children_time, machine_time, own_time};

/// Room on disk for each object: nothing is to be driven out.
pub(crate) const KIB_EACH: u64 = 20;
/// Objects that are asked for again and again, so that all are in the least memory.
const HOT: u32 = 1000;
const HOT_TURNS: u64 = 50;
/// This share of what was hits before is hits again among so many answers: what was stored is back.
const BACK: f64 = 0.95;
const WINDOW: usize = 100;
/// How long a restart may take.
const RESTART: Duration = Duration::from_secs(120);
/// Objects that are asked for to see how many are there.
const ASKED_AFTER: usize = 1000;
/// Times that what wasn't stored is asked for again, by few at once.
const AGAIN: usize = 4;
const FEW: usize = 4;
/// Hundredths of what was asked for that are enough.
const ENOUGH: f64 = 99.0;
/// What was stored right before the end may be lost; that isn't looked at.
const REST: Duration = Duration::from_secs(3);
const SHARED_MEMORY: &str = "/dev/shm/";

/// What each server gets.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Where the caches lie.
    pub(crate) place: PathBuf,
    pub(crate) objects: u32,
    /// Squid's rock has slots of 16 KiB, and one place for each key: objects whose places are the same drive each other
    /// out, the more the fuller it is.
    pub(crate) rock_kib_each: u64,
    pub(crate) connections: usize,
    /// At most so long for each pass.
    pub(crate) most: Duration,
    pub(crate) seed: u64,
}

/// A running server with what it stores.
pub(crate) struct Life<'a> {
    home: Home,
    tree: Tree,
    origin: &'a Origin,
    plan: &'a Plan,
    /// What it was asked to store.
    numbers: Vec<u32>,
    /// Hundredths of them that are hits.
    stored: f64,
    /// Shared memory that is to be removed in the end.
    shared: BTreeSet<PathBuf>,
}

impl<'a> Life<'a> {
    pub(crate) fn begin(
        scheme: &'static Scheme,
        plan: &'a Plan,
        origin: &'a Origin,
    ) -> Result<Self> {
        let mib = |kib_each: u64| (u64::from(plan.objects) * kib_each / 1024).max(256);
        let room = Room {
            mib: mib(KIB_EACH),
            rock_mib: mib(plan.rock_kib_each),
        };
        let home = Home::new(scheme, &plan.place, origin.port, room)?;
        let tree = home.start()?;
        let mut life = Self {
            home,
            tree,
            origin,
            plan,
            numbers: mix::shuffled(plan.objects, plan.seed),
            stored: 0.0,
            shared: BTreeSet::new(),
        };
        let ready = until_within(RESTART, || {
            let ended = life.tree.has_ended();
            let answers = probe::get(life.home.port, "/count").is_ok_and(|it| it.status == 200);
            (ended || answers).then_some(answers)
        });
        if ready != Some(true) {
            bail!("it didn't start:\n{}", life.home.told());
        }
        life.remember_shared();
        Ok(life)
    }

    fn remember_shared(&mut self) {
        self.shared.append(&mut self.tree.mapped_in(SHARED_MEMORY));
    }

    /// Asks for the objects that belong to this pass.
    pub(crate) fn pass(&mut self, pass: Pass) -> Result<Sample> {
        let cache = self.home.path("cache");
        let seed = self.plan.seed ^ (pass as u64 + 1) << 32;
        let orders = |count, turns: u64| -> Vec<u32> {
            (0..turns)
                .flat_map(|turn| mix::shuffled(count, seed ^ turn << 40))
                .collect()
        };
        let numbers = match pass {
            Pass::Fill => self.numbers.clone(),
            Pass::Cold | Pass::Warm => self.stored(seed),
            Pass::Hot => {
                let all = self.stored(seed);
                let hot: Vec<u32> = all.into_iter().take(HOT as usize).collect();
                ask(self.home.port, &hot, self.plan.connections, self.plan.most)?;
                let places = orders(u32::try_from(hot.len())?, HOT_TURNS).into_iter();
                places
                    .filter_map(|place| hot.get(place as usize).copied())
                    .collect()
            }
        };
        if pass == Pass::Cold {
            disk::forget(&cache)?;
        }
        let known = || self.origin.tree.usage().time() + ended_children_time() + own_time();
        let before = (
            self.tree.usage(),
            self.tree.disk_bytes(),
            probe::origin_count(self.origin.port)?,
            known(),
            machine_time(),
        );
        let asked = ask(
            self.home.port,
            &numbers,
            self.plan.connections,
            self.plan.most,
        )?;
        let used = self.tree.usage() - before.0;
        let others = (machine_time() - before.4)
            .saturating_sub(known() - before.3)
            .saturating_sub(used.time());
        let missed = probe::origin_count(self.origin.port)? - before.2;
        let mut moved = self.tree.disk_bytes();
        let mut taken = 0;
        if pass == Pass::Fill {
            disk::settle(&cache)?;
            moved = self.tree.disk_bytes();
            taken = disk::taken(&cache);
            self.numbers.truncate(asked.answers);
            self.remember_shared();
            self.stored = self.look(seed)?;
        }
        let sample = |each: f64, bytes: f64| Sample {
            requests_per_second: each / asked.took.as_secs_f64(),
            user: real(used.user) / each,
            system: real(used.system) / each,
            p50: asked.percentile(50).into(),
            p99: asked.percentile(99).into(),
            hits: 100.0 - percent(missed, asked.answers),
            read: real(moved.read.saturating_sub(before.1.read)) / each,
            written: real(moved.written.saturating_sub(before.1.written)) / bytes,
            rss_mib: real(used.rss_kib) / 1024.0,
            stored: self.stored,
            taken: real(taken) / bytes,
            others: real(others) / asked.took.as_secs_f64() / 2e4,
        };
        Ok(sample(
            real(asked.answers as u64).max(1.0),
            real(asked.bytes).max(1.0),
        ))
    }

    /// Hundredths of what it was asked to store that are hits, by a few of them.
    pub(crate) fn look(&self, seed: u64) -> Result<f64> {
        let some: Vec<u32> = self.stored(seed).into_iter().take(ASKED_AFTER).collect();
        self.share_of_hits(&some)
    }

    fn share_of_hits(&self, numbers: &[u32]) -> Result<f64> {
        let count = probe::origin_count(self.origin.port)?;
        let asked = ask(self.home.port, numbers, FEW, self.plan.most)?;
        let missed = probe::origin_count(self.origin.port)? - count;
        Ok(100.0 - percent(missed, asked.answers))
    }

    /// Some servers don't store everything while much comes at once: they get it again, slowly.
    pub(crate) fn complete(&mut self) -> Result<()> {
        for seed in 0..AGAIN as u64 {
            if self.stored > ENOUGH {
                break;
            }
            self.share_of_hits(&self.stored(seed))?;
            self.stored = self.look(!seed)?;
        }
        Ok(())
    }

    /// How many objects it was asked to store.
    pub(crate) fn stored_count(&self) -> usize {
        self.numbers.len()
    }

    /// What it was asked to store, in another order.
    fn stored(&self, seed: u64) -> Vec<u32> {
        let mut numbers = self.numbers.clone();
        numbers.sort_by_cached_key(|number| mix::mixed(seed ^ mix::mixed((*number).into())));
        numbers
    }

    /// Ends the process, starts another, and asks for one object after the other until they are hits: for few, so that its
    /// memory stays empty.
    pub(crate) fn restart(&mut self, ending: Ending) -> Result<Restart> {
        std::thread::sleep(REST);
        let begun = Instant::now();
        self.end(ending)?;
        let end = begun.elapsed();
        if ending == Ending::Reboot {
            disk::forget(&self.home.path("cache"))?;
            self.remove_shared();
        }
        let seed = self.plan.seed ^ (ending as u64 + 1) << 24;
        let mut numbers = self.stored(seed).into_iter();
        let begun = Instant::now();
        self.tree = self.home.start()?;
        let mut first_answer = None;
        let mut first_hit = None;
        let mut window = VecDeque::with_capacity(WINDOW);
        let mut back = None;
        while back.is_none() && begun.elapsed() < RESTART {
            let Some(number) = numbers.next() else { break };
            let asked_at = begun.elapsed();
            let hit = self.ask_until_answered(number, begun)?;
            let now = begun.elapsed();
            first_answer.get_or_insert(now);
            if hit {
                first_hit.get_or_insert(now);
            } else {
                // Leaves it time for other things.
                std::thread::sleep(Duration::from_millis(2));
            }
            window.push_back((asked_at, hit));
            if window.len() == WINDOW {
                let hits = window.iter().filter(|(_, hit)| *hit).count();
                let enough = percent(hits as u64, WINDOW) >= self.stored * BACK;
                back = window.front().filter(|_| enough).map(|(at, _)| *at);
                window.pop_front();
            }
        }
        self.remember_shared();
        let first_answer = first_answer.unwrap_or(RESTART);
        Ok(Restart {
            end: millis(end),
            first_answer: millis(first_answer),
            first_hit: millis(first_hit.unwrap_or(RESTART)),
            back: back.map(|at| millis(at.max(first_answer))),
        })
    }

    fn end(&mut self, ending: Ending) -> Result<()> {
        match ending {
            Ending::Stop => self.tree.stop(RESTART),
            Ending::Kill | Ending::Reboot => self.tree.kill(),
        }
        let gone = until_within(RESTART, || {
            (!testkit::is_listening(self.home.port)).then_some(())
        });
        gone.context("it doesn't end")
    }

    /// Was the answer a hit?
    fn ask_until_answered(&mut self, number: u32, begun: Instant) -> Result<bool> {
        let path = mix::path(number);
        loop {
            let count = probe::origin_count(self.origin.port)?;
            if let Ok(probed) = probe::get(self.home.port, &path)
                && probed.status == 200
            {
                return Ok(probe::origin_count(self.origin.port)? == count);
            }
            if self.tree.has_ended() || begun.elapsed() > RESTART {
                bail!("it didn't start again:\n{}", self.home.told());
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    fn remove_shared(&self) {
        for path in &self.shared {
            // Some are gone with their process.
            drop(fs::remove_file(path));
        }
    }
}

impl Drop for Life<'_> {
    fn drop(&mut self) {
        self.tree.kill();
        self.remove_shared();
        let squids = self.home.service() + "-";
        for entry in fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&squids) {
                drop(fs::remove_file(entry.path()));
            }
        }
    }
}

/// Is there anything to see of this server in this pass?
pub(crate) fn takes(scheme: &Scheme, pass: Pass) -> bool {
    match pass {
        Pass::Fill | Pass::Hot => true,
        Pass::Warm => scheme.keeps != Keeps::Little,
        Pass::Cold => scheme.keeps == Keeps::Disk,
    }
}

/// Does it bring back what it stored?
pub(crate) fn restarts(scheme: &Scheme) -> bool {
    scheme.keeps == Keeps::Disk
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn percent(part: u64, whole: usize) -> f64 {
    real(part) * 100.0 / real(whole as u64).max(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "a measurement")]
fn real(number: u64) -> f64 {
    number as f64
}
