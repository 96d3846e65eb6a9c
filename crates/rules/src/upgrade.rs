//! Which protocols a connection may be switched to (`http_upgrade_request_protocols`; RFC 9110 §7.8).

use config::{Problem, UpgradeRule};
use wire::{FieldId, Fields};

use crate::access::AccessList;
use crate::acl::Acls;
use crate::facts::Facts;

/// The lists, by protocol.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpgradeRules {
    named: Box<[(Box<str>, AccessList)]>,
    /// For protocols that have no lines of their own.
    other: AccessList,
}

impl UpgradeRules {
    pub(crate) fn compile(lines: &[UpgradeRule], acls: &Acls, problems: &mut Vec<Problem>) -> Self {
        let mut protocols: Vec<&str> = Vec::new();
        for line in lines {
            if !protocols
                .iter()
                .any(|known| known.eq_ignore_ascii_case(&line.protocol))
            {
                protocols.push(&line.protocol);
            }
        }
        let mut rules = Self {
            named: Box::default(),
            other: AccessList::constant(false),
        };
        let mut named = Vec::new();
        for protocol in protocols {
            let own = lines
                .iter()
                .filter(|line| line.protocol.eq_ignore_ascii_case(protocol));
            let own: Vec<_> = own.map(|line| line.rule.clone()).collect();
            let list = AccessList::compile(
                "http_upgrade_request_protocols",
                &own,
                false,
                acls,
                problems,
            );
            if protocol.eq_ignore_ascii_case("OTHER") {
                rules.other = list;
            } else {
                named.push((protocol.into(), list));
            }
        }
        rules.named = named.into();
        rules
    }

    /// May every protocol that the request offers be switched to? One that may not spoils the offer, since the server
    /// chooses. `h2c` never may: the requests behind it would go unseen. A missing fact is a no.
    pub(crate) fn allow(&self, request: &Fields, acls: &Acls, facts: &Facts<'_>) -> bool {
        let mut offered = request.list(FieldId::Upgrade).peekable();
        offered.peek().is_some()
            && offered.all(|protocol| {
                !protocol.eq_ignore_ascii_case(b"h2c")
                    && self.find(protocol).check(acls, facts).is_allow()
            })
    }

    /// The list of `name/version`, else of `name`, else of `OTHER`.
    fn find(&self, protocol: &[u8]) -> &AccessList {
        let bare = protocol
            .split(|byte| *byte == b'/')
            .next()
            .unwrap_or_default();
        let of = |name: &[u8]| {
            self.named
                .iter()
                .find(|(own, _)| own.as_bytes().eq_ignore_ascii_case(name))
        };
        of(protocol)
            .or_else(|| of(bare))
            .map_or(&self.other, |(_, list)| list)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Scene, rules};

    fn check(text: &str, offered: &str, expected: bool) {
        let scene = Scene::new("http://example.com/").with(&[("Upgrade", offered)]);
        let found = rules(text).may_upgrade(&scene.request, &scene.facts());
        assert_eq!(found, expected, "{text} {offered}");
    }

    #[test]
    fn protocols_need_a_line_that_allows_them() {
        check("", "websocket", false);
        let text = "http_upgrade_request_protocols WebSocket allow all\n";
        check(text, "websocket", true);
        check(text, "WebSocket/13", true);
        check(text, "h2c", false);
        check(text, "websocket, h2c", false);
        check(text, "", false);
        let other = "acl p port 81\nhttp_upgrade_request_protocols WebSocket allow p\nhttp_upgrade_request_protocols OTHER allow all\n";
        check(other, "irc", true);
        check(other, "h2c", false);
        check(other, "websocket", false);
    }
}
