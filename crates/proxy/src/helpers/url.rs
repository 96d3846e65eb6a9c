//! What URL rewriters, Location rewriters and store-ID helpers have in common: a pool of children that are asked about
//! a URL, with words about the request behind it.

use std::sync::Arc;

use config::helper::Pool as PoolSize;
use config::rewrite::HelperProgram;
use config::{Problem, Problems, Severity};
use wire::helper::{Answer, Quoting, quote};

use super::{Failed, Helpers, Kind, Options, Overload, Pool};
use crate::flow::Received;
use crate::format::{Dialect, Format, Scene};

/// See the module.
#[derive(Debug)]
pub(crate) struct UrlHelper {
    pool: Arc<Pool>,
    extras: Format,
}

/// What the configuration says of such a helper.
pub(crate) struct UrlHelperLines<'c> {
    pub(crate) kind: Kind,
    pub(crate) directive: &'static str,
    pub(crate) program: &'c HelperProgram,
    pub(crate) children: &'c PoolSize,
    pub(crate) extras: &'c str,
    pub(crate) timeout: Option<std::time::Duration>,
}

impl UrlHelper {
    /// Starts the pool, or takes the running one over when it is the same.
    ///
    /// # Errors
    /// The program isn't there, or the texts make no sense.
    pub(crate) fn new(lines: &UrlHelperLines<'_>, helpers: &Helpers) -> Result<Self, Problems> {
        let UrlHelperLines {
            directive, program, ..
        } = *lines;
        let text = format!("{directive} {}", program.command.join(" "));
        let fatal = |why: &str| {
            let whole = 0..text.len();
            Problems(vec![Problem::new(
                Severity::Fatal,
                &program.place,
                &text,
                whole,
                why,
            )])
        };
        let file = program.command.first().map_or("", String::as_str);
        std::fs::metadata(file).map_err(|error| fatal(&format!("{directive} {file}: {error}")))?;
        let extras = Format::compile(lines.extras, Dialect::Logformat)
            .map_err(|why| fatal(&format!("the helper's extras: {why}")))?;
        let options = Options {
            timeout: lines.timeout,
            ..Options::new(lines.kind, &program.command, lines.children)
        };
        let pool = helpers.pool(&options);
        let pool = pool.map_err(|error| fatal(&format!("cannot start helpers: {error}")))?;
        Ok(Self { pool, extras })
    }

    /// Asks about the request's URL.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) async fn ask(&self, received: &Received<'_>) -> Result<Answer, Failed> {
        self.ask_about(received.target.url(), received).await
    }

    /// Asks about another URL that has to do with the request.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) async fn ask_about(
        &self,
        url: &[u8],
        received: &Received<'_>,
    ) -> Result<Answer, Failed> {
        let mut line = Vec::with_capacity(2 * url.len() + 64);
        quote(Quoting::UrlKeepingPercent, url, &mut line);
        let url_bytes = line.len();
        line.push(b' ');
        self.extras.render(&Scene::of_request(received), &mut line);
        if line.len() == url_bytes + 1 {
            line.truncate(url_bytes); // there are none
        }
        self.pool.ask(&line).await
    }

    /// Do fewer questions wait than `queue-size`?
    pub(crate) fn has_room(&self) -> bool {
        self.pool.has_room()
    }

    /// Does the configuration say that overload is an answer: no change (`on-persistent-overload=ERR`)?
    pub(crate) fn passes_overload(&self) -> bool {
        self.pool.options().children.overload == Overload::Refuse
    }
}

/// Puts what a helper says besides its answer with the transaction's notes: a key replaces what was
/// known of it, except that `group` and `tag` add up.
pub(crate) fn note(received: &Received<'_>, answer: &Answer) {
    if answer.pairs.is_empty() {
        return;
    }
    received.learnt.note(|notes| {
        for (at, pair) in answer.pairs.iter().enumerate() {
            let key = String::from_utf8_lossy(&pair.key);
            let value = String::from_utf8_lossy(&pair.value);
            let before = answer.pairs.get(..at).unwrap_or_default();
            let again = before.iter().any(|known| known.key == pair.key);
            if again || matches!(&*key, "group" | "tag") {
                notes.add(&key, &value);
            } else {
                notes.set(&key, &value);
            }
        }
    });
}
