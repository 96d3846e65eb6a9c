//! Rows by name, and the neighbours of misspelt names.

use std::collections::HashMap;

use super::{Row, rows};

/// The row of a name or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.names().any(|known| known == name))
}

/// The row of each name and alias.
pub(crate) fn index() -> HashMap<&'static str, &'static Row> {
    rows()
        .flat_map(|row| row.names().map(move |name| (name, row)))
        .collect()
}

/// A known name that is at most two letters away from a wrong one.
#[must_use]
pub fn similar(wrong: &str) -> Option<&'static str> {
    near(wrong).min().map(|(.., name)| name)
}

/// All of them, the nearest first.
#[must_use]
pub fn all_similar(wrong: &str) -> Vec<&'static str> {
    let mut near: Vec<_> = near(wrong).collect();
    near.sort_unstable();
    near.into_iter().map(|(.., name)| name).collect()
}

/// Names with how far they are from the wrong one, and whether Squids no longer have them.
fn near(wrong: &str) -> impl Iterator<Item = (usize, bool, &'static str)> {
    let rows = rows().filter(|_| wrong.len() <= 48);
    let names = rows.flat_map(|row| row.names().map(move |name| (row, name)));
    let near = names.map(|(row, name)| {
        let steps = distance(wrong.as_bytes(), name.as_bytes());
        (steps, row.versions.until.is_some(), name)
    });
    near.filter(|(steps, _, name)| *steps <= 2 && name.len() > 4)
}

/// Letters to insert, remove or replace (Levenshtein).
fn distance(left: &[u8], right: &[u8]) -> usize {
    if left.len().abs_diff(right.len()) > 2 {
        return usize::MAX;
    }
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.iter().enumerate() {
        let mut line = Vec::with_capacity(above.len());
        let mut before = row + 1;
        line.push(before);
        for (pair, b) in above.windows(2).zip(right) {
            let &[diagonal, up] = pair else { continue };
            before = (diagonal + usize::from(a != b)).min(up + 1).min(before + 1);
            line.push(before);
        }
        above = line;
    }
    above.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_finds_its_directive() {
        let name = |wanted| find(wanted).map(|row| row.name);
        assert_eq!(name("pconn_timeout"), Some("server_idle_pconn_timeout"));
        assert_eq!(name("http_access"), Some("http_access"));
        assert_eq!(name("xyzzy"), None);
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        assert_eq!(similar("http_acces"), Some("http_access"));
        assert_eq!(similar("http_porrt"), Some("http_port"));
        assert_eq!(similar("xyzzy"), None);
        assert_eq!(all_similar("htpp_port")[..2], ["htcp_port", "http_port"]);
    }
}
