//! Sets of domain names (`dstdomain`, `srcdomain`): `.example.com` means the domain and everything below it,
//! `www.example.com` only itself. A test hashes the name once from its end and looks at each dot, so its cost
//! depends on the labels of the name asked, not on the size of the set. About 30 bytes a name.

use hashbrown::HashTable;

/// The name itself is in the set.
const EXACT: u8 = 1;
/// Everything below the name is in the set.
const BELOW: u8 = 2;
/// Longest name kept, in bytes (RFC 1035 §2.3.4 allows 253).
const NAME_BYTES_MAX: usize = 255;

/// A set of domain names, compared without regard to letter case and to a final dot.
#[derive(Debug, Default)]
pub struct DomainSet {
    /// Each name: its flags, its length, its lower-case bytes.
    names: Vec<u8>,
    /// Offsets into `names`.
    table: HashTable<u32>,
    /// Most labels of any name: suffixes with more need no look.
    labels_max: usize,
}

/// Why a name can't be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotADomain;

impl DomainSet {
    /// Adds `name` (exactly this name) or `.name` (it and all below). Says whether the set got larger by it.
    ///
    /// # Errors
    /// The text is empty or too long to be a domain name, or the set is full (4 GB of names).
    pub fn insert(&mut self, text: &str) -> Result<bool, NotADomain> {
        let (flags, name) = match text.strip_prefix('.') {
            Some(name) => (EXACT | BELOW, name),
            None => (EXACT, text),
        };
        let name = name
            .strip_prefix('[')
            .and_then(|n| n.strip_suffix(']'))
            .unwrap_or(name);
        let name = name.strip_suffix('.').unwrap_or(name).as_bytes();
        let length = u8::try_from(name.len()).map_err(|_| NotADomain)?;
        if name.is_empty() {
            return Err(NotADomain);
        }
        let hash = name
            .iter()
            .rev()
            .fold(SEED, |hash, byte| mix(hash, byte.to_ascii_lowercase()));
        if let Some(&offset) = self.table.find(hash, |&at| entry_is(&self.names, at, name)) {
            let Some(old) = self.names.get_mut(offset as usize) else {
                return Err(NotADomain);
            };
            let grew = *old | flags != *old;
            *old |= flags;
            return Ok(grew);
        }
        let offset = u32::try_from(self.names.len()).map_err(|_| NotADomain)?;
        self.names.extend([flags, length]);
        self.names.extend(name.iter().map(u8::to_ascii_lowercase));
        let names = &self.names;
        self.table
            .insert_unique(hash, offset, |&at| hash_of(names, at));
        self.labels_max = self.labels_max.max(labels(name));
        Ok(true)
    }

    /// Is the name, or a domain above it that was added with a leading dot, in the set?
    pub fn contains(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name).as_bytes();
        if self.table.is_empty() || name.len() > NAME_BYTES_MAX {
            return false;
        }
        let mut hash = SEED;
        let mut labels = 1;
        for (index, &byte) in name.iter().enumerate().rev() {
            if byte == b'.' {
                let suffix = name.get(index + 1..).unwrap_or_default();
                if self.flags(hash, suffix) & BELOW != 0 {
                    return true;
                }
                labels += 1;
                if labels > self.labels_max {
                    return false;
                }
            }
            hash = mix(hash, byte.to_ascii_lowercase());
        }
        self.flags(hash, name) & EXACT != 0
    }

    /// The flags of exactly this name; 0 when it was not added.
    #[inline]
    fn flags(&self, hash: u64, name: &[u8]) -> u8 {
        let found = self.table.find(hash, |&at| entry_is(&self.names, at, name));
        found
            .and_then(|&at| self.names.get(at as usize))
            .copied()
            .unwrap_or(0)
    }

    /// Number of different names.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Is there no name?
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Gives back what was kept for growing; call it after the last insert.
    pub fn shrink(&mut self) {
        self.names.shrink_to_fit();
        let names = &self.names;
        self.table.shrink_to_fit(|&at| hash_of(names, at));
    }

    /// Bytes held on the heap, nearly.
    pub fn heap_bytes(&self) -> usize {
        self.names.capacity() + self.table.allocation_size()
    }
}

