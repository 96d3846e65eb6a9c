//! The workloads: what is asked for, and by how many.

use std::ops::RangeInclusive;

/// What a server has to do for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Send what it has in memory.
    Hit,
    /// Refuse.
    Denied,
    /// Send the client elsewhere.
    Blocked,
    /// Ask the origin for what may not be kept.
    Miss,
}

/// What a server has to ask before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checks {
    /// Nothing, or one pattern that refuses.
    Few,
    /// A helper, whose answer holds for three seconds.
    Helper,
    /// Long lists of names and of addresses.
    Names,
    /// These, and a long list of patterns.
    NamesAndPatterns,
    /// The chain of forwarders; with less memory than else.
    Forwarders,
}

impl Checks {
    /// Do the long lists of names and of addresses stand in the configuration?
    pub(crate) fn has_names(self) -> bool {
        matches!(self, Self::Names | Self::NamesAndPatterns)
    }
}

/// One row of the comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) kind: Kind,
    pub(crate) checks: Checks,
    /// Bytes of content.
    pub(crate) size: usize,
    /// How many URLs are asked for in turn.
    pub(crate) pool: usize,
    pub(crate) connections: u32,
    /// A new connection for each request.
    pub(crate) close: bool,
    /// With an access log.
    pub(crate) log: bool,
    /// What takes long needs a longer look.
    pub(crate) seconds_min: u32,
}

const HIT: Workload = Workload {
    name: "",
    title: "",
    kind: Kind::Hit,
    checks: Checks::Few,
    size: 200,
    pool: 1,
    connections: 100,
    close: false,
    log: false,
    seconds_min: 1,
};

/// Workloads that are measured and told together, in the order in which they run.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) workloads: &'static [Workload],
    /// Is one core compared with two?
    pub(crate) scales: bool,
}

pub(crate) const HITS: Suite = Suite {
    name: "hits",
    title: "Hits, misses and refusals",
    workloads: HIT_ROWS,
    scales: true,
};

pub(crate) const ACCESS: Suite = Suite {
    name: "access",
    title: "Access control",
    workloads: ACCESS_ROWS,
    scales: false,
};

/// The helper's rows are SquidBlocker's of 2015: a cached object of 16 KB, and a blocked URL. Requests of the others are
/// in none of the lists, so that all of each is gone through.
const ACCESS_ROWS: &[Workload] = &[
    Workload {
        name: "helper-16k",
        title: "external ACL, ttl=3: allowed, 16 KB hit",
        checks: Checks::Helper,
        size: 16 << 10,
        ..HIT
    },
    Workload {
        name: "helper-blocked",
        title: "external ACL, ttl=3: blocked, 302 by deny_info",
        kind: Kind::Blocked,
        checks: Checks::Helper,
        size: 0,
        ..HIT
    },
    Workload {
        name: "lists-none",
        title: "600-byte hit, no list",
        size: 600,
        ..HIT
    },
    Workload {
        name: "lists-names",
        title: "600-byte hit, in none of 100,000 dstdomain and 5,000 src",
        checks: Checks::Names,
        size: 600,
        ..HIT
    },
    Workload {
        name: "lists-urls",
        title: "600-byte hit, nor in 10,000 url_regex",
        checks: Checks::NamesAndPatterns,
        size: 600,
        ..HIT
    },
];

/// What is asked for before the floods.
pub(crate) const FLOODED: Workload = Workload {
    name: "floods",
    title: "floods",
    checks: Checks::Forwarders,
    size: 600,
    ..HIT
};

