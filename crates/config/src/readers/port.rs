//! `http_port`: address, mode and options; `manager_port`: an address.

use std::net::IpAddr;
use std::time::Duration;

use crate::model::port::{Accel, KeepAlive, PmtuDiscovery, Port, PortMode, VirtualPort};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// Options that only matter on TLS or bumping ports, without their values.
const TLS_OPTIONS: [&str; 26] = [
    "tls-cert",
    "tls-key",
    "cert",
    "key",
    "cipher",
    "options",
    "clientca",
    "tls-cafile",
    "cafile",
    "capath",
    "crlfile",
    "tls-dh",
    "dhparams",
    "sslflags",
    "tls-default-ca",
    "tls-no-npn",
    "sslcontext",
    "tls-min-version",
    "version",
    "generate-host-certificates",
    "dynamic_cert_mem_cache_size",
    "no-npn",
    "tls-dhparams",
    "tls-options",
    "tls-cipher",
    "default-ca",
];

/// `[ADDRESS:]PORT [mode] [option…]`
pub(crate) fn http_port(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let mut draft_port = PortDraft {
        port: port(line)?,
        accel: Accel {
            defaultsite: None,
            vhost: true,
            vport: VirtualPort::Host,
            protocol: "http".into(),
            allow_direct: false,
            act_as_origin: false,
            ignore_cc: false,
        },
        mode: None,
        old_accel: false,
        ssl_bump: false,
        urlgroup: false,
    };
    while let Some(option) = line.word() {
        if !draft_port.option(&option) {
            let problem = line.fatal(format!("unknown http_port option '{option}'"));
            return Err(Box::new(
                problem.hint("Remove it, or see the documentation of http_port."),
            ));
        }
    }
    draft_port.finish(draft, line)
}

/// `[ADDRESS:]PORT`
pub(crate) fn manager_port(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let port = port(line)?;
    draft.config.ports.push(Port {
        mode: PortMode::Manager,
        ..port
    });
    Ok(())
}

/// A port without options.
fn port(line: &mut Line<'_>) -> Outcome<Port> {
    let word = line.required("port")?;
    let Some((host, port)) = split(&word) else {
        let problem = line.fatal(format!("'{word}' is not [address:]port"));
        return Err(Box::new(
            problem.hint("Write a port from 1 to 65535, perhaps after an address."),
        ));
    };
    let addr: Option<IpAddr> = host.and_then(|host| host.parse().ok());
    Ok(Port {
        addr,
        host: host.filter(|_| addr.is_none()).map(str::to_owned),
        port,
        ipv4: addr.is_some_and(|addr| addr.is_ipv4()),
        mode: PortMode::Forward,
        name: word.to_string(),
        keepalive: None,
        pmtu_discovery: PmtuDiscovery::System,
        connection_auth: true,
        worker_queues: false,
        require_proxy_header: false,
        place: line.place.clone(),
    })
}

/// Splits off the host, without brackets.
fn split(word: &str) -> Option<(Option<&str>, u16)> {
    let (host, port) = match word.rsplit_once(':') {
        Some((host, port)) => (Some(host), port),
        None => (None, word),
    };
    let port = port.parse().ok().filter(|&port: &u16| port > 0)?;
    let Some(host) = host.filter(|host| !host.is_empty()) else {
        return Some((None, port));
    };
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    match inner {
        Some("::") => Some((None, port)),
        Some(inner) => Some((Some(inner), port)),
        None if host.contains([':', '[', ']']) => None,
        None => Some((Some(host), port)),
    }
}

/// A port while its options come in.
struct PortDraft {
    port: Port,
    accel: Accel,
    mode: Option<&'static str>,
    old_accel: bool,
    ssl_bump: bool,
    urlgroup: bool,
}

impl PortDraft {
    /// Takes one option; false when there is none of this name or value.
    fn option(&mut self, option: &str) -> bool {
        match option.split_once('=') {
            Some((key, value)) => self.valued(key, value) || TLS_OPTIONS.contains(&key),
            None => self.mode_word(option) || self.switch(option) || TLS_OPTIONS.contains(&option),
        }
    }

    fn mode_word(&mut self, word: &str) -> bool {
        let mode = match word {
            "accel" => "accel",
            "intercept" | "transparent" => "intercept",
            "tproxy" => "tproxy",
            "ssl-bump" | "sslBump" => {
                self.ssl_bump = true;
                return true;
            }
            _ => return false,
        };
        let fits = self.mode.is_none_or(|before| before == mode);
        self.mode = Some(mode);
        fits
    }

