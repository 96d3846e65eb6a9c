//! All decisions of a configuration, compiled. One value per configuration, shared by all threads.

use std::net::IpAddr;

use config::{Config, Problem, Problems, Severity, SizeRule};
use wire::Fields;

use crate::access::{AccessList, Answer, Pick, Rule};
use crate::acl::test::Test;
use crate::acl::{Acls, Environment, compile};
use crate::caching::CachingRules;
use crate::facts::Facts;
use crate::hops::HopRules;
use crate::lists::{List, Lists};
use crate::marks::MarkRules;
use crate::rewrite::HeaderRules;
use crate::upgrade::UpgradeRules;

/// Compiled decisions.
#[derive(Debug)]
pub struct Rules {
    acls: Acls,
    lists: Lists,
    range_offset: Box<[Pick<Option<u64>>]>,
    reply_body_max: Box<[Pick<Option<u64>>]>,
    outgoing: Box<[Pick<IpAddr>]>,
    notes: Box<[Pick<usize>]>,
    auth_schemes: Box<[Pick<usize>]>,
    upgrade: UpgradeRules,
    /// What packets carry.
    pub marks: MarkRules,
    /// Which hops a request may take.
    pub hops: HopRules,
    /// `request_header_*`: fields toward hops.
    pub request_fields: HeaderRules,
    /// `reply_header_*`: fields toward clients.
    pub reply_fields: HeaderRules,
    /// What may be stored and reused.
    pub caching: CachingRules,
    /// An ACL names PURGE, which turns that method on.
    pub purge: bool,
    /// What works, but perhaps not as meant.
    pub warnings: Vec<Problem>,
}

impl Rules {
    /// Compiles a configuration. Host names in ACLs are resolved by the environment.
    ///
    /// # Errors
    /// Everything found, when some of it keeps the configuration from being used.
    pub fn compile(config: &Config, environment: &Environment<'_>) -> Result<Self, Problems> {
        let (acls, mut problems) = compile::compile(&config.acls, environment);
        let lists = Lists::compile(config, &acls, &mut problems);
        let mut sizes = |directive, lines: &[SizeRule]| {
            let lines = lines
                .iter()
                .map(|line| (&*line.acls, &line.place, line.bytes));
            Pick::compile_all(directive, lines, &acls, &mut problems)
        };
        let range_offset = sizes("range_offset_limit", &config.range_offset_limit);
        let reply_body_max = sizes("reply_body_max_size", &config.reply_body_max_size);
        let outgoing = config.tcp_outgoing_address.iter();
        let outgoing = outgoing.map(|line| (&*line.acls, &line.place, line.addr));
        let outgoing = Pick::compile_all("tcp_outgoing_address", outgoing, &acls, &mut problems);
        let notes = config.note.iter().zip(0..);
        let notes = notes.map(|(line, number)| (&*line.acls, &line.place, number));
        let notes = Pick::compile_all("note", notes, &acls, &mut problems);
        let offers = config.auth_schemes.iter().zip(0..);
        let offers = offers.map(|(line, number)| (&*line.acls, &line.place, number));
        let auth_schemes = Pick::compile_all("auth_schemes", offers, &acls, &mut problems);
        let request_fields = HeaderRules::compile_request(config, &acls, &mut problems);
        let reply_fields = HeaderRules::compile_reply(config, &acls, &mut problems);
        let upgrade =
            UpgradeRules::compile(&config.http_upgrade_request_protocols, &acls, &mut problems);
        let marks = MarkRules::compile(config, &acls, &mut problems);
        let caching = CachingRules::compile(config, &mut problems);
        problems.extend(uncounted(config));
        if problems.iter().any(Problem::stops) {
            return Err(Problems(problems));
        }
        Ok(Self {
            purge: names_purge(config),
            hops: HopRules::compile(config),
            acls,
            lists,
            range_offset,
            reply_body_max,
            outgoing,
            notes,
            auth_schemes,
            upgrade,
            marks,
            request_fields,
            reply_fields,
            caching,
            warnings: problems,
        })
    }

    /// The list of a directive. An index beyond the configuration's gives a list that denies.
    pub fn list(&self, list: List) -> &AccessList {
        self.lists.get(list)
    }

