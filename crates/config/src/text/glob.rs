//! File name patterns of `include`: `*`, `?` and `[…]` in any part of a path.

use std::path::{Path, PathBuf};

/// Existing paths that match, in byte order. A pattern without wildcards matches itself if it exists.
pub(super) fn expand(pattern: &str) -> Vec<PathBuf> {
    let path = Path::new(pattern);
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let name = part.as_os_str().to_string_lossy();
        if name.contains(['*', '?', '[', '\\']) {
            found = found.iter().flat_map(|dir| children(dir, &name)).collect();
        } else {
            for dir in &mut found {
                dir.push(part);
            }
        }
    }
    found.retain(|path| path.exists());
    // By the bytes of the whole path, as glob(3) does where the locale is C.
    found.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    found
}

fn children(dir: &Path, pattern: &str) -> Vec<PathBuf> {
    let listed = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    let Ok(entries) = std::fs::read_dir(listed) else {
        return Vec::new();
    };
    let pattern: Vec<char> = pattern.chars().collect();
    entries
        .filter_map(Result::ok)
        .filter(|entry| {
            let name: Vec<char> = entry.file_name().to_string_lossy().chars().collect();
            let hidden = name.first() == Some(&'.') && pattern.first() != Some(&'.');
            !hidden && matches(&pattern, &name)
        })
        .map(|entry| dir.join(entry.file_name()))
        .collect()
}

/// Wildcard match in at most `pattern × name` steps: on a mismatch only the last `*` takes more.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut pos) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while pos < name.len() || at < pattern.len() {
        if pattern.get(at) == Some(&'*') {
            retry = Some((at, pos));
            at += 1;
            continue;
        }
        let step = name.get(pos).and_then(|&c| one(pattern.get(at..)?, c));
        match (step, retry) {
            (Some(used), _) => {
                at += used;
                pos += 1;
            }
            (None, Some((star, start))) if start < name.len() => {
                retry = Some((star, start + 1));
                at = star + 1;
                pos = start + 1;
            }
            (None, _) => return false,
        }
    }
    true
}

/// Length of the pattern element that `c` matches.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', rest @ ..] => match set(rest) {
            Some((set, used)) => set.has(c).then_some(used + 1),
            None => (c == '[').then_some(1),
        },
        ['\\', escaped, ..] => (*escaped == c).then_some(2),
        [first, ..] => (*first == c).then_some(1),
        [] => None,
    }
}

/// What stands between brackets.
struct Set<'a> {
    items: &'a [char],
    negated: bool,
}

/// The set that `rest` begins with, behind its bracket, and how long it is with the closing one.
fn set(rest: &[char]) -> Option<(Set<'_>, usize)> {
    let negated = matches!(rest.first(), Some('!' | '^'));
    let start = usize::from(negated);
    let items = rest.get(start..)?;
    // A `]` right after the opening belongs to the set.
    let mut at = usize::from(items.first() == Some(&']'));
    while *items.get(at)? != ']' {
        at += match class(items.get(at..)?) {
            Some((_, used)) => used,
            None => 1,
        };
    }
    let items = items.get(..at)?;
    Some((Set { items, negated }, start + at + 1))
}

/// Is a character of a class?
type Is = fn(&char) -> bool;

/// The classes of POSIX.
const CLASSES: [(&str, Is); 12] = [
    ("alnum", |c| c.is_alphanumeric()),
    ("alpha", |c| c.is_alphabetic()),
    ("blank", |c| matches!(c, ' ' | '\t')),
    ("cntrl", |c| c.is_control()),
    ("digit", char::is_ascii_digit),
    ("graph", char::is_ascii_graphic),
    ("lower", |c| c.is_lowercase()),
    ("print", |c| !c.is_control()),
    ("punct", char::is_ascii_punctuation),
    ("space", |c| c.is_whitespace()),
    ("upper", |c| c.is_uppercase()),
    ("xdigit", char::is_ascii_hexdigit),
];

/// A class such as `[:digit:]` that the items begin with, and its length.
fn class(items: &[char]) -> Option<(Is, usize)> {
    let ['[', ':', rest @ ..] = items else {
        return None;
    };
    let (_, is) = CLASSES.iter().find(|(name, _)| {
        let mut chars = rest.iter();
        name.chars().all(|c| chars.next() == Some(&c)) && chars.as_slice().starts_with(&[':', ']'])
    })?;
    let length = rest.iter().position(|&c| c == ':')?;
    Some((*is, length + 4))
}

impl Set<'_> {
    fn has(&self, c: char) -> bool {
        let mut rest = self.items;
        let mut found = false;
        while !found && !rest.is_empty() {
            let used;
            (found, used) = match (class(rest), rest) {
                (Some((is, used)), _) => (is(&c), used),
                (None, [low, '-', high, ..]) => ((*low..=*high).contains(&c), 3),
                (None, _) => (rest.first() == Some(&c), 1),
            };
            rest = rest.get(used..).unwrap_or_default();
        }
        found != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, name: &str, expected: bool) {
        let pattern_chars: Vec<char> = pattern.chars().collect();
        let name_chars: Vec<char> = name.chars().collect();
        assert_eq!(
            matches(&pattern_chars, &name_chars),
            expected,
            "{pattern} {name}"
        );
    }

    #[test]
    fn wildcards_match_as_in_a_shell() {
        check("*.conf", "a.conf", true);
        check("*.conf", ".conf", true);
        check("*.conf", "a.conf~", false);
        check("a?c", "abc", true);
        check("a?c", "ac", false);
        check("[0-9]*", "10-x", true);
        check("[!0-9]*", "10-x", false);
        check("[^a]b", "cb", true);
        check("[]x]", "]", true);
        check("[", "[", true);
        check("*a*a*a*", "aaaa", true);
        check("*a*a*b", "aaaaaaaaaaaaaaaaaaaaaa", false);
        check("a\\*b", "a*b", true);
        check("a\\*b", "axb", false);
        check("[[:upper:]0-9_]x", "Bx", true);
        check("[[:upper:]0-9_]x", "7x", true);
        check("[[:upper:]0-9_]x", "bx", false);
        check("[![:digit:]]", "7", false);
        check("[[:nothing:]x", ":x", true);
        check("", "", true);
        check("*", "", true);
    }

    #[test]
    fn paths_expand_in_order_without_hidden_files() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.conf", "a.conf", ".c.conf", "d.txt"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let pattern = dir.path().join("*.conf");
        let found = expand(pattern.to_str().unwrap());
        assert_eq!(
            found,
            [dir.path().join("a.conf"), dir.path().join("b.conf")]
        );
        assert!(expand(dir.path().join("none*").to_str().unwrap()).is_empty());
    }
}
