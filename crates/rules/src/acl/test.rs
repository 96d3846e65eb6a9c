//! What an ACL asks of the facts, and how it answers. Facts that are missing become questions; an ACL of a type
//! that isn't built yet says [`Verdict::Unknown`], and rules read that against the client.

use std::net::IpAddr;

use hashbrown::HashSet;
use http::Method;
use jiff::tz::TimeZone;
use memchr::memchr;
use smallvec::SmallVec;
use wire::{FieldId, Fields};

use super::address::AddressSet;
use super::domain::DomainSet;
use super::method::MethodSet;
use super::named::{Acls, Memo, Term, Verdict};
use super::note::{Annotation, NoteTest};
use super::number::{PortSet, StatusSet};
use super::pattern::PatternSet;
use super::time::TimeSet;
use super::user::{UserSet, eui64};
use crate::facts::{Facts, Question};

/// A field and the patterns for its value.
#[derive(Debug)]
pub(crate) struct FieldTest {
    pub(crate) name: Box<str>,
    pub(crate) patterns: PatternSet,
    /// A message without the field has an empty one: so it is with media types.
    pub(crate) or_empty: bool,
}

/// What is asked, by ACL type.
#[derive(Debug)]
pub(crate) enum Test {
    /// `src all` and the like.
    Everything,
    /// No value can match.
    Nothing,
    Src(AddressSet),
    Dst {
        set: AddressSet,
        lookup: bool,
    },
    LocalIp(AddressSet),
    Port(PortSet),
    LocalPort(PortSet),
    PortName(Box<[Box<str>]>),
    Method(MethodSet),
    Proto(Box<[Box<str>]>),
    DstDomain {
        set: DomainSet,
        lookup: bool,
    },
    SrcDomain(DomainSet),
    DstDomRegex {
        set: PatternSet,
        lookup: bool,
    },
    SrcDomRegex(PatternSet),
    UrlRegex(PatternSet),
    UrlPathRegex(PatternSet),
    RequestField(Box<[FieldTest]>),
    ReplyField(Box<[FieldTest]>),
    Status(StatusSet),
    Time {
        set: TimeSet,
        zone: TimeZone,
    },
    PeerName(Box<[Box<str>]>),
    PeerNameRegex(PatternSet),
    HierCode(Box<[Box<str>]>),
    User(UserSet),
    UserRegex(PatternSet),
    /// `ext_user`: whom an external ACL named.
    ExternalUser(UserSet),
    ExternalUserRegex(PatternSet),
    /// `tag`: what an external ACL said.
    Tag(Box<[Box<str>]>),
    External {
        class: Box<str>,
        args: Box<[Box<str>]>,
    },
    Note(Box<[NoteTest]>),
    /// Always matches; notes something of the transaction, or of the client's connection too.
    Annotate {
        notes: Box<[Annotation]>,
        client: bool,
    },
    /// The client's address has more connections.
    Connections(u32),
    /// The user logs in from more addresses.
    UserAddresses(u32),
    Mac(HashSet<[u8; 6]>),
    Eui64(HashSet<[u8; 8]>),
    UrlLogin(PatternSet),
    /// Names of error pages.
    Error(Box<[Box<str>]>),
    /// `snmp_community`
    Community(Box<[Box<str>]>),
    /// `has response`
    HasReply,
    /// Matches when the luck of the transaction lies below.
    Random(u64),
    AnyOf(Box<[Term]>),
    /// Lines of which one must match whole.
    AllOf(Box<[Box<[Term]>]>),
    /// A type that isn't built yet.
    NotYet,
}

/// The word that stands for a name that could not be learnt.
const NO_NAME: &str = "none";

impl Test {
    /// Is it worth remembering the answer?
    pub(super) fn is_costly(&self) -> bool {
        matches!(
            self,
            Self::DstDomRegex { .. }
                | Self::SrcDomRegex(_)
                | Self::UrlRegex(_)
                | Self::UrlPathRegex(_)
                | Self::RequestField(_)
                | Self::ReplyField(_)
                | Self::UserRegex(_)
                | Self::ExternalUserRegex(_)
                | Self::Time { .. }
                | Self::AnyOf(_)
                | Self::AllOf(_)
        )
    }

    /// Does asking do more than answer? It annotates, asks a helper or makes the client log in; groups may.
    pub(crate) fn leaves_a_trace(&self) -> bool {
        matches!(
            self,
            Self::Annotate { .. }
                | Self::External { .. }
                | Self::User(_)
                | Self::UserRegex(_)
                | Self::UserAddresses(_)
                | Self::AnyOf(_)
                | Self::AllOf(_)
        )
    }

