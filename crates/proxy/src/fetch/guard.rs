//! Keeps names from leading to places that are not of the public Internet
//! (`private_destination_access`): whoever owns a name that rules allow can let it point to this host,
//! its network or a cloud's metadata, and to another place at each question. So each address is judged
//! at connect time, and only those that pass are connected to.
//!
//! Not judged: addresses in URLs, which rules have seen; peers; origins of accelerators.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use config::Config;
use net::special::Special;
use rules::{Answer, List};
use smallvec::SmallVec;

use crate::access;
use crate::context::Context;
use crate::failure::Failure;
use crate::flow::Received;

/// See the module.
#[derive(Debug)]
pub(crate) struct Guard {
    /// There are no rules: names may lead anywhere, and the first that leads where it hardly should is
    /// told of.
    watches: bool,
    told: AtomicBool,
}

impl Guard {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            watches: config.private_destination_access.is_empty(),
            told: AtomicBool::new(false),
        }
    }

    /// Takes out the addresses of the request's host that it may not lead to.
    ///
    /// # Errors
    ///
    /// None is left.
    pub(crate) fn admit(
        &self,
        cx: &Context,
        received: &Received<'_>,
        addresses: &mut SmallVec<[SocketAddr; 4]>,
    ) -> Result<(), Failure> {
        let list = cx.plan.rules.list(List::PrivateDestination);
        if received.connection.port.accel().is_some() {
            return Ok(());
        }
        if list.always() == Some(true) {
            if self.watches {
                self.watch(received, addresses);
            }
            return Ok(());
        }
        let mut refused = None;
        addresses.retain(|addr| match judge(cx, received, addr.ip()) {
            Ok(()) => true,
            Err(failure) => {
                refused = Some(failure);
                false
            }
        });
        match refused {
            Some(failure) if addresses.is_empty() => Err(failure),
            _ => Ok(()),
        }
    }

    /// Tells, once, of a name that leads to this host, its link or a cloud's secrets.
    fn watch(&self, received: &Received<'_>, addresses: &[SocketAddr]) {
        if self.told.load(Relaxed) {
            return;
        }
        let dangerous = addresses.iter().find_map(|addr| {
            let special = Special::of(addr.ip())?;
            let dangerous = matches!(
                special,
                Special::Loopback | Special::LinkLocal | Special::Metadata
            );
            dangerous.then_some((addr.ip(), special))
        });
        let Some((ip, special)) = dangerous else {
            return;
        };
        if !self.told.swap(true, Relaxed) {
            let host = received.target.host();
            tracing::warn!(
                "{host} leads to {ip}, a {special} address, and nothing forbids it; \
                 'private_destination_access deny all' would, and '… allow all' says that it is meant \
                 (told once)"
            );
        }
    }
}

/// May the request's host lead to this address?
fn judge(cx: &Context, received: &Received<'_>, ip: IpAddr) -> Result<(), Failure> {
    let Some(special) = Special::of(ip) else {
        return Ok(());
    };
    let mut facts = access::facts(received);
    facts.connecting_to = Some(ip.to_canonical());
    let rule = match cx.plan.rules.check(List::PrivateDestination, &facts) {
        Answer::Allow(_) => return Ok(()),
        Answer::Deny(rule) => rule,
        // What isn't known by now must not open anything.
        Answer::Ask(_) => None,
    };
    let refusal = access::refusal_of(cx, List::PrivateDestination, rule, &facts);
    let mut refusal = refusal.as_deref().cloned().unwrap_or_default();
    let host = received.target.host();
    let rule = refusal.rule.as_deref();
    let rule = rule.unwrap_or("private_destination_access");
    // The client isn't told which address it is: names may be known inside only.
    refusal.rule = Some(format!("{rule}: {host} leads to a {special} address").into());
    let failure = Failure::denied(Some(Arc::new(refusal)));
    Err(failure.with_detail(format!("{host} leads to {ip}, a {special} address")))
}
