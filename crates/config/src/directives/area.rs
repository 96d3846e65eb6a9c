//! The parts of a proxy that are still to come, and what a configuration loses meanwhile.

use std::fmt;

/// A part of the proxy that a directive belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Area {
    /// Facts that rules ask for, and what rules may do.
    AccessControl,
    /// Who the user is.
    Authentication,
    /// What is stored and reused.
    Caching,
    /// What the administrator reads.
    Administration,
    /// ICP, HTCP, Cache Digests and round-trip times.
    Peers,
    /// Content adaptation by services.
    Icap,
    /// TLS to clients and origins, and SSL-bump.
    Tls,
    /// Connections that were not meant for us.
    Interception,
    /// FTP origins and clients.
    Ftp,
    /// Routers that send us traffic.
    Wccp,
    /// Marks, limits and preambles of connections.
    Networking,
    /// How messages and connections are treated.
    Http,
    /// What a client reads when something fails.
    ErrorPages,
    /// Names and addresses.
    Dns,
    /// The program as the system sees it.
    Process,
}

impl Area {
    /// Every area, in the order of the documentation.
    pub const ALL: [Self; 15] = [
        Self::AccessControl,
        Self::Authentication,
        Self::Caching,
        Self::Administration,
        Self::Peers,
        Self::Icap,
        Self::Tls,
        Self::Interception,
        Self::Ftp,
        Self::Wccp,
        Self::Networking,
        Self::Http,
        Self::ErrorPages,
        Self::Dns,
        Self::Process,
    ];

    /// As messages and the documentation say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// What a configuration that asks for it loses meanwhile: a sentence.
    #[must_use]
    pub const fn loss(self) -> &'static str {
        self.words().1
    }

    #[rustfmt::skip]
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::AccessControl => ("access control", "Rules work without these facts and limits; one that needs a missing fact opens nothing."),
            Self::Authentication => ("authentication", "Nobody can log in: rules that ask for a user refuse everyone."),
            Self::Caching => ("caching", "Responses are stored and reused by the usual rules, without this exception."),
            Self::Administration => ("cache manager and logs", "The proxy serves the same; the administrator sees less of it."),
            Self::Peers => ("peers", "Nobody is asked by ICP, HTCP or Cache Digest and nobody who asks is answered; parents are used as the other rules say."),
            Self::Icap => ("ICAP", "No content is sent to an adaptation service: it passes unscanned and unchanged."),
            Self::Tls => ("TLS", "No TLS is spoken with clients, origins or peers: CONNECT is tunnelled as it comes, and nothing in it is seen."),
            Self::Interception => ("interception", "Intercepting ports are not opened: clients have to be told of the proxy."),
            Self::Ftp => ("FTP", "No FTP is spoken: ftp:// URLs work through a parent proxy alone, and no FTP client is served."),
            Self::Wccp => ("WCCP", "No router is told of the proxy: it sends no traffic."),
            Self::Networking => ("networking", "Connections are as the system makes them: without marks, limits per client or a PROXY header."),
            Self::Http => ("HTTP", "Messages and connections are treated in the usual way, without this exception."),
            Self::ErrorPages => ("error pages", "Clients read the errors of servers as they are."),
            Self::Dns => ("DNS", "Names are looked up in the usual way, without this exception."),
            Self::Process => ("the process", "The program runs as it was started in this respect."),
        }
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
