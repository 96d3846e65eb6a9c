//! Where a message ends (RFC 9112 §6). Decided once per message, from the parsed head.

use http::Method;

use super::{BadRequest, BadResponse, RequestHead, ResponseHead, Version};
use crate::{FieldId, Fields, chars};

/// How the body of a message is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body: the message ends with its head.
    None,
    /// So many bytes; may be 0.
    Length(u64),
    /// Chunked transfer coding.
    Chunked,
    /// A response that ends when the connection does.
    UntilClose,
    /// No message any more: bytes both ways, after CONNECT or 101.
    Tunnel,
}

/// What the framing fields of a head say.
enum Declared {
    Nothing,
    Length(u64),
    Chunked,
    /// By codings that we don't know, and without chunks.
    Coded,
}

/// What is wrong with the framing fields.
enum Fault {
    Both,
    Length,
    Coding,
    UnknownCoding,
    OldVersion,
}

/// Framing of a request (RFC 9112 §6.3).
///
/// `Content-Length` with `Transfer-Encoding` is refused, although the RFC allows to go by the
/// latter: whoever sends both wants two recipients to disagree.
///
/// # Errors
/// When the framing fields are malformed or contradict each other.
pub fn request_framing(head: &RequestHead) -> Result<Framing, BadRequest> {
    match declared(head.version, &head.fields) {
        Ok(Declared::Nothing) => Ok(Framing::None),
        Ok(Declared::Length(length)) => Ok(Framing::Length(length)),
        Ok(Declared::Chunked) => Ok(Framing::Chunked),
        Ok(Declared::Coded) => Err(BadRequest::TransferEncoding),
        Err(Fault::Both) => Err(BadRequest::LengthAndCoding),
        Err(Fault::Length) => Err(BadRequest::ContentLength),
        Err(Fault::Coding) => Err(BadRequest::TransferEncoding),
        Err(Fault::UnknownCoding) => Err(BadRequest::UnknownCoding),
        Err(Fault::OldVersion) => Err(BadRequest::CodingInOldVersion),
    }
}

/// Framing of a response to a request with this method (RFC 9112 §6.3).
///
/// Framing fields of 1xx, 204 and of a 2xx to CONNECT mean nothing and must not be passed on;
/// those of HEAD and 304 describe another response, but still have to be valid. Whether a 101 was
/// asked for is the caller's to know.
///
/// # Errors
/// When the framing fields are malformed or contradict each other.
pub fn response_framing(
    request_method: &Method,
    head: &ResponseHead,
) -> Result<Framing, BadResponse> {
    match head.status {
        101 => return Ok(Framing::Tunnel),
        100..=199 | 204 => return Ok(Framing::None),
        200..=299 if *request_method == Method::CONNECT => return Ok(Framing::Tunnel),
        _ => {}
    }
    let declared = declared(head.version, &head.fields).map_err(|fault| match fault {
        Fault::Both => BadResponse::LengthAndCoding,
        Fault::Length => BadResponse::ContentLength,
        Fault::Coding | Fault::UnknownCoding => BadResponse::TransferEncoding,
        Fault::OldVersion => BadResponse::CodingInOldVersion,
    })?;
    if head.status == 304 || *request_method == Method::HEAD {
        return Ok(Framing::None);
    }
    Ok(match declared {
        Declared::Nothing | Declared::Coded => Framing::UntilClose,
        Declared::Length(length) => Framing::Length(length),
        Declared::Chunked => Framing::Chunked,
    })
}

fn declared(version: Version, fields: &Fields) -> Result<Declared, Fault> {
    let mut length = None;
    let mut coding = None;
    for line in fields.iter() {
        match line.id {
            // The parser has merged equal lengths: a second one differs.
            FieldId::ContentLength if length.replace(line.value).is_some() => {
                return Err(Fault::Length);
            }
            FieldId::TransferEncoding if coding.replace(line.value).is_some() => {
                return Err(Fault::Coding);
            }
            _ => {}
        }
    }
    match (length, coding) {
        (None, None) => Ok(Declared::Nothing),
        (Some(_), Some(_)) => Err(Fault::Both),
        (Some(length), None) => parse_length(length)
            .map(Declared::Length)
            .ok_or(Fault::Length),
        (None, Some(_)) if version == Version::H10 => Err(Fault::OldVersion),
        (None, Some(coding)) => parse_coding(coding),
    }
}

/// Digits only, up to 2^63 − 1: what lies above is an attack on someone's integers.
fn parse_length(value: &[u8]) -> Option<u64> {
    chars::decimal(value).filter(|&length| i64::try_from(length).is_ok())
}

/// Codings that a response has been sent with, which aren't ours to undo: its content can only be
/// passed on as it is, with this field. Only after [`response_framing`] has found no fault.
pub fn kept_coding(fields: &Fields) -> Option<&[u8]> {
    let coding = fields.get(FieldId::TransferEncoding)?;
    (!coding.eq_ignore_ascii_case(b"chunked")).then_some(coding)
}

/// Exactly `chunked`. A list of plain tokens names codings we don't know; only with `chunked` at its
/// end has it an end of its own, and only without any likeness of it does nobody take it for chunked.
fn parse_coding(value: &[u8]) -> Result<Declared, Fault> {
    if value.eq_ignore_ascii_case(b"chunked") {
        return Ok(Declared::Chunked);
    }
    let codings = || value.rsplit(|&byte| byte == b',').map(chars::trim_ows);
    let like = |coding: &[u8], word: &[u8]| {
        coding
            .windows(word.len())
            .any(|part| part.eq_ignore_ascii_case(word))
    };
    let is_plain = |coding: &[u8]| chars::is_token(coding) && !like(coding, b"chunked");
    if codings().all(|coding| is_plain(coding) && !coding.eq_ignore_ascii_case(b"identity")) {
        return Ok(Declared::Coded);
    }
    let mut codings = codings();
    let last = codings.next().unwrap_or_default();
    Err(
        if last.eq_ignore_ascii_case(b"chunked") && codings.all(is_plain) {
            Fault::UnknownCoding
        } else {
            Fault::Coding
        },
    )
}

#[cfg(test)]
mod tests;
