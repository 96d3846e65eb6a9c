//! Requests like those for web pages at a content network: how often objects are asked for, and how large they are, is fitted
//! to what is published of one (Akamai's traffic class `w-1`). Each request is drawn for itself, so nothing is asked for
//! more often for having been asked for just now.

use crate::store::mixed;

/// Requests for each object, in the mean.
const REQUESTS_EACH: u32 = 11;
/// Of the objects, those that are asked for p times are as many as p to the power of minus so much.
const EXPONENT: f64 = 1.9;
/// Nothing is asked for more often.
const POPULARITY_MAX: u32 = 36_000;
/// Such a share of the objects is no larger than so many bytes; between them evenly, by the logarithm.
const SIZES: [(f64, f64); 16] = [
    (0.0, 100.0),
    (0.10, 1e3),
    (0.21, 5e3),
    (0.50, 10e3),
    (0.59, 15e3),
    (0.69, 25e3),
    (0.74, 35e3),
    (0.81, 55e3),
    (0.88, 105e3),
    (0.935, 195e3),
    (0.955, 350e3),
    (0.97, 650e3),
    (0.984, 1.05e6),
    (0.9925, 2.5e6),
    (0.999, 6e6),
    (1.0, 40e6),
];

/// See the module.
#[derive(Debug)]
pub(crate) struct Web {
    seed: u64,
    /// Of each object, how often it and those before it are asked for.
    shares: Vec<f64>,
}

impl Web {
    /// With as many objects as so many requests are for.
    pub(crate) fn new(seed: u64, requests: u32) -> Self {
        let mut sum = 0.0;
        let rarer: Vec<f64> = (1..=POPULARITY_MAX)
            .map(|popularity| {
                sum += f64::from(popularity).powf(-EXPONENT);
                sum
            })
            .collect();
        let objects = (requests / REQUESTS_EACH).max(1);
        let mut all = 0.0;
        let shares = (0..objects).map(|object| {
            let place = (f64::from(object) + 0.5) / f64::from(objects) * sum;
            let popularity = rarer.partition_point(|rarer| *rarer < place) + 1;
            all += f64::from(u32::try_from(popularity).unwrap_or(POPULARITY_MAX));
            all
        });
        Self {
            seed,
            shares: shares.collect(),
        }
    }

    /// An object and its bytes.
    pub(crate) fn request(&self, turn: u32) -> (u32, u64) {
        let all = self.shares.last().copied().unwrap_or(0.0);
        let place = unit(mixed(mixed(self.seed) ^ u64::from(turn))) * all;
        let object = self.shares.partition_point(|share| *share < place);
        let object = u32::try_from(object).unwrap_or(u32::MAX);
        (object, size(object))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is between 100 and 40 million"
)]
fn size(object: u32) -> u64 {
    let place = unit(mixed(!u64::from(object)));
    let mut bounds = SIZES.iter().zip(SIZES.iter().skip(1));
    let Some(((below, least), (above, most))) = bounds.find(|(_, (above, _))| place <= *above)
    else {
        return 0;
    };
    (least * (most / least).powf((place - below) / (above - below))) as u64
}

/// Above 0, up to 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits are left")]
fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_table() {
        let mut sizes: Vec<u64> = (0..100_000).map(size).collect();
        sizes.sort_unstable();
        let mean = sizes.iter().sum::<u64>() / 100_000;
        assert!((80_000..130_000).contains(&mean), "{mean}");
        assert!(sizes[10_000].abs_diff(1000) < 50 && sizes[50_000].abs_diff(10_000) < 200);
        assert!(sizes[0] >= 100 && sizes[99_999] <= 40_000_000);
    }

    #[test]
    fn most_objects_are_asked_for_seldom_and_few_often() {
        let web = Web::new(1, 200_000);
        let mut counts = vec![0; web.shares.len()];
        for turn in 0..200_000 {
            counts[web.request(turn).0 as usize] += 1;
        }
        let seldom = counts.iter().filter(|count| **count <= 2).count() * 100 / counts.len();
        assert!((55..85).contains(&seldom), "{seldom}");
        assert!(counts.iter().max().unwrap() > &2000);
    }
}
