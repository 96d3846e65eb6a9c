//! Why a message is refused, and with which status.

use thiserror::Error;

use super::lines::BadLines;

/// Why a request can't be accepted. The connection must be closed after the answer, as where the
/// next request would start is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadRequest {
    /// The request line isn't `method SP target SP version`.
    #[error("malformed request line")]
    RequestLine,
    /// The method is no token.
    #[error("invalid method")]
    Method,
    /// The method is longer than any we would forward.
    #[error("method too long")]
    MethodTooLong,
    /// White space or control characters in the request target.
    #[error("invalid character in the request target")]
    Target,
    /// The request line alone exceeds the limit for the head.
    #[error("request target too long")]
    TargetTooLong,
    /// Not `HTTP/` digit `.` digit.
    #[error("invalid protocol version")]
    Version,
    /// A major version other than 1.
    #[error("protocol version not supported")]
    UnsupportedVersion,
    /// A bare CR or LF where CRLF has to stand.
    #[error("line doesn't end with CRLF")]
    LineEnd,
    /// A field line without colon, with an invalid name, white space before the name or colon.
    #[error("invalid field name")]
    FieldName,
    /// A control character in a field value.
    #[error("invalid field value")]
    FieldValue,
    /// The head exceeds the limit in bytes.
    #[error("request head too large")]
    HeadTooLarge,
    /// The head exceeds the limit in lines.
    #[error("too many field lines")]
    TooManyFields,
    /// HTTP/1.1 without `Host`.
    #[error("Host is missing")]
    HostMissing,
    /// More than one `Host`.
    #[error("more than one Host")]
    HostRepeated,
    /// `Host` isn't `host [":" port]`.
    #[error("invalid Host")]
    HostInvalid,
    /// A name like `Content_Length`.
    #[error("field name resembles a framing field")]
    FramingLookalike,
    /// Both `Content-Length` and `Transfer-Encoding`.
    #[error("both Content-Length and Transfer-Encoding")]
    LengthAndCoding,
    /// `Content-Length` isn't digits, or differs between lines, or exceeds 2^63 − 1.
    #[error("invalid Content-Length")]
    ContentLength,
    /// `Transfer-Encoding` is malformed, repeated, or doesn't end with `chunked`.
    #[error("invalid Transfer-Encoding")]
    TransferEncoding,
    /// A transfer coding before `chunked` that we don't know.
    #[error("transfer coding not supported")]
    UnknownCoding,
    /// `Transfer-Encoding` in HTTP/1.0.
    #[error("Transfer-Encoding in HTTP/1.0")]
    CodingInOldVersion,
}

impl BadRequest {
    /// The status to answer with.
    pub const fn status(self) -> u16 {
        match self {
            Self::TargetTooLong => 414,
            Self::HeadTooLarge | Self::TooManyFields => 431,
            Self::MethodTooLong | Self::UnknownCoding => 501,
            Self::UnsupportedVersion => 505,
            Self::RequestLine
            | Self::Method
            | Self::Target
            | Self::Version
            | Self::LineEnd
            | Self::FieldName
            | Self::FieldValue
            | Self::HostMissing
            | Self::HostRepeated
            | Self::HostInvalid
            | Self::FramingLookalike
            | Self::LengthAndCoding
            | Self::ContentLength
            | Self::TransferEncoding
            | Self::CodingInOldVersion => 400,
        }
    }
}

impl From<BadLines> for BadRequest {
    fn from(bad: BadLines) -> Self {
        match bad {
            BadLines::Name => Self::FieldName,
            BadLines::Value => Self::FieldValue,
            BadLines::End => Self::LineEnd,
            BadLines::TooMany => Self::TooManyFields,
            BadLines::TooLarge => Self::HeadTooLarge,
        }
    }
}

/// Why a response can't be accepted; the client gets a 502 and the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadResponse {
    /// The bytes don't start with `HTTP/1.`: HTTP/0.9, or another protocol.
    #[error("not an HTTP/1 response")]
    NotHttp,
    /// The status line isn't `version SP 3DIGIT [SP reason]`, or the status is below 100.
    #[error("malformed status line")]
    StatusLine,
    /// A bare CR or LF where CRLF has to stand.
    #[error("line doesn't end with CRLF")]
    LineEnd,
    /// A field line without colon, with an invalid name, or white space before the first one.
    #[error("invalid field name")]
    FieldName,
    /// A control character in a field value.
    #[error("invalid field value")]
    FieldValue,
    /// The head exceeds the limit in bytes.
    #[error("response head too large")]
    HeadTooLarge,
    /// The head exceeds the limit in lines.
    #[error("too many field lines")]
    TooManyFields,
    /// Both `Content-Length` and `Transfer-Encoding`.
    #[error("both Content-Length and Transfer-Encoding")]
    LengthAndCoding,
    /// `Content-Length` isn't digits, or differs between lines, or exceeds 2^63 − 1.
    #[error("invalid Content-Length")]
    ContentLength,
    /// `Transfer-Encoding` is anything but one `chunked`.
    #[error("invalid Transfer-Encoding")]
    TransferEncoding,
    /// `Transfer-Encoding` in HTTP/1.0.
    #[error("Transfer-Encoding in HTTP/1.0")]
    CodingInOldVersion,
}

impl BadResponse {
    /// Is the head only too big (`ERR_TOO_BIG`), rather than malformed?
    pub const fn is_too_large(self) -> bool {
        matches!(self, Self::HeadTooLarge | Self::TooManyFields)
    }
}

impl From<BadLines> for BadResponse {
    fn from(bad: BadLines) -> Self {
        match bad {
            BadLines::Name => Self::FieldName,
            BadLines::Value => Self::FieldValue,
            BadLines::End => Self::LineEnd,
            BadLines::TooMany => Self::TooManyFields,
            BadLines::TooLarge => Self::HeadTooLarge,
        }
    }
}

/// Why a body can't be followed any further; neither side may be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadBody {
    /// No hex digits, more than 16 of them, or a size beyond 2^63 − 1.
    #[error("invalid chunk size")]
    ChunkSize,
    /// A malformed or oversized chunk extension.
    #[error("invalid chunk extension")]
    ChunkExtension,
    /// More than a bounded share of the body is chunk extensions.
    #[error("too many chunk extensions")]
    TooMuchOverhead,
    /// A bare CR or LF, or data beyond the chunk's size.
    #[error("CRLF expected")]
    LineEnd,
    /// A malformed trailer field.
    #[error("invalid trailer")]
    Trailer,
    /// Trailers exceed the limits of a head.
    #[error("trailers too large")]
    TrailerTooLarge,
    /// The connection ended before the body did.
    #[error("body cut short")]
    Cut,
}
