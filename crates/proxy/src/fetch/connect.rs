//! A connection to a hop: an idle one from the pool, or a new one.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use net::dial::{DialFailure, DialOptions};
use net::stream::Stream;
use wire::target::Target;

use crate::context::{Context, OpenHop};
use crate::failure::{Failure, FailureKind};
use crate::hops::Hop;
use crate::record::{HopName, Record};

/// A connection that is ours for one exchange.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) stream: Stream,
    pub(crate) address: SocketAddr,
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
    target: &Target,
    fresh_only: bool,
    record: &mut Record,
) -> Result<Link, Failure> {
    record.went(hop.hierarchy, hop.name());
    let addresses = addresses(cx, hop, target).await?;
    let peer = hop.peer.as_ref().map(|peer| peer.open_one());
    if !fresh_only {
        for address in addresses.iter() {
            if let Some(pooled) = cx.pool.take(address) {
                let (stream, permit) = pooled.into_parts();
                record.went(hop.hierarchy, HopName::Ip(address.ip()));
                return Ok(Link {
                    stream,
                    address: *address,
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
            (own.unwrap_or(timeouts.peer_connect), timeouts.happy_eyeballs)
        }
        None => (timeouts.connect, timeouts.happy_eyeballs),
    };
    let options = DialOptions {
        attempt,
        overall: timeouts.forward,
        gap,
        retries: u8::try_from(cx.plan.config.connect_retries).unwrap_or(u8::MAX),
        ..DialOptions::default()
    };
    match net::dial::connect(&addresses, &options, &cx.cells).await {
        Ok(dialed) => {
            for address in &dialed.failed {
                cx.resolver.mark_bad(address.ip());
            }
            let address = dialed.stream.peer_addr();
            record.went(hop.hierarchy, HopName::Ip(address.ip()));
            let permit = cx
                .pool
                .permit(&address, None)
                .ok_or_else(|| Failure::hop(FailureKind::CannotForward, "too many connections"))?;
            Ok(Link {
                stream: dialed.stream,
                address,
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
            hop.failed(cx, &failure);
            Err(failure)
        }
    }
}

async fn addresses(
    cx: &Context,
    hop: &Hop,
    target: &Target,
) -> Result<smallvec::SmallVec<[SocketAddr; 4]>, Failure> {
    let (host, port) = match &hop.peer {
        Some(peer) => (peer.config.host.as_str(), peer.config.http_port),
        None => (target.host(), target.port()),
    };
    let literal = match &hop.peer {
        Some(_) => host.parse::<IpAddr>().ok(),
        None => target.host_ip(),
    };
    if let Some(ip) = literal {
        return Ok([SocketAddr::new(ip, port)].into_iter().collect());
    }
    let found = cx.resolve(host).await.map_err(|error| {
        Failure::hop(FailureKind::DnsFail, error.to_string())
    })?;
    Ok(found.iter().map(|ip| SocketAddr::new(*ip, port)).collect())
}

/// The addresses of a name, known or asked for.
pub(crate) type Addresses = Arc<[IpAddr]>;
