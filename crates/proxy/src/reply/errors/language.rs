//! Error pages in the languages of an installed squid-langpack, and which of them a client would like best.
//! English is ours: it isn't taken from there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use wire::value::weighted::ranked;

use super::files::Unreadable;
use super::template::Template;

/// Where packages put them: a directory for each language. The first that is there is used.
pub(super) const PLACES: [&str; 3] = [
    "/usr/share/squid-langpack",
    "/usr/share/squid/errors",
    "/usr/local/share/squid/errors",
];

/// Languages that are loaded.
const LANGUAGES_MAX: usize = 100;
/// Names of languages, with their regions.
const TAGS_MAX: usize = 1000;
/// Longest name of a language that is looked up (RFC 5646 §4.4.1).
const TAG_BYTES_MAX: usize = 35;
/// Languages asked for in vain that the cache log is told of.
const TOLD_MAX: usize = 32;
const ENGLISH: &[u8] = b"en";

/// All of them, ready for use.
#[derive(Debug)]
pub(super) struct Languages {
    list: Vec<Language>,
    /// Place in `list` by name, in order of names.
    tags: Vec<(Box<str>, usize)>,
    /// For who asks for none that is there; `None` is English.
    default: Option<usize>,
    /// The missing ones that were told of; `None` tells of none.
    told: Option<Mutex<Vec<Box<str>>>>,
}

#[derive(Debug)]
struct Language {
    /// As `Content-Language` has it.
    tag: Box<str>,
    /// By number of the page; `None` where it has no such page.
    templates: Vec<Option<Template>>,
}

/// Directories of languages, before they are loaded.
pub(super) struct Source<'s> {
    /// The langpack.
    pub(super) place: &'s Path,
    /// `error_default_language`
    pub(super) default: Option<&'s str>,
    /// `error_log_languages`
    pub(super) tells: bool,
}

impl Languages {
    /// Loads what `make` takes: it gets a language's directory and the number of a page.
    pub(super) fn load(
        source: &Source<'_>,
        pages: usize,
        unreadable: &mut Vec<Unreadable>,
        make: impl Fn(&Path, usize, &mut Vec<Unreadable>) -> Option<Template>,
    ) -> Self {
        let mut list = Vec::new();
        let mut tags = Vec::new();
        for (directory, names) in directories(source.place, unreadable) {
            let own = directory.file_name().and_then(|name| name.to_str());
            let Some(tag) = own
                .filter(|name| is_tag(name))
                .or(names.first().map(|name| &**name))
            else {
                continue;
            };
            if list.len() == LANGUAGES_MAX {
                break;
            }
            let templates = (0..pages).map(|page| make(&directory, page, unreadable));
            let language = Language {
                tag: tag.into(),
                templates: templates.collect(),
            };
            tags.extend(names.into_iter().map(|name| (name, list.len())));
            list.push(language);
        }
        tags.sort();
        let mut languages = Self {
            list,
            tags,
            default: None,
            told: source.tells.then(Mutex::default),
        };
        if let Some(wanted) = source.default {
            match languages.find(wanted.as_bytes()) {
                Some(found) => languages.default = found,
                None => unreadable.push(Unreadable::new(
                    &source.place.join(wanted),
                    std::io::ErrorKind::NotFound.into(),
                )),
            }
        }
        languages
    }

    /// The page's template in that language.
    pub(super) fn template(&self, language: usize, page: usize) -> Option<(&str, &Template)> {
        let language = self.list.get(language)?;
        let template = language.templates.get(page)?.as_ref()?;
        Some((&language.tag, template))
    }

    /// The language of who asks for none; `None` is English.
    pub(super) fn default(&self) -> Option<usize> {
        self.default
    }

    /// The best of the languages in the values of `Accept-Language`; `None` is English.
    pub(super) fn choose<'v>(&self, wanted: impl Iterator<Item = &'v [u8]>) -> Option<usize> {
        let mut missing = None;
        for (tag, _) in ranked(wanted).into_iter().filter(|(_, weight)| *weight > 0) {
            if tag == b"*" {
                break;
            }
            match self.find(tag) {
                Some(found) => return found,
                None => missing = missing.or(Some(tag)),
            }
        }
        if let Some(tag) = missing {
            self.tell(tag);
        }
        self.default
    }

    /// The language of that name, or without its region (RFC 4647 §3.4): `Some(None)` is English.
    #[expect(clippy::option_option, reason = "English is a language that is found")]
    fn find(&self, tag: &[u8]) -> Option<Option<usize>> {
        if tag.len() > TAG_BYTES_MAX {
            return None;
        }
        let lower = tag.to_ascii_lowercase();
        let mut tag = lower.as_slice();
        loop {
            if tag == ENGLISH {
                return Some(None);
            }
            let found = self
                .tags
                .binary_search_by(|(name, _)| name.as_bytes().cmp(tag));
            if let Some((_, language)) = found.ok().and_then(|at| self.tags.get(at)) {
                return Some(Some(*language));
            }
            tag = tag.get(..memchr::memrchr(b'-', tag)?)?;
        }
    }

    /// Tells the cache log once.
    fn tell(&self, tag: &[u8]) {
        let Some(told) = &self.told else { return };
        let Some(tag) = str::from_utf8(tag)
            .ok()
            .filter(|tag| is_tag(&tag.to_ascii_lowercase()))
        else {
            return;
        };
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < TOLD_MAX && !told.iter().any(|known| **known == *tag) {
            told.push(tag.into());
            tracing::warn!("Error Pages Missing Language: {tag}");
        }
    }
}

/// Each directory once, with its names: regions are links to their language.
fn directories(place: &Path, unreadable: &mut Vec<Unreadable>) -> BTreeMap<PathBuf, Vec<Box<str>>> {
    let mut found: BTreeMap<PathBuf, Vec<Box<str>>> = BTreeMap::new();
    let entries = match fs::read_dir(place) {
        Ok(entries) => entries,
        Err(reason) => {
            unreadable.push(Unreadable::new(place, reason));
            return found;
        }
    };
    for entry in entries.flatten().take(TAGS_MAX) {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_tag(name)) else {
            continue;
        };
        let english = name.as_bytes() == ENGLISH || name.starts_with("en-");
        let Ok(path) = fs::canonicalize(entry.path()) else {
            continue;
        };
        if !english && path.is_dir() {
            found.entry(path).or_default().push(name.into());
        }
    }
    found
}

/// Is it the name of a language in lower case: `de`, `pt-br`?
fn is_tag(name: &str) -> bool {
    let language = name.split('-').next().unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (2..=3).contains(&language.len()) && name.len() <= TAG_BYTES_MAX && name.bytes().all(plain)
}