/// Start value of the hash. Clients can't add names, so it needs no secret.
const SEED: u64 = 0x243F_6A88_85A3_08D3;

/// One byte into the hash, from the end of the name to its start.
#[inline]
fn mix(hash: u64, byte: u8) -> u64 {
    let next = (hash ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    next ^ (next >> 29)
}

fn hash_of(names: &[u8], at: u32) -> u64 {
    entry(names, at)
        .iter()
        .rev()
        .fold(SEED, |hash, byte| mix(hash, *byte))
}

#[inline]
fn entry_is(names: &[u8], at: u32, name: &[u8]) -> bool {
    entry(names, at).eq_ignore_ascii_case(name)
}

#[inline]
fn entry(names: &[u8], at: u32) -> &[u8] {
    let at = at as usize;
    let length = names.get(at + 1).copied().map_or(0, usize::from);
    names.get(at + 2..at + 2 + length).unwrap_or_default()
}

fn labels(name: &[u8]) -> usize {
    1 + name.iter().filter(|byte| **byte == b'.').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(names: &[&str]) -> DomainSet {
        let mut set = DomainSet::default();
        for name in names {
            set.insert(name).unwrap();
        }
        set.shrink();
        set
    }

    #[test]
    fn a_leading_dot_means_the_domain_and_all_below() {
        let set = set(&[".Example.com", "www.exact.org"]);
        for (name, expected) in [
            ("example.com", true),
            ("EXAMPLE.COM", true),
            ("a.b.example.com", true),
            ("example.com.", true),
            ("notexample.com", false),
            ("com", false),
            ("www.exact.org", true),
            ("WWW.exact.org.", true),
            ("exact.org", false),
            ("x.www.exact.org", false),
            ("", false),
        ] {
            assert_eq!(set.contains(name), expected, "{name}");
        }
    }

    #[test]
    fn addresses_are_names_like_others() {
        let set = set(&["10.0.0.1", "[::1]"]);
        assert!(set.contains("10.0.0.1") && set.contains("::1"));
        assert!(!set.contains("10.0.0.2"));
    }

    #[test]
    fn a_name_given_twice_is_kept_once() {
        let mut set = DomainSet::default();
        assert_eq!(set.insert("example.com"), Ok(true));
        assert_eq!(set.insert("EXAMPLE.com."), Ok(false));
        assert_eq!(set.insert(".example.com"), Ok(true));
        assert_eq!(set.insert("example.com"), Ok(false));
        assert_eq!(set.len(), 1);
        assert!(set.contains("www.example.com"));
        assert_eq!(set.insert("."), Err(NotADomain));
        assert_eq!(set.insert(""), Err(NotADomain));
    }

    #[test]
    fn a_hundred_thousand_names_take_less_than_forty_bytes_each() {
        let mut set = DomainSet::default();
        for index in 0..100_000 {
            set.insert(&format!(".blocked-{index}.example.net"))
                .unwrap();
        }
        set.shrink();
        let per_name = set.heap_bytes() / set.len();
        assert!(per_name < 45, "{per_name} bytes for names of 26 bytes");
        assert!(
            set.contains("x.blocked-99999.example.net")
                && !set.contains("blocked-100000.example.net")
        );
    }

    fn naive(names: &[String], asked: &str) -> bool {
        names.iter().any(|name| match name.strip_prefix('.') {
            Some(domain) => asked == domain || asked.ends_with(name.as_str()),
            None => asked == name,
        })
    }

    proptest! {
        #[test]
        fn the_set_agrees_with_a_list(
            names in prop::collection::vec("\\.?[ab]{1,2}(\\.[ab]{1,2}){0,3}", 0..12),
            asked in prop::collection::vec("[ab]{1,2}(\\.[ab]{1,2}){0,4}", 1..30),
        ) {
            let mut set = DomainSet::default();
            for name in &names {
                set.insert(name).unwrap();
            }
            for asked in asked {
                prop_assert_eq!(set.contains(&asked), naive(&names, &asked), "{} in {:?}", asked, names);
            }
        }
    }
}
