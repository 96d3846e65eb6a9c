//! How often keys were used that are no longer stored: four bytes each, about as many as there are objects.

/// Places in one line; the newest first.
const WAYS: usize = 4;
const USES_MAX: u32 = 0xff;

/// The ghosts of a shard: 24 bits of the hash and 8 bits of uses each. A wrong match costs a wrong rank, no more.
#[derive(Debug, Default)]
pub(super) struct Ghosts {
    /// A power of two of lines, or none.
    lines: Vec<[u32; WAYS]>,
}

impl Ghosts {
    pub(super) fn remember(&mut self, hash: u32, uses: u32, objects: usize) {
        self.grow(objects);
        let tag = tag(hash);
        let index = self.index(hash);
        let Some(line) = self.lines.get_mut(index) else {
            return;
        };
        let place = line
            .iter()
            .position(|&ghost| ghost & !USES_MAX == tag)
            .unwrap_or(WAYS - 1);
        if let Some(newer) = line.get_mut(..=place) {
            newer.rotate_right(1);
        }
        line[0] = tag | uses.min(USES_MAX);
    }

    /// Uses of the key in its former life; it is forgotten with this.
    pub(super) fn recall(&mut self, hash: u32) -> u32 {
        let tag = tag(hash);
        let index = self.index(hash);
        let line = self.lines.get_mut(index);
        let ghost = line.and_then(|line| line.iter_mut().find(|ghost| **ghost & !USES_MAX == tag));
        ghost.map_or(0, |ghost| std::mem::take(ghost) & USES_MAX)
    }

    fn index(&self, hash: u32) -> usize {
        let mask = self.lines.len().saturating_sub(1);
        usize::try_from(hash).unwrap_or(0) & mask
    }

    fn grow(&mut self, objects: usize) {
        let wanted = (objects / WAYS).clamp(1, 1 << 24).next_power_of_two();
        if self.lines.is_empty() {
            self.lines.push([0; WAYS]);
        }
        while self.lines.len() < wanted {
            // A line is looked for under one more bit of its hash, which it no longer knows: it goes to both places.
            let lines = self.lines.clone();
            self.lines.reserve_exact(lines.len());
            self.lines.extend(lines);
        }
    }
}

/// Never zero, so that an empty place matches nothing.
fn tag(hash: u32) -> u32 {
    (hash >> 8).max(1) << 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_remembered_once() {
        let mut ghosts = Ghosts::default();
        ghosts.remember(0xabcd_1234, 7, 100);
        assert_eq!(ghosts.recall(0xabcd_1234), 7);
        assert_eq!(ghosts.recall(0xabcd_1234), 0);
    }

    #[test]
    fn uses_stop_at_their_limit() {
        let mut ghosts = Ghosts::default();
        ghosts.remember(42 << 8, 70_000, 1);
        assert_eq!(ghosts.recall(42 << 8), USES_MAX);
    }

    #[test]
    fn growth_loses_nothing() {
        let mut ghosts = Ghosts::default();
        let hash = |key: u32| ((key + 1) << 16) | (key * 37);
        for key in 0..4 {
            ghosts.remember(hash(key), 3, 1);
        }
        ghosts.grow(10_000);
        for key in 0..4 {
            assert_eq!(ghosts.recall(hash(key)), 3);
        }
    }

    #[test]
    fn the_oldest_of_a_line_gives_way() {
        let mut ghosts = Ghosts::default();
        for key in 1..=5 {
            ghosts.remember(key << 8, 9, 1);
        }
        assert_eq!(ghosts.recall(1 << 8), 0);
        assert_eq!(ghosts.recall(2 << 8), 9);
        assert_eq!(ghosts.recall(5 << 8), 9);
    }
}
