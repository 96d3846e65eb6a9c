//! Sets of domain names (`dstdomain`, `srcdomain`): `.example.com` means the domain and everything below it,
//! `www.example.com` only itself. A test looks up the name and what follows each of its dots, so its cost depends on
//! the labels of the name asked, not on the size of the set. A name takes its bytes and 8 to 14 more.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use memchr::memrchr_iter;
use rapidhash::v3::{DEFAULT_RAPID_SECRETS, rapidhash_v3_nano_inline};

/// The name itself is in the set.
const EXACT: u8 = 1;
/// Everything below the name is in the set.
const BELOW: u8 = 2;
/// Longest name kept, in bytes (RFC 1035 §2.3.4 allows 253).
const NAME_BYTES_MAX: usize = 255;

/// Names that wait for their places in the table, which is larger than the processor's caches: in the order of the
/// places, 5 million names take 0.9 s of a busy machine instead of 3.0 s.
const WAITING_MAX: usize = 1 << 18;

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

/// A set in the making.
#[derive(Debug, Default)]
pub struct Domains {
    set: DomainSet,
    /// Hash and offset of names that aren't in the table yet.
    waiting: Vec<(u64, u32)>,
    /// Bytes of names that were there already.
    wasted: usize,
}

/// Why a name can't be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadName {
    /// No host has such a name: it is empty, too long, or has a blank or a slash.
    NoHost,
    /// The set is full: 4 GB of names.
    Full,
}

impl Domains {
    /// Room for this many names that have this many bytes together.
    pub fn with_capacity(names: usize, bytes: usize) -> Self {
        Self {
            set: DomainSet {
                names: Vec::with_capacity(bytes + 2 * names),
                table: HashTable::with_capacity(names),
                labels_max: 0,
            },
            waiting: Vec::with_capacity(names.min(WAITING_MAX)),
            wasted: 0,
        }
    }

    /// Adds `name` (exactly this name) or `.name` (it and all below).
    ///
    /// # Errors
    /// The text can't be the name of a host, or the set is full.
    pub fn insert(&mut self, text: &str) -> Result<(), BadName> {
        let (flags, name) = match text.strip_prefix('.') {
            Some(name) => (EXACT | BELOW, name),
            None => (EXACT, text),
        };
        let name = name
            .strip_prefix('[')
            .and_then(|n| n.strip_suffix(']'))
            .unwrap_or(name);
        let name = name.strip_suffix('.').unwrap_or(name).as_bytes();
        let length = u8::try_from(name.len()).map_err(|_| BadName::NoHost)?;
        if name.is_empty() || memchr::memchr3(b' ', b'\t', b'/', name).is_some() {
            return Err(BadName::NoHost);
        }
        let DomainSet {
            names, labels_max, ..
        } = &mut self.set;
        let start = names.len();
        let offset = u32::try_from(start).map_err(|_| BadName::Full)?;
        names.extend_from_slice(&[flags, length]);
        names.extend_from_slice(name);
        let own = names.get_mut(start + 2..).unwrap_or_default();
        own.make_ascii_lowercase();
        *labels_max = (*labels_max).max(labels(own));
        self.waiting.push((hash(own), offset));
        if self.waiting.len() == WAITING_MAX {
            self.place_waiting();
        }
        Ok(())
    }

    fn place_waiting(&mut self) {
        let DomainSet { names, table, .. } = &mut self.set;
        let places = u64::try_from(table.num_buckets()).unwrap_or(u64::MAX);
        self.waiting
            .sort_unstable_by_key(|&(hash, offset)| (hash & places.wrapping_sub(1), offset));
        for (hash, offset) in self.waiting.drain(..) {
            let known = |&at: &u32| entry(names, at) == entry(names, offset);
            match table.entry(hash, known, |&at| self::hash(entry(names, at))) {
                Entry::Vacant(free) => {
                    free.insert(offset);
                }
                Entry::Occupied(old) => {
                    let flags = names.get(offset as usize).copied().unwrap_or(0);
                    self.wasted += entry(names, offset).len() + 2;
                    if let Some(old) = names.get_mut(*old.get() as usize) {
                        *old |= flags;
                    }
                }
            }
        }
    }

