//! From `acl` lines to tests. Lines of one name add up; what can't be used is a problem with its place.

use std::fmt;
use std::net::IpAddr;

use config::list_file::FileLine;
use config::{AclLine, Problem, Severity};
use hashbrown::HashMap;
use jiff::tz::TimeZone;

use super::address::{AddressSet, AddressValue, Spans};
use super::domain::{BadName, DomainSet, Domains};
use super::ere::BadEre;
use super::findings::Findings;
use super::method::MethodSet;
use super::named::{Acl, Acls, Term};
use super::number::{PortSet, StatusSet};
use super::pattern::{self, BadPattern, PatternSet, Patterns};
use super::test::{FieldTest, Test, field_of};
use super::time::TimeSet;

mod state;

/// What compiling needs from outside: the crate does no I/O itself.
#[derive(Clone, Copy)]
pub struct Environment<'e> {
    /// Resolves host names in `src`, `dst` and `localip`; empty when there is no such host.
    pub resolve: &'e dyn Fn(&str) -> Vec<IpAddr>,
    /// Zone in which `time` ACLs are read.
    pub zone: &'e TimeZone,
}

/// Compiles all lines. ACLs that can't be used are left as never-known, so that rules with them fall against the client.
pub(crate) fn compile(lines: &[AclLine], environment: &Environment<'_>) -> (Acls, Vec<Problem>) {
    let mut order: Vec<&str> = Vec::new();
    let mut by_name: HashMap<&str, Vec<&AclLine>> = HashMap::new();
    for line in lines {
        by_name
            .entry(&line.name)
            .or_insert_with(|| {
                order.push(&line.name);
                Vec::new()
            })
            .push(line);
    }
    let mut maker = Maker {
        acls: Acls::default(),
        findings: Findings::default(),
        environment,
    };
    for name in order {
        let lines = by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        let test = maker.test(lines);
        if let Some(line) = lines.first() {
            maker.findings.close(line);
        }
        maker.acls.push(Acl {
            name: name.into(),
            test,
        });
    }
    (maker.acls, maker.findings.problems)
}

struct Maker<'c> {
    acls: Acls,
    findings: Findings,
    environment: &'c Environment<'c>,
}

/// Host names of one ACL that may have no address before the rest isn't asked for: each may take seconds.
const NAMELESS_MAX: usize = 20;

/// Where a value comes from.
#[derive(Clone, Copy)]
struct Origin<'c> {
    line: &'c AclLine,
    /// The value lies in a list file.
    file: Option<FileLine<'c>>,
}

