//! Long lists of values for ACLs, of the kinds that blocklists have. None of them matches what is asked for.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Result;

const SITES: usize = 100_000;
const URLS: usize = 10_000;
const CLIENTS: usize = 5_000;

/// Makes the value with that number.
type Maker = fn(usize) -> String;

/// Writes the files `sites`, `urls` and `clients`, a value per line.
pub(crate) fn write(dir: &Path) -> Result<()> {
    let files: [(&str, usize, Maker); 3] = [
        ("sites", SITES, site),
        ("urls", URLS, pattern),
        ("clients", CLIENTS, range),
    ];
    for (name, count, value) in files {
        let mut text = String::new();
        for number in 0..count {
            writeln!(text, "{}", value(number))?;
        }
        fs::write(dir.join(name), text)?;
    }
    Ok(())
}

/// A domain with all below it, or one host.
fn site(number: usize) -> String {
    let word = word(number);
    match number % 4 {
        0 => format!(".{word}-{number}.com"),
        1 => format!(".ads.{word}{number}.net"),
        2 => format!("www.{number}{word}.example"),
        _ => format!(".{word}.{number}.co.uk"),
    }
}

/// A regular expression for a URL.
fn pattern(number: usize) -> String {
    let word = word(number);
    match number % 5 {
        0 => format!(r"^https?://([a-z0-9-]+\.)*{word}{number}\.(com|net|org)/"),
        1 => format!(r"/{word}{number}/.*\.(gif|png|swf)(\?|$)"),
        2 => format!(r"[?&]{word}_id={number}[0-9]*(&|$)"),
        3 => format!(r"{word}{number}\.js"),
        _ => format!("/{word}-{number}/banner"),
    }
}

/// A network, or a range of addresses.
fn range(number: usize) -> String {
    let (high, low) = (number / 200, number % 200);
    match number % 2 {
        0 => format!("10.{high}.{low}.0/25"),
        _ => format!("10.{high}.{low}.10-10.{high}.{low}.99"),
    }
}

/// Something to tell values apart early or late.
fn word(number: usize) -> &'static str {
    const WORDS: [&str; 7] = [
        "track", "adserver", "metric", "promo", "banners", "click", "casino",
    ];
    WORDS
        .get(number / 3 % WORDS.len())
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_value_comes_twice() {
        for value in [site, pattern, range] {
            let values: HashSet<String> = (0..CLIENTS).map(value).collect();
            assert_eq!(values.len(), CLIENTS);
        }
    }
}
