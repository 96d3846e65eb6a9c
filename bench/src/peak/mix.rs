//! What the robots ask for: a mix after Web Polygraph's PolyMix-4, its times a tenth as long.
//!
//! Kinds and sizes of objects, how many may be kept, how often one is asked for again, the working set and its hot part,
//! conditional requests and reloads are PolyMix-4's; where it is asked for, also that small objects are favoured. Left out:
//! pages with embedded objects, POST, HEAD, aborts, lost packets, and objects that change.

use crate::store::mixed;

/// Thousandths of requests for something asked for before: 55 % hits of the 80 % that may be kept.
const AGAIN: u64 = 687;
/// Thousandths of those that go to the hot set, and how large that is.
const TO_HOT: u64 = 100;
const HOT_SHARE: usize = 100;
/// Thousandths of those for objects that may be kept that go to the smallest so far around it.
const TO_SMALL: u64 = 900;
const AROUND: usize = 4;
/// Thousandths of repeated requests that ask whether it is newer than an old date, than its own, and past the cache.
const SINCE_LONG: u64 = 50;
const SINCE_THEN: u64 = 100;
const RELOAD: u64 = 50;
/// The web server thinks so long, in milliseconds, and so much about it: normally distributed.
const THINK: (f64, f64) = (250.0, 100.0);
/// No object is larger.
const SIZE_MAX: f64 = 4e6;

/// Kinds of objects: of a thousand, so many; of a thousand of them, so many may be kept; bytes.
const KINDS: [(u64, u64, Size); 4] = [
    (650, 800, Size::Exponential(4.5e3)),
    (150, 900, Size::Exponential(8.5e3)),
    (5, 950, Size::LogNormal(300e3, 300e3)),
    (195, 720, Size::LogNormal(25e3, 10e3)),
];

#[derive(Clone, Copy, Debug)]
enum Size {
    /// By its mean.
    Exponential(f64),
    /// By mean and deviation.
    LogNormal(f64, f64),
}

/// How an object is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Plain,
    /// If modified since a date before it was, or since it was.
    SinceLong,
    SinceThen,
    /// Not from a cache.
    Reload,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub(crate) number: u32,
    pub(crate) how: How,
}

/// The stream of requests.
#[derive(Debug)]
pub(crate) struct Mix {
    seed: u64,
    drawn: u64,
    /// The newest objects, in a circle.
    working_set: Vec<u32>,
    working_set_max: usize,
    next: u32,
    favours_small: bool,
}

impl Mix {
    pub(crate) fn new(seed: u64, working_set_max: usize) -> Self {
        Self {
            seed,
            drawn: 0,
            working_set: Vec::with_capacity(working_set_max),
            working_set_max: working_set_max.max(1),
            next: 0,
            favours_small: false,
        }
    }

    /// What is asked for again is small more often than not.
    pub(crate) fn favouring_small(self) -> Self {
        Self {
            favours_small: true,
            ..self
        }
    }

    pub(crate) fn next(&mut self) -> Want {
        if self.below(1000) < AGAIN && !self.working_set.is_empty() {
            let all = self.working_set.len();
            let hot = self.below(1000) < TO_HOT;
            let among = if hot { all.div_ceil(HOT_SHARE) } else { all };
            let place = usize::try_from(self.below(among as u64)).unwrap_or(0);
            let number = self.chosen(place);
            let how = self.below(1000);
            let how = match how {
                _ if how < SINCE_LONG => How::SinceLong,
                _ if how < SINCE_LONG + SINCE_THEN => How::SinceThen,
                _ if how < SINCE_LONG + SINCE_THEN + RELOAD => How::Reload,
                _ => How::Plain,
            };
            return Want { number, how };
        }
        let number = self.next;
        self.next += 1;
        if self.working_set.len() < self.working_set_max {
            self.working_set.push(number);
        } else if let Some(oldest) = self
            .working_set
            .get_mut(number as usize % self.working_set_max)
        {
            *oldest = number;
        }
        Want {
            number,
            how: How::Plain,
        }
    }

