//! Sets of small numbers: ports as bits (`port`, `localport`), status codes as ranges (`http_status`).

/// Ports, one bit each: a test is one load.
#[derive(Clone, Debug)]
pub struct PortSet(Box<[u64]>);

/// Words of a set that has a bit for each port.
const PORT_WORDS: usize = 65_536 / 64;

impl Default for PortSet {
    fn default() -> Self {
        Self(vec![0; PORT_WORDS].into())
    }
}

impl PortSet {
    /// Adds `N` or `N-M`; false when the text is neither. What follows a blank, as a comment in a list file does, is
    /// not looked at.
    pub fn insert(&mut self, text: &str) -> bool {
        let text = text.split([' ', '\t']).next().unwrap_or_default();
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let (Ok(low), Ok(high)) = (low.trim().parse::<u16>(), high.trim().parse::<u16>()) else {
            return false;
        };
        for port in low..=high {
            if let Some(word) = self.0.get_mut(usize::from(port) / 64) {
                *word |= 1 << (port % 64);
            }
        }
        low <= high
    }

    /// Is the port in the set?
    #[inline]
    pub fn contains(&self, port: u16) -> bool {
        self.0
            .get(usize::from(port) / 64)
            .is_some_and(|word| word >> (port % 64) & 1 == 1)
    }
}

/// Ranges of status codes.
#[derive(Clone, Debug, Default)]
pub struct StatusSet(Vec<(u16, u16)>);

impl StatusSet {
    /// Adds `N`, `N-M` or `N-`; false when the text is neither.
    pub fn insert(&mut self, text: &str) -> bool {
        let (low, high) = match text.split_once('-') {
            None => (text, text),
            Some((low, "")) => (low, "65535"),
            Some(both) => both,
        };
        let (Ok(low), Ok(high)) = (low.parse::<u16>(), high.parse::<u16>()) else {
            return false;
        };
        self.0.push((low, high));
        low <= high
    }

    /// Is the status in the set?
    pub fn contains(&self, status: u16) -> bool {
        self.0
            .iter()
            .any(|&(low, high)| low <= status && status <= high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_single_or_ranges() {
        let mut set = PortSet::default();
        for text in ["80", "1025-65535", "0"] {
            assert!(set.insert(text), "{text}");
        }
        for text in ["", "x", "70000", "9-1", "80,81", "-5"] {
            assert!(!set.insert(text), "{text}");
        }
        for (port, expected) in [
            (80, true),
            (81, false),
            (1024, false),
            (1025, true),
            (65535, true),
            (0, true),
        ] {
            assert_eq!(set.contains(port), expected, "{port}");
        }
    }

    #[test]
    fn statuses_may_have_an_open_end() {
        let mut set = StatusSet::default();
        assert!(set.insert("200") && set.insert("300-303") && set.insert("500-"));
        assert!(!StatusSet::default().insert("x") && !StatusSet::default().insert("400-300"));
        for (status, expected) in [
            (200, true),
            (201, false),
            (302, true),
            (304, false),
            (503, true),
            (499, false),
        ] {
            assert_eq!(set.contains(status), expected, "{status}");
        }
    }
}
