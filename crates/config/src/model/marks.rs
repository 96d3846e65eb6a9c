//! What packets are marked with, for queues and routes outside of the proxy.

use super::access::AclRef;
use crate::problem::Place;

/// One line of `tcp_outgoing_tos` or `clientside_tos` (the byte), of `tcp_outgoing_mark` or
/// `mark_client_packet` (the netfilter mark).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkRule<T> {
    /// What packets carry.
    pub value: T,
    /// All must match; none means: always.
    pub acls: Vec<AclRef>,
    /// Where it is written.
    pub place: Place,
}

/// `qos_flows`: what replies to clients are marked with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QosFlows {
    /// TOS or traffic class.
    pub tos: Flows<u8>,
    /// Netfilter mark.
    pub mark: Flows<u32>,
}

/// Marks by where replies come from. `None` leaves the mark alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flows<T> {
    /// Hits of our own.
    pub local_hit: Option<T>,
    /// Replies of siblings.
    pub sibling_hit: Option<T>,
    /// Replies of parents.
    pub parent_hit: Option<T>,
    /// Everything else.
    pub miss: Option<T>,
}
