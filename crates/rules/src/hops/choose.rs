//! One request's choice among the ways.

use http::Method;
use smallvec::SmallVec;
use wire::FieldId;

use super::{Hop, HopTo, PeerRule, PeerStates, Turns, Way};
use crate::access::Answer;
use crate::facts::{Facts, Question};
use crate::{List, Rules};

/// Candidates in the order in which they are tried; empty when there is no way.
pub type Hops = SmallVec<[Hop; 4]>;

/// What the lists say about going direct, or what they need to know first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The candidates.
    Hops(Hops),
    /// A list needs this fact first.
    Ask(Question),
}

/// What selection needs to know of a request beside its facts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Case {
    /// It came in on an accelerator port without `allow-direct`: never to the origin by DNS.
    pub no_direct: bool,
    /// Its Via shows that it was here before: straight to the origin, to end the loop.
    pub looped: bool,
}

/// May the request go straight to the origin?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direct {
    Yes,
    No,
    Maybe,
}

/// Chooses the candidates for a request.
pub fn choose(
    rules: &Rules,
    facts: &Facts<'_>,
    case: Case,
    peers: &impl PeerStates,
    turns: &Turns,
) -> Choice {
    match try_choose(rules, facts, case, peers, turns) {
        Ok(hops) => Choice::Hops(hops),
        Err(question) => Choice::Ask(question),
    }
}

fn try_choose(
    rules: &Rules,
    facts: &Facts<'_>,
    case: Case,
    peers: &impl PeerStates,
    turns: &Turns,
) -> Result<Hops, Question> {
    let plan = &rules.hops;
    let direct = direct(rules, facts, case)?;
    let origin = Hop {
        to: HopTo::Origin,
        way: Way::Direct,
    };
    let mut hops = Hops::new();
    if direct == Direct::Yes || direct == Direct::Maybe && plan.peers.is_empty() {
        hops.push(origin);
        return Ok(hops);
    }
    if direct == Direct::Maybe && plan.prefer_direct {
        hops.push(origin);
    }
    if direct == Direct::No || !plan.nonhierarchical_direct || is_hierarchical(rules, facts, case) {
        add_parents(rules, facts, peers, turns, &mut hops)?;
    }
    if direct == Direct::Maybe && !plan.prefer_direct {
        hops.push(origin);
    }
    Ok(hops)
}

fn direct(rules: &Rules, facts: &Facts<'_>, case: Case) -> Result<Direct, Question> {
    if says(rules, List::AlwaysDirect, facts)? {
        return Ok(Direct::Yes);
    }
    if says(rules, List::NeverDirect, facts)? || case.no_direct {
        return Ok(Direct::No);
    }
    Ok(if case.looped {
        Direct::Yes
    } else {
        Direct::Maybe
    })
}

fn says(rules: &Rules, list: List, facts: &Facts<'_>) -> Result<bool, Question> {
    match rules.check(list, facts) {
        Answer::Allow(_) => Ok(true),
        Answer::Deny(_) => Ok(false),
        Answer::Ask(question) => Err(question),
    }
}

/// Could a cache on the way have it? Parents are for such requests; others go direct, if they may.
fn is_hierarchical(rules: &Rules, facts: &Facts<'_>, case: Case) -> bool {
    if facts.request.has(FieldId::Authorization) {
        return false;
    }
    if *facts.method == Method::TRACE {
        return true;
    }
    let stopped = || {
        rules
            .hops
            .stoplist
            .iter()
            .any(|word| word.find(facts.target.url()).is_some())
    };
    *facts.method == Method::GET && !case.looped && !stopped()
}

/// The one whose turn it is, then every other parent that may be used, then the default ones.
fn add_parents(
    rules: &Rules,
    facts: &Facts<'_>,
    peers: &impl PeerStates,
    turns: &Turns,
    hops: &mut Hops,
) -> Result<(), Question> {
    let mut usable: SmallVec<[(usize, PeerRule); 8]> = SmallVec::new();
    for (index, peer) in rules.hops.peers.iter().enumerate() {
        let open = peer.is_parent
            && peers.is_up(index)
            && peers.connections(index) < peer.max_conn
            && takes_method(peer, facts);
        if open && says(rules, List::PeerAccess(index), facts)? {
            usable.push((index, *peer));
        }
    }
    let first = round_robin(&usable, turns)
        .map(|index| (index, Way::RoundrobinParent))
        .or_else(|| {
            usable
                .first()
                .map(|&(index, _)| (index, Way::FirstupParent))
        });
    let rest = usable.iter().map(|&(index, _)| (index, Way::AnyOldParent));
    for (index, way) in first.into_iter().chain(rest) {
        if !hops.iter().any(|hop| hop.to == HopTo::Peer(index)) {
            hops.push(Hop {
                to: HopTo::Peer(index),
                way,
            });
        }
    }
    // A parent marked `default` stays a way out when all are believed dead.
    if usable.is_empty() {
        for (index, peer) in rules.hops.peers.iter().enumerate() {
            let last_resort = peer.is_parent && peer.default && takes_method(peer, facts);
            if last_resort && says(rules, List::PeerAccess(index), facts)? {
                hops.push(Hop {
                    to: HopTo::Peer(index),
                    way: Way::DefaultParent,
                });
            }
        }
    }
    Ok(())
}

/// An origin server gets no CONNECT, unless it is for its own port.
fn takes_method(peer: &PeerRule, facts: &Facts<'_>) -> bool {
    !peer.originserver || *facts.method != Method::CONNECT || facts.target.port() == peer.http_port
}

/// The round-robin parent whose turn it is: turns are spread by weight, and evenly over time.
fn round_robin(usable: &[(usize, PeerRule)], turns: &Turns) -> Option<usize> {
    let members = || {
        usable
            .iter()
            .filter(|(_, peer)| peer.round_robin && peer.weight > 0)
    };
    let total: u64 = members().map(|(_, peer)| u64::from(peer.weight)).sum();
    let turn = turns.take_for(total)?;
    // A run of `total` turns gives each its weight. Weight 1 all over is plain rotation.
    let highest = members().map(|(_, peer)| peer.weight).max()?;
    let mut left = turn;
    for round in 0..highest {
        for (index, peer) in members() {
            if peer.weight > round {
                if left == 0 {
                    return Some(*index);
                }
                left -= 1;
            }
        }
    }
    None
}

impl Turns {
    /// The next turn of a run of this length; no turn is taken when there is nobody to take it.
    fn take_for(&self, total: u64) -> Option<u64> {
        (total > 0).then(|| self.take() % total)
    }
}

#[cfg(test)]
mod tests;
