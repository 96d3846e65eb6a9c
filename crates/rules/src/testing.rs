//! Configurations and facts for tests.

use std::net::IpAddr;

use http::Method;
use jiff::tz::TimeZone;
use wire::target::UriWhitespace;
use wire::{Fields, Target};

use crate::acl::Environment;
use crate::facts::Facts;
use crate::learnt::Learnt;
use crate::plan::Rules;

/// 2026-11-20 12:00:00 UTC, a Friday.
pub(crate) const NOON: i64 = 1_795_176_000;

/// Hosts that the environment of tests resolves.
pub(crate) fn resolve(name: &str) -> Vec<IpAddr> {
    match name {
        "known.test" => vec!["192.0.2.7".parse().unwrap(), "2001:db8::7".parse().unwrap()],
        _ => Vec::new(),
    }
}

/// Compiles squid.conf text. Lines for the port and such are not needed.
pub(crate) fn compile(text: &str) -> Result<Rules, config::Problems> {
    let config = config::parse(text, "test.conf").unwrap_or_else(|problems| panic!("{problems}"));
    Rules::compile(
        &config,
        &Environment {
            resolve: &resolve,
            zone: &TimeZone::UTC,
        },
    )
}

/// Compiles text that is right.
pub(crate) fn rules(text: &str) -> Rules {
    compile(text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A block of field lines.
pub(crate) fn fields(lines: &[(&str, &str)]) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in lines {
        fields.push(name.as_bytes(), value.as_bytes());
    }
    fields
}

/// A request and who sent it.
pub(crate) struct Scene {
    pub(crate) client: IpAddr,
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) request: Fields,
    pub(crate) learnt: Learnt,
}

impl Scene {
    /// A GET from 10.0.0.1; for CONNECT give `host:port`.
    pub(crate) fn new(url: &str) -> Self {
        let mut target = Target::new();
        let method = if url.contains("://") {
            target
                .set_absolute(url.as_bytes(), UriWhitespace::Deny)
                .unwrap();
            Method::GET
        } else {
            target.set_authority(url.as_bytes()).unwrap();
            Method::CONNECT
        };
        Self {
            client: "10.0.0.1".parse().unwrap(),
            method,
            target,
            request: Fields::new(),
            learnt: Learnt::default(),
        }
    }

    pub(crate) fn from(mut self, client: &str) -> Self {
        self.client = client.parse().unwrap();
        self
    }

    pub(crate) fn method(mut self, method: &str) -> Self {
        self.method = Method::from_bytes(method.as_bytes()).unwrap();
        self
    }

    pub(crate) fn with(mut self, lines: &[(&str, &str)]) -> Self {
        self.request = fields(lines);
        self
    }

    pub(crate) fn facts(&self) -> Facts<'_> {
        Facts::new(
            (self.client, 40_000).into(),
            "10.0.0.254:3128".parse().unwrap(),
            "3128",
            (&self.method, &self.target, &self.request),
            &self.learnt,
            NOON,
        )
    }
}