    /// The object at that place of the working set, or a smaller one near it.
    fn chosen(&mut self, place: usize) -> u32 {
        let number = self.working_set.get(place).copied().unwrap_or(0);
        let small = self.favours_small && Object::of(number).kept && self.below(1000) < TO_SMALL;
        if !small {
            return number;
        }
        let around = place.saturating_sub(AROUND)..self.working_set.len().min(place + AROUND + 1);
        let around = self.working_set.get(around).unwrap_or_default();
        let kept = around.iter().map(|number| Object::of(*number));
        let kept = kept.filter(|object| object.kept);
        let smallest = kept.min_by_key(|object| object.size);
        smallest.map_or(number, |object| object.number)
    }

    fn below(&mut self, count: u64) -> u64 {
        self.drawn += 1;
        mixed(self.seed ^ mixed(self.drawn)) % count.max(1)
    }
}

/// What is known of an object, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) number: u32,
    pub(crate) size: u64,
    /// May it be kept?
    pub(crate) kept: bool,
    think_ms: u64,
}

impl Object {
    pub(crate) fn of(number: u32) -> Self {
        let dice = |which: u64| mixed(u64::from(number) << 8 | which);
        let mut place = dice(0) % 1000;
        let kind = KINDS.iter().find(|(share, ..)| {
            let here = place < *share;
            place = place.saturating_sub(*share);
            here
        });
        let (_, kept, size) = kind.copied().unwrap_or(KINDS[0]);
        let size = match size {
            Size::Exponential(mean) => -mean * unit(dice(1)).ln(),
            Size::LogNormal(mean, deviation) => {
                let variance = (1.0 + (deviation / mean).powi(2)).ln();
                (mean.ln() - variance / 2.0 + variance.sqrt() * normal(dice(2), dice(3))).exp()
            }
        };
        Self {
            number,
            size: whole(size.clamp(1.0, SIZE_MAX)),
            kept: dice(4) % 1000 < kept,
            think_ms: whole(THINK.0 + THINK.1 * normal(dice(5), dice(6))),
        }
    }

    /// Where it lies at the origin.
    pub(crate) fn path(&self) -> String {
        let kind = if self.kept { "once" } else { "fresh" };
        let Self {
            number,
            size,
            think_ms,
            ..
        } = self;
        format!("/{kind}/{size}/object{number}/after/{think_ms}")
    }
}

/// Requests on one connection: Zipf's distribution over 1 to 64.
pub(crate) fn requests_of(connection: u64) -> u32 {
    const MOST: u32 = 64;
    let harmonic: f64 = (1..=MOST).map(|n| 1.0 / f64::from(n)).sum();
    let mut left = unit(mixed(connection)) * harmonic;
    (1..MOST)
        .find(|n| {
            left -= 1.0 / f64::from(*n);
            left <= 0.0
        })
        .unwrap_or(MOST)
}

/// Above 0, up to 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits are left")]
fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// Normally distributed, by Box and Muller.
fn normal(one: u64, other: u64) -> f64 {
    (-2.0 * unit(one).ln()).sqrt() * (std::f64::consts::TAU * unit(other)).cos()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped where it is below 0, far below 2^53"
)]
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_those_of_the_workload() {
        let objects: Vec<Object> = (0..100_000).map(Object::of).collect();
        let mean = objects.iter().map(|object| object.size).sum::<u64>() / 100_000;
        assert!((9_400..11_200).contains(&mean), "{mean}");
        let kept = objects.iter().filter(|object| object.kept).count();
        assert!((79_000..81_000).contains(&kept), "{kept}");
        let think = objects.iter().map(|object| object.think_ms).sum::<u64>() / 100_000;
        assert!((245..256).contains(&think), "{think}");
    }

    #[test]
    fn what_is_asked_for_again_is_in_the_working_set() {
        let mut mix = Mix::new(1, 1000);
        let (mut again, mut newest) = (0, 0);
        for turn in 0..100_000 {
            let want = mix.next();
            if turn > 0 && want.number < newest {
                again += 1;
                assert!(newest - want.number <= 1000);
            }
            newest = newest.max(want.number + 1);
        }
        assert!((68_000..69_500).contains(&again), "{again}");
    }

    #[test]
    fn connections_end_after_few_or_many_requests() {
        let counts: Vec<u32> = (0..10_000).map(requests_of).collect();
        assert_eq!(counts.iter().max(), Some(&64));
        let once = counts.iter().filter(|count| **count == 1).count();
        assert!((1_900..2_400).contains(&once), "{once}");
    }
}
