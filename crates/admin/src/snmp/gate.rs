//! `snmp_access`: who may ask.

use std::net::SocketAddr;

use http::Method;
use rules::{Facts, Learnt, List, Rules};
use wire::snmp::Question;
use wire::{Fields, Target};

/// Asks the list. Its ACLs see the address and the community; what would have to be looked up first,
/// such as a name, isn't, and then nobody may.
pub(super) fn may_ask(
    rules: &Rules,
    question: &Question,
    client: SocketAddr,
    local: SocketAddr,
    now: i64,
) -> bool {
    let client = SocketAddr::new(client.ip().to_canonical(), client.port());
    let (target, fields, learnt) = (Target::new(), Fields::new(), Learnt::default());
    let mut facts = Facts::new(
        client,
        local,
        "",
        (&Method::GET, &target, &fields),
        &learnt,
        now,
    );
    facts.community = Some(&question.community);
    rules.check(List::SnmpAccess, &facts).is_allow()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use wire::snmp::{Ask, Version};

    use super::*;

    fn check(lines: &str, client: &str, community: &str, expected: bool) {
        let text = format!(
            "acl c snmp_community public\nacl n src 192.0.2.0/24\nacl d srcdomain .example\n{lines}"
        );
        let environment = rules::Environment {
            resolve: &|_| Vec::new(),
            zone: &TimeZone::UTC,
        };
        let rules = Rules::compile(&config::parse(&text, "test").unwrap(), &environment).unwrap();
        assert!(rules.warnings.is_empty(), "{:?}", rules.warnings);
        let question = Question {
            version: Version::V2c,
            community: community.into(),
            request_id: 1,
            ask: Ask::Get,
            names: Vec::new(),
        };
        let local = "192.0.2.1:3401".parse().unwrap();
        let may = may_ask(&rules, &question, client.parse().unwrap(), local, 0);
        assert_eq!(may, expected, "{lines} for {client} with {community}");
    }

    #[test]
    fn without_lines_nobody_may() {
        check("", "127.0.0.1:9", "public", false);
    }

    #[test]
    fn community_and_address_are_seen() {
        let lines = "snmp_access allow c n\nsnmp_access deny all";
        check(lines, "192.0.2.7:9", "public", true);
        check(lines, "[::ffff:192.0.2.7]:9", "public", true);
        check(lines, "192.0.2.7:9", "private", false);
        check(lines, "198.51.100.7:9", "public", false);
    }

    #[test]
    fn what_would_have_to_be_looked_up_opens_nothing() {
        check(
            "snmp_access allow d\nsnmp_access deny all",
            "192.0.2.7:9",
            "public",
            false,
        );
        check(
            "snmp_access deny d\nsnmp_access allow all",
            "192.0.2.7:9",
            "public",
            false,
        );
    }
}