    /// Asks a list about a transaction.
    #[inline]
    pub fn check(&self, list: List, facts: &Facts<'_>) -> Answer<'_> {
        self.list(list).check(&self.acls, facts)
    }

    /// The ACLs, for header rules.
    pub fn acls(&self) -> &Acls {
        &self.acls
    }

    /// Class and words of the `external` ACL with this index.
    pub fn external(&self, acl: u32) -> Option<(&str, &[Box<str>])> {
        self.acls.external(acl)
    }

    /// Does a denial by this rule ask the client to log in, perhaps as another user? So it is when the last ACL is about
    /// the user; `needs_user` says it of classes of external ACLs.
    pub fn asks_login(&self, rule: &Rule, needs_user: impl Fn(&str) -> bool) -> bool {
        let last = rule.last_acl().and_then(|name| self.acls.find(name));
        let last = last.and_then(|acl| self.acls.get(acl));
        match last.map(|acl| &acl.test) {
            Some(Test::User(_) | Test::UserRegex(_)) => true,
            Some(Test::External { class, .. }) => needs_user(class),
            _ => false,
        }
    }

    /// How far a Range may start and the whole still be fetched: bytes, or `None` for no limit. No line: 0.
    pub fn range_offset_limit(&self, facts: &Facts<'_>) -> Option<u64> {
        let found = self
            .range_offset
            .iter()
            .find(|pick| pick.applies(&self.acls, facts));
        found.map_or(Some(0), |pick| pick.value)
    }

    /// Is there any limit for the content of replies (`reply_body_max_size`)?
    pub fn limits_replies(&self) -> bool {
        !self.reply_body_max.is_empty()
    }

    /// Largest content of a reply: bytes, or `None` for no limit (`reply_body_max_size`).
    pub fn reply_body_max_size(&self, facts: &Facts<'_>) -> Option<u64> {
        let mut picks = self.reply_body_max.iter();
        let found = picks.find(|pick| pick.applies(&self.acls, facts));
        found.and_then(|pick| pick.value)
    }

    /// The `note` lines that apply, by their index in `Config::note`.
    pub fn notes(&self, facts: &Facts<'_>) -> impl Iterator<Item = usize> {
        let picks = self.notes.iter();
        let applying = picks.filter(move |pick| pick.applies(&self.acls, facts));
        applying.map(|pick| pick.value)
    }

    /// The `auth_schemes` line that applies, by its index in `Config::auth_schemes`.
    pub fn auth_schemes(&self, facts: &Facts<'_>) -> Option<usize> {
        let mut picks = self.auth_schemes.iter();
        let found = picks.find(|pick| pick.applies(&self.acls, facts));
        found.map(|pick| pick.value)
    }

    /// May the connection be switched to what the request's Upgrade offers?
    pub fn may_upgrade(&self, request: &Fields, facts: &Facts<'_>) -> bool {
        self.upgrade.allow(request, &self.acls, facts)
    }

    /// Local address for connections to a hop of this family (`tcp_outgoing_address`).
    pub fn outgoing_address(&self, facts: &Facts<'_>, ipv6: bool) -> Option<IpAddr> {
        let same_family = self
            .outgoing
            .iter()
            .filter(|pick| pick.value.is_ipv6() == ipv6);
        same_family
            .into_iter()
            .find(|pick| pick.applies(&self.acls, facts))
            .map(|pick| pick.value)
    }
}

/// An ACL that goes by the table of clients, and there is none.
fn uncounted(config: &Config) -> Option<Problem> {
    let needy = config.acls.iter().find(|line| line.kind == "maxconn");
    let line = needy.filter(|_| !config.client_db)?;
    let text = format!("acl {} maxconn", line.name);
    let whole = 0..text.len();
    let message = format!(
        "'client_db off' keeps no count of connections: ACL '{}' never matches",
        line.name
    );
    let problem = Problem::new(Severity::Warning, &line.place, &text, whole, &message);
    Some(problem)
}

/// Does a `method` ACL name PURGE? Defining one turns the method on, as in Squid.
fn names_purge(config: &Config) -> bool {
    let mut methods = config.acls.iter().filter(|line| line.kind == "method");
    methods.any(|line| {
        line.values
            .texts()
            .iter()
            .any(|value| value.eq_ignore_ascii_case("PURGE"))
    })
}

#[cfg(test)]
mod tests;
