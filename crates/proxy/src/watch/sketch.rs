//! Who asks for most, in bounded memory: the Space-Saving sketch of Metwally, Agrawal and El Abbadi.
//! Whoever is heavier than 1/[`SEATS`] of the whole is in it for sure; a weight may be told too high by
//! `doubt`, never too low.

use std::borrow::Borrow;
use std::hash::Hash;

use hashbrown::HashMap;

/// Keys that are counted at a time.
pub(super) const SEATS: usize = 128;

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted<K> {
    /// The host or the client.
    pub key: K,
    /// What it is ranked by: requests or bytes.
    pub weight: u64,
    /// So much of `weight` may be another's, who had this seat before.
    pub doubt: u64,
    /// Requests since it has its seat.
    pub requests: u64,
    /// Hits among them.
    pub hits: u64,
    /// Bytes sent to clients since then.
    pub bytes: u64,
}

/// What one transaction adds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) hit: bool,
    pub(super) bytes: u64,
}

#[derive(Debug)]
pub(super) struct Sketch<K> {
    seats: Vec<Counted<K>>,
    places: HashMap<K, usize>,
}

impl<K> Default for Sketch<K> {
    fn default() -> Self {
        Self {
            seats: Vec::new(),
            places: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> Sketch<K> {
    /// Counts a transaction that weighs so much.
    pub(super) fn add<Q>(&mut self, key: &Q, weight: u64, share: Share)
    where
        Q: Eq + Hash + ?Sized,
        K: Borrow<Q> + for<'q> From<&'q Q>,
    {
        let place = match self.places.get(key) {
            Some(place) => *place,
            None => self.seat(K::from(key)),
        };
        if let Some(seat) = self.seats.get_mut(place) {
            seat.weight += weight;
            seat.requests += 1;
            seat.hits += u64::from(share.hit);
            seat.bytes += share.bytes;
        }
    }

    /// A seat for a newcomer: a free one, or that of the lightest, whose weight it inherits.
    fn seat(&mut self, key: K) -> usize {
        let lightest = self
            .seats
            .iter()
            .enumerate()
            .min_by_key(|(_, seat)| seat.weight);
        let (place, weight) = match lightest {
            Some((place, seat)) if self.seats.len() >= SEATS => (place, seat.weight),
            _ => (self.seats.len(), 0),
        };
        let newcomer = Counted {
            key: key.clone(),
            weight,
            doubt: weight,
            requests: 0,
            hits: 0,
            bytes: 0,
        };
        match self.seats.get_mut(place) {
            Some(seat) => {
                self.places.remove(&seat.key);
                *seat = newcomer;
            }
            None => self.seats.push(newcomer),
        }
        self.places.insert(key, place);
        place
    }

    /// Adds all of it to another's.
    pub(super) fn add_to(&self, all: &mut HashMap<K, Counted<K>>) {
        for seat in &self.seats {
            match all.get_mut(&seat.key) {
                Some(known) => {
                    known.weight += seat.weight;
                    known.doubt += seat.doubt;
                    known.requests += seat.requests;
                    known.hits += seat.hits;
                    known.bytes += seat.bytes;
                }
                None => {
                    all.insert(seat.key.clone(), seat.clone());
                }
            }
        }
    }
}

/// The heaviest, heaviest first.
pub(super) fn heaviest<K: Ord>(all: HashMap<K, Counted<K>>, rows: usize) -> Vec<Counted<K>> {
    let mut sorted: Vec<Counted<K>> = all.into_values().collect();
    sorted.sort_by(|one, two| two.weight.cmp(&one.weight).then(one.key.cmp(&two.key)));
    sorted.truncate(rows);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    const MISS: Share = Share {
        hit: false,
        bytes: 10,
    };

    fn counted(sketch: &Sketch<Box<str>>) -> Vec<Counted<Box<str>>> {
        let mut all = HashMap::new();
        sketch.add_to(&mut all);
        heaviest(all, usize::MAX)
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let mut sketch: Sketch<Box<str>> = Sketch::default();
        for key in ["a", "b", "a", "a"] {
            sketch.add(key, 1, MISS);
        }
        let all = counted(&sketch);
        assert_eq!(all.len(), 2);
        assert_eq!((&*all[0].key, all[0].weight, all[0].doubt), ("a", 3, 0));
        assert_eq!((all[0].requests, all[0].hits, all[0].bytes), (3, 0, 30));
    }

    #[test]
    fn a_flood_of_strangers_does_not_hide_the_heavy_nor_take_memory() {
        let mut sketch: Sketch<Box<str>> = Sketch::default();
        for round in 0..20_000 {
            sketch.add(format!("stranger-{round}").as_str(), 1, MISS);
            if round % 20 == 0 {
                sketch.add("heavy", 1, MISS);
            }
        }
        let all = counted(&sketch);
        assert_eq!(all.len(), SEATS);
        let heavy = all.iter().find(|seat| &*seat.key == "heavy").unwrap();
        assert!(heavy.weight >= 1000 && heavy.weight - heavy.doubt <= 1000);
        assert_eq!(&*all[0].key, "heavy");
    }
}
