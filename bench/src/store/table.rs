//! The tables: medians of the rounds.

use serde::Serialize;

use super::Options;
use super::measures::{Ending, Pass, Restart, Sample};
use super::scheme::Scheme;
use crate::machine::Machine;
use crate::plot::bars;
use crate::report::{median, micros, push};

/// Rounds of one server in one pass.
#[derive(Clone, Debug, Serialize)]
struct Row {
    pass: Pass,
    server: &'static str,
    rounds: Vec<Sample>,
}

/// One restart.
#[derive(Clone, Debug, Serialize)]
struct Restarted {
    ending: Ending,
    server: &'static str,
    objects: usize,
    restart: Restart,
    /// Hundredths of the objects that were hits in the end.
    kept: f64,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Option<Machine>,
    rounds: usize,
    objects: u32,
    connections: usize,
    passes: Vec<Row>,
    restarts: Vec<Restarted>,
    /// Who could not take part, and why.
    absent: Vec<(&'static str, String)>,
}

impl Pass {
    const ALL: [Self; 4] = [Self::Fill, Self::Cold, Self::Warm, Self::Hot];

    /// The end of its plot's name.
    fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Cold => "disk",
            Self::Warm => "page-cache",
            Self::Hot => "memory",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Fill => "Fill: all misses, all stored",
            Self::Cold => "Hits on disk: each object once, none in memory",
            Self::Warm => "Hits in the kernel's page cache: each object once",
            Self::Hot => "Hits in memory: 1,000 objects in turn",
        }
    }
}

impl Ending {
    fn title(self) -> &'static str {
        match self {
            Self::Stop => "SIGTERM",
            Self::Kill => "SIGKILL",
            Self::Reboot => "SIGKILL, memory lost",
        }
    }
}

impl Row {
    fn median(&self, field: fn(&Sample) -> f64) -> f64 {
        median(self.rounds.iter().map(field).collect())
    }

    fn cost(&self) -> f64 {
        self.median(|sample| sample.user + sample.system)
    }
}