impl Maker<'_> {
    /// Gives all values of the lines in order.
    fn each<'c>(
        &mut self,
        lines: &[&'c AclLine],
        mut take: impl FnMut(&mut Self, &str, Origin<'c>),
    ) {
        for &line in lines {
            let give = |text: &str, file| take(self, text, Origin { line, file });
            if let Err(unread) = line.values.each(give) {
                self.fatal(Origin { line, file: None }, format_args!("{unread}"));
            }
        }
    }

    fn test(&mut self, lines: &[&AclLine]) -> Test {
        let Some(first) = lines.first() else {
            return Test::Nothing;
        };
        let kind = first.kind.as_str();
        let lookup = !lines
            .iter()
            .any(|line| line.flags.iter().any(|flag| flag == "-n"));
        match kind {
            "src" => self.addresses(lines, Test::Src),
            "dst" => self.addresses(lines, |set| Test::Dst { set, lookup }),
            "localip" | "myip" => self.addresses(lines, Test::LocalIp),
            "port" => Test::Port(self.ports(lines)),
            "localport" | "myport" => Test::LocalPort(self.ports(lines)),
            "myportname" => Test::PortName(self.words(lines)),
            "method" => Test::Method(self.methods(lines)),
            "proto" => Test::Proto(self.words(lines)),
            "dstdomain" => Test::DstDomain {
                set: self.domains(lines),
                lookup,
            },
            "srcdomain" => Test::SrcDomain(self.domains(lines)),
            "dstdom_regex" => self.patterns(lines, |set| Test::DstDomRegex { set, lookup }),
            "srcdom_regex" => self.patterns(lines, Test::SrcDomRegex),
            "url_regex" => self.patterns(lines, Test::UrlRegex),
            "urlpath_regex" => self.patterns(lines, Test::UrlPathRegex),
            "peername_regex" => self.patterns(lines, Test::PeerNameRegex),
            "browser" | "referer_regex" | "referrer_regex" | "req_mime_type" => {
                self.own_field(kind, lines, Test::RequestField)
            }
            "rep_mime_type" => self.own_field(kind, lines, Test::ReplyField),
            "req_header" => self.named_fields(lines, Test::RequestField),
            "rep_header" => self.named_fields(lines, Test::ReplyField),
            "http_status" => Test::Status(self.statuses(lines)),
            "time" => self.times(lines),
            "peername" => Test::PeerName(self.words(lines)),
            "hier_code" => Test::HierCode(self.words(lines)),
            "random" => self.random(lines),
            "any-of" => Test::AnyOf(lines.iter().flat_map(|line| self.terms(line)).collect()),
            "all-of" => Test::AllOf(lines.iter().map(|line| self.terms(line).into()).collect()),
            "urllogin" => self.patterns(lines, Test::UrlLogin),
            "proxy_auth" => Test::User(self.users(lines)),
            "proxy_auth_regex" => self.patterns(lines, Test::UserRegex),
            "ext_user" => Test::ExternalUser(self.users(lines)),
            "ext_user_regex" => self.patterns(lines, Test::ExternalUserRegex),
            "max_user_ip" => self.limit(lines, Test::UserAddresses),
            "maxconn" => self.limit(lines, Test::Connections),
            "arp" => Test::Mac(self.hardware(lines)),
            "eui64" => Test::Eui64(self.hardware(lines)),
            "external" => self.external(lines),
            "tag" => Test::Tag(self.words(lines)),
            "note" => self.notes(lines),
            "urlgroup" => self.url_groups(lines),
            "annotate_transaction" => self.annotations(lines, false),
            "annotate_client" => self.annotations(lines, true),
            "snmp_community" => Test::Community(self.words(lines)),
            "squid_error" => self.errors(lines),
            _ => self
                .constant(kind, lines)
                .unwrap_or_else(|| self.not_yet(first)),
        }
    }

    fn addresses(&mut self, lines: &[&AclLine], make: impl Fn(AddressSet) -> Test) -> Test {
        let mut spans = Spans::default();
        let mut nameless = 0;
        self.each(lines, |maker, value, origin| {
            let note = match AddressValue::parse(value) {
                AddressValue::Span(span, note) => {
                    spans.push(span);
                    note
                }
                AddressValue::Everything(note) => {
                    spans.push_everything();
                    note
                }
                AddressValue::Name(name) if nameless < NAMELESS_MAX => {
                    let found = (maker.environment.resolve)(&name);
                    if found.is_empty() {
                        nameless += 1;
                        maker.fatal(origin, format_args!("Bad host/IP: '{name}' has no address"));
                    }
                    for ip in found {
                        if let AddressValue::Span(span, _) = AddressValue::parse(&ip.to_string()) {
                            spans.push(span);
                        }
                    }
                    None
                }
                AddressValue::Name(_) | AddressValue::Bad => {
                    maker.fatal(origin, format_args!("Bad host/IP: '{value}'"));
                    None
                }
            };
            if let Some(note) = note {
                maker.warn(origin, format_args!("'{value}': {note}"));
            }
        });
        let set = AddressSet::build(spans);
        if set.is_empty() {
            return Test::Nothing;
        }
        let test = make(set);
        match &test {
            // Whoever it is, the client and we have an address. `dst all` with no address found doesn't match.
            Test::Src(set) | Test::LocalIp(set) if set.is_everything() => Test::Everything,
            _ => test,
        }
    }

    fn domains(&mut self, lines: &[&AclLine]) -> DomainSet {
        let sizes = lines.iter().map(|line| line.values.size_max());
        let (names, bytes) = sizes.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let mut domains = Domains::with_capacity(names, bytes);
        let mut full = false;
        self.each(lines, |maker, value, origin| {
            if let Some(domain) = value.strip_prefix('*').filter(|rest| rest.starts_with('.')) {
                let message = format_args!("'{value}' matches no name; write '{domain}'");
                maker.warn(origin, message);
            }
            match domains.insert(value) {
                Ok(()) => {}
                Err(BadName::NoHost) => {
                    let message = format_args!("'{value}' is no domain name: it matches nothing");
                    maker.warn(origin, message);
                }
                Err(BadName::Full) if full => {}
                Err(BadName::Full) => {
                    full = true;
                    maker.fatal(origin, format_args!("the names are more than 4 GB"));
                }
            }
        });
        domains.build()
    }

    fn words(&mut self, lines: &[&AclLine]) -> Box<[Box<str>]> {
        let mut words = Vec::new();
        self.each(lines, |_, value, _| words.push(value.into()));
        words.into()
    }

    fn methods(&mut self, lines: &[&AclLine]) -> MethodSet {
        let mut set = MethodSet::default();
        self.each(lines, |_, value, _| set.insert(value));
        set
    }

    fn ports(&mut self, lines: &[&AclLine]) -> PortSet {
        let mut set = PortSet::default();
        self.each(lines, |maker, value, origin| {
            if !set.insert(value) {
                maker.fatal(origin, format_args!("Invalid port value: '{value}'"));
            }
        });
        set
    }

    fn statuses(&mut self, lines: &[&AclLine]) -> StatusSet {
        let mut set = StatusSet::default();
        self.each(lines, |maker, value, origin| {
            if !set.insert(value) {
                maker.fatal(origin, format_args!("Invalid status code: '{value}'"));
            }
        });
        set
    }

    fn times(&mut self, lines: &[&AclLine]) -> Test {
        let mut set = TimeSet::default();
        for line in lines {
            let texts = line.values.texts();
            if let Err(bad) = set.insert_line(texts.iter().map(String::as_str)) {
                self.fatal(Origin { line, file: None }, format_args!("{bad}"));
            }
        }
        Test::Time {
            set,
            zone: self.environment.zone.clone(),
        }
    }

    fn random(&mut self, lines: &[&AclLine]) -> Test {
        let mut last = Test::Nothing;
        self.each(lines, |maker, value, origin| {
            last = share(value).map_or_else(
                || {
                    maker.fatal(origin, format_args!("Bad random value: '{value}'"));
                    Test::NotYet
                },
                Test::Random,
            );
        });
        last
    }

    /// The patterns of all lines; `-i` and `+i` hold from their place to the end of the line.
    fn patterns(&mut self, lines: &[&AclLine], make: impl Fn(PatternSet) -> Test) -> Test {
        match self.pattern_set(lines, 0) {
            Some(set) if set.is_empty() => Test::Nothing,
            Some(set) => make(set),
            None => Test::NotYet,
        }
    }

    /// Squid leaves out an expression that the C library refuses, and so do we; what we can't do is fatal.
    fn pattern_set(&mut self, lines: &[&AclLine], skipped: usize) -> Option<PatternSet> {
        let mut patterns = Patterns::default();
        let mut first_too_many = None;
        let (mut count, mut usable) = (0u32, true);
        for line in lines {
            let mut ignore_case = line.flags.iter().any(|flag| flag == "-i");
            let mut left = skipped;
            self.each(&[line], |maker, text, origin| match text {
                _ if left > 0 => left -= 1,
                "-i" => ignore_case = true,
                "+i" => ignore_case = false,
                text => {
                    match patterns.add(count, text, ignore_case) {
                        Ok(None) => {}
                        Ok(Some(letter)) => maker.warn(
                            origin,
                            format_args!("'\\{letter}' in '{text}' means the letter {letter}, as in every POSIX pattern"),
                        ),
                        Err(BadPattern::Ere(bad @ BadEre::BackReference)) => {
                            usable = false;
                            maker.fatal(origin, format_args!("invalid regular expression: {bad}: '{text}'"));
                        }
                        Err(BadPattern::Ere(bad)) => {
                            let Origin { line, file } = origin;
                            let message = format_args!("Skipping regular expression. Compile failed: '{text}': {bad}");
                            maker.findings.tell(Severity::Error, line, file, message);
                        }
                        Err(BadPattern::TooMany) => {
                            first_too_many.get_or_insert(origin);
                        }
                    }
                    count += 1;
                }
            });
        }
        if let Some(origin) = first_too_many {
            let proper = patterns.proper();
            let (most, bare) = (pattern::PROPER_MAX, pattern::UNGUARDED_MAX);
            self.fatal(origin, format_args!(
                "too many regular expressions: of {count}, {proper} are more than plain texts with anchors; at most {most} \
                 such can be searched for, and {bare} without three plain letters in a row. Put hosts into a dstdomain list, or ask a url_rewrite_program"
            ));
            return None;
        }
        if !usable {
            return None;
        }
        match patterns.compile() {
            Ok(set) => Some(set),
            Err(bad) => {
                self.too_big(lines, skipped, bad.number);
                None
            }
        }
    }

    /// Tells of the pattern with this number that those of the ACL are too big.
    fn too_big(&mut self, lines: &[&AclLine], skipped: usize, number: u32) {
        let megabytes = pattern::BYTES_MAX >> 20;
        let mut left = number;
        for line in lines {
            let mut head = skipped;
            self.each(&[line], |maker, text, origin| match text {
                _ if head > 0 => head -= 1,
                "-i" | "+i" => {}
                text => {
                    if left == 0 {
                        maker.fatal(origin, format_args!(
                            "invalid regular expression: Regular expression too big: '{text}': those of the ACL take more \
                             than {megabytes} MB"
                        ));
                    }
                    left = left.wrapping_sub(1);
                }
            });
        }
    }

    fn own_field(
        &mut self,
        kind: &str,
        lines: &[&AclLine],
        make: fn(Box<[FieldTest]>) -> Test,
    ) -> Test {
        match (field_of(kind), self.pattern_set(lines, 0)) {
            (Some(name), Some(patterns)) => make(
                [FieldTest {
                    name: name.into(),
                    patterns,
                    or_empty: kind.ends_with("mime_type"),
                }]
                .into(),
            ),
            _ => Test::NotYet,
        }
    }

    /// `req_header NAME PATTERN…`: a test per name.
    fn named_fields(&mut self, lines: &[&AclLine], make: fn(Box<[FieldTest]>) -> Test) -> Test {
        let mut names: Vec<&str> = Vec::new();
        for line in lines {
            match line.values.first_word() {
                Some(name) if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) => {
                    names.push(name)
                }
                Some(_) => {}
                None => self.fatal(Origin { line, file: None }, format_args!("no header name")),
            }
        }
        let mut tests = Vec::new();
        for name in names {
            let named = |line: &&AclLine| {
                line.values
                    .first_word()
                    .is_some_and(|first| first.eq_ignore_ascii_case(name))
            };
            let own: Vec<&AclLine> = lines.iter().copied().filter(|line| named(line)).collect();
            let Some(patterns) = self.pattern_set(&own, 1) else {
                return Test::NotYet;
            };
            tests.push(FieldTest {
                name: name.into(),
                patterns,
                or_empty: false,
            });
        }
        make(tests.into())
    }

    fn terms(&mut self, line: &AclLine) -> Vec<Term> {
        let mut terms = Vec::new();
        self.each(&[line], |maker, text, origin| {
            let (name, negated) = text
                .strip_prefix('!')
                .map_or((text, false), |name| (name, true));
            match maker.acls.find(name) {
                Some(acl) => terms.push(Term { acl, negated }),
                None => maker.fatal(origin, format_args!("ACL not found: {name}")),
            }
        });
        terms
    }

    /// A type that Squid has and that isn't built: one warning per type, however many lines. Types that nobody knows
    /// don't come here; `config` refuses them.
    fn not_yet(&mut self, line: &AclLine) -> Test {
        let message = format!(
            "acl type '{}' is not yet supported: allow rules with it never apply, deny rules always do",
            line.kind
        );
        let told = self
            .findings
            .problems
            .iter()
            .any(|problem| problem.message == message);
        if !told && !line.predefined {
            self.warn(Origin { line, file: None }, format_args!("{message}"));
        }
        Test::NotYet
    }

    fn fatal(&mut self, Origin { line, file }: Origin<'_>, message: fmt::Arguments<'_>) {
        self.findings.tell(Severity::Fatal, line, file, message);
    }

    fn warn(&mut self, Origin { line, file }: Origin<'_>, message: fmt::Arguments<'_>) {
        self.findings.tell(Severity::Warning, line, file, message);
    }
}

/// `0.5`, `1/3` or `3:5` (three times in against five times out) as a share of all `u64`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the share is within 0..=1 and `as` saturates"
)]
fn share(text: &str) -> Option<u64> {
    let number = |text: &str| {
        text.parse::<f64>()
            .ok()
            .filter(|number| *number >= 0.0 && number.is_finite())
    };
    let share = if let Some((part, whole)) = text.split_once('/') {
        number(part)? / number(whole)?
    } else if let Some((part, rest)) = text.split_once(':') {
        let (part, rest) = (number(part)?, number(rest)?);
        part / (part + rest)
    } else {
        number(text)?
    };
    (0.0..=1.0)
        .contains(&share)
        .then_some((share * u64::MAX as f64) as u64)
}

#[cfg(test)]
mod tests;