    pub(super) fn check(
        &self,
        index: u32,
        acls: &Acls,
        facts: &Facts<'_>,
        memo: &mut Memo,
    ) -> Verdict {
        let target = facts.target;
        Verdict::of(match self {
            Self::Everything => true,
            Self::Nothing => false,
            Self::Src(set) => set.contains(facts.client),
            Self::Dst { set, lookup } => return destination(set, *lookup, facts),
            Self::LocalIp(set) => set.contains(facts.local.ip()),
            Self::Port(set) => set.contains(target.port()),
            Self::LocalPort(set) => set.contains(facts.local.port()),
            Self::PortName(names) => names.iter().any(|name| **name == *facts.port_name),
            Self::Method(set) => set.contains(facts.method),
            Self::Proto(names) => {
                let scheme = target.scheme_name();
                let scheme = if scheme.is_empty() {
                    NO_NAME.as_bytes()
                } else {
                    scheme
                };
                names
                    .iter()
                    .any(|name| name.as_bytes().eq_ignore_ascii_case(scheme))
            }
            Self::DstDomain { set, lookup } => {
                return named_target(*lookup, facts, |name| set.contains(name));
            }
            Self::DstDomRegex { set, lookup } => {
                return named_target(*lookup, facts, |name| {
                    // Patterns see an IPv6 address as it stands in a URL.
                    if name.contains(':') {
                        set.is_match(format!("[{name}]").as_bytes())
                    } else {
                        set.is_match(name.as_bytes())
                    }
                });
            }
            Self::SrcDomain(set) => return named_client(facts, |name| set.contains(name)),
            Self::SrcDomRegex(set) => {
                return named_client(facts, |name| set.is_match(name.as_bytes()));
            }
            Self::UrlRegex(set) => decoded(target.url(), |text| set.is_match(text)),
            Self::UrlPathRegex(set) => {
                *facts.method != Method::CONNECT
                    && decoded(target.path(), |text| set.is_match(text))
            }
            Self::RequestField(fields) => any_field(fields, facts.request),
            Self::ReplyField(fields) => facts
                .reply
                .is_some_and(|reply| any_field(fields, reply.fields)),
            Self::Status(set) => facts.reply.is_some_and(|reply| set.contains(reply.status)),
            Self::Time { set, zone } => set.contains(facts.now, zone),
            Self::PeerName(names) => {
                let peer = facts.hop.and_then(|hop| hop.peer);
                peer.is_some_and(|peer| names.iter().any(|name| **name == *peer))
            }
            Self::PeerNameRegex(set) => facts
                .hop
                .and_then(|hop| hop.peer)
                .is_some_and(|peer| set.is_match(peer.as_bytes())),
            Self::HierCode(names) => {
                let code = facts.hop.map_or("HIER_NONE", |hop| hop.code);
                names.iter().any(|name| name.eq_ignore_ascii_case(code))
            }
            Self::User(set) => return user(facts, |user| set.contains(user)),
            Self::UserRegex(set) => return user(facts, |user| set.is_match(user.as_bytes())),
            Self::ExternalUser(set) => noted(facts, EXTERNAL_USER, |user| set.contains(user)),
            Self::ExternalUserRegex(set) => {
                noted(facts, EXTERNAL_USER, |user| set.is_match(user.as_bytes()))
            }
            Self::Tag(tags) => noted(facts, "tag", |tag| tags.iter().any(|known| **known == *tag)),
            Self::External { .. } => return external(index, facts),
            Self::Note(tests) => tests.iter().any(|test| test.matches(facts.learnt)),
            Self::Annotate { notes, client } => {
                annotate(index, notes, *client, facts);
                true
            }
            Self::Connections(most) => match facts.learnt.client_connections() {
                None => return Verdict::Ask(Question::ClientConnections),
                Some(count) => count > *most,
            },
            Self::UserAddresses(most) => return user_addresses(*most, facts),
            Self::Mac(set) => match facts.learnt.client_mac() {
                None => return Verdict::Ask(Question::ClientMac),
                Some(mac) => mac.is_some_and(|mac| set.contains(&mac)),
            },
            Self::Eui64(set) => eui64(facts.client).is_some_and(|eui| set.contains(&eui)),
            Self::UrlLogin(set) => {
                let login = target.user_info();
                !login.is_empty() && decoded(login, |text| set.is_match(text))
            }
            Self::Error(names) => facts
                .error
                .is_some_and(|error| names.iter().any(|name| **name == *error)),
            Self::Community(known) => match facts.community {
                // A request isn't a question by SNMP: it must not open anything.
                None => return Verdict::Unknown,
                Some(said) => known.iter().any(|community| community.as_bytes() == said),
            },
            Self::HasReply => facts.reply.is_some(),
            Self::Random(below) => spread(facts.luck ^ u64::from(index)) < *below,
            Self::AnyOf(terms) => return acls.check_any(terms, facts, memo),
            Self::AllOf(lines) => return acls.check_lines(lines, facts, memo),
            Self::NotYet => return Verdict::Unknown,
        })
    }
}

fn annotate(index: u32, notes: &[Annotation], client: bool, facts: &Facts<'_>) {
    if !facts.learnt.may_annotate(index) {
        return;
    }
    // Filled in before any is made: codes may show other notes.
    let values: SmallVec<[_; 2]> = notes.iter().map(|note| note.value(facts.codes)).collect();
    facts.learnt.annotate(client, |own| {
        for (note, value) in notes.iter().zip(&values) {
            note.make(value, own);
        }
    });
}

