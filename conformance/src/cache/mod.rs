//! The public suite for HTTP caches, npm's `http-cache-tests`: what a proxy passes of it, before an origin and between it
//! and its clients.

mod expected;
mod proxy;
mod report;
mod suite;

use std::path::Path;
use std::thread;

use anyhow::{Result, anyhow};
use serde::Deserialize;

use proxy::Proxy;
pub use report::Report;
pub use suite::{Missing, Suite};

/// Where the proxy stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// Before the origin.
    Accelerator,
    /// Between clients and any origin.
    Forward,
}

impl Mode {
    pub(crate) const ALL: [Self; 2] = [Self::Accelerator, Self::Forward];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Accelerator => "accelerator",
            Self::Forward => "forward",
        }
    }
}

/// How much a test means, by the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// What the RFCs require.
    Required,
    /// What a good cache does besides.
    Optimal,
    /// A question without a right answer.
    Check,
}

/// What came of a test.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) group: String,
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) passed: bool,
    pub(crate) why: String,
}

/// What a proxy passed.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) proxy: &'static str,
    pub(crate) mode: Mode,
    pub(crate) outcomes: Vec<Outcome>,
}

impl Column {
    /// Required and optimal tests that weren't passed.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &Outcome> {
        let counts = |outcome: &&Outcome| outcome.kind != Kind::Check && !outcome.passed;
        self.outcomes.iter().filter(counts)
    }
}

/// Runs the suite against the program at this path, in both modes at once, and against others too if that is wanted.
///
/// # Errors
/// When the suite, its origin or a proxy doesn't run, or the table can't be read.
pub fn run(suite: &Suite, squall: &Path, beside: bool) -> Result<Report> {
    let table = expected::table()?;
    let ours = Mode::ALL.map(|mode| (Proxy::Squall(squall.to_path_buf()), mode));
    let mut columns = together(suite, &ours)?;
    if beside {
        for others in Proxy::others() {
            columns.extend(together(suite, &others)?);
        }
    }
    Ok(Report::new(columns, table))
}

/// Tries some proxies at the same time.
fn together(suite: &Suite, proxies: &[(Proxy, Mode)]) -> Result<Vec<Column>> {
    thread::scope(|scope| {
        let start = |(proxy, mode)| scope.spawn(move || try_out(suite, proxy, mode));
        let pairs = proxies.iter().map(|(proxy, mode)| (proxy, *mode));
        let threads: Vec<_> = pairs.map(start).collect();
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .map_err(|_| anyhow!("a proxy couldn't be tried; its panic is above"))?
        });
        joined.collect()
    })
}

/// Starts an origin and the proxy, and runs the tests.
fn try_out(suite: &Suite, proxy: &Proxy, mode: Mode) -> Result<Column> {
    let origin = suite.origin()?;
    let running = proxy.start(mode, origin.port())?;
    let (base, through) = match mode {
        Mode::Accelerator => (running.port(), None),
        Mode::Forward => (origin.port(), Some(running.port())),
    };
    Ok(Column {
        proxy: proxy.name(),
        mode,
        outcomes: suite.drive(base, through)?,
    })
}
