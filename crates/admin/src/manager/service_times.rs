//! `service_times`: how many of a hundred requests took how long. `histograms`: every distribution, bucket by bucket.

use std::fmt::Write as _;

use serde::Serialize;
use stats::{BUCKETS, Distribution, Histogram, SERVICE_TIMES, bucket_start};

use super::Report;
use super::figures::{FIVE_MINUTES, HOUR, Quantiles, ServiceTimes, float};
use crate::Scene;

/// So many of a hundred requests took no longer, in two windows.
#[derive(Debug, Clone, Copy, Serialize)]
struct Percentile {
    percent: u32,
    last_5min: Quantiles,
    last_60min: Quantiles,
}

/// `service_times`
pub(super) fn service_times(scene: &Scene<'_>) -> Report {
    let windows = scene.windows([FIVE_MINUTES, HOUR]);
    let [five, sixty] = windows.each_ref().map(ServiceTimes::of);
    let percentile = |percent: u32| Percentile {
        percent,
        last_5min: five.quantiles(f64::from(percent) / 100.0),
        last_60min: sixty.quantiles(f64::from(percent) / 100.0),
    };
    let percentiles: Vec<_> = (1..20).map(|twentieth| percentile(5 * twentieth)).collect();
    Report::new(&percentiles, text(&percentiles))
}

/// A kind's name on the page, and its time.
type Kind = (&'static str, fn(&Quantiles) -> f64);

const KINDS: [Kind; 7] = [
    ("HTTP Requests (All):", |times| times.all),
    ("Cache Misses:", |times| times.misses),
    ("Cache Hits:", |times| times.hits),
    ("Near Hits:", |times| times.near_hits),
    ("Not-Modified Replies:", |times| times.not_modified),
    ("DNS Lookups:", |times| times.dns),
    ("ICP Queries:", |_| 0.0),
];

fn text(percentiles: &[Percentile]) -> String {
    let mut text = String::from("Service Time Percentiles            5 min    60 min:\n");
    for (name, of) in KINDS {
        for percentile in percentiles {
            let (five, sixty) = (of(&percentile.last_5min), of(&percentile.last_60min));
            let percent = percentile.percent;
            // A String takes all that is written.
            let _ = writeln!(text, "\t{name:<21} {percent:2}%  {five:8.5} {sixty:8.5}");
        }
    }
    text
}

/// A distribution, less its empty buckets.
#[derive(Debug, Serialize)]
struct Dump {
    name: &'static str,
    count: u64,
    sum: u64,
    buckets: Vec<Bucket>,
}

/// Values from `from` up to the next bucket: microseconds, or bytes.
#[derive(Debug, Serialize)]
struct Bucket {
    bucket: usize,
    from: u64,
    count: u64,
}

/// Squid's names come first.
const SQUIDS: [(&str, Histogram); 5] = [
    ("client_http.missSvcTime", Histogram::ServiceTimeMiss),
    (
        "client_http.nearMissSvcTime",
        Histogram::ServiceTimeNotModified,
    ),
    ("client_http.nearHitSvcTime", Histogram::ServiceTimeNearHit),
    ("client_http.hitSvcTime", Histogram::ServiceTimeHit),
    ("dns.svc_time", Histogram::DnsTime),
];

/// `histograms`
pub(super) fn histograms(scene: &Scene<'_>) -> Report {
    let total = scene.total();
    let all = Dump::of("client_http.allSvcTime", &total.histograms(&SERVICE_TIMES));
    let dump = |(name, histogram)| Dump::of(name, &total.histogram(histogram));
    let known = |histogram: &Histogram| SQUIDS.iter().any(|(_, known)| known == histogram);
    let ours = Histogram::ALL.iter().filter(|histogram| !known(histogram));
    let ours = ours.map(|&histogram| (histogram.row().name, histogram));
    let dumps: Vec<_> = std::iter::once(all)
        .chain(SQUIDS.into_iter().chain(ours).map(dump))
        .collect();
    let text = dumps.iter().map(Dump::text).collect::<String>();
    Report::new(&dumps, text)
}

impl Dump {
    fn of(name: &'static str, values: &Distribution) -> Self {
        let buckets = values
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        let buckets = buckets.map(|(bucket, count)| Bucket {
            bucket,
            from: bucket_start(bucket),
            count: *count,
        });
        Self {
            name,
            count: values.count(),
            sum: values.sum,
            buckets: buckets.collect(),
        }
    }

    /// Number and begin of the bucket, its values, and how many there are for each unit of its width: milliseconds, or KB.
    fn text(&self) -> String {
        let mut text = format!("{} histogram:\n", self.name);
        for Bucket {
            bucket,
            from,
            count,
        } in &self.buckets
        {
            let end = match bucket + 1 {
                BUCKETS => u64::MAX,
                next => bucket_start(next),
            };
            let width = float(end - from) / 1000.0;
            let (begin, density) = (float(*from) / 1000.0, float(*count) / width);
            // A String takes all that is written.
            let _ = writeln!(text, "\t{bucket:3}/{begin:.6}\t{count}\t{density:.6}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_a_line_for_each_kind() {
        let times = Quantiles {
            all: 0.001,
            misses: 12.345_678,
            ..Quantiles::default()
        };
        let percentile = |percent| Percentile {
            percent,
            last_5min: times,
            last_60min: Quantiles::default(),
        };
        let text = text(&[percentile(5), percentile(95)]);
        let begin = "Service Time Percentiles            5 min    60 min:\n\
                     \tHTTP Requests (All):   5%   0.00100  0.00000\n\
                     \tHTTP Requests (All):  95%   0.00100  0.00000\n\
                     \tCache Misses:          5%  12.34568  0.00000\n";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.contains("\tNot-Modified Replies: 95%   0.00000  0.00000\n"));
        assert_eq!(text.lines().count(), 1 + 2 * 7);
    }

    #[test]
    fn a_bucket_shows_where_it_begins_and_how_dense_it_is() {
        let mut values = Distribution::new();
        let bucket = stats::bucket_of(1024);
        values.counts[bucket] = 8;
        let dump = Dump::of("x", &values);
        assert_eq!(dump.text(), "x histogram:\n\t 36/1.024000\t8\t31.250000\n");
    }
}
