//! From `acl` lines to tests. Lines of one name add up; what can't be used is a problem with its place.

use std::net::IpAddr;

use config::{AclLine, Place, Problem, Severity};
use hashbrown::HashMap;
use jiff::tz::TimeZone;

use super::address::{AddressSet, AddressValue};
use super::domain::DomainSet;
use super::ere;
use super::number::{PortSet, StatusSet};
use super::pattern::{Pattern, PatternSet};
use super::test::{Acl, Acls, FieldTest, MethodSet, Term, Test, field_of};
use super::time::TimeSet;

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
        problems: Vec::new(),
        environment,
    };
    for name in order {
        let lines = by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        let test = maker.test(lines);
        maker.acls.push(Acl {
            name: name.into(),
            test,
        });
    }
    (maker.acls, maker.problems)
}

struct Maker<'c> {
    acls: Acls,
    problems: Vec<Problem>,
    environment: &'c Environment<'c>,
}

/// A value and the line it stands on.
type Value<'c> = (&'c str, &'c AclLine);

impl Maker<'_> {
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
            "myportname" => Test::PortName(words(lines)),
            "method" => Test::Method(methods(lines)),
            "proto" => Test::Proto(words(lines)),
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
            "peername" => Test::PeerName(words(lines)),
            "hier_code" => Test::HierCode(words(lines)),
            "random" => self.random(lines),
            "any-of" => Test::AnyOf(lines.iter().flat_map(|line| self.terms(line)).collect()),
            "all-of" => Test::AllOf(lines.iter().map(|line| self.terms(line).into()).collect()),
            _ => self.not_yet(first),
        }
    }

    fn addresses(&mut self, lines: &[&AclLine], make: impl Fn(AddressSet) -> Test) -> Test {
        let mut spans = Vec::new();
        for (value, line) in values(lines) {
            match AddressValue::parse(value) {
                AddressValue::Spans(more, note) => {
                    spans.extend(more);
                    if let Some(note) = note {
                        self.tell(Severity::Warning, line, format!("'{value}': {note}"));
                    }
                }
                AddressValue::Name(name) => {
                    let found = (self.environment.resolve)(&name);
                    if found.is_empty() {
                        self.tell(
                            Severity::Error,
                            line,
                            format!("Bad host/IP: '{name}' has no address; it matches nothing"),
                        );
                    }
                    for ip in found {
                        if let AddressValue::Spans(more, _) = AddressValue::parse(&ip.to_string()) {
                            spans.extend(more);
                        }
                    }
                }
                AddressValue::Bad => {
                    self.tell(Severity::Fatal, line, format!("Bad host/IP: '{value}'"))
                }
            }
        }
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
        let mut set = DomainSet::default();
        for (value, line) in values(lines) {
            if value.starts_with("*.") {
                self.tell(
                    Severity::Warning,
                    line,
                    format!(
                        "'{value}' matches no name; write '{}'",
                        value.trim_start_matches('*')
                    ),
                );
            }
            if set.insert(value).is_err() {
                self.tell(Severity::Fatal, line, format!("Bad domain name: '{value}'"));
            }
        }
        set.shrink();
        set
    }

    fn ports(&mut self, lines: &[&AclLine]) -> PortSet {
        let mut set = PortSet::default();
        for (value, line) in values(lines) {
            if !set.insert(value) {
                self.tell(
                    Severity::Fatal,
                    line,
                    format!("Invalid port value: '{value}'"),
                );
            }
        }
        set
    }

    fn statuses(&mut self, lines: &[&AclLine]) -> StatusSet {
        let mut set = StatusSet::default();
        for (value, line) in values(lines) {
            if !set.insert(value) {
                self.tell(
                    Severity::Fatal,
                    line,
                    format!("Invalid status code: '{value}'"),
                );
            }
        }
        set
    }

    fn times(&mut self, lines: &[&AclLine]) -> Test {
        let mut set = TimeSet::default();
        for line in lines {
            if let Err(bad) = set.insert_line(line.values.iter().map(String::as_str)) {
                self.tell(Severity::Fatal, line, bad.to_string());
            }
        }
        Test::Time {
            set,
            zone: self.environment.zone.clone(),
        }
    }

    fn random(&mut self, lines: &[&AclLine]) -> Test {
        let Some((value, line)) = values(lines).last() else {
            return Test::Nothing;
        };
        if let Some(below) = share(value) {
            return Test::Random(below);
        }
        self.tell(
            Severity::Fatal,
            line,
            format!("Bad random value: '{value}'"),
        );
        Test::NotYet
    }

    /// The patterns of all lines; `-i` and `+i` hold from their place to the end of the line.
    fn patterns(&mut self, lines: &[&AclLine], make: impl Fn(PatternSet) -> Test) -> Test {
        match self.pattern_set(lines, 0) {
            Some(set) if set.is_empty() => Test::Nothing,
            Some(set) => make(set),
            None => Test::NotYet,
        }
    }

    fn pattern_set(&mut self, lines: &[&AclLine], skipped: usize) -> Option<PatternSet> {
        let mut patterns = Vec::new();
        let mut places: Vec<&AclLine> = Vec::new();
        for line in lines {
            let mut ignore_case = line.flags.iter().any(|flag| flag == "-i");
            for value in line.values.iter().skip(skipped) {
                match value.as_str() {
                    "-i" => ignore_case = true,
                    "+i" => ignore_case = false,
                    text => {
                        patterns.push(Pattern {
                            text: text.into(),
                            ignore_case,
                        });
                        places.push(line);
                    }
                }
            }
        }
        for (pattern, line) in patterns.iter().zip(&places) {
            if let Ok(Some(letter)) =
                ere::translate(&pattern.text).map(|translated| translated.letter_escape)
            {
                self.tell(
                    Severity::Warning,
                    line,
                    format!(
                        "'\\{letter}' in '{}' means the letter {letter}, as in every POSIX pattern",
                        pattern.text
                    ),
                );
            }
        }
        match PatternSet::build(&patterns) {
            Ok(set) => Some(set),
            Err(bad) => {
                if let Some(line) = places.get(bad.index).or(lines.first()) {
                    self.tell(
                        Severity::Fatal,
                        line,
                        format!("invalid regular expression: {bad}"),
                    );
                }
                None
            }
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
            match line.values.first() {
                Some(name) if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) => {
                    names.push(name)
                }
                Some(_) => {}
                None => self.tell(Severity::Fatal, line, "no header name".into()),
            }
        }
        let mut tests = Vec::new();
        for name in names {
            let named = |line: &&AclLine| {
                line.values
                    .first()
                    .is_some_and(|first| first.eq_ignore_ascii_case(name))
            };
            let own: Vec<&AclLine> = lines.iter().copied().filter(|line| named(line)).collect();
            let Some(patterns) = self.pattern_set(&own, 1) else {
                return Test::NotYet;
            };
            tests.push(FieldTest {
                name: name.into(),
                patterns,
            });
        }
        make(tests.into())
    }

    fn terms(&mut self, line: &AclLine) -> Vec<Term> {
        let mut terms = Vec::new();
        for value in &line.values {
            let (name, negated) = value
                .strip_prefix('!')
                .map_or((value.as_str(), false), |name| (name, true));
            match self.acls.find(name) {
                Some(acl) => terms.push(Term { acl, negated }),
                None => self.tell(Severity::Fatal, line, format!("ACL not found: {name}")),
            }
        }
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
            .problems
            .iter()
            .any(|problem| problem.message == message);
        if !told && !line.predefined {
            self.tell(Severity::Warning, line, message);
        }
        Test::NotYet
    }

    fn tell(&mut self, severity: Severity, line: &AclLine, message: String) {
        let text = format!(
            "acl {} {} {}",
            line.name,
            line.kind,
            line.values.first().map_or("", String::as_str)
        );
        self.problems
            .push(problem(severity, "acl", &line.place, message, text));
    }
}

/// A problem without a hint.
pub(crate) fn problem(
    severity: Severity,
    directive: &str,
    place: &Place,
    message: String,
    text: String,
) -> Problem {
    Problem {
        severity,
        place: place.clone(),
        directive: directive.into(),
        message,
        hint: String::new(),
        text,
        mark: None,
    }
}

fn values<'c>(lines: &'c [&'c AclLine]) -> impl Iterator<Item = Value<'c>> {
    lines
        .iter()
        .flat_map(|line| line.values.iter().map(move |value| (value.as_str(), *line)))
}

fn words(lines: &[&AclLine]) -> Box<[Box<str>]> {
    values(lines).map(|(value, _)| value.into()).collect()
}

fn methods(lines: &[&AclLine]) -> MethodSet {
    let mut set = MethodSet::default();
    values(lines).for_each(|(value, _)| set.insert(value));
    set
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
