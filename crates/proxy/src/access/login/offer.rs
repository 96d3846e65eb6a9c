//! Which schemes a client is offered, and in which order (`auth_schemes`).

use std::sync::Arc;

use config::auth::AuthOffer;
use config::{Config, Problem, Severity};

use super::{Logins, Scheme};
use crate::access;
use crate::context::Context;
use crate::flow::Received;

/// The name that stands for all of them, in their own order.
const ALL: &str = "ALL";

/// The schemes of a line. Each is offered once, and those that aren't complete not at all.
pub(super) fn order(offer: &AuthOffer, known: &[Arc<Scheme>]) -> Vec<Arc<Scheme>> {
    let mut order: Vec<Arc<Scheme>> = Vec::new();
    for name in &offer.schemes {
        let named = |scheme: &&Arc<Scheme>| name == ALL || name.eq_ignore_ascii_case(scheme.name());
        for scheme in known.iter().filter(named) {
            if !order.iter().any(|before| Arc::ptr_eq(before, scheme)) {
                order.push(Arc::clone(scheme));
            }
        }
    }
    order
}

/// Lines that name a scheme of which no `auth_param` tells.
pub(super) fn unknown(config: &Config) -> impl Iterator<Item = Problem> {
    let names = config.auth_schemes.iter();
    let names = names.flat_map(|offer| offer.schemes.iter().map(move |name| (offer, name)));
    names.filter_map(|(offer, name)| {
        let mut known = config.auth_param.iter().map(|known| known.scheme.name());
        if name == ALL || known.any(|known| name.eq_ignore_ascii_case(known)) {
            return None;
        }
        let line = format!("auth_schemes {}", offer.schemes.join(","));
        let whole = 0..line.len();
        let message = format!("auth_schemes: no auth_param line is about '{name}'");
        let found = Problem::new(Severity::Fatal, &offer.place, &line, whole, &message);
        Some(found.hint("Name schemes that auth_param lines set up, or ALL."))
    })
}

/// What this client is offered: everything, unless a line says otherwise. A line that leaves nothing says nothing.
pub(super) fn to<'l>(
    cx: &Context,
    logins: &'l Logins,
    received: &Received<'_>,
) -> &'l [Arc<Scheme>] {
    if logins.offers.is_empty() {
        return &logins.schemes;
    }
    let line = cx.plan.rules.auth_schemes(&access::facts(received));
    let order = line.and_then(|line| logins.offers.get(line));
    order
        .filter(|order| !order.is_empty())
        .unwrap_or(&logins.schemes)
}
