//! `httpd_accel_*` of Squid 2.5: the lines make every `http_port` an accelerator, in whatever
//! order they come, so they take effect at the end of the file.

use crate::directives::acl::Acls;
use crate::model::access::{AccessRule, AclLine, AclRef};
use crate::model::peer::{Peer, PeerKind, PeerOptions};
use crate::model::port::{Accel, PortMode, VirtualPort};
use crate::problem::{Place, Problem, Severity};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// Port of the origin without `httpd_accel_port`.
const ORIGIN_PORT: u16 = 80;

/// What the lines have said so far.
#[derive(Default)]
pub(crate) struct Accelerator {
    host: Option<(Site, Place)>,
    port: Option<VirtualPort>,
    single_host: bool,
    uses_host_header: bool,
    with_proxy: bool,
}

/// `httpd_accel_host`.
enum Site {
    /// `virtual`: whatever host the client wants.
    Wanted,
    /// This one.
    Host(String),
}

/// `HOST` or `virtual`.
pub(crate) fn host(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let word = line.required("host")?.into_owned();
    let site = match &*word {
        "virtual" => Site::Wanted,
        _ => Site::Host(word),
    };
    draft.accelerator.host = Some((site, line.place.clone()));
    Ok(())
}

/// `PORT`; 0 and `virtual` are the port that accepted the request.
pub(crate) fn port(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let word = line.required("port")?;
    let port = match &*word {
        "virtual" | "0" => VirtualPort::Listening,
        _ => match word.parse() {
            Ok(port) => VirtualPort::Fixed(port),
            Err(_) => return Err(line.fatal(format!("'{word}' is not a port"))),
        },
    };
    draft.accelerator.port = Some(port);
    Ok(())
}

pub(crate) fn single_host(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.accelerator.single_host = line.on_off()?;
    Ok(())
}

pub(crate) fn uses_host_header(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.accelerator.uses_host_header = line.on_off()?;
    Ok(())
}

pub(crate) fn with_proxy(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.accelerator.with_proxy = line.on_off()?;
    Ok(())
}

impl Accelerator {
    /// The options that the ports get.
    fn accel(&self, site: &Site) -> Accel {
        let (defaultsite, vhost) = match site {
            Site::Wanted => (None, true),
            Site::Host(host) => (Some(host.clone()), self.uses_host_header),
        };
        let peer_takes_all = defaultsite.is_some() && self.single_host;
        Accel {
            defaultsite,
            vhost,
            vport: self.port.unwrap_or(VirtualPort::Fixed(ORIGIN_PORT)),
            protocol: "http".into(),
            allow_direct: self.with_proxy || (vhost && !peer_takes_all),
            act_as_origin: false,
            ignore_cc: false,
        }
    }
}

impl Draft {
    /// Makes the ports accelerators, and says which lines do so today.
    pub(crate) fn accelerate(&mut self) -> Option<Problem> {
        let (site, place) = self.accelerator.host.take()?;
        let accel = self.accelerator.accel(&site);
        let listening = self.config.ports.first().map(|port| port.port);
        for port in &mut self.config.ports {
            if port.mode == PortMode::Forward {
                port.mode = PortMode::Accel(accel.clone());
            }
        }
        let mut today = format!("http_port PORT {}", written(&accel));
        if let Site::Host(host) = site {
            let number = match accel.vport {
                VirtualPort::Fixed(number) => number,
                VirtualPort::Listening | VirtualPort::Host => listening.unwrap_or(ORIGIN_PORT),
            };
            today.push_str(&format!(
                " and cache_peer {host} parent {number} 0 no-query originserver"
            ));
            self.add_origin(host, number, &accel, &place);
        } else {
            today.push_str(
                "; where clients don't know of the proxy, http_port PORT intercept in its place",
            );
        }
        Some(Problem {
            severity: Severity::Warning,
            place,
            directive: "httpd_accel_host".to_owned(),
            message: "the httpd_accel lines are taken as those of today".to_owned(),
            hint: format!("Write {today}."),
            text: String::new(),
            mark: None,
        })
    }

    /// The accelerated host as a parent; unless it takes all requests, it gets those for its name.
    fn add_origin(&mut self, host: String, http_port: u16, accel: &Accel, place: &Place) {
        let access = if accel.allow_direct {
            vec![self.only_for(&host, place)]
        } else {
            Vec::new()
        };
        let index = self.config.peers.len();
        let name = host.to_ascii_lowercase();
        if self.peers.insert(name, index).is_some() {
            return;
        }
        self.config.peers.push(Peer {
            name: host.clone(),
            host,
            kind: PeerKind::Parent,
            http_port,
            icp_port: 0,
            options: PeerOptions {
                no_query: true,
                originserver: true,
                ..PeerOptions::default()
            },
            access,
            place: place.clone(),
        });
    }

