//! What each code writes.

use wire::field::FieldId;
use wire::target::Target;

use crate::digits::{push_ip, push_number, push_number_wide};
use crate::log::{media_type, push_outcome, stripped};
use crate::record::{HopName, HopTalk, Record};

use super::code::Code;
use super::escape::Encoding;
use super::note;
use super::scene::Scene;
use super::time::{LocalTime, push_utc};
use super::{Argument, Piece};

/// A message of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Reply,
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clip {
    All,
    Head,
    Content,
}

/// How what was written is to be treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// May hold anything.
    Text,
    /// Padded with zeros where that is asked for; never cut.
    Number,
    /// Words of ours, with blanks that stay unless an encoding is named.
    Words,
    /// Written as it has to be.
    Ready,
}

/// Appends the value of a code; nothing when there is none.
pub(super) fn push(
    piece: &Piece,
    scene: &Scene<'_>,
    clock: &mut LocalTime,
    out: &mut Vec<u8>,
) -> Kind {
    let request = scene.request;
    let record = scene.record;
    let talk = record.map(|record| &record.talk);
    let mut text = |text: &[u8]| {
        out.extend_from_slice(text);
        Kind::Text
    };
    match piece.code {
        // The first two became text when they were compiled.
        Code::Percent | Code::Byte | Code::Absent => Kind::Text,
        Code::NoMark => text(b"0x0"),
        Code::NoHopMark if talk.is_some_and(|talk| talk.local.is_some()) => text(b"0x0"),
        Code::NoHopMark => Kind::Text,
        Code::Method => text(scene.method),
        Code::LoggedUrl if scene.whole_url => text(scene.url),
        Code::LoggedUrl => text(stripped(scene.method, scene.url)),
        Code::Url => text(scene.url),
        Code::AskedUrl => {
            let asked = request.and_then(|request| request.asked);
            text(asked.map_or(scene.url, Target::url))
        }
        Code::Version => text(scene.version.as_bytes()),
        Code::Scheme => text(request.map_or(b"", |request| request.target.scheme_name())),
        Code::Domain => text(request.map_or(b"", |request| request.target.host().as_bytes())),
        Code::Path => text(request.map_or(b"", |request| request.target.path())),
        Code::MediaType => text(media_type(
            record.map(Record::content_type).unwrap_or_default(),
        )),
        Code::Hierarchy => text(
            record
                .map_or("", |record| record.hierarchy.name())
                .as_bytes(),
        ),
        Code::ErrorPage => text(record.map_or("", Record::error_page).as_bytes()),
        Code::ErrorDetail => text(record.map_or("", |record| &record.error_detail).as_bytes()),
        Code::AclName => text(scene.acl.map_or("", |acl| acl.name).as_bytes()),
        Code::Login => text(scene.login().unwrap_or_default()),
        Code::ClientName => {
            let learnt = request.and_then(|request| request.learnt.client_name());
            match learnt {
                Some(name) if !name.is_empty() => text(name.as_bytes()),
                _ => ip(scene.client.ip(), out),
            }
        }
        Code::ClientIp => ip(scene.client.ip(), out),
        Code::ClientPort => number(u64::from(scene.client.port()), out),
        Code::LocalIp => request.map_or(Kind::Text, |it| ip(it.connection.local.ip(), out)),
        Code::LocalPort => request.map_or(Kind::Text, |it| {
            number(it.connection.local.port().into(), out)
        }),
        Code::Port => request.map_or(Kind::Text, |it| number(it.target.port().into(), out)),
        Code::ClientMac => mac(scene, out),
        Code::HopIp => match record.map(|record| &record.hop) {
            Some(HopName::Ip(address)) => ip(*address, out),
            _ => Kind::Text,
        },
        Code::HopName => match record.map(|record| &record.hop) {
            Some(HopName::Ip(address)) => ip(*address, out),
            Some(HopName::Host(host)) => text(host.as_bytes()),
            _ => Kind::Text,
        },
        Code::HopPort => known(there(talk.map(|talk| talk.port)), out),
        Code::HopLocalIp => {
            let local = talk.and_then(|talk| talk.local);
            local.map_or(Kind::Text, |local| ip(local.ip(), out))
        }
        Code::HopLocalPort => {
            let local = talk.and_then(|talk| talk.local);
            known(local.map(|local| local.port().into()), out)
        }
        Code::HopStatus => known(there(talk.map(|talk| talk.status)), out),
        Code::Attempts => known(talk.map(|talk| talk.attempts.into()), out),
        Code::HopAnswerTime => span(talk.and_then(HopTalk::answered_after_ns), piece, out),
        Code::Elapsed => span(record.map(Record::elapsed_ns), piece, out),
        Code::Seconds => number(scene.unix_ms.div_euclid(1000).try_into().unwrap_or(0), out),
        Code::Subsecond => {
            let digits = piece.length_max.unwrap_or(3);
            number(
                fraction(scene.unix_ms.rem_euclid(1000) * 1_000_000, digits),
                out,
            )
        }
        Code::StartTime => {
            let elapsed_ms = record.map_or(0, Record::elapsed_ms);
            let started = scene.unix_ms - i64::try_from(elapsed_ms).unwrap_or(0);
            let digits = piece.length_max.unwrap_or(3);
            push_number(out, started.div_euclid(1000).try_into().unwrap_or(0));
            out.push(b'.');
            let part = fraction(started.rem_euclid(1000) * 1_000_000, digits);
            push_number_wide(out, part, digits, b'0');
            Kind::Words
        }
        Code::LocalTime => {
            clock.push_local(scene.unix_ms, piece.form(), out);
            Kind::Words
        }
        Code::UtcTime => {
            push_utc(scene.unix_ms, piece.form(), out);
            Kind::Words
        }
        Code::AnyUser => match scene.login() {
            Some(user) => text(user),
            None => note::push_last(scene, "user", out),
        },
        Code::ExternalUser => note::push_last(scene, "user", out),
        Code::ExternalTag => note::push_last(scene, "tag", out),
        Code::ExternalLog => note::push_last(scene, "log", out),
        Code::Note => {
            note::push(scene, &piece.argument, out);
            Kind::Text
        }
        Code::Field(side) => field(side, scene, &piece.argument, out),
        Code::ClientStatus => number(record.map_or(0, |record| record.status.into()), out),
        Code::AllBytes => known(
            record.map(|record| record.request_bytes + record.sent_bytes()),
            out,
        ),
        Code::ClientBytes(Clip::Head) => known(request.map(head_bytes), out),
        Code::ClientBytes(_) => known(record.map(|record| record.request_bytes), out),
        Code::ReplyBytes(clip) => known(
            record.map(|record| match clip {
                Clip::All => record.sent_bytes(),
                Clip::Head => record.head_bytes,
                Clip::Content => record.body_bytes,
            }),
            out,
        ),
        Code::ResultTag => {
            if let Some(record) = record {
                push_outcome(out, record);
            }
            Kind::Text
        }
        Code::AclData => {
            data(piece.encoding, scene, out);
            Kind::Ready
        }
    }
}

