//! A row of the matrix: a configuration, and what is asked of it.

use std::fmt;
use std::net::Ipv4Addr;

/// Rules that both programs get, and the requests that both are sent.
#[derive(Clone, Debug)]
pub(crate) struct RuleSet {
    pub(crate) family: &'static str,
    /// Unique within the family.
    pub(crate) name: String,
    pub(crate) conf: String,
    pub(crate) files: Vec<(&'static str, &'static str)>,
    pub(crate) asks: Vec<Ask>,
}

impl RuleSet {
    /// Rules in front of an origin that answers for every host, so that no name needs the DNS.
    pub(crate) fn new(
        family: &'static str,
        name: impl Into<String>,
        rules: impl AsRef<str>,
        asks: impl Into<Vec<Ask>>,
    ) -> Self {
        let origin = "cache_peer 127.0.0.1 parent {origin} 0 no-query originserver name=origin\n\
                      never_direct allow all\ncache deny all\n";
        Self::bare(family, name, format!("{origin}{}", rules.as_ref()), asks)
    }

    /// Rules that say themselves where requests go.
    pub(crate) fn bare(
        family: &'static str,
        name: impl Into<String>,
        conf: impl Into<String>,
        asks: impl Into<Vec<Ask>>,
    ) -> Self {
        Self {
            family,
            name: name.into(),
            conf: conf.into(),
            files: Vec::new(),
            asks: asks.into(),
        }
    }

    /// With a file in the program's folder.
    pub(crate) fn file(mut self, name: &'static str, text: &'static str) -> Self {
        self.files.push((name, text));
        self
    }
}

/// A request, and how it comes.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) source: Ipv4Addr,
    /// Which `http_port` it comes to: 1 is `{port}`, 2 `{second}`.
    pub(crate) port: u8,
    /// The address connected to.
    pub(crate) to: Ipv4Addr,
    /// By a connection of its own; otherwise by the one before, if that is still open.
    pub(crate) fresh: bool,
    /// Other connections that the client has open meanwhile.
    pub(crate) beside: usize,
}

impl Ask {
    pub(crate) fn get(target: impl Into<String>) -> Self {
        Self::by("GET", target)
    }

    pub(crate) fn by(method: &'static str, target: impl Into<String>) -> Self {
        Self {
            method,
            target: target.into(),
            fields: Vec::new(),
            source: Ipv4Addr::LOCALHOST,
            port: 1,
            to: Ipv4Addr::LOCALHOST,
            fresh: false,
            beside: 0,
        }
    }

    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What the origin shall answer: `404`, or `200 Name=value;Name=value`.
    pub(crate) fn give(self, answer: &str) -> Self {
        self.field("X-Give", answer)
    }

    /// From 127.0.0.N.
    pub(crate) fn from(mut self, host: u8) -> Self {
        self.source = Ipv4Addr::new(127, 0, 0, host);
        self
    }

    /// To 127.0.0.N.
    pub(crate) fn to(mut self, host: u8) -> Self {
        self.to = Ipv4Addr::new(127, 0, 0, host);
        self
    }

    pub(crate) fn port(mut self, port: u8) -> Self {
        self.port = port;
        self
    }

    pub(crate) fn fresh(mut self) -> Self {
        self.fresh = true;
        self
    }

    pub(crate) fn beside(mut self, connections: usize) -> Self {
        self.beside = connections;
        self
    }
}

/// The request's name in the table of differences.
impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.target)?;
        for (name, value) in &self.fields {
            write!(f, " [{name}: {value}]")?;
        }
        if self.source != Ipv4Addr::LOCALHOST {
            write!(f, " from {}", self.source)?;
        }
        if self.to != Ipv4Addr::LOCALHOST {
            write!(f, " to {}", self.to)?;
        }
        if self.port != 1 {
            write!(f, " at port {}", self.port)?;
        }
        if self.fresh {
            write!(f, " fresh")?;
        }
        if self.beside > 0 {
            write!(f, " beside {}", self.beside)?;
        }
        Ok(())
    }
}
