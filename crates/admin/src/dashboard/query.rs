//! What follows the `?` of the dashboard's pages. What can't be understood is as if it weren't there.

use super::collect::Wish;

/// Rows of each list: unless asked otherwise, and at most.
const ROWS: usize = 12;
const ROWS_MAX: usize = 200;

/// What the reader of a page wants.
pub(super) fn wish(query: &str, rows: usize) -> Wish {
    let number = |name: &str| value(query, name).and_then(|text| text.parse().ok());
    let rows = number("rows").unwrap_or(rows).clamp(1, ROWS_MAX);
    Wish {
        by_bytes: value(query, "by") == Some("bytes"),
        rows,
        since: value(query, "since")
            .and_then(|text| text.parse().ok())
            .unwrap_or(i64::MIN),
    }
}

/// Rows of a page that has its own number of them.
pub(super) const fn rows(of_transactions: bool) -> usize {
    if of_transactions { 50 } else { ROWS }
}

/// A value of the query, as sent: none of ours has letters that must be escaped.
pub(super) fn value<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_bounded_whatever_is_asked() {
        let usual = Wish {
            by_bytes: false,
            rows: 12,
            since: i64::MIN,
        };
        for query in ["", "&&", "rows=x&by=&since=", "=", "rows", "rows=-1"] {
            assert_eq!(wish(query, ROWS), usual, "{query}");
        }
        let asked = wish("by=bytes&rows=99999&since=1790000000", ROWS);
        let expected = Wish {
            by_bytes: true,
            rows: ROWS_MAX,
            since: 1_790_000_000,
        };
        assert_eq!(asked, expected);
        assert_eq!(wish("rows=0", ROWS).rows, 1);
    }
}
