//! `/healthz` and `/readyz`: does the process live, and can it forward?

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use config::{Config, PeerKind, PortMode};
use proxy::helpers::{Kind, Pool};
use proxy::internal::Answer;
use proxy::worker::Phase;
use rules::List;
use tokio::time::timeout;

use crate::Scene;
use crate::manager::{TEXT, Waiting};

/// A name that doesn't exist (RFC 6761 §6.2): name servers that live say so.
const PROBE: &str = "readiness.test";
/// How long is waited for them.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a check found: why it is fine, or why it isn't.
type Outcome = Result<String, String>;

/// That this is answered is the answer.
pub(crate) fn alive(_: &Scene<'_>) -> Answer {
    answer(200, "ok\n".to_owned())
}

/// All checks, each with its outcome.
pub(crate) fn ready<'s>(scene: &'s Scene<'s>) -> Waiting<'s> {
    Box::pin(async {
        let checks = [
            ("workers", workers(scene).await),
            ("ports", ports(scene)),
            ("hops", hops(scene).await),
            ("helpers", helpers(&scene.helpers().pools())),
        ];
        report(&checks)
    })
}

fn report(checks: &[(&str, Outcome)]) -> Answer {
    let mut text = String::new();
    for (name, outcome) in checks {
        let line = match outcome {
            Ok(why) => writeln!(text, "{name} ok: {why}"),
            Err(why) => writeln!(text, "{name} failed: {why}"),
        };
        line.expect("a String takes all that is written");
    }
    let is_ready = checks.iter().all(|(_, outcome)| outcome.is_ok());
    text.push_str(if is_ready { "ready\n" } else { "not ready\n" });
    answer(if is_ready { 200 } else { 503 }, text)
}

fn answer(status: u16, text: String) -> Answer {
    Answer {
        status,
        media_type: TEXT,
        fields: Vec::new(),
        content: text.into_bytes(),
    }
}

async fn workers(scene: &Scene<'_>) -> Outcome {
    if scene
        .orders_in_force()
        .is_some_and(|orders| orders.phase != Phase::Serve)
    {
        return Err("the proxy is shutting down".to_owned());
    }
    match scene.ask.roll.call().await.len() {
        0 => Err("none answers".to_owned()),
        answering => Ok(format!("{answering} answer")),
    }
}

fn ports(scene: &Scene<'_>) -> Outcome {
    let Some(orders) = scene.orders_in_force() else {
        return Err("the workers are not told yet".to_owned());
    };
    let sockets = &orders.sockets;
    let ports = scene.config().ports.iter().zip(sockets.iter());
    let clients = ports.filter(|(port, _)| port.mode != PortMode::Manager);
    let (open, closed): (Vec<_>, Vec<_>) = clients.partition(|(_, sockets)| !sockets.is_empty());
    match (open.len(), closed.len()) {
        (0, _) => Err("no http_port is open".to_owned()),
        (open, 0) => Ok(format!("{open} open")),
        (open, closed) => Ok(format!("{open} open, {closed} could not be opened")),
    }
}

/// A way to any hop will do: which request goes where is known only with the request.
async fn hops(scene: &Scene<'_>) -> Outcome {
    let peers = scene.plan().peer_reports();
    let parents = peers
        .iter()
        .filter(|peer| peer.config.kind == PeerKind::Parent);
    let up = parents.filter(|peer| peer.up).count();
    let never_direct = scene.plan().rules.list(List::NeverDirect).always() == Some(true);
    if never_direct || !goes_direct(scene.config()) {
        return match up {
            0 => Err("only parents may be asked, and none is up".to_owned()),
            up => Ok(format!("{up} parents are up")),
        };
    }
    let Some(orders) = scene.orders_in_force() else {
        return Err("the workers are not told yet".to_owned());
    };
    let asked = timeout(PATIENCE, orders.resolver.resolve(PROBE)).await;
    let silence = match asked {
        Ok(Ok(_)) => return Ok("name servers answer".to_owned()),
        Ok(Err(error)) if error.is_definite() => return Ok("name servers answer".to_owned()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no name server answered within {} s", PATIENCE.as_secs()),
    };
    match up {
        0 => Err(silence),
        up => Ok(format!("{silence}, but {up} parents are up")),
    }
}

/// Is there a port whose clients may be served from origins that no peer stands for?
fn goes_direct(config: &Config) -> bool {
    config.ports.iter().any(|port| match &port.mode {
        PortMode::Forward => true,
        PortMode::Accel(accel) => accel.allow_direct,
        PortMode::Manager => false,
    })
}

/// Pools without which `http_access` can't be decided. One that starts its processes when it is first
/// asked has none before.
fn helpers(pools: &[Arc<Pool>]) -> Outcome {
    let needed = pools.iter().filter(|pool| is_needed(pool.options().kind));
    let (live, dead): (Vec<_>, Vec<_>) = needed.partition(|pool| {
        let status = pool.status();
        status.active > 0 || pool.options().children.startup == 0 && status.deaths == 0
    });
    if dead.is_empty() {
        return Ok(format!("{} pools live", live.len()));
    }
    let names: Vec<String> = dead.iter().map(|pool| pool.options().label()).collect();
    Err(format!("no process runs for {}", names.join(", ")))
}

const fn is_needed(kind: Kind) -> bool {
    match kind {
        Kind::BasicAuth
        | Kind::DigestAuth
        | Kind::NtlmAuth
        | Kind::NegotiateAuth
        | Kind::ExternalAcl => true,
        Kind::UrlRewrite
        | Kind::StoreId
        | Kind::LocationRewrite
        | Kind::CertGenerator
        | Kind::CertValidator => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(checks: &[(&str, Outcome)]) -> (u16, String) {
        let answer = report(checks);
        (answer.status, String::from_utf8(answer.content).unwrap())
    }

    #[test]
    fn one_check_that_fails_is_enough() {
        let good = ("workers", Ok("2 answer".to_owned()));
        let bad = ("hops", Err("none is up".to_owned()));
        assert_eq!(
            text(std::slice::from_ref(&good)),
            (200, "workers ok: 2 answer\nready\n".to_owned())
        );
        let expected = "hops failed: none is up\nworkers ok: 2 answer\nnot ready\n";
        assert_eq!(text(&[bad, good]), (503, expected.to_owned()));
    }

    #[test]
    fn accelerators_need_their_origins() {
        let check = |text: &str, direct: bool| {
            assert_eq!(
                goes_direct(&config::parse(text, "test").unwrap()),
                direct,
                "{text}"
            );
        };
        check("http_port 3128", true);
        check(
            "http_port 80 accel defaultsite=a.example\nmanager_port 9301",
            false,
        );
        check("http_port 80 accel allow-direct", true);
        check("http_port 80 accel\nhttp_port 3128", true);
    }
}