    fn switch(&mut self, word: &str) -> bool {
        match word {
            // Squid 2.6 and 2.7 take these three for accel.
            "vhost" => (self.accel.vhost, self.old_accel) = (true, true),
            "vport" => (self.accel.vport, self.old_accel) = (VirtualPort::Listening, true),
            "no-vhost" => self.accel.vhost = false,
            "allow-direct" => self.accel.allow_direct = true,
            "act-as-origin" => self.accel.act_as_origin = true,
            "ignore-cc" => self.accel.ignore_cc = true,
            "connection-auth" => self.port.connection_auth = true,
            "no-connection-auth" => self.port.connection_auth = false,
            "tcpkeepalive" => self.port.keepalive = Some(KeepAlive::default()),
            "require-proxy-header" => self.port.require_proxy_header = true,
            "worker-queues" => self.port.worker_queues = true,
            "ipv4" => self.port.ipv4 = true,
            "http11" | "ftp-track-dirs" => {}
            _ => return false,
        }
        true
    }

    fn valued(&mut self, key: &str, value: &str) -> bool {
        match key {
            "defaultsite" => {
                (self.accel.defaultsite, self.old_accel) = (Some(value.to_owned()), true);
            }
            "vport" => {
                let Ok(port) = value.parse() else {
                    return false;
                };
                (self.accel.vport, self.old_accel) = (VirtualPort::Fixed(port), true);
            }
            "protocol" => self.accel.protocol = value.to_ascii_lowercase(),
            "name" => value.clone_into(&mut self.port.name),
            "connection-auth" if matches!(value, "on" | "off") => {
                self.port.connection_auth = value == "on";
            }
            "disable-pmtu-discovery" => {
                self.port.pmtu_discovery = match value {
                    "off" => PmtuDiscovery::System,
                    "transparent" => PmtuDiscovery::OffWhenIntercepting,
                    "always" => PmtuDiscovery::Off,
                    _ => return false,
                };
            }
            "tcpkeepalive" => {
                let Some(keepalive) = keepalive(value) else {
                    return false;
                };
                self.port.keepalive = Some(keepalive);
            }
            "urlgroup" => self.urlgroup = true,
            _ => return false,
        }
        true
    }

    fn finish(mut self, draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
        if self.old_accel && self.mode.is_none() {
            let hint = "Write accel on the line; it is taken as if it were there.";
            line.warn("vhost, vport and defaultsite= without accel", hint);
            self.mode = Some("accel");
        }
        if self.old_accel && self.mode != Some("accel") {
            return Err(line.fatal("vhost, vport and defaultsite= need accel"));
        }
        if let Some(mode @ ("intercept" | "tproxy")) = self.mode {
            let what = format!("http_port {mode}");
            draft.not_yet(
                line,
                &what,
                "It belongs to interception; the port is not opened.",
            );
            return Ok(());
        }
        if self.port.require_proxy_header {
            let meaning = "It belongs to the PROXY protocol; the port is not opened.";
            draft.not_yet(line, "http_port require-proxy-header", meaning);
            return Ok(());
        }
        self.warn(draft, line);
        if self.mode == Some("accel") {
            self.port.mode = PortMode::Accel(self.accel);
        }
        draft.config.ports.push(self.port);
        Ok(())
    }

    /// Names the options that an open port doesn't obey.
    fn warn(&self, draft: &mut Draft, line: &mut Line<'_>) {
        let act_as_origin = self.mode == Some("accel") && self.accel.act_as_origin;
        let options = [
            (
                "ssl-bump",
                self.ssl_bump,
                "CONNECT requests on this port are tunnelled as they are.",
            ),
            ("urlgroup=", self.urlgroup, "The option has no effect."),
            (
                "act-as-origin",
                act_as_origin,
                "Date and Expires of replies stay as they are.",
            ),
            (
                "disable-pmtu-discovery=always",
                self.port.pmtu_discovery == PmtuDiscovery::Off,
                "The system decides.",
            ),
        ];
        for (option, _, meaning) in options.iter().filter(|(_, asked, _)| *asked) {
            draft.not_yet(line, &format!("http_port {option}"), meaning);
        }
    }
}

/// `idle,interval,timeout` in seconds; later ones may be missing.
fn keepalive(value: &str) -> Option<KeepAlive> {
    let mut times = value
        .split(',')
        .map(|part| part.parse().map(Duration::from_secs).ok());
    let keepalive = KeepAlive {
        idle: times.next()??,
        interval: times.next().unwrap_or(Some(Duration::ZERO))?,
        timeout: times.next().unwrap_or(Some(Duration::ZERO))?,
    };
    times.next().is_none().then_some(keepalive)
}

#[cfg(test)]
mod tests;
