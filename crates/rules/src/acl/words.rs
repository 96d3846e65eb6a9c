//! Many texts looked for at once. A few go into an Aho-Corasick automaton. Of many, each is known by one window of
//! 8 (or 4) bytes, its rarest in the list, and a table finds words by window: one look per byte of the text searched.
//! 800,000 words of 20 bytes take 1.2 s and 90 bytes each so, where the automaton takes 20 s and 450 bytes each.

use aho_corasick::AhoCorasick;
use hashbrown::HashTable;
use smallvec::SmallVec;

use super::literal::Literal;

/// Words up to which the automaton is used: it is quicker to search, and to build until there.
pub(crate) const AUTOMATON_WORDS_MAX: usize = 20_000;
/// Most bytes of all words; offsets are `u32`.
const TEXT_BYTES_MAX: usize = u32::MAX as usize;

/// What a word means where it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It is a match, of the pattern with this number.
    Match(u32),
    /// Patterns that a match needs more of: this group of them is worth a look.
    Group(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    /// Place of its text.
    at: u32,
    length: u16,
    /// Place of its window in the text.
    window: u16,
    meaning: Meaning,
    bounds: Bounds,
}

/// Where and how a word counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    at_start: bool,
    at_end: bool,
    ignore_case: bool,
}

/// Words to be compiled.
#[derive(Debug, Default)]
pub(crate) struct Words {
    texts: Vec<u8>,
    list: Vec<Word>,
}

/// The words are too many bytes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Words {
    /// Adds a word, which is not longer than 65,535 bytes.
    pub(crate) fn add(
        &mut self,
        literal: &Literal,
        ignore_case: bool,
        meaning: Meaning,
    ) -> Result<(), TooLong> {
        let at = self.texts.len();
        if at + literal.text.len() > TEXT_BYTES_MAX {
            return Err(TooLong);
        }
        self.list.push(Word {
            at: u32::try_from(at).map_err(|_| TooLong)?,
            length: u16::try_from(literal.text.len()).map_err(|_| TooLong)?,
            window: 0,
            meaning,
            bounds: Bounds {
                at_start: literal.at_start,
                at_end: literal.at_end,
                ignore_case,
            },
        });
        self.texts.extend_from_slice(&literal.text);
        Ok(())
    }

    /// Makes them ready to be searched for; up to so many go into an automaton.
    pub(crate) fn compile(
        mut self,
        automaton_words_max: usize,
    ) -> Result<Search, aho_corasick::BuildError> {
        self.texts.shrink_to_fit();
        self.list.shrink_to_fit();
        let few = self.list.len() <= automaton_words_max;
        let (mut long, mut short, mut other) = (Vec::new(), Vec::new(), Vec::new());
        for (id, word) in (0..).zip(&self.list) {
            match word.length {
                _ if few => other.push(id),
                0..4 => other.push(id),
                4..8 => short.push(id),
                8.. => long.push(id),
            }
        }
        let long = Windows::<8>::build(&mut self, &long);
        let short = Windows::<4>::build(&mut self, &short);
        let automaton = if other.is_empty() {
            None
        } else {
            let texts = other
                .iter()
                .filter_map(|id| self.list.get(*id as usize))
                .map(|word| self.text(word));
            let automaton = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .build(texts)?;
            Some((automaton, other.into()))
        };
        Ok(Search {
            words: self,
            automaton,
            long,
            short,
        })
    }

    fn text(&self, word: &Word) -> &[u8] {
        let at = word.at as usize;
        self.texts
            .get(at..at + usize::from(word.length))
            .unwrap_or_default()
    }

    /// The word's window, in lower case.
    fn window<const N: usize>(&self, id: u32) -> [u8; N] {
        let word = self.list.get(id as usize);
        let window = word.and_then(|word| {
            self.text(word)
                .get(usize::from(word.window)..)?
                .first_chunk()
        });
        window.map_or([0; N], |window: &[u8; N]| {
            window.map(|byte| byte.to_ascii_lowercase())
        })
    }

    /// Do both stand for the same? Of matches the one that was added first counts, whose number is lower.
    fn same(&self, one: u32, other: u32) -> bool {
        let (Some(one), Some(other)) = (self.list.get(one as usize), self.list.get(other as usize))
        else {
            return false;
        };
        let text = (self.text(one), self.text(other));
        let same_text = if one.bounds.ignore_case {
            text.0.eq_ignore_ascii_case(text.1)
        } else {
            text.0 == text.1
        };
        let same_meaning = match (one.meaning, other.meaning) {
            (Meaning::Match(_), Meaning::Match(_)) => true,
            (Meaning::Group(one), Meaning::Group(other)) => one == other,
            _ => false,
        };
        same_text && same_meaning && one.bounds == other.bounds
    }

    /// What the word means if it stands at this place of the text.
    fn meaning_at(&self, id: u32, text: &[u8], window_at: usize) -> Option<Meaning> {
        let word = self.list.get(id as usize)?;
        let start = window_at.checked_sub(usize::from(word.window))?;
        let end = start + usize::from(word.length);
        let Bounds {
            at_start,
            at_end,
            ignore_case,
        } = word.bounds;
        if at_start && start != 0 || at_end && end != text.len() {
            return None;
        }
        let found = text.get(start..end)?;
        let own = self.text(word);
        let same = if ignore_case {
            found.eq_ignore_ascii_case(own)
        } else {
            found == own
        };
        same.then_some(word.meaning)
    }
}