    /// The set. One that had many names twice is written anew without them.
    pub fn build(mut self) -> DomainSet {
        self.place_waiting();
        let Self {
            mut set, wasted, ..
        } = self;
        if wasted > set.names.len() / 8 {
            let mut names = Vec::with_capacity(set.names.len() - wasted);
            for at in &mut set.table {
                let start = *at as usize;
                let end = start + 2 + entry(&set.names, *at).len();
                *at = u32::try_from(names.len()).unwrap_or(u32::MAX);
                names.extend_from_slice(set.names.get(start..end).unwrap_or_default());
            }
            set.names = names;
        }
        set.names.shrink_to_fit();
        let names = &set.names;
        set.table.shrink_to_fit(|&at| hash(entry(names, at)));
        set
    }
}

impl DomainSet {
    /// Is the name, or a domain above it that was added with a leading dot, in the set?
    pub fn contains(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name).as_bytes();
        let mut lower = [0; NAME_BYTES_MAX];
        let Some(lower) = lower
            .get_mut(..name.len())
            .filter(|_| !self.table.is_empty())
        else {
            return false;
        };
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        let name = &*lower;
        for (dot, labels) in memrchr_iter(b'.', name).zip(1..) {
            if labels > self.labels_max {
                return false;
            }
            if self.flags(name.get(dot + 1..).unwrap_or_default()) & BELOW != 0 {
                return true;
            }
        }
        self.flags(name) != 0
    }

    /// The flags of exactly this name, given in lower case; 0 when it was not added.
    #[inline]
    fn flags(&self, name: &[u8]) -> u8 {
        let found = self
            .table
            .find(hash(name), |&at| entry(&self.names, at) == name);
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

    /// Bytes held on the heap, nearly.
    pub fn heap_bytes(&self) -> usize {
        self.names.capacity() + self.table.allocation_size()
    }
}

/// Clients can't add names, so the hash needs no secret.
#[inline]
fn hash(name: &[u8]) -> u64 {
    rapidhash_v3_nano_inline::<true, false>(name, &DEFAULT_RAPID_SECRETS)
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

    fn set(names: &[impl AsRef<str>]) -> DomainSet {
        let mut domains = Domains::default();
        for name in names {
            domains.insert(name.as_ref()).unwrap();
        }
        domains.build()
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
    fn a_name_given_twice_is_kept_once_and_means_both() {
        let once = set(&["example.com", "www.x.org"]);
        let set = set(&[
            "example.com",
            "www.x.org",
            "EXAMPLE.com.",
            ".example.com",
            "example.com",
        ]);
        assert_eq!((set.len(), set.heap_bytes()), (2, once.heap_bytes()));
        assert!(set.contains("www.example.com") && set.contains("www.x.org"));
        assert!(!once.contains("www.example.com") && !set.contains("a.www.x.org"));
    }

    #[test]
    fn what_no_host_can_be_called_is_refused() {
        let mut domains = Domains::default();
        let long = "a".repeat(256);
        for text in [
            "",
            ".",
            "a b",
            "example.com # shop",
            "example.com/path",
            &long,
        ] {
            assert_eq!(domains.insert(text), Err(BadName::NoHost), "{text}");
        }
        let longest = "a".repeat(255);
        assert_eq!(domains.insert(&format!(".{longest}")), Ok(()));
        let set = domains.build();
        assert!(set.contains(&longest));
        assert!(!set.contains(&format!("b.{longest}")) && !set.contains(&long));
    }

    /// More names than wait at once, with and without room made beforehand; each comes twice.
    #[test]
    fn many_names_take_less_than_forty_bytes_each() {
        let count = WAITING_MAX + 10_000;
        let name = |index: usize| format!(".blocked-{}.example.net", index % count);
        for mut domains in [
            Domains::default(),
            Domains::with_capacity(2 * count, 60 * count),
        ] {
            for index in 0..2 * count {
                domains.insert(&name(index)).unwrap();
            }
            let set = domains.build();
            assert_eq!(set.len(), count);
            let per_name = set.heap_bytes() / count;
            assert!(per_name < 40, "{per_name} bytes for names of 26 bytes");
            assert!((0..count).all(|index| set.contains(name(index).trim_start_matches('.'))));
            assert!(!set.contains("blocked-x.example.net"));
        }
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
            let set = set(&names);
            for asked in asked {
                prop_assert_eq!(set.contains(&asked), naive(&names, &asked), "{} in {:?}", asked, names);
            }
        }
    }
}
