//! What a refused client gets in place of the usual page.

use crate::problem::Place;

/// One `deny_info` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenyInfo {
    /// What the client gets.
    pub answer: DenyAnswer,
    /// It applies when the last ACL of the denying rule is one of these.
    pub acls: Vec<String>,
    /// Where it is written.
    pub place: Place,
}

/// What the client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DenyAnswer {
    /// `[NNN:]PAGE`
    Page {
        /// `None` is the status of the refusal.
        status: Option<u16>,
        /// One of Squid's pages, or a file in `error_directory`.
        name: String,
    },
    /// `[3NN:]URL`
    Redirect {
        /// `None` is 302, or 307 where the client must not change the method.
        status: Option<u16>,
        /// With `%` codes.
        url: String,
    },
    /// `TCP_RESET`: no reply; the connection is reset.
    Reset,
}