/// `dst`: any address of the target's host is in the set; with `-n` only an address in the URL counts.
fn destination(set: &AddressSet, lookup: bool, facts: &Facts<'_>) -> Verdict {
    if let Some(ip) = facts.connecting_to.or_else(|| facts.target.host_ip()) {
        return Verdict::of(set.contains(ip));
    }
    match facts.learnt.destination() {
        _ if !lookup => Verdict::NoMatch,
        None => Verdict::Ask(Question::Destination),
        Some(addresses) => Verdict::of(addresses.iter().any(|ip: &IpAddr| set.contains(*ip))),
    }
}

/// The target's host as written; if that is an address, also its name, asked for unless `-n` was given.
fn named_target(lookup: bool, facts: &Facts<'_>, matches: impl Fn(&str) -> bool) -> Verdict {
    let target = facts.target;
    let host = target.host();
    if matches(host.strip_suffix('.').unwrap_or(host)) {
        return Verdict::Match;
    }
    match facts.learnt.destination_name() {
        _ if !lookup || target.host_ip().is_none() => Verdict::NoMatch,
        None => Verdict::Ask(Question::DestinationName),
        Some("") => Verdict::of(matches(NO_NAME)),
        Some(name) => Verdict::of(matches(name)),
    }
}

fn named_client(facts: &Facts<'_>, matches: impl Fn(&str) -> bool) -> Verdict {
    match facts.learnt.client_name() {
        None => Verdict::Ask(Question::ClientName),
        Some("") => Verdict::of(matches(NO_NAME)),
        Some(name) => Verdict::of(matches(name)),
    }
}

/// The annotation in which an external ACL names the user.
const EXTERNAL_USER: &str = "user";

/// The latest annotation of the name; without one nothing matches.
fn noted(facts: &Facts<'_>, name: &str, matches: impl Fn(&str) -> bool) -> bool {
    let found = facts
        .learnt
        .notes(|notes| notes.last(name).is_some_and(matches));
    found.unwrap_or(false)
}

fn user(facts: &Facts<'_>, matches: impl Fn(&str) -> bool) -> Verdict {
    match facts.learnt.user() {
        None => Verdict::Ask(Question::User),
        Some(user) => Verdict::of(matches(user)),
    }
}

fn external(index: u32, facts: &Facts<'_>) -> Verdict {
    match facts.learnt.external(index) {
        Some(matches) => Verdict::of(matches),
        None if facts.learnt.is_external_unknown(index) => Verdict::Unknown,
        None => Verdict::Ask(Question::External(index)),
    }
}

fn user_addresses(most: u32, facts: &Facts<'_>) -> Verdict {
    match (facts.learnt.user(), facts.learnt.user_addresses()) {
        (None, _) => Verdict::Ask(Question::User),
        (Some(_), None) => Verdict::Ask(Question::UserAddresses),
        (Some(_), Some(count)) => Verdict::of(count > most),
    }
}

fn any_field(tests: &[FieldTest], fields: &Fields) -> bool {
    tests.iter().any(|test| {
        let mut values = fields.all_named(test.name.as_bytes());
        let Some(first) = values.next() else {
            return test.or_empty && test.patterns.is_match(b"");
        };
        let Some(second) = values.next() else {
            return test.patterns.is_match(first);
        };
        // Several lines are one list (RFC 9110 §5.3).
        let mut joined: SmallVec<[u8; 256]> = SmallVec::from_slice(first);
        for value in std::iter::once(second).chain(values) {
            joined.extend_from_slice(b", ");
            joined.extend_from_slice(value);
        }
        test.patterns.is_match(&joined)
    })
}

/// Squid's decoding before URL patterns: `%%` is a percent sign, `%00` and broken escapes stay.
fn decoded(text: &[u8], mut matches: impl FnMut(&[u8]) -> bool) -> bool {
    let Some(first) = memchr(b'%', text) else {
        return matches(text);
    };
    let mut out: SmallVec<[u8; 512]> = SmallVec::from_slice(text.get(..first).unwrap_or_default());
    let mut rest = text.get(first..).unwrap_or_default();
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |at: usize| {
            after
                .get(at)
                .and_then(|byte| char::from(*byte).to_digit(16))
        };
        let (value, length) = match (byte, after.first()) {
            (b'%', Some(b'%')) => (byte, 1),
            (b'%', _) => match (digit(0), digit(1)) {
                (Some(high), Some(low)) if high + low > 0 => {
                    (u8::try_from(high * 16 + low).unwrap_or(byte), 2)
                }
                _ => (byte, 0),
            },
            _ => (byte, 0),
        };
        out.push(value);
        rest = after.get(length..).unwrap_or_default();
    }
    matches(&out)
}

/// Spreads the luck of a transaction over the `random` ACLs it meets (SplitMix64).
fn spread(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// The value of a request or reply field that an ACL type of its own looks at.
pub(crate) fn field_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "browser" => FieldId::UserAgent.name(),
        "referer_regex" | "referrer_regex" => FieldId::Referer.name(),
        "req_mime_type" | "rep_mime_type" => FieldId::ContentType.name(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