fn ip(ip: std::net::IpAddr, out: &mut Vec<u8>) -> Kind {
    push_ip(out, ip);
    Kind::Text
}

fn number(number: u64, out: &mut Vec<u8>) -> Kind {
    push_number(out, number);
    Kind::Number
}

/// A number that is there; 0 shows as it is.
fn known(value: Option<u64>, out: &mut Vec<u8>) -> Kind {
    value.map_or(Kind::Text, |value| number(value, out))
}

/// A number that is 0 where there is none.
fn there(value: Option<u16>) -> Option<u64> {
    value.filter(|&value| value > 0).map(u64::from)
}

/// The first digits of a part of a second.
fn fraction(nanoseconds: i64, digits: usize) -> u64 {
    let nanoseconds = u64::try_from(nanoseconds).unwrap_or(0);
    (digits..9).fold(nanoseconds, |part, _| part / 10)
}

/// Milliseconds, with as many decimals as are asked for.
fn span(nanoseconds: Option<u64>, piece: &Piece, out: &mut Vec<u8>) -> Kind {
    let Some(nanoseconds) = nanoseconds else {
        return Kind::Text;
    };
    push_number(out, nanoseconds / 1_000_000);
    let digits = piece.length_max.unwrap_or(0).min(6);
    if digits > 0 {
        out.push(b'.');
        let part = (digits..6).fold(nanoseconds % 1_000_000, |part, _| part / 10);
        push_number_wide(out, part, digits, b'0');
    }
    Kind::Number
}

