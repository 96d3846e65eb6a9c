//! A connection to a hop: an idle one from the pool, or a new one.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use net::dial::{DialFailure, DialOptions};
use net::stream::Stream;
use smallvec::SmallVec;

use crate::access;
use crate::context::{Context, OpenHop};
use crate::failure::{Failure, FailureKind, Side};
use crate::flow::Received;
use crate::hops::Hop;
use crate::record::{Hierarchy, HopName, Record, ResultTag};

/// A connection that is ours for one exchange.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) stream: Stream,
    pub(crate) reused: bool,
    pub(crate) open: OpenHop,
}

/// Takes or makes a connection to `hop`, and notes in `record` the address that it is to, or that was
/// tried last.
///
/// # Errors
///
/// The name can't be resolved, or no address can be connected to.
pub(crate) async fn connect(
    cx: &Context,
    hop: &Hop,
    asked: Option<&Received<'_>>,
    fresh_only: bool,
    record: &mut Record,
) -> Result<Link, Failure> {
    record.went(hop.hierarchy, HopName::None);
    record.peer.clone_from(&hop.peer);
    let addresses = match addresses(cx, hop, asked).await {
        Ok(addresses) => addresses,
        Err(failure) if failure.side == Side::Client => {
            record.went(Hierarchy::None, HopName::None);
            record.tag(ResultTag::Denied);
            return Err(failure);
        }
        Err(failure) => {
            record.went(hop.hierarchy, hop.name());
            return Err(failure);
        }
    };
    let peer = hop.peer.as_ref().map(|peer| peer.open_one());
    let marking = &cx.plan.marking;
    let marks = marking.of_hop(cx, asked);
    if !fresh_only {
        for address in addresses.iter() {
            if let Some(pooled) = cx.pool.take(address) {
                let (stream, permit) = pooled.into_parts();
                marking.hop(&stream, marks);
                record.went(hop.hierarchy, HopName::Ip(address.ip()));
                return Ok(Link {
                    stream,
                    reused: true,
                    open: OpenHop { permit, peer },
                });
            }
        }
    }
    let timeouts = &cx.plan.timeouts;
    let (attempt, gap) = match &hop.peer {
        Some(peer) => {
            let own = peer.config.options.connect_timeout;
            (
                own.unwrap_or(timeouts.peer_connect),
                timeouts.happy_eyeballs,
            )
        }
        None => (timeouts.connect, timeouts.happy_eyeballs),
    };
    let options = DialOptions {
        attempt,
        overall: timeouts.forward,
        gap,
        retries: u8::try_from(cx.plan.config.connect_retries).unwrap_or(u8::MAX),
        local_v4: outgoing(cx, asked, false).and_then(|ip| match ip {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        }),
        local_v6: outgoing(cx, asked, true).and_then(|ip| match ip {
            IpAddr::V6(ip) => Some(ip),
            IpAddr::V4(_) => None,
        }),
        marks: marks.unwrap_or_default(),
    };
    match net::dial::connect(&addresses, &options, &cx.cells).await {
        Ok(dialed) => {
            for address in &dialed.failed {
                cx.resolver.mark_bad(address.ip());
            }
            marking.hop(&dialed.stream, marks);
            let address = dialed.stream.peer_addr();
            record.went(hop.hierarchy, HopName::Ip(address.ip()));
            let permit = cx
                .pool
                .permit(&address, None)
                .ok_or_else(|| Failure::hop(FailureKind::CannotForward, "too many connections"))?;
            Ok(Link {
                stream: dialed.stream,
                reused: false,
                open: OpenHop { permit, peer },
            })
        }
        Err(error) => {
            for address in &error.failed {
                cx.resolver.mark_bad(address.ip());
                record.went(hop.hierarchy, HopName::Ip(address.ip()));
            }
            let failure = match &error.source {
                Some(source) => Failure::hop_io(FailureKind::ConnectFail, source),
                None => Failure::hop(FailureKind::ConnectFail, error.kind.to_string()),
            };
            let failure = match error.kind {
                DialFailure::TimedOut => failure.with_status(504),
                _ => failure,
            };
            hop.failed(&failure, cx.unix_secs());
            Err(failure)
        }
    }
}

async fn addresses(
    cx: &Context,
    hop: &Hop,
    asked: Option<&Received<'_>>,
) -> Result<SmallVec<[SocketAddr; 4]>, Failure> {
    let Some(peer) = &hop.peer else {
        let received =
            asked.ok_or_else(|| Failure::hop(FailureKind::CannotForward, "no target"))?;
        return origin_addresses(cx, received).await;
    };
    let (host, port) = (peer.config.host.as_str(), peer.config.http_port);
    match host.parse() {
        Ok(ip) => Ok([SocketAddr::new(ip, port)].into_iter().collect()),
        Err(_) => {
            let addresses = resolve(cx, host).await?;
            peer.is_at(&addresses);
            Ok(with_port(&addresses, port))
        }
    }
}

/// The addresses of the origin that the URL names. What rules have judged is what is connected to: a
/// name server that says something else by now isn't asked.
async fn origin_addresses(
    cx: &Context,
    received: &Received<'_>,
) -> Result<SmallVec<[SocketAddr; 4]>, Failure> {
    let target = received.target;
    let local = received.connection.local;
    if let Some(ip) = target.host_ip() {
        let mut address = [SocketAddr::new(ip, target.port())].into_iter().collect();
        cx.plan.own.keep_out(local, &mut address)?;
        return Ok(address);
    }
    let judged = received.learnt.destination().unwrap_or_default();
    let mut addresses = if judged.is_empty() {
        with_port(&resolve(cx, target.host()).await?, target.port())
    } else {
        with_port(judged, target.port())
    };
    cx.plan.guard.admit(cx, received, &mut addresses)?;
    cx.plan.own.keep_out(local, &mut addresses)?;
    Ok(addresses)
}

async fn resolve(cx: &Context, host: &str) -> Result<Arc<[IpAddr]>, Failure> {
    let found = cx.resolve(host).await;
    found.map_err(|error| Failure::hop(FailureKind::DnsFail, error.to_string()))
}

fn with_port(addresses: &[IpAddr], port: u16) -> SmallVec<[SocketAddr; 4]> {
    let with_port = |ip: &IpAddr| SocketAddr::new(*ip, port);
    addresses.iter().map(with_port).collect()
}

/// Our own address toward hops of a family (`tcp_outgoing_address`).
fn outgoing(cx: &Context, asked: Option<&Received<'_>>, ipv6: bool) -> Option<IpAddr> {
    if cx.plan.config.tcp_outgoing_address.is_empty() {
        return None;
    }
    let facts = access::facts(asked?);
    cx.plan.rules.outgoing_address(&facts, ipv6)
}
