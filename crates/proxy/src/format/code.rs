//! The `%` codes of Squid, one row each.

use super::value::{Clip, Side};

/// What a code stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// `%%`
    Percent,
    /// `%byte{N}`
    Byte,
    ClientIp,
    ClientName,
    ClientPort,
    ClientMac,
    LocalIp,
    LocalPort,
    HopIp,
    HopName,
    HopPort,
    HopLocalIp,
    HopLocalPort,
    /// A mark or type of service that no socket has.
    NoMark,
    /// The same of a connection to a hop, if there was one.
    NoHopMark,
    /// Seconds since 1970.
    Seconds,
    /// The part of a second.
    Subsecond,
    LocalTime,
    UtcTime,
    StartTime,
    Elapsed,
    HopAnswerTime,
    /// Whoever the client is known to be.
    AnyUser,
    Login,
    ExternalUser,
    ExternalTag,
    ExternalLog,
    Method,
    /// The URL that is logged: without its query unless that is asked for.
    LoggedUrl,
    /// As the client sent it, whatever a rewriter made of it.
    AskedUrl,
    Url,
    Scheme,
    Domain,
    Port,
    Path,
    Version,
    Field(Side),
    ClientStatus,
    HopStatus,
    MediaType,
    AllBytes,
    ClientBytes(Clip),
    ReplyBytes(Clip),
    ResultTag,
    Hierarchy,
    ErrorPage,
    ErrorDetail,
    Note,
    Attempts,
    AclName,
    AclData,
    /// What belongs to a part of the proxy that isn't there, or to no part any more.
    Absent,
}

/// A name of a code.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) code: Code,
    /// Must have an argument in braces.
    pub(super) needs_argument: bool,
}

const fn row(name: &'static str, code: Code) -> Row {
    Row {
        name,
        code,
        needs_argument: false,
    }
}

const fn with(name: &'static str, code: Code) -> Row {
    Row {
        name,
        code,
        needs_argument: true,
    }
}

const fn absent(name: &'static str) -> Row {
    row(name, Code::Absent)
}

/// All codes of `logformat`, of Squid 2.6 to 8; `http::` may stand before any.
pub(super) const TABLE: &[Row] = &[
    row("%", Code::Percent),
    with("byte", Code::Byte),
    row(">a", Code::ClientIp),
    row(">A", Code::ClientName),
    row(">p", Code::ClientPort),
    row(">eui", Code::ClientMac),
    row(">la", Code::LocalIp),
    row(">lp", Code::LocalPort),
    row("la", Code::LocalIp),
    row("lp", Code::LocalPort),
    row("<a", Code::HopIp),
    row("<A", Code::HopName),
    row("<p", Code::HopPort),
    row("<la", Code::HopLocalIp),
    row("oa", Code::HopLocalIp),
    row("<lp", Code::HopLocalPort),
    row(">qos", Code::NoMark),
    row("<qos", Code::NoHopMark),
    row(">nfmark", Code::NoMark),
    row("<nfmark", Code::NoHopMark),
    absent(">handshake"),
    absent("transport::>connection_id"),
    row("ts", Code::Seconds),
    row("tu", Code::Subsecond),
    row("tl", Code::LocalTime),
    row("tg", Code::UtcTime),
    row("tS", Code::StartTime),
    row("tr", Code::Elapsed),
    row("busy_time", Code::Elapsed),
    row("<tt", Code::HopAnswerTime),
    row("<pt", Code::HopAnswerTime),
    absent("dt"),
    row("un", Code::AnyUser),
    row("ul", Code::Login),
    row("ue", Code::ExternalUser),
    row("et", Code::ExternalTag),
    row("ea", Code::ExternalLog),
    absent("ui"),
    absent("us"),
    absent("credentials"),
    row("rm", Code::Method),
    row(">rm", Code::Method),
    row("<rm", Code::Method),
    row("ru", Code::LoggedUrl),
    row(">ru", Code::AskedUrl),
    row("<ru", Code::Url),
    row(">rs", Code::Scheme),
    row("<rs", Code::Scheme),
    row(">rd", Code::Domain),
    row("<rd", Code::Domain),
    row(">rP", Code::Port),
    row("<rP", Code::Port),
    row("rp", Code::Path),
    row(">rp", Code::Path),
    row("<rp", Code::Path),
    row("rv", Code::Version),
    row(">rv", Code::Version),
    row("<rv", Code::Version),
    row(">v", Code::Version),
    absent("rG"),
    row(">h", Code::Field(Side::Request)),
    row(">ha", Code::Field(Side::Request)),
    row("<h", Code::Field(Side::Reply)),
    row("h", Code::Field(Side::Request)),
    row(">Hs", Code::ClientStatus),
    row("Hs", Code::ClientStatus),
    row("<Hs", Code::HopStatus),
    row("mt", Code::MediaType),
    row("st", Code::AllBytes),
    row(">st", Code::ClientBytes(Clip::All)),
    row(">sh", Code::ClientBytes(Clip::Head)),
    row("<st", Code::ReplyBytes(Clip::All)),
    row("<sh", Code::ReplyBytes(Clip::Head)),
    row("<sH", Code::ReplyBytes(Clip::Content)),
    absent("<sS"),
    absent("<bs"),
    row("Ss", Code::ResultTag),
    row("Sh", Code::Hierarchy),
    absent("sn"),
    row("err_code", Code::ErrorPage),
    row("err_detail", Code::ErrorDetail),
    row("note", Code::Note),
    absent("master_xaction"),
    row("request_attempts", Code::Attempts),
    row("ACL", Code::AclName),
    row("DATA", Code::AclData),
    absent("proxy_protocol::>h"),
];

