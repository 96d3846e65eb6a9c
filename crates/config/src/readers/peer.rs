//! `cache_peer` and which requests a peer may get.

use std::time::Duration;

use crate::directives::acl::Acls;
use crate::model::access::{AccessRule, AclLine, AclRef};
use crate::model::peer::{Peer, PeerKind, PeerLogin, PeerOptions};
use crate::model::values::Values;
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// Options without an effect yet, without their values.
const NOT_YET: [&str; 43] = [
    "background-ping",
    "closest-only",
    "multicast-responder",
    "multicast-siblings",
    "ttl",
    "htcp",
    "htcp-oldsquid",
    "htcp-no-clr",
    "htcp-only-clr",
    "htcp-no-purge-clr",
    "htcp-forward-clr",
    "digest-url",
    "carp-key",
    "basetime",
    "auth-no-keytab",
    "ssl",
    "tls",
    "sslcert",
    "sslkey",
    "sslcipher",
    "ssldomain",
    "sslcapath",
    "sslcafile",
    "sslcrlfile",
    "sslflags",
    "ssloptions",
    "sslversion",
    "tls-cert",
    "tls-key",
    "tls-min-version",
    "tls-options",
    "tls-cafile",
    "tls-default-ca",
    "tls-no-npn",
    "tls-cipher",
    "tls-capath",
    "tls-domain",
    "tls-flags",
    "tls-crlfile",
    "monitorurl",
    "monitorsize",
    "monitorinterval",
    "monitortimeout",
];
/// Options that change nothing here: no client is mimicked, and HTTP/1.1 is what is spoken.
const NO_EFFECT: [&str; 2] = ["no-tproxy", "http11"];

/// `HOST TYPE HTTP-PORT ICP-PORT [option…]`
pub(crate) fn cache_peer(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let host = line.required("peer host")?.into_owned();
    let word = line.required("peer type")?;
    let kind = match &*word {
        "parent" => PeerKind::Parent,
        "sibling" => PeerKind::Sibling,
        "multicast" => PeerKind::Multicast,
        other => {
            let problem = line.fatal(format!("unknown cache_peer type '{other}'"));
            return Err(Box::new(
                problem.hint("Types are parent, sibling and multicast."),
            ));
        }
    };
    let http_port = port(line, "HTTP port")?;
    let icp_port = if line
        .peek()
        .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()))
    {
        port(line, "ICP port")?
    } else {
        0
    };
    if http_port == 0 {
        return Err(line.fatal("the HTTP port of a cache_peer can't be 0"));
    }
    let mut peer = Peer {
        name: host.clone(),
        host,
        kind,
        http_port,
        icp_port,
        options: PeerOptions::default(),
        access: Vec::new(),
        place: line.place.clone(),
    };
    while let Some(option) = line.word() {
        if let Err(bad) = peer_option(&mut peer, &option) {
            let message = match bad {
                Bad::Unknown => format!("cache_peer: unknown option '{option}'"),
                Bad::Value => {
                    return Err(line.fatal(format!("cache_peer: bad value in '{option}'")));
                }
            };
            line.note_error(message, "The option is ignored.");
        }
    }
    warn(draft, line, &peer);
    let tls = peer
        .options
        .not_yet
        .iter()
        .any(|option| option == "tls" || option == "ssl");
    // Its access rules find no peer and go nowhere.
    let index = if tls {
        usize::MAX
    } else {
        draft.config.peers.len()
    };
    let before = draft.peers.insert(peer.name.to_ascii_lowercase(), index);
    if before.is_some() {
        let problem = line.fatal(format!("cache_peer {} specified twice", peer.name));
        return Err(Box::new(problem.hint("Give it another name with name=.")));
    }
    if !tls {
        draft.config.peers.push(peer);
    }
    Ok(())
}

fn port(line: &mut Line<'_>, what: &str) -> Outcome<u16> {
    let word = line.required(what)?;
    word.parse()
        .map_err(|_| line.fatal(format!("'{word}' is not a port")))
}

