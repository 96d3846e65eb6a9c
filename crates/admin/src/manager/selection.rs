//! `peer_select`: by which way requests found their peers; `netdb`, `asndb`: of networks and their numbers we know nothing.

use proxy::hops::peer::PeerReport;
use serde::Serialize;

use super::Report;
use crate::Scene;

/// `peer_select`: neither digests nor ICP take part in the choice.
pub(super) fn peer_select(scene: &Scene<'_>) -> Report {
    #[derive(Serialize)]
    struct Page {
        peers: Vec<Peer>,
        cache_digest: u64,
        icp: u64,
    }
    #[derive(Serialize)]
    struct Peer {
        host: String,
        digest: Option<()>,
        fetches: u64,
    }
    let peer = |report: PeerReport| Peer {
        host: report.config.host,
        digest: None,
        fetches: report.fetches,
    };
    let reports = scene.plan().peer_reports();
    let page = Page {
        peers: reports.into_iter().map(peer).collect(),
        cache_digest: 0,
        icp: 0,
    };
    let mut text =
        String::from("no guess stats for all peers available\n\nPer-peer statistics:\n\n");
    for peer in &page.peers {
        text += &format!("No peer digest from {}\n\n", peer.host);
    }
    text += "\nAlgorithm usage:\nCache Digest:       0 ( -1%)\nIcp:                0 ( -1%)\n\
             Total:              0 ( -1%)\n";
    Report::new(&page, text)
}

/// `netdb`
pub(super) fn netdb(_: &Scene<'_>) -> Report {
    Report::new(
        &Vec::<()>::new(),
        "Network DB Statistics:\n\
         Network                                        recv/sent     RTT  Hops Hostnames\n",
    )
}
