//! ACLs that go by what is learnt of a transaction, and those whose answer is always the same here.

use config::{AclLine, Severity};
use hashbrown::HashSet;

use super::super::note::{Annotation, NoteTest};
use super::super::user::{self, UserSet};
use super::{Maker, Origin, Test};

/// Words of `transaction_initiator` for what isn't a client's request.
const OTHER_INITIATORS: [&str; 9] = [
    "peer-pool",
    "certificate-fetching",
    "esi",
    "cache-digest",
    "htcp",
    "icp",
    "icmp",
    "asn",
    "internal",
];

impl Maker<'_> {
    pub(super) fn users(&mut self, lines: &[&AclLine]) -> UserSet {
        let flags = lines.iter().flat_map(|line| &line.flags);
        let mut set = UserSet::new(flags.into_iter().any(|flag| flag == "-i"));
        self.each(lines, |_, value, _| set.insert(value));
        set
    }

    /// One number above 0; the last line counts.
    pub(super) fn limit(&mut self, lines: &[&AclLine], make: impl Fn(u32) -> Test) -> Test {
        let mut test = Test::NotYet;
        self.each(lines, |maker, value, origin| match value.parse() {
            Ok(number @ 1..) => test = make(number),
            _ => maker.fatal(origin, format_args!("'{value}' is not a number above 0")),
        });
        test
    }

    /// As in Squid, what is no hardware address is left out.
    pub(super) fn hardware<const N: usize>(&mut self, lines: &[&AclLine]) -> HashSet<[u8; N]> {
        let mut set = HashSet::new();
        self.each(
            lines,
            |maker, value, Origin { line, file }| match user::hardware(value) {
                Some(bytes) => drop(set.insert(bytes)),
                None => maker.findings.tell(
                    Severity::Error,
                    line,
                    file,
                    format_args!("Ignoring invalid ARP acl entry: can't parse '{value}'"),
                ),
            },
        );
        set
    }

    /// The class, then words for its helper.
    pub(super) fn external(&mut self, lines: &[&AclLine]) -> Test {
        let words = self.words(lines);
        match (words.split_first(), lines) {
            (Some((class, args)), _) => Test::External {
                class: class.clone(),
                args: args.into(),
            },
            (None, [line, ..]) => {
                self.fatal(
                    Origin { line, file: None },
                    format_args!("no external_acl_type"),
                );
                Test::NotYet
            }
            (None, []) => Test::NotYet,
        }
    }

    pub(super) fn notes(&mut self, lines: &[&AclLine]) -> Test {
        let mut tests = Vec::new();
        for line in lines {
            let words = self.words(&[line]);
            match NoteTest::new(&line.flags, &words) {
                Some(test) => tests.push(test),
                None => self.fatal(
                    Origin { line, file: None },
                    format_args!("no name of a note"),
                ),
            }
        }
        Test::Note(tests.into())
    }

    /// What a rewriter of Squid 2.6 and 2.7 says of a URL.
    pub(super) fn url_groups(&mut self, lines: &[&AclLine]) -> Test {
        let mut words = vec!["urlgroup".into()];
        words.extend(self.words(lines));
        Test::Note(NoteTest::new(&[], &words).into_iter().collect())
    }

    pub(super) fn annotations(&mut self, lines: &[&AclLine], client: bool) -> Test {
        let mut notes = Vec::new();
        self.each(lines, |maker, value, origin| {
            match Annotation::parse(&origin.line.flags, value) {
                Some(note) => notes.push(note),
                None => maker.fatal(
                    origin,
                    format_args!("'{value}' is not KEY=VALUE or KEY+=VALUE"),
                ),
            }
        });
        let notes = notes.into();
        Test::Annotate { notes, client }
    }

    pub(super) fn errors(&mut self, lines: &[&AclLine]) -> Test {
        self.each(lines, |maker, value, origin| {
            if !value.starts_with("ERR_") {
                maker.fatal(origin, format_args!("Unknown error type '{value}'"));
            }
        });
        Test::Error(self.words(lines))
    }

    /// Types whose answer is the same for every transaction, as long as connections aren't encrypted here: what Squid
    /// says of plain HTTP.
    pub(super) fn constant(&mut self, kind: &str, lines: &[&AclLine]) -> Option<Test> {
        let always = |matches| {
            if matches {
                Test::Everything
            } else {
                Test::Nothing
            }
        };
        let flag = |name| {
            lines
                .iter()
                .any(|line| line.flags.iter().any(|flag| flag == name))
        };
        Some(match kind {
            "transaction_initiator" => {
                always(self.one_of(lines, &["client", "all"], &OTHER_INITIATORS))
            }
            "has" if self.words(lines).len() > 1 => {
                let line = lines.first()?;
                let origin = Origin { line, file: None };
                self.fatal(
                    origin,
                    format_args!("multiple components not supported for \"has\" acl"),
                );
                Test::NotYet
            }
            "has" if self.one_of(lines, &["request", "ALE"], &["response"]) => Test::Everything,
            "has" => Test::HasReply,
            // As long as nothing is bumped, every transaction is at the first step.
            "at_step" => {
                let others = ["SslBump2", "SslBump3", "GeneratingCONNECT"];
                always(self.one_of(lines, &["SslBump1"], &others))
            }
            // No server has named itself.
            "ssl::server_name" if flag("--server-provided") => {
                always(self.domains(lines).contains("none"))
            }
            "ssl::server_name" => Test::DstDomain {
                set: self.domains(lines),
                lookup: false,
            },
            "ssl::server_name_regex" => {
                self.patterns(lines, |set| Test::DstDomRegex { set, lookup: false })
            }
            "connections_encrypted"
            | "user_cert"
            | "ca_cert"
            | "server_cert_fingerprint"
            | "ssl_error" => Test::Nothing,
            _ => return None,
        })
    }

    /// Is one of the values among the first words? Those that are in neither list are fatal.
    fn one_of(&mut self, lines: &[&AclLine], yes: &[&str], no: &[&str]) -> bool {
        let mut found = false;
        self.each(lines, |maker, value, origin| {
            found |= yes.contains(&value);
            if !yes.contains(&value) && !no.contains(&value) {
                let kind = &origin.line.kind;
                maker.fatal(origin, format_args!("'{value}' is no value of {kind}"));
            }
        });
        found
    }
}

#[cfg(test)]
mod tests;