/// What is wrong with an option.
enum Bad {
    Unknown,
    Value,
}

fn peer_option(peer: &mut Peer, option: &str) -> Result<(), Bad> {
    match option.split_once('=') {
        Some((key, value)) => valued(peer, key, value, option),
        None => switch(&mut peer.options, option),
    }
}

fn switch(options: &mut PeerOptions, word: &str) -> Result<(), Bad> {
    match word {
        "no-query" => options.no_query = true,
        "no-digest" => options.no_digest = true,
        "no-netdb-exchange" => options.no_netdb_exchange = true,
        "originserver" => options.originserver = true,
        "default" => options.default = true,
        "round-robin" => options.round_robin = true,
        "weighted-round-robin" => options.weighted_round_robin = true,
        "carp" => options.carp = true,
        "userhash" => options.userhash = true,
        "sourcehash" => options.sourcehash = true,
        "proxy-only" => options.proxy_only = true,
        "no-delay" => options.no_delay = true,
        "allow-miss" => options.allow_miss = true,
        "front-end-https" => options.front_end_https = Some(true),
        _ if NOT_YET.contains(&word) => options.not_yet.push(word.to_owned()),
        _ if NO_EFFECT.contains(&word) => {}
        _ => return Err(Bad::Unknown),
    }
    Ok(())
}

fn valued(peer: &mut Peer, key: &str, value: &str, option: &str) -> Result<(), Bad> {
    fn number(value: &str) -> Result<u32, Bad> {
        value.parse().map_err(|_| Bad::Value)
    }
    let options = &mut peer.options;
    match key {
        "name" if value.is_empty() => return Err(Bad::Value),
        "name" => value.clone_into(&mut peer.name),
        "weight" => options.weight = number(value)?.max(1),
        "forceddomain" => options.forceddomain = (!value.is_empty()).then(|| value.to_owned()),
        "login" => options.login = login(value),
        // 0 is no limit.
        "max-conn" => options.max_conn = Some(number(value)?).filter(|&count| count > 0),
        "standby" | "idle" => options.standby = number(value)?,
        "connect-timeout" => {
            options.connect_timeout = Some(Duration::from_secs(number(value)?.into()));
        }
        "connect-fail-limit" => options.connect_fail_limit = number(value)?.max(1),
        "front-end-https" => {
            options.front_end_https = match value {
                "on" => Some(true),
                "auto" => Some(false),
                "off" => None,
                _ => return Err(Bad::Value),
            }
        }
        "connection-auth" => {
            options.connection_auth = match value {
                "on" => Some(true),
                "off" => Some(false),
                "auto" => None,
                _ => return Err(Bad::Value),
            }
        }
        _ if NOT_YET.contains(&key) => options.not_yet.push(option.to_owned()),
        _ if NO_EFFECT.contains(&key) => {}
        _ => return Err(Bad::Unknown),
    }
    Ok(())
}

fn login(value: &str) -> PeerLogin {
    match value {
        "PASS" => PeerLogin::Pass,
        "PROXYPASS" => PeerLogin::ProxyPass,
        "PASSTHRU" => PeerLogin::PassThru,
        "NEGOTIATE" => PeerLogin::Negotiate(None),
        _ => match (value.strip_prefix("NEGOTIATE:"), value.strip_prefix('*')) {
            (Some(principal), _) => PeerLogin::Negotiate(Some(principal.to_owned())),
            (None, Some(behind)) => PeerLogin::UserWith(behind.to_owned()),
            (None, None) => PeerLogin::Basic(value.to_owned()),
        },
    }
}

