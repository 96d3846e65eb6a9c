//! `delay`: the delay pools and how full their buckets are.

use config::delay::{DelayClass, Scope};
use proxy::delay::report::{LimitReport, PoolName, PoolReport};
use serde::Serialize;

use super::Report;
use super::share::visible;
use crate::Scene;

/// Buckets that are listed of each kind in a pool.
const BUCKETS_MAX: usize = 1000;

#[derive(Serialize)]
struct Pool {
    pool: String,
    class: Option<u8>,
    limits: Vec<Limit>,
}

/// Whom a class tells apart, in Squid's order; one that isn't limited is disabled.
#[derive(Serialize)]
struct Limit {
    title: &'static str,
    max: Option<u64>,
    restore: Option<u64>,
    buckets: usize,
    current: Vec<Bucket>,
}

#[derive(Serialize)]
struct Bucket {
    of: String,
    bytes: i64,
}

pub(super) fn report(scene: &Scene<'_>) -> Report {
    let pools = scene
        .plan()
        .delay_reports(BUCKETS_MAX, scene.ask.now.mono_ns);
    let pools: Vec<_> = pools.iter().map(Pool::of).collect();
    Report::new(&pools, text(&pools))
}

fn text(pools: &[Pool]) -> String {
    let classes = pools.iter().filter(|pool| pool.class.is_some()).count();
    let mut text = format!("Delay pools configured: {classes}\n\n");
    for pool in pools {
        text += &format!("Pool: {}\n", pool.pool);
        if let Some(class) = pool.class {
            text += &format!("\tClass: {class}\n");
        }
        text.push('\n');
        for limit in &pool.limits {
            limit.write(&mut text);
        }
    }
    text
}

impl Pool {
    fn of(report: &PoolReport) -> Self {
        let (pool, class, scopes): (_, _, &[Scope]) = match &report.name {
            PoolName::Hop(number, class) => (number.to_string(), Some(*class), class.scopes()),
            PoolName::Client(number) => (format!("client {number}"), None, &[]),
            PoolName::Response(name) => (format!("response {name}"), None, &[]),
        };
        let of = |scope: Scope| report.limits.iter().find(|limit| limit.scope == scope);
        let limits = if scopes.is_empty() {
            report
                .limits
                .iter()
                .map(|limit| Limit::of(limit.scope, Some(limit)))
                .collect()
        } else {
            scopes
                .iter()
                .map(|scope| Limit::of(*scope, of(*scope)))
                .collect()
        };
        Self {
            pool,
            class: class.map(number),
            limits,
        }
    }
}

const fn number(class: DelayClass) -> u8 {
    match class {
        DelayClass::Aggregate => 1,
        DelayClass::Individual => 2,
        DelayClass::Network => 3,
        DelayClass::User => 4,
        DelayClass::Tag => 5,
    }
}

const fn title(scope: Scope) -> &'static str {
    match scope {
        Scope::Aggregate => "Aggregate",
        Scope::Network => "Network",
        Scope::Individual(_) => "Individual",
        Scope::User => "Per User",
        Scope::Tag => "Per Tag",
        Scope::Client => "Per Client",
        Scope::Response => "Per Response",
    }
}

impl Limit {
    fn of(scope: Scope, report: Option<&LimitReport>) -> Self {
        let levels = report.map(|report| report.levels.iter());
        let current = levels.into_iter().flatten().map(|(of, bytes)| Bucket {
            of: of.clone(),
            bytes: *bytes,
        });
        Self {
            title: title(scope),
            max: report.map(|report| report.rate.max),
            restore: report.map(|report| report.rate.restore),
            buckets: report.map_or(0, |report| report.buckets),
            current: current.collect(),
        }
    }

    fn write(&self, text: &mut String) {
        *text += &format!("\t{}:\n", self.title);
        let (Some(max), Some(restore)) = (self.max, self.restore) else {
            *text += "\t\tDisabled.\n\n";
            return;
        };
        *text += &format!("\t\tMax: {max}\n\t\tRestore: {restore}\n\t\tCurrent:");
        match &self.current[..] {
            // Until somebody takes from it, it is full.
            [] if self.title == "Aggregate" => *text += &format!(" {max}"),
            [] => *text += " Not used yet.",
            buckets => {
                for Bucket { of, bytes } in buckets {
                    *text += &match of.as_str() {
                        "" => format!(" {bytes}"),
                        of => format!(" {}:{bytes}", visible(of.as_bytes())),
                    };
                }
            }
        }
        let more = self.buckets.saturating_sub(self.current.len());
        if more > 0 && !self.current.is_empty() {
            *text += &format!(" (and {more} more)");
        }
        *text += "\n\n";
    }
}

#[cfg(test)]
mod tests {
    use config::delay::Rate;

    use super::*;

    fn limit(scope: Scope, restore: u64, max: u64, levels: &[(&str, i64)]) -> LimitReport {
        LimitReport {
            scope,
            rate: Rate { restore, max },
            buckets: levels.len(),
            levels: levels
                .iter()
                .map(|(of, bytes)| ((*of).into(), *bytes))
                .collect(),
        }
    }

    #[test]
    fn the_text_is_squids() {
        let pools = [
            PoolReport {
                name: PoolName::Hop(1, DelayClass::Aggregate),
                limits: vec![limit(Scope::Aggregate, 16000, 32000, &[("", 32000)])],
            },
            PoolReport {
                name: PoolName::Hop(4, DelayClass::User),
                limits: vec![
                    limit(Scope::Network, 8000, 8000, &[("0", 8000)]),
                    limit(Scope::Individual(16), 600, 6400, &[("0.1", -20)]),
                    limit(Scope::User, 16000, 16000, &[("ann", 16000), ("joe", 16000)]),
                ],
            },
            PoolReport {
                name: PoolName::Hop(5, DelayClass::Tag),
                limits: vec![limit(Scope::Tag, 16000, 16000, &[])],
            },
        ];
        let pools: Vec<_> = pools.iter().map(Pool::of).collect();
        let expected = "\
Delay pools configured: 3

Pool: 1
\tClass: 1

\tAggregate:
\t\tMax: 32000
\t\tRestore: 16000
\t\tCurrent: 32000

Pool: 4
\tClass: 4

\tAggregate:
\t\tDisabled.

\tNetwork:
\t\tMax: 8000
\t\tRestore: 8000
\t\tCurrent: 0:8000

\tIndividual:
\t\tMax: 6400
\t\tRestore: 600
\t\tCurrent: 0.1:-20

\tPer User:
\t\tMax: 16000
\t\tRestore: 16000
\t\tCurrent: ann:16000 joe:16000

Pool: 5
\tClass: 5

\tPer Tag:
\t\tMax: 16000
\t\tRestore: 16000
\t\tCurrent: Not used yet.

";
        assert_eq!(text(&pools), expected);
    }
}