fn mac(scene: &Scene<'_>, out: &mut Vec<u8>) -> Kind {
    let learnt = scene
        .request
        .and_then(|request| request.learnt.client_mac());
    let address = learnt.flatten().unwrap_or_default();
    for (at, byte) in address.into_iter().enumerate() {
        if at > 0 {
            out.push(b':');
        }
        let digit = |nibble: u8| b"0123456789abcdef".get(usize::from(nibble));
        out.extend([byte >> 4, byte & 15].map(digit).into_iter().flatten());
    }
    Kind::Text
}

/// Bytes of the request's head.
fn head_bytes(request: &crate::flow::Received<'_>) -> u64 {
    let head = request.head;
    let line = head.method.as_str().len() + head.target().len() + " HTTP/1.1\r\n ".len();
    let fields = head.fields.iter();
    let fields = fields.map(|line| line.name.len() + line.value.len() + ": \r\n".len());
    (line + fields.sum::<usize>() + "\r\n".len()) as u64
}

/// Fields whose values let in whoever knows them. Shown to who asks for them by name, never with a whole head.
const SECRET: [FieldId; 4] = [
    FieldId::Authorization,
    FieldId::ProxyAuthorization,
    FieldId::Cookie,
    FieldId::SetCookie,
];

fn field(side: Side, scene: &Scene<'_>, argument: &Argument, out: &mut Vec<u8>) -> Kind {
    let fields = match side {
        Side::Request => scene.request.map(|request| &request.head.fields),
        Side::Reply => scene.reply.map(|reply| &reply.fields),
    };
    let Some(fields) = fields else {
        return Kind::Text;
    };
    match argument {
        Argument::Field { name, member: None } => {
            let mut values = fields.all_named(name.as_bytes());
            out.extend_from_slice(values.next().unwrap_or_default());
            for value in values {
                out.extend_from_slice(b", ");
                out.extend_from_slice(value);
            }
        }
        Argument::Field {
            name,
            member: Some((separator, member)),
        } => {
            let values = fields.all_named(name.as_bytes());
            let mut elements = values.flat_map(|value| value.split(|byte| byte == separator));
            let found = elements.find_map(|element| {
                let rest = element.trim_ascii().strip_prefix(member.as_bytes())?;
                rest.strip_prefix(b"=")
            });
            out.extend_from_slice(found.unwrap_or_default().trim_ascii());
        }
        _ => {
            if let (Side::Reply, Some(reply)) = (side, scene.reply) {
                out.extend_from_slice(b"HTTP/1.1 ");
                push_number(out, reply.status.into());
                out.push(b' ');
                out.extend_from_slice(reply.reason());
                out.extend_from_slice(b"\r\n");
            }
            for line in fields.iter() {
                out.extend_from_slice(line.name);
                out.extend_from_slice(b": ");
                out.extend_from_slice(if SECRET.contains(&line.id) {
                    b"***"
                } else {
                    line.value
                });
                out.extend_from_slice(b"\r\n");
            }
            if side == Side::Reply {
                out.extend_from_slice(b"\r\n");
            }
        }
    }
    Kind::Text
}

/// The words of an ACL, each one word for the helper.
fn data(encoding: Encoding, scene: &Scene<'_>, out: &mut Vec<u8>) {
    let Some(acl) = scene.acl else { return };
    for (at, word) in acl.data.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        let start = out.len();
        out.extend_from_slice(word.as_bytes());
        encoding.encode(out, start, usize::MAX);
    }
}