/// Words ready to be searched for.
#[derive(Debug, Default)]
pub(crate) struct Search {
    words: Words,
    /// With the word of each of its patterns.
    automaton: Option<(AhoCorasick, Box<[u32]>)>,
    long: Windows<8>,
    short: Windows<4>,
}

impl Search {
    /// Gives what the words found mean, until one is enough; tells if one was.
    pub(crate) fn any(&self, text: &[u8], mut is_enough: impl FnMut(Meaning) -> bool) -> bool {
        let mut counts = |id: u32, at: usize| {
            let meaning = self.words.meaning_at(id, text, at);
            meaning.is_some_and(&mut is_enough)
        };
        if let Some((automaton, ids)) = &self.automaton {
            let mut found = automaton.find_overlapping_iter(text);
            if found.any(|found| {
                ids.get(found.pattern().as_usize())
                    .is_some_and(|id| counts(*id, found.start()))
            }) {
                return true;
            }
        }
        if self.long.table.is_empty() && self.short.table.is_empty() {
            return false;
        }
        let mut lower: SmallVec<[u8; 512]> = SmallVec::from_slice(text);
        lower.make_ascii_lowercase();
        self.long.any(&lower, &mut counts) || self.short.any(&lower, &mut counts)
    }
}

/// Words by their windows of `N` bytes.
#[derive(Debug, Default)]
struct Windows<const N: usize> {
    table: HashTable<u32>,
}

impl<const N: usize> Windows<N> {
    /// Picks the window of each word and puts the words in; a word that is there already isn't put in again.
    fn build(words: &mut Words, ids: &[u32]) -> Self {
        let mut table = HashTable::with_capacity(ids.len());
        if ids.is_empty() {
            return Self { table };
        }
        let mut rarity = Rarity::of(ids.len());
        for &id in ids {
            let text = words.list.get(id as usize).map(|word| words.text(word));
            text.unwrap_or_default()
                .windows(N)
                .for_each(|window| rarity.note(window));
        }
        for &id in ids {
            let text = words
                .list
                .get(id as usize)
                .map(|word| words.text(word))
                .unwrap_or_default();
            let rarest = text
                .windows(N)
                .zip(0..)
                .min_by_key(|(window, _)| rarity.count(window));
            let window = rarest.map_or(0, |(_, at)| at);
            if let Some(word) = words.list.get_mut(id as usize) {
                word.window = window;
            }
            let hash = hash(&words.window::<N>(id));
            if !table.iter_hash(hash).any(|&known| words.same(known, id)) {
                table.insert_unique(hash, id, |&id| self::hash(&words.window::<N>(id)));
            }
        }
        Self { table }
    }

    fn any(&self, lower: &[u8], counts: &mut impl FnMut(u32, usize) -> bool) -> bool {
        !self.table.is_empty()
            && lower
                .windows(N)
                .zip(0..)
                .any(|(window, at)| self.table.iter_hash(hash(window)).any(|&id| counts(id, at)))
    }
}

/// How often windows are seen in a list, nearly: windows may share a cell.
struct Rarity(Box<[u8]>);

impl Rarity {
    fn of(words: usize) -> Self {
        Self(vec![0; (words * 8).next_power_of_two().clamp(1 << 10, 1 << 23)].into())
    }

    fn cell(&self, window: &[u8]) -> usize {
        let mut lower: SmallVec<[u8; 8]> = SmallVec::from_slice(window);
        lower.make_ascii_lowercase();
        usize::try_from(hash(&lower)).unwrap_or(0) & (self.0.len() - 1)
    }

    fn note(&mut self, window: &[u8]) {
        let cell = self.cell(window);
        if let Some(count) = self.0.get_mut(cell) {
            *count = count.saturating_add(1);
        }
    }

    fn count(&self, window: &[u8]) -> u8 {
        self.0.get(self.cell(window)).copied().unwrap_or(u8::MAX)
    }
}

/// Of at most 8 bytes, in lower case.
#[inline]
fn hash(window: &[u8]) -> u64 {
    let number = match *window {
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    };
    let product = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (product ^ (product >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}
