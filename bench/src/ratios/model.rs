//! What caches would hit that do exactly what their names say, and pay nothing for it: no heads, no tables, no room kept free.

use std::collections::{BTreeSet, HashMap};

use super::score::Score;
use super::trace::{Request, Trace};

/// A cache that isn't there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// What was used longest ago goes first.
    Lru,
    /// Squid's heaps: the lowest of age + uses, and of age + uses / size.
    HeapLfuda,
    HeapGdsf,
    /// A log that is overwritten in the order in which it was written.
    Fifo,
    /// The same, but what is hit in its older half is written again: COSS with `overwrite-percent=50`.
    Coss,
}

impl Model {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lru => "exact LRU",
            Self::HeapLfuda => "exact heap LFUDA",
            Self::HeapGdsf => "exact heap GDSF",
            Self::Fifo => "log, overwritten in order",
            Self::Coss => "COSS, overwrite-percent=50",
        }
    }

    /// What it comes to with so many bytes.
    pub(crate) fn run(self, trace: &Trace, bytes_max: u64) -> Score {
        let mut score = Score::default();
        match self {
            Self::Lru | Self::HeapLfuda | Self::HeapGdsf => {
                let mut heap = Heap::new(self, bytes_max);
                for request in &trace.requests {
                    score.note(request, heap.find(request));
                }
            }
            Self::Fifo | Self::Coss => {
                let mut log = Log::new(self, bytes_max);
                for request in &trace.requests {
                    score.note(request, log.find(request));
                }
                score.written = Some(log.end as f64 / score.missed_bytes());
            }
        }
        score
    }
}

/// In the order in which they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// The bits of a number that isn't negative order as it does.
    worth: u64,
    turn: u64,
    object: u32,
}

#[derive(Debug)]
struct Held {
    rank: Rank,
    uses: u32,
    bytes: u32,
}

#[derive(Debug)]
struct Heap {
    model: Model,
    bytes_max: u64,
    bytes: u64,
    age: f64,
    turn: u64,
    held: HashMap<u32, Held>,
    order: BTreeSet<Rank>,
}

impl Heap {
    fn new(model: Model, bytes_max: u64) -> Self {
        Self {
            model,
            bytes_max,
            bytes: 0,
            age: 0.0,
            turn: 0,
            held: HashMap::new(),
            order: BTreeSet::new(),
        }
    }

    /// Whether it is there; from now on it is.
    fn find(&mut self, request: &Request) -> bool {
        self.turn += 1;
        let before = self.held.remove(&request.object);
        let uses = before.as_ref().map_or(0, |held| held.uses) + 1;
        if let Some(held) = &before {
            self.order.remove(&held.rank);
            self.bytes -= u64::from(held.bytes);
        }
        if u64::from(request.bytes) > self.bytes_max {
            return false;
        }
        self.bytes += u64::from(request.bytes);
        while self.bytes > self.bytes_max
            && let Some(rank) = self.order.pop_first()
        {
            self.age = f64::from_bits(rank.worth);
            let victim = self.held.remove(&rank.object);
            self.bytes -= victim.map_or(0, |held| u64::from(held.bytes));
        }
        let worth = match self.model {
            Model::HeapGdsf => self.age + f64::from(uses) / f64::from(request.bytes.max(1)),
            Model::HeapLfuda => self.age + f64::from(uses),
            Model::Lru | Model::Fifo | Model::Coss => 0.0,
        };
        let rank = Rank {
            worth: worth.to_bits(),
            turn: self.turn,
            object: request.object,
        };
        self.order.insert(rank);
        let bytes = request.bytes;
        self.held.insert(request.object, Held { rank, uses, bytes });
        before.is_some()
    }
}

#[derive(Debug)]
struct Log {
    model: Model,
    bytes_max: u64,
    /// Bytes that were ever written.
    end: u64,
    /// Where each object was written last.
    places: HashMap<u32, u64>,
}

impl Log {
    fn new(model: Model, bytes_max: u64) -> Self {
        Self {
            model,
            bytes_max,
            end: 0,
            places: HashMap::new(),
        }
    }

    fn find(&mut self, request: &Request) -> bool {
        let place = self.places.get(&request.object);
        let behind = place.map(|place| self.end - place);
        let behind = behind.filter(|behind| *behind <= self.bytes_max);
        let old =
            behind.is_none_or(|behind| self.model == Model::Coss && behind > self.bytes_max / 2);
        if old {
            self.places.insert(request.object, self.end);
            self.end += u64::from(request.bytes);
        }
        behind.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these requests are hits, in a cache of 10 bytes.
    fn check(model: Model, requests: &[(u32, u32)], hits: &str) {
        let requests = requests.iter().map(|(object, bytes)| Request {
            object: *object,
            bytes: *bytes,
        });
        let (mut heap, mut log) = (Heap::new(model, 10), Log::new(model, 10));
        let found = requests.map(|request| match model {
            Model::Lru | Model::HeapLfuda | Model::HeapGdsf => heap.find(&request),
            Model::Fifo | Model::Coss => log.find(&request),
        });
        let found: String = found.map(|hit| if hit { '+' } else { '.' }).collect();
        assert_eq!(found, hits, "{model:?}");
    }

    #[test]
    fn each_model_does_what_its_name_says() {
        let twice = [(1, 5), (2, 5), (1, 5), (3, 5), (1, 5), (2, 5)];
        check(Model::Lru, &twice, "..+.+.");
        check(Model::HeapLfuda, &twice, "..+.+.");
        check(Model::Fifo, &twice, "..+...");
        // The first is in the older half only when the third comes.
        check(
            Model::Coss,
            &[(1, 4), (2, 4), (1, 4), (3, 4), (1, 4), (2, 4)],
            "..+.+.",
        );
        // What is small stays, although it was used longest ago.
        check(Model::HeapGdsf, &[(1, 1), (2, 8), (3, 8), (1, 1)], "...+");
        check(Model::Lru, &[(1, 1), (2, 8), (3, 8), (1, 1)], "....");
    }

    #[test]
    fn nothing_larger_than_the_cache_is_held() {
        for model in [Model::Lru, Model::HeapGdsf, Model::HeapLfuda] {
            check(model, &[(1, 11), (2, 5), (1, 11), (2, 5)], "...+");
        }
    }
}