    fn only_for(&mut self, host: &str, place: &Place) -> AccessRule {
        let name = Acls::private_name("httpd_accel_host", self.config.acls.len());
        self.config.acls.push(AclLine {
            name: name.clone(),
            kind: "dstdomain".into(),
            flags: Vec::new(),
            values: [host.to_owned()].into_iter().collect(),
            predefined: false,
            place: place.clone(),
        });
        AccessRule {
            allow: true,
            acls: vec![AclRef {
                name,
                negated: false,
            }],
            place: place.clone(),
        }
    }
}

/// The options as an `http_port` line has them.
fn written(accel: &Accel) -> String {
    let mut text = String::from("accel");
    if !accel.vhost {
        text.push_str(" no-vhost");
    }
    if let Some(site) = &accel.defaultsite {
        text.push_str(&format!(" defaultsite={site}"));
    }
    match accel.vport {
        VirtualPort::Host => {}
        VirtualPort::Listening => text.push_str(" vport"),
        VirtualPort::Fixed(port) => text.push_str(&format!(" vport={port}")),
    }
    if accel.allow_direct {
        text.push_str(" allow-direct");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, parse};

    fn config(text: &str) -> Config {
        parse(text, "test").unwrap()
    }

    fn accel(config: &Config) -> &Accel {
        match &config.ports[0].mode {
            PortMode::Accel(accel) => accel,
            PortMode::Forward | PortMode::Manager => panic!("not an accelerator"),
        }
    }

    #[test]
    fn one_host_behind_the_port_is_its_default_site_and_its_origin() {
        let config = config("httpd_accel_host www.example\nhttpd_accel_port 8080\nhttp_port 80");
        let accel = accel(&config);
        assert_eq!(accel.defaultsite.as_deref(), Some("www.example"));
        assert_eq!(accel.vport, VirtualPort::Fixed(8080));
        assert!(!accel.vhost && !accel.allow_direct);
        let peer = &config.peers[0];
        assert_eq!((&*peer.host, peer.http_port), ("www.example", 8080));
        assert!(peer.options.originserver && peer.options.no_query && peer.access.is_empty());
        let said = config.warnings.last().unwrap();
        assert_eq!(
            said.hint,
            "Write http_port PORT accel no-vhost defaultsite=www.example vport=8080 and \
             cache_peer www.example parent 8080 0 no-query originserver."
        );
    }

    #[test]
    fn the_order_of_lines_does_not_matter() {
        let lines = [
            "http_port 80",
            "httpd_accel_uses_host_header on",
            "httpd_accel_host a.example",
            "httpd_accel_single_host on",
        ];
        let read = |text: String| {
            let config = config(&text);
            (accel(&config).clone(), config.peers[0].options.clone())
        };
        let backwards: Vec<&str> = lines.iter().rev().copied().collect();
        assert_eq!(read(lines.join("\n")), read(backwards.join("\n")));
    }

    #[test]
    fn a_single_host_gets_every_request() {
        let text = "http_port 80\nhttpd_accel_host a.example\nhttpd_accel_uses_host_header on\n";
        let single = config(&format!("{text}httpd_accel_single_host on"));
        assert!(accel(&single).vhost && !accel(&single).allow_direct);
        assert!(single.peers[0].access.is_empty());
        let several = config(text);
        assert!(accel(&several).vhost && accel(&several).allow_direct);
        let rule = &several.peers[0].access[0];
        let acl = several
            .acls
            .iter()
            .find(|acl| acl.name == rule.acls[0].name);
        assert!(rule.allow);
        assert_eq!(acl.unwrap().values.to_string(), "a.example");
    }

    #[test]
    fn with_proxy_serves_other_hosts_too() {
        let text = "http_port 80\nhttpd_accel_host a.example\nhttpd_accel_single_host on\n";
        let config = config(&format!("{text}httpd_accel_with_proxy on"));
        assert!(accel(&config).allow_direct);
        assert_eq!(config.peers[0].access.len(), 1);
    }

    #[test]
    fn a_virtual_host_is_whichever_the_client_wants() {
        let config = config(
            "http_port 3128\nhttpd_accel_host virtual\nhttpd_accel_port 80\n\
             httpd_accel_with_proxy on\nhttpd_accel_uses_host_header on",
        );
        let accel = accel(&config);
        assert!(accel.vhost && accel.allow_direct && accel.defaultsite.is_none());
        assert!(config.peers.is_empty());
        let said = config.warnings.last().unwrap();
        assert!(said.hint.contains("http_port PORT intercept"), "{said}");
    }

    #[test]
    fn a_virtual_port_is_the_one_that_listens() {
        for port in ["virtual", "0"] {
            let text = format!("httpd_accel_port {port}\nhttpd_accel_host a\nhttp_port 81");
            let config = config(&text);
            assert_eq!(accel(&config).vport, VirtualPort::Listening);
            assert_eq!(config.peers[0].http_port, 81);
        }
        let said = config("httpd_accel_port x").warnings;
        assert_eq!(said[1].message, "'x' is not a port");
    }
}
