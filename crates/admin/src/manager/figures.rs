//! Figures that several pages show, each computed as Squid does.

use std::time::Duration;

use serde::Serialize;
use stats::{Counter, Distribution, Histogram, SERVICE_TIMES, Window};

/// Windows that Squid looks back through.
pub(crate) const FIVE_MINUTES: Duration = Duration::from_secs(300);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// Counters of requests that were hits; each is in one of them.
pub(crate) const HITS: [Counter; 6] = [
    Counter::HitsMemory,
    Counter::HitsDisk,
    Counter::HitsNegative,
    Counter::HitsRevalidated,
    Counter::HitsStale,
    Counter::HitsConditional,
];

/// A count as a floating point number.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// Millionths of a second as seconds.
pub(crate) fn secs(microseconds: u64) -> f64 {
    float(microseconds) / 1e6
}

/// A part of a whole, percent; of nothing, 0.
pub(crate) fn percent(part: f64, whole: f64) -> f64 {
    if whole == 0.0 {
        0.0
    } else {
        100.0 * part / whole
    }
}

/// Bytes as whole KB.
pub(crate) const fn kb(bytes: u64) -> u64 {
    bytes >> 10
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
pub(crate) fn http_date(unix_ms: i64) -> String {
    let mut date = Vec::new();
    wire::value::date::write(unix_ms.div_euclid(1000), &mut date);
    String::from_utf8(date).unwrap_or_default()
}

/// What the cache was good for, in a window: percent.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct HitRatios {
    /// Hits among requests.
    pub(crate) requests: f64,
    /// Bytes sent to clients that no server had to send; negative when servers have sent more.
    pub(crate) bytes: f64,
    /// Answers from memory among hits.
    pub(crate) memory: f64,
    /// Answers from disk among hits.
    pub(crate) disk: f64,
}

impl HitRatios {
    pub(crate) fn of(window: &Window) -> Self {
        let count = |counter| float(window.counter(counter));
        let hits = float(window.counters(&HITS));
        let sent = count(Counter::ClientBytesOut);
        let fetched = count(Counter::HopBytesIn);
        Self {
            requests: percent(hits, count(Counter::ClientRequests)),
            bytes: if sent > fetched {
                percent(sent - fetched, sent)
            } else {
                -percent(fetched - sent, fetched)
            },
            memory: percent(count(Counter::HitsMemory), hits),
            disk: percent(count(Counter::HitsDisk), hits),
        }
    }
}

/// Service times of a window.
#[derive(Debug, Clone)]
pub(crate) struct ServiceTimes {
    pub(crate) all: Distribution,
    pub(crate) misses: Distribution,
    pub(crate) hits: Distribution,
    pub(crate) near_hits: Distribution,
    pub(crate) not_modified: Distribution,
    pub(crate) dns: Distribution,
}

impl ServiceTimes {
    pub(crate) fn of(window: &Window) -> Self {
        Self {
            all: window.histograms(&SERVICE_TIMES),
            misses: window.histogram(Histogram::ServiceTimeMiss),
            hits: window.histogram(Histogram::ServiceTimeHit),
            near_hits: window.histogram(Histogram::ServiceTimeNearHit),
            not_modified: window.histogram(Histogram::ServiceTimeNotModified),
            dns: window.histogram(Histogram::DnsTime),
        }
    }

    /// The times under which this share of each kind stays, in seconds.
    pub(crate) fn quantiles(&self, q: f64) -> Quantiles {
        let quantile = |times: &Distribution| secs(times.quantile(q));
        Quantiles {
            all: quantile(&self.all),
            misses: quantile(&self.misses),
            hits: quantile(&self.hits),
            near_hits: quantile(&self.near_hits),
            not_modified: quantile(&self.not_modified),
            dns: quantile(&self.dns),
        }
    }
}

/// Seconds, for each kind of service time.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Quantiles {
    pub(crate) all: f64,
    pub(crate) misses: f64,
    pub(crate) hits: f64,
    pub(crate) near_hits: f64,
    pub(crate) not_modified: f64,
    pub(crate) dns: f64,
}

/// What went to servers, of all kinds and of each.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Servers<T> {
    pub(crate) all: T,
    pub(crate) http: T,
    pub(crate) ftp: T,
    /// Tunnels.
    pub(crate) other: T,
}

/// What went to servers of a kind.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct ServerTraffic {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
}

impl Servers<ServerTraffic> {
    pub(crate) fn of(window: &Window) -> Self {
        let count = |counter| window.counter(counter);
        let other = ServerTraffic {
            requests: count(Counter::Tunnels),
            errors: 0,
            bytes_in: count(Counter::TunnelBytesIn),
            bytes_out: count(Counter::TunnelBytesOut),
        };
        let (bytes_in, bytes_out) = (count(Counter::HopBytesIn), count(Counter::HopBytesOut));
        let http = ServerTraffic {
            requests: count(Counter::HopRequests),
            errors: count(Counter::HopErrors),
            bytes_in: bytes_in.saturating_sub(other.bytes_in),
            bytes_out: bytes_out.saturating_sub(other.bytes_out),
        };
        Self {
            all: ServerTraffic {
                requests: http.requests + other.requests,
                errors: http.errors,
                bytes_in,
                bytes_out,
            },
            http,
            ftp: ServerTraffic::default(),
            other,
        }
    }

    /// Each with its name in reports.
    pub(crate) fn each(&self) -> [(&'static str, &ServerTraffic); 4] {
        [
            ("server.all", &self.all),
            ("server.http", &self.http),
            ("server.ftp", &self.ftp),
            ("server.other", &self.other),
        ]
    }
}
