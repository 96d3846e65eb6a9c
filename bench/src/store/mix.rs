//! What is stored: sizes as a picture server's disk caches read them.

/// Reads by size of response, of a reverse proxy for pictures in 2010: up to so many bytes, so many reads.
const READS: [(u64, u64); 16] = [
    (1, 947),
    (2, 880),
    (4, 1_705),
    (8, 2_964),
    (16, 5_238),
    (32, 13_366),
    (64, 25_554),
    (128, 49_637),
    (256, 958_687),
    (512, 26_930_299),
    (1024, 1_094_073),
    (2048, 14_418_961),
    (4096, 19_701_586),
    (8192, 3_839_852),
    (16_384, 2_841_771),
    (32_768, 791_308),
];

/// Well mixed bits of a number: SplitMix64.
pub(crate) fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Bytes of content of the object with that number: evenly spread within its class.
pub(crate) fn size(number: u32) -> u64 {
    let all: u64 = READS.iter().map(|(_, reads)| reads).sum();
    let mut place = mixed(number.into()) % all;
    for (most, reads) in READS {
        if place < reads {
            let least = most / 2 + 1;
            return least + mixed(u64::from(number) << 32) % (most - most / 2);
        }
        place -= reads;
    }
    0
}

/// Where the object lies at the origin.
pub(crate) fn path(number: u32) -> String {
    format!("/once/{}/object{number}", size(number))
}

/// Numbers below `count` in an order of their own for each seed.
pub(crate) fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count).collect();
    numbers.sort_by_cached_key(|number| mixed(seed ^ mixed(u64::from(*number))));
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_table() {
        let count = 100_000;
        let mean = (0..count).map(size).sum::<u64>() / u64::from(count);
        assert!((2200..2500).contains(&mean), "{mean}");
        let small = (0..count).filter(|number| (257..=512).contains(&size(*number)));
        let percent = small.count() * 100 / count as usize;
        assert!((37..=39).contains(&percent), "{percent}");
        assert!((0..count).all(|number| (1..=32_768).contains(&size(number))));
    }

    #[test]
    fn each_order_has_all_of_them() {
        let mut numbers = shuffled(1000, 7);
        assert_ne!(numbers, shuffled(1000, 8));
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..1000));
    }
}
