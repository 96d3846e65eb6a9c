//! What is measured.

use serde::Serialize;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Pass {
    /// Each object for the first time.
    Fill,
    /// Each once, none in memory: neither in the server's nor in the kernel's.
    Cold,
    /// Each once, all in the kernel's memory, if that server leaves them there.
    Warm,
    /// A thousand, again and again.
    Hot,
}

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Ending {
    /// By SIGTERM, in its own time.
    Stop,
    /// By SIGKILL.
    Kill,
    /// By SIGKILL; memory that files share with it is gone too, as after a reboot.
    Reboot,
}

/// One pass; times in microseconds per request.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) requests_per_second: f64,
    pub(crate) user: f64,
    pub(crate) system: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// Hundredths of the requests that the origin didn't see.
    pub(crate) hits: f64,
    /// Bytes from disk per request.
    pub(crate) read: f64,
    /// Bytes to disk per byte of content.
    pub(crate) written: f64,
    pub(crate) rss_mib: f64,
    /// Hundredths of the requests whose responses were hits afterwards.
    pub(crate) stored: f64,
    /// Disk that is taken, per byte of content.
    pub(crate) taken: f64,
    /// Hundredths of two cores that went to other work.
    pub(crate) others: f64,
}

/// One restart; times in milliseconds from exec.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Restart {
    /// From the signal until it was gone.
    pub(crate) end: f64,
    pub(crate) first_answer: f64,
    pub(crate) first_hit: f64,
    /// From then on, nearly everything that was stored was a hit, if it came to that.
    pub(crate) back: Option<f64>,
}
