//! The table: what the last quarter came to, and whether it was as good as the ones before.

use serde::Serialize;

use super::{ANSWER_MS, ROBOTS};
use crate::machine::Machine;
use crate::plot::{Series, lines};
use crate::report::push;
use crate::store::Scheme;

/// Windows that a point of the plot is the mean of.
const SMOOTH: usize = 3;

/// A second.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Window {
    /// Content fetched so far that may be kept, by the cache's size.
    pub(crate) fill: f64,
    pub(crate) per_second: f64,
    /// Milliseconds from request to the answer's last byte, in the mean.
    pub(crate) answer_ms: f64,
    pub(crate) robots: f64,
    /// Hundredths of the answers that the origin didn't see.
    pub(crate) hits: f64,
    /// Microseconds of the server's processor time for an answer.
    pub(crate) micros: f64,
    pub(crate) rss_mib: f64,
    pub(crate) answers: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Trace {
    server: &'static str,
    windows: Vec<Window>,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    machine: Machine,
    mib: u64,
    /// For a server and its page cache; 0: not limited.
    memory_mib: u64,
    traces: Vec<Trace>,
    absent: Vec<(&'static str, String)>,
}

impl Report {
    pub(crate) fn new(machine: Machine, mib: u64, memory_mib: u64) -> Self {
        Self {
            machine,
            mib,
            memory_mib,
            traces: Vec::new(),
            absent: Vec::new(),
        }
    }

    pub(crate) fn trace(&mut self, scheme: &Scheme, windows: Vec<Window>) {
        self.traces.push(Trace {
            server: scheme.title,
            windows,
        });
    }

    pub(crate) fn absent(&mut self, scheme: &Scheme, why: &anyhow::Error) {
        eprintln!("{}: {why:#}", scheme.title);
        self.absent.push((scheme.title, format!("{why:#}")));
    }

    pub(crate) fn cut(&mut self, scheme: &Scheme, fill: f64) {
        let why = format!(
            "out of time when {fill:.2} times the cache's size was fetched; its last quarter counts"
        );
        self.absent.push((scheme.title, why));
    }

    pub(crate) fn render(&self) -> String {
        let memory = match self.memory_mib {
            0 => "page cache not limited: it holds all that is on disk".to_owned(),
            mib => format!("{mib} MiB of memory for the server with its page cache"),
        };
        let mut out = format!(
            "# The most that each does\n\n{}.\n\
             Objects, repetitions, conditional requests and reloads as Web Polygraph's PolyMix-4 has them, with times a \
             tenth as long: the origin thinks for 250 ms; a hit ratio of 55 % is offered. Caches of {} MiB, 8 MB of memory in \
             the process, {memory}. Server on core 0 with one worker, robots and origin on core 1.\n\
             There are more robots while an answer takes less than {} ms in the mean, fewer while it takes more than {}, up to \
             {}. Figures are of the last quarter, from 1.5 to 2 times the cache's size of fetched content that may be kept. \
             Flat: answers per second in that quarter by those in the one before the middle.\n\n\
             | scheme | throughput (xact/sec) | response time (sec) | hit ratio (%) | µs of CPU | × Squall | robots | flat | RSS MiB |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            self.machine.line(),
            self.mib,
            ANSWER_MS.0,
            ANSWER_MS.1,
            ROBOTS.1,
        );
        let squall = self.traces.iter().find(|trace| trace.server == "Squall");
        let squall = squall.map(|trace| trace.mean(trace.last(), |window| window.micros));
        for trace in &self.traces {
            let last = trace.last();
            let micros = trace.mean(last, |window| window.micros);
            let before = trace.between(0.5, 1.0);
            let flat = match before.is_empty() {
                true => "–".to_owned(),
                false => format!("{:.2}", rate(last) / rate(before)),
            };
            push(
                &mut out,
                format_args!(
                    "| {} | {:.0} | {:.3} | {:.1} | {micros:.1} | {:.2} | {:.0} | {flat} | {:.0} |\n",
                    trace.server,
                    rate(last),
                    trace.mean(last, |window| window.answer_ms) / 1e3,
                    trace.mean(last, |window| window.hits),
                    micros / squall.unwrap_or(micros),
                    trace.mean(last, |window| window.robots),
                    trace.mean(last, |window| window.rss_mib),
                ),
            );
        }
        out.push_str("\n![Answers per second while the cache is filled twice](peak.svg)\n");
        for (server, why) in &self.absent {
            push(&mut out, format_args!("\n{server}: {why}\n"));
        }
        out
    }

    /// The traces.
    pub(crate) fn plot(&self) -> String {
        let series: Vec<Series> = self
            .traces
            .iter()
            .map(|trace| Series {
                name: trace.server.to_owned(),
                points: trace
                    .windows
                    .chunks(SMOOTH)
                    .filter_map(|windows| Some((windows.last()?.fill, rate(windows))))
                    .collect(),
            })
            .collect();
        let axes = ("fetched content by the cache's size", "answers per second");
        lines(
            "Answers per second while the cache is filled twice",
            axes,
            &series,
        )
    }
}

impl Trace {
    fn between(&self, from: f64, to: f64) -> &[Window] {
        let begin = self.windows.partition_point(|window| window.fill < from);
        let end = self.windows.partition_point(|window| window.fill < to);
        self.windows.get(begin..end.max(begin)).unwrap_or_default()
    }

    fn last(&self) -> &[Window] {
        let fill = self.windows.last().map_or(0.0, |window| window.fill);
        self.between(fill * 0.75, f64::MAX)
    }

    /// Of all answers.
    fn mean(&self, windows: &[Window], of: fn(&Window) -> f64) -> f64 {
        let answers: f64 = windows.iter().map(|window| window.answers).sum();
        let all: f64 = windows
            .iter()
            .map(|window| of(window) * window.answers)
            .sum();
        all / answers.max(1.0)
    }
}

fn rate(windows: &[Window]) -> f64 {
    let seconds: f64 = windows
        .iter()
        .map(|window| window.answers / window.per_second)
        .sum();
    let answers: f64 = windows.iter().map(|window| window.answers).sum();
    answers / seconds.max(f64::MIN_POSITIVE)
}
