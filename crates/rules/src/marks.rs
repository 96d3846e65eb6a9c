//! What packets are marked with: the first value whose ACLs match.

use config::marks::MarkRule;
use config::{Config, Problem};

use crate::access::Pick;
use crate::acl::Acls;
use crate::facts::Facts;

/// Compiled lists of marks.
#[derive(Debug)]
pub struct MarkRules {
    hop_tos: Box<[Pick<u8>]>,
    hop_mark: Box<[Pick<u32>]>,
    client_tos: Box<[Pick<u8>]>,
    client_mark: Box<[Pick<u32>]>,
}

/// What the packets of a connection carry; `None` is left as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// TOS or traffic class.
    pub tos: Option<u8>,
    /// Netfilter mark.
    pub mark: Option<u32>,
}

impl MarkRules {
    pub(crate) fn compile(config: &Config, acls: &Acls, problems: &mut Vec<Problem>) -> Self {
        Self {
            hop_tos: picks("tcp_outgoing_tos", &config.tcp_outgoing_tos, acls, problems),
            hop_mark: picks(
                "tcp_outgoing_mark",
                &config.tcp_outgoing_mark,
                acls,
                problems,
            ),
            client_tos: picks("clientside_tos", &config.clientside_tos, acls, problems),
            client_mark: picks(
                "mark_client_packet",
                &config.mark_client_packet,
                acls,
                problems,
            ),
        }
    }

    /// Is there any toward hops?
    pub fn marks_hops(&self) -> bool {
        !(self.hop_tos.is_empty() && self.hop_mark.is_empty())
    }

    /// Is there any toward clients?
    pub fn marks_clients(&self) -> bool {
        !(self.client_tos.is_empty() && self.client_mark.is_empty())
    }

    /// For a connection to a hop (`tcp_outgoing_tos`, `tcp_outgoing_mark`). Where nothing matches it is 0: the
    /// connection may have served another request before.
    pub fn to_hop(&self, acls: &Acls, facts: &Facts<'_>) -> Marks {
        let tos =
            (!self.hop_tos.is_empty()).then(|| first(&self.hop_tos, acls, facts).unwrap_or(0));
        let mark =
            (!self.hop_mark.is_empty()).then(|| first(&self.hop_mark, acls, facts).unwrap_or(0));
        Marks { tos, mark }
    }

    /// For the client's connection (`clientside_tos`, `mark_client_packet`).
    pub fn to_client(&self, acls: &Acls, facts: &Facts<'_>) -> Marks {
        Marks {
            tos: first(&self.client_tos, acls, facts),
            mark: first(&self.client_mark, acls, facts),
        }
    }
}

fn picks<T: Copy>(
    directive: &str,
    lines: &[MarkRule<T>],
    acls: &Acls,
    problems: &mut Vec<Problem>,
) -> Box<[Pick<T>]> {
    let lines = lines
        .iter()
        .map(|line| (&*line.acls, &line.place, line.value));
    Pick::compile_all(directive, lines, acls, problems)
}

fn first<T: Copy>(picks: &[Pick<T>], acls: &Acls, facts: &Facts<'_>) -> Option<T> {
    let found = picks.iter().find(|pick| pick.applies(acls, facts));
    found.map(|pick| pick.value)
}