/// What only `external_acl_type` knows, from before it had the codes of `logformat`.
pub(super) const LEGACY: &[Row] = &[
    row("SRC", Code::ClientIp),
    row("SRCPORT", Code::ClientPort),
    row("SRCEUI48", Code::ClientMac),
    absent("SRCEUI64"),
    row("MYADDR", Code::LocalIp),
    row("MYPORT", Code::LocalPort),
    row("DST", Code::Domain),
    row("PORT", Code::Port),
    row("PROTO", Code::Scheme),
    row("PATH", Code::Path),
    row("METHOD", Code::Method),
    row("URI", Code::Url),
    row("LOGIN", Code::Login),
    absent("IDENT"),
    row("EXT_USER", Code::ExternalUser),
    row("EXT_LOG", Code::ExternalLog),
    row("EXT_TAG", Code::ExternalTag),
    row("TAG", Code::ExternalTag),
    absent("USER_CERTCHAIN"),
    absent("USER_CERT"),
    absent("USER_CERT_"),
    absent("USER_CA_CERT_"),
    absent("CA_CERT_"),
    absent("USER_CA_"),
];

/// Codes of parts that are still to come: whatever follows these belongs to them.
pub(super) const ABSENT_NAMES: &[&str] = &[
    "ssl::",
    "tls::",
    "adapt::",
    "icap::",
    "proxy_protocol::",
    "transport::",
];

/// The row with the longest name that `text` begins with.
pub(super) fn find(table: &'static [Row], text: &str) -> Option<&'static Row> {
    let fitting = table.iter().filter(|row| text.starts_with(row.name));
    fitting.max_by_key(|row| row.name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        for table in [TABLE, LEGACY] {
            for row in table {
                assert_eq!(find(table, row.name).map(|row| row.name), Some(row.name));
                let same = table.iter().filter(|other| other.name == row.name);
                assert_eq!(same.count(), 1, "{}", row.name);
            }
        }
    }

    #[test]
    fn the_longest_name_counts() {
        let code = |text| find(TABLE, text).map(|row| row.name);
        assert_eq!(code("st/x"), Some("st"));
        assert_eq!(code(">ha{X}"), Some(">ha"));
        assert_eq!(code("stuff"), Some("st"));
        assert_eq!(code("q"), None);
    }
}
