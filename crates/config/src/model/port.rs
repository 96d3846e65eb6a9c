//! Listening ports: `http_port` and `manager_port`.

use std::net::IpAddr;
use std::time::Duration;

use crate::problem::Place;

/// One line of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the line"
)]
pub struct Port {
    /// Address to listen on; `None` is every address, IPv6 and IPv4.
    pub addr: Option<IpAddr>,
    /// Host name to resolve when the line names one in place of an address.
    pub host: Option<String>,
    /// TCP port.
    pub port: u16,
    /// Listen on IPv4 only (`ipv4`, or an IPv4 address).
    pub ipv4: bool,
    /// What clients take us for.
    pub mode: PortMode,
    /// `name=`, or the address as written: what `myportname` compares.
    pub name: String,
    /// `tcpkeepalive`: probes on client connections.
    pub keepalive: Option<KeepAlive>,
    /// `disable-pmtu-discovery=`.
    pub pmtu_discovery: PmtuDiscovery,
    /// Connection-oriented authentication is passed on (`connection-auth`).
    pub connection_auth: bool,
    /// `worker-queues`: one accept queue per worker. Ours always has.
    pub worker_queues: bool,
    /// `require-proxy-header`: each connection opens with a PROXY header.
    pub require_proxy_header: bool,
    /// Where it is written.
    pub place: Place,
}

/// What clients of a port take us for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortMode {
    /// A proxy they were told about.
    Forward,
    /// The origin server (`accel`).
    Accel(Accel),
    /// Ourselves: pages of our own and nothing else (`manager_port`).
    Manager,
}

/// Options of an accelerator port.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the line"
)]
pub struct Accel {
    /// Host of requests that name none, and of all when `vhost` is off.
    pub defaultsite: Option<String>,
    /// Take the host from the Host field.
    pub vhost: bool,
    /// Where the port of the URL comes from.
    pub vport: VirtualPort,
    /// Scheme of the URL: `http` or `https`.
    pub protocol: String,
    /// Misses may go to the origin by DNS.
    pub allow_direct: bool,
    /// Answer with our own Date and Expires, as an origin would.
    pub act_as_origin: bool,
    /// Ignore Cache-Control of requests.
    pub ignore_cc: bool,
}

/// `vport` of an accelerator port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VirtualPort {
    /// Port of the Host field or `defaultsite`, else the scheme's.
    Host,
    /// The port that accepted the connection.
    Listening,
    /// This one.
    Fixed(u16),
}

/// TCP keep-alive probes; a zero duration leaves it to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KeepAlive {
    /// Quiet time before the first probe.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Time without an answer after which the connection is dead.
    pub timeout: Duration,
}

/// Path MTU discovery on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PmtuDiscovery {
    /// As the system does.
    System,
    /// Off on intercepted connections.
    OffWhenIntercepting,
    /// Off.
    Off,
}
