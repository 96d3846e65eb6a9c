//! `deny_info` lines, worked out: what a refused client gets, by the ACL that refused it.

use config::{DenyAnswer, DenyInfo};
use hashbrown::HashMap;

use super::template::{Fixed, Template};

/// All lines.
#[derive(Debug, Default)]
pub(super) struct Infos {
    list: Vec<Info>,
    by_acl: HashMap<Box<str>, u32>,
}

/// What the client gets.
#[derive(Debug)]
pub(super) enum Info {
    /// The page with this number.
    Page(usize),
    /// Another place to go to.
    Redirect(Redirect),
    /// No reply; the connection is reset.
    Reset,
}

/// Where the client is sent.
#[derive(Debug)]
pub struct Redirect {
    /// `None` is 302 or 307, by the method.
    pub(super) status: Option<u16>,
    pub(super) url: Template,
    squid_error: Box<str>,
}

impl Infos {
    /// Works the lines out; `page` gives each page that they name its number. The first line for an ACL holds.
    pub(super) fn new(
        lines: &[DenyInfo],
        fixed: &Fixed,
        mut page: impl FnMut(Option<u16>, &str) -> usize,
    ) -> Self {
        let mut infos = Self::default();
        for (line, number) in lines.iter().zip(0..) {
            infos.list.push(match &line.answer {
                DenyAnswer::Page { status, name } => Info::Page(page(*status, name)),
                DenyAnswer::Redirect { status, url } => Info::Redirect(Redirect {
                    status: *status,
                    url: Template::url(url, fixed),
                    squid_error: format!("{} Access Denied", status.unwrap_or(403)).into(),
                }),
                DenyAnswer::Reset => Info::Reset,
            });
            for acl in &line.acls {
                infos.by_acl.entry(acl.as_str().into()).or_insert(number);
            }
        }
        infos
    }

    /// Are there none?
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The number of the line for the ACL.
    pub(super) fn of_acl(&self, acl: &str) -> Option<u32> {
        self.by_acl.get(acl).copied()
    }

    /// The line with that number.
    pub(super) fn get(&self, number: u32) -> Option<&Info> {
        self.list.get(usize::try_from(number).ok()?)
    }
}

impl Redirect {
    /// The status for a request with this method: only GET and HEAD may be changed by the client (RFC 9110 §15.4).
    pub fn status(&self, method: &[u8]) -> u16 {
        let plain = matches!(method, b"GET" | b"HEAD");
        self.status.unwrap_or(if plain { 302 } else { 307 })
    }

    /// Squid's word in `X-Squid-Error`.
    pub fn squid_error(&self) -> &str {
        &self.squid_error
    }
}
