//! The workloads: what is asked for, and by how many.

use std::ops::RangeInclusive;

/// What a server has to do for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Send what it has in memory.
    Hit,
    /// Refuse.
    Denied,
    /// Ask the origin for what may not be kept.
    Miss,
}

/// One row of the comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) kind: Kind,
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
    size: 200,
    pool: 1,
    connections: 100,
    close: false,
    log: false,
    seconds_min: 1,
};

/// All of them, in the order in which they run.
pub(crate) const ALL: &[Workload] = &[
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
        if self.kind == Kind::Denied { 403 } else { 200 }
    }

    /// The content's size in a right answer, where it is known.
    pub(crate) fn content(&self) -> Option<usize> {
        (self.kind != Kind::Denied).then_some(self.size)
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
            ALL.iter()
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
        let pool = ALL.iter().find(|row| row.name == "10m").unwrap();
        assert_eq!(pool.paths().len(), 10);
        assert_eq!(pool.paths().last().unwrap(), "/bytes/10485760/10");
    }
}
