//! File name patterns of `include`: `*`, `?` and `[…]` in any part of a path.

use std::path::{Path, PathBuf};

/// Existing paths that match, in byte order. A pattern without wildcards matches itself if it exists.
pub(super) fn expand(pattern: &str) -> Vec<PathBuf> {
    let path = Path::new(pattern);
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let name = part.as_os_str().to_string_lossy();
        if name.contains(['*', '?', '[']) {
            found = found.iter().flat_map(|dir| children(dir, &name)).collect();
        } else {
            for dir in &mut found {
                dir.push(part);
            }
        }
    }
    found.retain(|path| path.exists());
    found.sort();
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
    let (&first, rest) = pattern.split_first()?;
    if first != '[' {
        return (first == '?' || first == c).then_some(1);
    }
    let negated = matches!(rest.first(), Some('!' | '^'));
    let set = rest.get(usize::from(negated)..)?;
    // A `]` right after the opening belongs to the set.
    let Some(close) = set.iter().skip(1).position(|&c| c == ']').map(|at| at + 1) else {
        return (c == '[').then_some(1);
    };
    let inside = in_set(set.get(..close)?, c);
    (inside != negated).then_some(close + 2 + usize::from(negated))
}

fn in_set(set: &[char], c: char) -> bool {
    let mut rest = set;
    loop {
        match rest {
            [low, '-', high, tail @ ..] => {
                if (*low..=*high).contains(&c) {
                    return true;
                }
                rest = tail;
            }
            [single, tail @ ..] => {
                if *single == c {
                    return true;
                }
                rest = tail;
            }
            [] => return false,
        }
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
