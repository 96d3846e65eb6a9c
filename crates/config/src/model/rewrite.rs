//! Helpers that change URLs, cache keys and Location fields: `url_rewrite_*`, `store_id_*`, `location_rewrite_*`.

use std::time::Duration;

use crate::problem::Place;

/// What follows the URL in a question where no line says otherwise.
pub(crate) const EXTRAS: &str = "%>a/%>A %un %>rm myip=%la myport=%lp";

/// A helper's command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperProgram {
    /// Program and arguments; never empty.
    pub command: Vec<String>,
    /// Where it is written first.
    pub place: Place,
}

/// `url_rewrite_timeout`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlRewriteTimeout {
    /// Longest wait for an answer.
    pub after: Duration,
    /// What follows.
    pub action: OnTimeout,
}

/// `on_timeout=`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    /// The request goes on unchanged.
    Bypass,
    /// The client gets an error page.
    Fail,
    /// The question is asked again, and if that is in vain too, `Fail`.
    Retry,
    /// As if the helper had said this line.
    Answer(String),
}
