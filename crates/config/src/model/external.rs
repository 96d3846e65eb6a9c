//! Classes of ACLs whose answer comes from a helper.

use std::time::Duration;

use super::helper::Pool;
use crate::problem::Place;

/// One `external_acl_type` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalAclType {
    /// Name that `acl … external` uses.
    pub name: String,
    /// A yes holds for this long.
    pub ttl: Duration,
    /// A no holds for this long; `None` is as `ttl`.
    pub negative_ttl: Option<Duration>,
    /// When less than this percentage of its time is left, an answer in use is asked for anew.
    pub grace_percent: u32,
    /// Answers kept.
    pub cache: usize,
    /// How many helpers there are, and how they are asked.
    pub pool: Pool,
    /// `protocol=2.5`: the words of the ACL are quoted as a shell reads them.
    pub shell_words: bool,
    /// What is asked: words with codes, a blank between them.
    pub format: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Where it is written.
    pub place: Place,
}