impl Report {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            machine: None,
            rounds: options.rounds,
            objects: options.objects,
            connections: options.connections,
            passes: Vec::new(),
            restarts: Vec::new(),
            absent: Vec::new(),
        }
    }

    pub(crate) fn absent(&mut self, scheme: &Scheme, why: &anyhow::Error) {
        eprintln!("{}: {why:#}", scheme.title);
        self.absent.push((scheme.title, format!("{why:#}")));
    }

    pub(crate) fn pass(&mut self, scheme: &Scheme, pass: Pass, sample: Sample) {
        let mut rows = self.passes.iter_mut();
        match rows.find(|row| row.pass == pass && row.server == scheme.title) {
            Some(row) => row.rounds.push(sample),
            None => self.passes.push(Row {
                pass,
                server: scheme.title,
                rounds: vec![sample],
            }),
        }
    }

    pub(crate) fn restart(
        &mut self,
        scheme: &Scheme,
        ending: Ending,
        objects: usize,
        restart: Restart,
        kept: f64,
    ) {
        self.restarts.push(Restarted {
            ending,
            server: scheme.title,
            objects,
            restart,
            kept,
        });
    }

    pub(crate) fn render(&self) -> String {
        let mut out = self.head();
        for pass in Pass::ALL {
            out += &self.table(pass);
        }
        out += &self.restarts();
        for (server, why) in &self.absent {
            push(&mut out, format_args!("{server} is absent: {why}\n\n"));
        }
        out.truncate(out.trim_end().len());
        out + "\n"
    }

    /// A plot for each pass, and the end of its name: what a request cost each server.
    pub(crate) fn plots(&self) -> Vec<(&'static str, String)> {
        let plot = |pass: Pass| {
            let rows = self.passes.iter().filter(|row| row.pass == pass);
            let rows = rows.map(|row| (row.server.to_owned(), row.cost()));
            let title = format!("{}: µs of processor time per request", pass.title());
            (pass.name(), bars(&title, &rows.collect::<Vec<_>>()))
        };
        Pass::ALL.into_iter().map(plot).collect()
    }

    fn head(&self) -> String {
        let mut out = "# The disk store\n\n".to_owned();
        let Some(machine) = &self.machine else {
            return out;
        };
        push(
            &mut out,
            format_args!(
                "{}.\n\
                 Medians of {} rounds, the servers in turn within a round, each with an empty directory. Server on core 0 with one \
                 worker, requests (over {} connections) and origin on core 1.\n\
                 {} objects, sizes from 1 byte to 32 KB as a picture server's disk caches read them, 2.4 KB on average; \
                 8 MB of memory for the cache.\n\
                 µs: processor time of all of the server's processes per request. × Squall compares the sums of them. Hits: requests that \
                 the origin didn't see. Disk: bytes that the disk read per request; in the fill, bytes written, and taken, \
                 per byte of content, and stored: how many are hits then; what wasn't stored is asked for again \
                 before the hits on disk. Others: the share of the two cores that other work took meanwhile.\n\
                 Before the hits on disk the server is started anew, and the kernel forgets the content of its files.\n\n",
                machine.line(),
                self.rounds,
                self.connections,
                self.objects,
            ),
        );
        for (server, version) in &machine.versions {
            push(&mut out, format_args!("- {server}: {version}\n"));
        }
        out + "\n"
    }

    fn table(&self, pass: Pass) -> String {
        let rows: Vec<&Row> = self.passes.iter().filter(|row| row.pass == pass).collect();
        if rows.is_empty() {
            return String::new();
        }
        let squall = rows.iter().find(|row| row.server == "Squall");
        let (disk, line) = match pass {
            Pass::Fill => ("stored % | written ÷ | taken ÷", "--:|--:|--:"),
            Pass::Cold | Pass::Warm | Pass::Hot => ("hits % | disk bytes", "--:|--:"),
        };
        let mut out = format!(
            "### {}\n\n| server | requests/s | user µs | system µs | sum µs | × Squall | p50 ms | p99 ms | {disk} | RSS MiB | \
             others % |\n|---|--:|--:|--:|--:|--:|--:|--:|{line}|--:|--:|\n",
            pass.title()
        );
        for row in &rows {
            let times = squall.map_or("–".to_owned(), |squall| {
                format!("{:.2}", row.cost() / squall.cost())
            });
            let disk = match pass {
                Pass::Fill => format!(
                    "{:.1} | {:.2} | {:.2}",
                    row.median(|sample| sample.stored),
                    row.median(|sample| sample.written),
                    row.median(|sample| sample.taken)
                ),
                Pass::Cold | Pass::Warm | Pass::Hot => format!(
                    "{:.1} | {:.0}",
                    row.median(|sample| sample.hits),
                    row.median(|sample| sample.read)
                ),
            };
            push(
                &mut out,
                format_args!(
                    "| {} | {:.0} | {} | {} | {} | {times} | {:.2} | {:.2} | {disk} | {:.0} | {:.0} |\n",
                    row.server,
                    row.median(|sample| sample.requests_per_second),
                    micros(row.median(|sample| sample.user)),
                    micros(row.median(|sample| sample.system)),
                    micros(row.cost()),
                    row.median(|sample| sample.p50) / 1e3,
                    row.median(|sample| sample.p99) / 1e3,
                    row.median(|sample| sample.rss_mib),
                    row.median(|sample| sample.others),
                ),
            );
        }
        out + "\n"
    }

    fn restarts(&self) -> String {
        if self.restarts.is_empty() {
            return String::new();
        }
        let mut out = "### Restarts\n\n\
             Milliseconds from exec to the first answer, to the first hit, and to when, of 100 answers in a row, 95 % of those that could be hits are; `ended`: \
             from the signal until it was gone. Kept: hits among 1,000 objects asked for after that. Memory lost: the \
             shared memory is removed, and the kernel forgets the content of the files.\n\n\
             | after | server | objects | ended | first answer | first hit | 95 % of hits | kept % |\n\
             |---|---|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
        for ending in [Ending::Stop, Ending::Kill, Ending::Reboot] {
            for row in self.restarts.iter().filter(|row| row.ending == ending) {
                let restart = row.restart;
                push(
                    &mut out,
                    format_args!(
                        "| {} | {} | {} | {:.0} | {:.0} | {:.0} | {} | {:.1} |\n",
                        ending.title(),
                        row.server,
                        row.objects,
                        restart.end,
                        restart.first_answer,
                        restart.first_hit,
                        restart
                            .back
                            .map_or("–".to_owned(), |back| format!("{back:.0}")),
                        row.kept,
                    ),
                );
            }
        }
        out + "\n"
    }
}