const HIT_ROWS: &[Workload] = &[
    Workload {
        name: "600",
        title: "600-byte hit, keep-alive, 100 connections",
        size: 600,
        ..HIT
    },
    Workload {
        name: "600-log",
        title: "600-byte hit, access log on",
        size: 600,
        log: true,
        ..HIT
    },
    Workload {
        name: "200-50",
        title: "200-byte hit, keep-alive, 50 connections",
        connections: 50,
        ..HIT
    },
    Workload {
        name: "200-100",
        title: "200-byte hit, keep-alive, 100 connections",
        ..HIT
    },
    Workload {
        name: "200-200",
        title: "200-byte hit, keep-alive, 200 connections",
        connections: 200,
        ..HIT
    },
    Workload {
        name: "new-50",
        title: "200-byte hit, new connection each, 50 at once",
        connections: 50,
        close: true,
        ..HIT
    },
    Workload {
        name: "new-100",
        title: "200-byte hit, new connection each, 100 at once",
        close: true,
        ..HIT
    },
    Workload {
        name: "new-200",
        title: "200-byte hit, new connection each, 200 at once",
        connections: 200,
        close: true,
        ..HIT
    },
    Workload {
        name: "16k",
        title: "16 KB hit, keep-alive, 100 connections",
        size: 16 << 10,
        ..HIT
    },
    Workload {
        name: "100k",
        title: "1,000 × 100 KB pool, 100 connections",
        size: 100 << 10,
        pool: 1000,
        ..HIT
    },
    Workload {
        name: "10m",
        title: "10 × 10 MB pool, 100 connections",
        size: 10 << 20,
        pool: 10,
        seconds_min: 8,
        ..HIT
    },
    Workload {
        name: "denied",
        title: "denied URL, 403, 100 connections",
        kind: Kind::Denied,
        ..HIT
    },
    Workload {
        name: "miss",
        title: "200-byte miss, proxied, not cachable, 100 connections",
        kind: Kind::Miss,
        pool: 1000,
        ..HIT
    },
];

impl Workload {
    /// The path that is asked for, with `%d` where the number goes.
    pub(crate) fn path(&self) -> String {
        match self.kind {
            Kind::Hit => format!("/bytes/{}/%d", self.size),
            Kind::Miss => format!("/fresh/{}/%d", self.size),
            Kind::Denied => "/denied/%d".to_owned(),
            Kind::Blocked => "/blocked/%d".to_owned(),
        }
    }

    /// Every path that is asked for.
    pub(crate) fn paths(&self) -> Vec<String> {
        let numbers: RangeInclusive<usize> = 1..=self.pool;
        numbers
            .map(|number| self.path().replace("%d", &number.to_string()))
            .collect()
    }

    /// The status of a right answer.
    pub(crate) fn status(&self) -> u16 {
        match self.kind {
            Kind::Hit | Kind::Miss => 200,
            Kind::Denied => 403,
            Kind::Blocked => 302,
        }
    }

    /// The content's size in a right answer, where it is known.
    pub(crate) fn content(&self) -> Option<usize> {
        let known = matches!(self.kind, Kind::Hit | Kind::Miss);
        known.then_some(self.size)
    }

    /// Does this name (or the beginning of one) choose it?
    pub(crate) fn is_chosen(&self, names: &[String]) -> bool {
        names.is_empty()
            || names
                .iter()
                .any(|name| self.name == name || self.name.starts_with(&format!("{name}-")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose_themselves_and_what_they_begin() {
        let chosen = |name: &str| -> Vec<&str> {
            let names = [name.to_owned()];
            HITS.workloads
                .iter()
                .filter(|row| row.is_chosen(&names))
                .map(|row| row.name)
                .collect()
        };
        assert_eq!(chosen("new"), ["new-50", "new-100", "new-200"]);
        assert_eq!(chosen("16k"), ["16k"]);
        assert!(chosen("20").is_empty());
    }

    #[test]
    fn a_pool_has_as_many_paths() {
        let mut rows = HITS.workloads.iter();
        let pool = rows.find(|row| row.name == "10m").unwrap();
        assert_eq!(pool.paths().len(), 10);
        assert_eq!(pool.paths().last().unwrap(), "/bytes/10485760/10");
    }
}
