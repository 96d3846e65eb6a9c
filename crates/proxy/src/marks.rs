//! Marks packets for queues and routes outside of the proxy: toward hops by `tcp_outgoing_tos` and
//! `tcp_outgoing_mark`, toward clients by `clientside_tos` and `mark_client_packet`, and replies by where
//! they come from (`qos_flows`).

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use config::Config;
use config::marks::{Flows, QosFlows};
use net::mark::Marks;
use net::stream::Stream;

use crate::access;
use crate::context::Context;
use crate::flow::Received;
use crate::listen::client::ClientOut;
use crate::record::{Hierarchy, Record};

/// See the module.
#[derive(Debug)]
pub(crate) struct Marking {
    flows: QosFlows,
    /// The log was told that the system refuses.
    told: AtomicBool,
}

/// Where a reply comes from.
#[derive(Debug, Clone, Copy)]
enum Source {
    LocalHit,
    Sibling,
    Parent,
    Miss,
}

impl Marking {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            flows: config.qos_flows,
            told: AtomicBool::new(false),
        }
    }

    /// What packets of this request to its hop carry; `None` where nothing says.
    pub(crate) fn of_hop(&self, cx: &Context, asked: Option<&Received<'_>>) -> Option<Marks> {
        let rules = &cx.plan.rules;
        if !rules.marks.marks_hops() {
            return None;
        }
        let facts = access::facts(asked?);
        let rules::Marks { tos, mark } = rules.marks.to_hop(rules.acls(), &facts);
        Some(Marks { tos, mark })
    }

    /// Marks a connection to a hop.
    pub(crate) fn hop(&self, stream: &Stream, marks: Option<Marks>) {
        if let Some(marks) = marks {
            self.complain(stream.set_marks(marks));
        }
    }

    /// Marks the client's connection by the lists.
    pub(crate) fn client(&self, cx: &Context, received: &Received<'_>, output: &ClientOut) {
        let rules = &cx.plan.rules;
        if !rules.marks.marks_clients() {
            return;
        }
        let facts = access::facts(received);
        let rules::Marks { tos, mark } = rules.marks.to_client(rules.acls(), &facts);
        self.complain(output.set_marks(Marks { tos, mark }));
    }

    /// Marks the client's connection by where the reply comes from.
    pub(crate) fn reply(&self, record: &Record, output: &ClientOut) {
        if self.flows == QosFlows::default() {
            return;
        }
        let source = Source::of(record);
        let marks = Marks {
            tos: of_source(&self.flows.tos, source),
            mark: of_source(&self.flows.mark, source),
        };
        self.complain(output.set_marks(marks));
    }

    /// Tells the log once: what the system refuses now it will refuse again.
    fn complain(&self, outcome: io::Result<()>) {
        let Err(error) = outcome else {
            return;
        };
        if !self.told.swap(true, Relaxed) {
            tracing::error!("cannot mark packets: {error} (marks need CAP_NET_ADMIN; told once)");
        }
    }
}

impl Source {
    fn of(record: &Record) -> Self {
        if record.outcome.tag.is_hit() {
            return Self::LocalHit;
        }
        match record.hierarchy {
            Hierarchy::SiblingHit | Hierarchy::CdSiblingHit => Self::Sibling,
            Hierarchy::ParentHit
            | Hierarchy::DefaultParent
            | Hierarchy::SingleParent
            | Hierarchy::FirstupParent
            | Hierarchy::FirstParentMiss
            | Hierarchy::ClosestParentMiss
            | Hierarchy::ClosestParent
            | Hierarchy::RoundrobinParent
            | Hierarchy::CdParentHit
            | Hierarchy::Carp
            | Hierarchy::AnyOldParent
            | Hierarchy::UserhashParent
            | Hierarchy::SourcehashParent => Self::Parent,
            Hierarchy::None
            | Hierarchy::Direct
            | Hierarchy::ClosestDirect
            | Hierarchy::NoDirectFail
            | Hierarchy::SourceFastest
            | Hierarchy::Pinned
            | Hierarchy::OriginalDst
            | Hierarchy::StandbyPool => Self::Miss,
        }
    }
}

/// A miss goes unmarked where nothing marks it: the connection may have carried a hit before.
fn of_source<T: Copy + Default + PartialEq>(flows: &Flows<T>, source: Source) -> Option<T> {
    if *flows == Flows::default() {
        return None;
    }
    let unmarked = || flows.miss.unwrap_or_default();
    match source {
        Source::LocalHit => flows.local_hit,
        Source::Sibling => Some(flows.sibling_hit.unwrap_or_else(unmarked)),
        Source::Parent => Some(flows.parent_hit.unwrap_or_else(unmarked)),
        Source::Miss => Some(unmarked()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{HopName, ResultTag};

    #[test]
    fn replies_are_marked_by_where_they_come_from() {
        let flows = Flows {
            local_hit: Some(1),
            parent_hit: Some(2),
            miss: None,
            sibling_hit: None,
        };
        let mut record = Record::default();
        record.tag(ResultTag::MemHit);
        assert_eq!(of_source(&flows, Source::of(&record)), Some(1));
        record.tag(ResultTag::Miss);
        for (hierarchy, expected) in [
            (Hierarchy::FirstupParent, 2),
            (Hierarchy::SiblingHit, 0),
            (Hierarchy::Direct, 0),
        ] {
            record.went(hierarchy, HopName::None);
            assert_eq!(of_source(&flows, Source::of(&record)), Some(expected));
        }
        assert_eq!(
            of_source(&Flows::<u8>::default(), Source::of(&record)),
            None
        );
    }
}
