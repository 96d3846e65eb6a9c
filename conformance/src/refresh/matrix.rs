//! What is tried: every pattern with every reply, asked for again in every way.
//!
//! A field's value that is a number of seconds and belongs to a date is a moment from now: `Date: -300` was five minutes
//! ago. All distances from a limit are far longer than a run takes.

use std::fmt;
use std::time::{Duration, SystemTime};

/// What follows the expression of a `refresh_pattern`: minutes, percent, minutes, options.
pub(crate) const PATTERNS: [&str; 18] = [
    "0 20% 4320",
    "0 0% 0",
    "10 0% 100",
    "10 50% 100",
    "200 150% 100",
    "10 50% 100 override-expire",
    "10 50% 100 override-lastmod",
    "10 50% 100 override-expire override-lastmod",
    "10 50% 100 reload-into-ims",
    "10 50% 100 ignore-reload",
    "10 50% 100 ignore-reload reload-into-ims",
    "10 50% 100 ignore-no-store",
    "10 50% 100 ignore-private",
    "10 50% 100 refresh-ims",
    "0 0% 0 store-stale",
    "10 50% 100 max-stale=100",
    "10 50% 100 override-expire max-stale=100",
    "10 50% 100 override-expire ignore-reload ignore-no-store ignore-private",
];

/// The origin's first answer, as fields of a 200.
const REPLIES: [&str; 45] = [
    // It doesn't say how long it lives.
    "",
    "Age: 300",
    "Age: 900",
    "Date: -300",
    "Date: -900",
    "Date: -300; ETag: \"a\"",
    "Date: -900; ETag: \"a\"",
    "Last-Modified: -10000",
    "Last-Modified: 10000",
    "Date: 0; Last-Modified: -30",
    "Date: -300; Last-Modified: -300",
    "Date: -300; Last-Modified: -500",
    "Date: -300; Last-Modified: -10000",
    "Date: -3000; Last-Modified: -5000",
    "Date: -7000; Last-Modified: -1000000",
    "Age: 300; Date: 0; Last-Modified: -10000",
    "Age: 900; Date: -300; Last-Modified: -2000",
    "Cache-Control: public; Date: -300; Last-Modified: -10000",
    // Expires.
    "Expires: 1000",
    "Date: 0; Expires: 30",
    "Expires: -1000",
    "Date: -300; Expires: -100; Last-Modified: -10000",
    "Date: -900; Expires: -100; Last-Modified: -10000",
    "Expires: never; Last-Modified: -10000",
    // max-age and s-maxage.
    "Cache-Control: max-age=1000",
    "Cache-Control: max-age=30",
    "Cache-Control: max-age=0",
    "Cache-Control: max-age=0; Last-Modified: -10000",
    "Cache-Control: max-age=1000; Expires: -1000; Date: 0",
    "Cache-Control: max-age=100; Date: -300",
    "Cache-Control: max-age=100; Date: -300; ETag: \"a\"",
    "Cache-Control: max-age=100; Date: -300; Last-Modified: -10000",
    "Cache-Control: max-age=100; Date: -900; Last-Modified: -10000",
    "Cache-Control: max-age=100; Age: 300; Last-Modified: -10000",
    "Cache-Control: s-maxage=1000, max-age=0; Last-Modified: -10000",
    "Cache-Control: s-maxage=100; Date: -300; Last-Modified: -10000",
    // What forbids or bends it.
    "Cache-Control: no-store; Last-Modified: -10000",
    "Cache-Control: no-store, max-age=1000",
    "Cache-Control: private; Last-Modified: -10000",
    "Cache-Control: private, max-age=1000",
    "Cache-Control: no-cache; Last-Modified: -10000",
    "Cache-Control: max-age=100, must-revalidate; Date: -300; Last-Modified: -10000",
    "Cache-Control: max-age=100, proxy-revalidate; Date: -300; Last-Modified: -10000",
    "Cache-Control: max-age=100, stale-if-error=50; Date: -300; Last-Modified: -10000",
    "Pragma: no-cache; Last-Modified: -10000",
];

/// The second request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    pub(crate) family: &'static str,
    /// Its fields.
    pub(crate) fields: &'static str,
    /// The origin can't answer it.
    pub(crate) fails: bool,
}

const fn asks(family: &'static str, fields: &'static str) -> Again {
    Again {
        family,
        fields,
        fails: false,
    }
}

const AGAIN: [Again; 12] = [
    asks("plain", ""),
    Again {
        family: "failing",
        fields: "",
        fails: true,
    },
    asks("reload", "Cache-Control: no-cache"),
    asks("reload", "Pragma: no-cache"),
    asks("max-age", "Cache-Control: max-age=0"),
    asks("max-age", "Cache-Control: max-age=200"),
    asks("min-fresh", "Cache-Control: min-fresh=500"),
    asks("max-stale", "Cache-Control: max-stale"),
    asks("max-stale", "Cache-Control: max-stale=350"),
    asks("conditional", "If-Modified-Since: -20"),
    asks("conditional", "If-Modified-Since: -20000"),
    asks("only-if-cached", "Cache-Control: only-if-cached"),
];

/// A pattern, a reply and a second request.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) pattern: &'static str,
    pub(crate) reply: &'static str,
    pub(crate) again: Again,
    /// Its URL's path; both programs find the pattern by the beginning.
    pub(crate) path: String,
}

/// The second request's name in the table of differences.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] then [{}]", self.reply, self.again.fields)?;
        if self.again.fails {
            write!(f, " of an origin that fails")?;
        }
        Ok(())
    }
}

/// All cases, pattern by pattern.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (number, pattern) in PATTERNS.into_iter().enumerate() {
        for reply in REPLIES {
            for again in AGAIN {
                let path = format!("{}{}", place(number), cases.len());
                cases.push(Case {
                    pattern,
                    reply,
                    again,
                    path,
                });
            }
        }
    }
    cases
}

/// The lines of both programs.
pub(crate) fn lines() -> String {
    let patterns = PATTERNS.into_iter().enumerate();
    patterns
        .map(|(number, pattern)| format!("refresh_pattern {} {pattern}\n", place(number)))
        .collect()
}

/// The beginning of the paths that a pattern is for.
fn place(number: usize) -> String {
    format!("/pattern-{number}/")
}

/// Names and values of a text like those above, as of now.
pub(crate) fn fields(text: &'static str) -> Vec<(&'static str, String)> {
    let lines = text.split("; ").filter_map(|line| line.split_once(": "));
    lines
        .map(|(name, value)| (name, dated(name, value)))
        .collect()
}

fn dated(name: &str, value: &str) -> String {
    let is_date = name != "Age" && name != "Cache-Control";
    match value.parse::<i64>() {
        Ok(secs) if is_date => {
            let distance = Duration::from_secs(secs.unsigned_abs());
            let now = SystemTime::now();
            httpdate::fmt_http_date(if secs < 0 {
                now - distance
            } else {
                now + distance
            })
        }
        _ => value.to_owned(),
    }
}
