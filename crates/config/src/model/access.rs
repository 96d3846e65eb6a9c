//! ACL definitions and the lists of rules that use them. `rules` compiles them.

use super::values::Values;
use crate::problem::Place;

/// One `acl` line. Lines of the same name add up; they have the same kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclLine {
    /// Name that rules use.
    pub name: String,
    /// Type in its modern spelling: `localip` for `myip`, and so on.
    pub kind: String,
    /// Options before the values: `-i`, `+i`, `-n`, `-m=,`, `--client-requested`.
    pub flags: Vec<String>,
    /// Values in order. Among those of regular expressions, `-i` and `+i` hold for the ones that follow.
    pub values: Values,
    /// True for the ACLs that exist without a line in the file.
    pub predefined: bool,
    /// Where it is written.
    pub place: Place,
}

/// An ACL named in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclRef {
    /// Name of a defined ACL.
    pub name: String,
    /// Written as `!name`.
    pub negated: bool,
}

/// One `allow` or `deny` line. It applies when all its ACLs match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRule {
    /// `allow` rather than `deny`.
    pub allow: bool,
    /// ACLs in order; none means: always.
    pub acls: Vec<AclRef>,
    /// Where it is written.
    pub place: Place,
}

/// One line of `request_header_access` or `reply_header_access`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderAccess {
    /// Field name as written, or `All`, or `Other` (fields without a rule of their own).
    pub header: String,
    /// May the field pass?
    pub rule: AccessRule,
}

/// One line of `request_header_replace` or `reply_header_replace`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderReplace {
    /// Field name as written.
    pub header: String,
    /// Value that takes the place of a denied one.
    pub value: String,
    /// Where it is written.
    pub place: Place,
}

/// One line of `request_header_add` or `reply_header_add`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderAdd {
    /// Field name as written.
    pub name: String,
    /// Value; logformat codes are expanded when `quoted`.
    pub value: String,
    /// The value was written in double quotes.
    pub quoted: bool,
    /// Added when all match; none means: always.
    pub acls: Vec<AclRef>,
    /// Where it is written.
    pub place: Place,
}

/// One line of `http_upgrade_request_protocols`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeRule {
    /// Protocol as in the Upgrade field, or `OTHER`.
    pub protocol: String,
    /// May it be switched to?
    pub rule: AccessRule,
}

/// A size that holds when the ACLs match: `range_offset_limit` and `reply_body_max_size`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeRule {
    /// Bytes; `None` is no limit.
    pub bytes: Option<u64>,
    /// All must match; none means: always.
    pub acls: Vec<AclRef>,
    /// Where it is written.
    pub place: Place,
}

/// One `tcp_outgoing_address` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingAddress {
    /// Local address of the connection.
    pub addr: std::net::IpAddr,
    /// All must match; none means: always.
    pub acls: Vec<AclRef>,
    /// Where it is written.
    pub place: Place,
}