fn warn(draft: &mut Draft, line: &mut Line<'_>, peer: &Peer) {
    let Peer { options, kind, .. } = peer;
    match kind {
        PeerKind::Parent => {}
        PeerKind::Sibling => {
            let meaning = "It belongs to ICP and Cache Digests; siblings are never asked.";
            draft.not_yet(line, "cache_peer sibling", meaning);
        }
        PeerKind::Multicast => {
            draft.not_yet(
                line,
                "cache_peer multicast",
                "It belongs to ICP; the line has no effect.",
            );
        }
    }
    if *kind == PeerKind::Parent && peer.icp_port != 0 && !options.no_query {
        let meaning = "ICP and HTCP queries are not sent; the parent is used all the same.";
        draft.not_yet(line, "cache_peer queries", meaning);
    }
    let hashes = [
        ("carp", options.carp),
        ("userhash", options.userhash),
        ("sourcehash", options.sourcehash),
    ];
    for (name, _) in hashes.iter().filter(|(_, set)| *set) {
        draft.not_yet(
            line,
            &format!("cache_peer {name}"),
            "The first living parent is used.",
        );
    }
    if options.weighted_round_robin {
        let meaning = "Such parents take turns by weight, whatever their round-trip times.";
        draft.not_yet(line, "cache_peer weighted-round-robin", meaning);
    }
    if let PeerLogin::Negotiate(_) = options.login {
        let message = "cache_peer login=NEGOTIATE: we can't log in by Kerberos ourselves";
        let hint = "The peer gets no login. Let it take login=user:password, or let clients log in to it by \
                    login=PASSTHRU.";
        line.note_error(message, hint);
    }
    let ignored = [
        ("allow-miss", options.allow_miss),
        ("standby=", options.standby > 0),
        ("front-end-https", options.front_end_https.is_some()),
    ];
    for (name, _) in ignored.iter().filter(|(_, set)| *set) {
        let what = format!("cache_peer {name}");
        draft.not_yet(line, &what, "The option has no effect.");
    }
    for option in &options.not_yet {
        let name = option.split('=').next().unwrap_or_default();
        let meaning = match name {
            "tls" | "ssl" => "It belongs to TLS; the peer is not used.",
            _ => "The option has no effect.",
        };
        draft.not_yet(line, &format!("cache_peer {name}"), meaning);
    }
}

/// `PEER allow|deny acl…`
pub(crate) fn cache_peer_access(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let index = peer_index(draft, line)?;
    let rule = draft.acls.rule(line)?;
    push(draft, index, [rule]);
    Ok(())
}

fn peer_index(draft: &Draft, line: &mut Line<'_>) -> Outcome<usize> {
    let name = line.required("peer name")?;
    draft
        .peers
        .get(&name.to_ascii_lowercase())
        .copied()
        .ok_or_else(|| {
            let problem = line.error(format!("No cache_peer '{name}'"));
            Box::new(problem.hint("Write the cache_peer line above; the line is ignored."))
        })
}

fn push(draft: &mut Draft, index: usize, rules: impl IntoIterator<Item = AccessRule>) {
    if let Some(peer) = draft.config.peers.get_mut(index) {
        peer.access.extend(rules);
    }
}

/// `PEER [!]domain…`: an ACL and a rule for each stretch of domains of one sign.
pub(crate) fn cache_peer_domain(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let index = peer_index(draft, line)?;
    let mut rules: Vec<AccessRule> = Vec::new();
    for word in line.words() {
        let allow = !word.starts_with('!');
        let domain = word.trim_start_matches('!').to_owned();
        if rules.last().is_none_or(|rule| rule.allow != allow) {
            let acl = Acls::private_name("cache_peer_domain", draft.config.acls.len());
            draft.config.acls.push(AclLine {
                name: acl.clone(),
                kind: "dstdomain".into(),
                flags: Vec::new(),
                values: Values::default(),
                predefined: false,
                place: line.place.clone(),
            });
            let acls = vec![AclRef {
                name: acl,
                negated: false,
            }];
            rules.push(AccessRule {
                allow,
                acls,
                place: line.place.clone(),
            });
        }
        if let Some(acl) = draft.config.acls.last_mut() {
            acl.values.push(domain);
        }
    }
    push(draft, index, rules);
    Ok(())
}

#[cfg(test)]
mod tests;
