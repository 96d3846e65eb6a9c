//! ACL types, the `acl` directive, and the rules that name ACLs.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::model::access::{AccessRule, AclLine, AclRef};
use crate::model::values::Values;
use crate::problem::Place;
use crate::read::Draft;
use crate::readers::external;
use crate::text::line::{Line, Outcome};

/// An ACL type as `acl` lines write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name in the newest Squid that has it.
    pub name: &'static str,
    /// Older names.
    pub aliases: &'static [&'static str],
    /// How its values are written.
    pub values: Syntax,
}

/// How the values of an ACL type are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Words.
    Words,
    /// Regular expressions; `-i` and `+i` between them hold for those that follow.
    Regex,
    /// A header name, then regular expressions.
    HeaderRegex,
    /// Names of ACLs, perhaps negated.
    AclNames,
    /// As `Words`; newer Squids no longer have the type.
    Removed,
}

const fn kind(name: &'static str, aliases: &'static [&'static str], values: Syntax) -> Kind {
    Kind {
        name,
        aliases,
        values,
    }
}

/// Every ACL type of Squid 2.5 to 8.
#[rustfmt::skip]
pub const KINDS: &[Kind] = &[
    kind("src", &[], Syntax::Words),
    kind("dst", &[], Syntax::Words),
    kind("localip", &["myip"], Syntax::Words),
    kind("arp", &[], Syntax::Words),
    kind("eui64", &[], Syntax::Words),
    kind("srcdomain", &[], Syntax::Words),
    kind("srcdom_regex", &[], Syntax::Regex),
    kind("dstdomain", &[], Syntax::Words),
    kind("dstdom_regex", &[], Syntax::Regex),
    kind("url_regex", &[], Syntax::Regex),
    kind("urlpath_regex", &[], Syntax::Regex),
    kind("urllogin", &[], Syntax::Regex),
    kind("port", &[], Syntax::Words),
    kind("localport", &["myport"], Syntax::Words),
    kind("myportname", &[], Syntax::Words),
    kind("proto", &[], Syntax::Words),
    kind("method", &[], Syntax::Words),
    kind("http_status", &[], Syntax::Words),
    kind("browser", &[], Syntax::Regex),
    kind("referer_regex", &["referrer_regex"], Syntax::Regex),
    kind("req_header", &[], Syntax::HeaderRegex),
    kind("rep_header", &[], Syntax::HeaderRegex),
    kind("req_mime_type", &[], Syntax::Regex),
    kind("rep_mime_type", &[], Syntax::Regex),
    kind("time", &[], Syntax::Words),
    kind("proxy_auth", &[], Syntax::Words),
    kind("proxy_auth_regex", &[], Syntax::Regex),
    kind("max_user_ip", &[], Syntax::Words),
    kind("maxconn", &[], Syntax::Words),
    kind("external", &[], Syntax::Words),
    kind("ext_user", &[], Syntax::Words),
    kind("ext_user_regex", &[], Syntax::Regex),
    kind("tag", &[], Syntax::Words),
    kind("note", &[], Syntax::Words),
    kind("annotate_transaction", &[], Syntax::Words),
    kind("annotate_client", &[], Syntax::Words),
    kind("snmp_community", &[], Syntax::Words),
    kind("peername", &[], Syntax::Words),
    kind("peername_regex", &[], Syntax::Regex),
    kind("hier_code", &[], Syntax::Words),
    kind("random", &[], Syntax::Words),
    kind("user_cert", &[], Syntax::Words),
    kind("ca_cert", &[], Syntax::Words),
    kind("ssl_error", &[], Syntax::Words),
    kind("server_cert_fingerprint", &[], Syntax::Words),
    kind("ssl::server_name", &[], Syntax::Words),
    kind("ssl::server_name_regex", &[], Syntax::Regex),
    kind("at_step", &[], Syntax::Words),
    kind("connections_encrypted", &[], Syntax::Words),
    kind("squid_error", &[], Syntax::Words),
    kind("adaptation_service", &[], Syntax::Words),
    kind("transaction_initiator", &[], Syntax::Words),
    kind("has", &[], Syntax::Words),
    kind("client_connection_mark", &["clientside_mark"], Syntax::Words),
    kind("any-of", &[], Syntax::AclNames),
    kind("all-of", &[], Syntax::AclNames),
    kind("ident", &[], Syntax::Removed),
    kind("ident_regex", &[], Syntax::Removed),
    kind("src_as", &[], Syntax::Removed),
    kind("dst_as", &[], Syntax::Removed),
    kind("src_rtt", &[], Syntax::Removed),
    kind("urlgroup", &[], Syntax::Removed),
    kind("type", &[], Syntax::Removed),
    kind("domain", &[], Syntax::Removed),
    kind("pattern", &[], Syntax::Removed),
];

/// ACLs that exist without a line: name, type, flag, values.
#[rustfmt::skip]
const PREDEFINED: &[(&str, &str, &[&str], &[&str])] = &[
    ("all", "src", &[], &["all"]),
    ("manager", "url_regex", &["-i"], &["^cache_object://"]),
    ("manager", "url_regex", &[], &["^[^:]+://[^/]+/squid-internal-mgr(/|$)"]),
    ("localhost", "src", &[], &["127.0.0.1/32", "::1/128"]),
    ("to_localhost", "dst", &[], &["127.0.0.0/8", "0.0.0.0/32", "::1/128", "::/128"]),
    ("to_linklocal", "dst", &[], &["169.254.0.0/16", "fe80::/10"]),
    ("CONNECT", "method", &[], &["CONNECT"]),
];

/// Predefined too, but only `sslproxy_cert_error` and the like use them: they get lines when a rule does.
#[rustfmt::skip]
const TLS_ERRORS: &[(&str, &str, &[&str], &[&str])] = &[
    ("ssl::certHasExpired", "ssl_error", &[], &["X509_V_ERR_CERT_HAS_EXPIRED"]),
    ("ssl::certNotYetValid", "ssl_error", &[], &["X509_V_ERR_CERT_NOT_YET_VALID"]),
    ("ssl::certDomainMismatch", "ssl_error", &[], &["SQUID_X509_V_ERR_DOMAIN_MISMATCH"]),
    ("ssl::certUntrusted", "ssl_error", &[], &[
        "X509_V_ERR_INVALID_CA", "X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN",
        "X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE", "X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT",
        "X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "X509_V_ERR_CERT_UNTRUSTED",
    ]),
    ("ssl::certSelfSigned", "ssl_error", &[], &["X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT"]),
];

/// The defined ACLs by name. Names differ in more than their letter case.
pub(crate) struct Acls {
    names: HashMap<String, Known>,
    kinds: HashMap<&'static str, &'static Kind>,
    tls_errors: Cell<bool>,
}

struct Known {
    name: String,
    kind: &'static str,
}

impl Acls {
    /// The ACLs that exist without a line; they are added to `lines`.
    pub(crate) fn predefined(lines: &mut Vec<AclLine>) -> Self {
        let names =
            |kind: &'static Kind| std::iter::once(kind.name).chain(kind.aliases.iter().copied());
        let kinds = KINDS
            .iter()
            .flat_map(|kind| names(kind).map(move |name| (name, kind)));
        let mut acls = Self {
            names: HashMap::new(),
            kinds: kinds.collect(),
            tls_errors: Cell::new(false),
        };
        for &(name, kind, ..) in PREDEFINED.iter().chain(TLS_ERRORS) {
            acls.names.insert(
                name.to_ascii_lowercase(),
                Known {
                    name: name.to_owned(),
                    kind,
                },
            );
        }
        lines.extend(predefined_lines(PREDEFINED));
        acls
    }

    /// Adds the lines of predefined ACLs that have turned out to be used.
    pub(crate) fn finish(&self, lines: &mut Vec<AclLine>) {
        if self.tls_errors.get() {
            lines.extend(predefined_lines(TLS_ERRORS));
        }
    }

    /// A name for an ACL of our own making; no line can define it, since words have no blanks.
    pub(crate) fn private_name(origin: &str, number: usize) -> String {
        format!("{origin} {number}")
    }

    /// True when a rule may use the name.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.names.contains_key(&name.to_ascii_lowercase())
    }

    /// `allow|deny [!]acl…`
    pub(crate) fn rule(&self, line: &mut Line<'_>) -> Outcome<AccessRule> {
        let action = line.word().unwrap_or_default();
        let allow = match &*action {
            "allow" => true,
            "deny" => false,
            other => {
                let problem = line.error(format!("expecting 'allow' or 'deny', got '{other}'."));
                return Err(Box::new(problem.hint("The line is ignored.")));
            }
        };
        let acls = self.refs(line)?;
        if acls.is_empty() {
            let problem = line.error("Access line contains no ACL's, skipping");
            return Err(Box::new(
                problem.hint(format!("Write `{action} all` to mean everyone.")),
            ));
        }
        Ok(AccessRule {
            allow,
            acls,
            place: line.place.clone(),
        })
    }

    /// The ACLs to the end of the line.
    pub(crate) fn refs(&self, line: &mut Line<'_>) -> Outcome<Vec<AclRef>> {
        let mut acls = Vec::new();
        while let Some(word) = line.word() {
            acls.push(self.reference(line, &word)?);
        }
        Ok(acls)
    }

    /// Reads ACLs that nothing will use.
    pub(crate) fn unused<T>(&self, read: impl FnOnce(&Self) -> T) -> T {
        let used = self.tls_errors.get();
        let outcome = read(self);
        self.tls_errors.set(used);
        outcome
    }

    fn reference(&self, line: &Line<'_>, word: &str) -> Outcome<AclRef> {
        let name = word.strip_prefix('!').unwrap_or(word);
        if let Some(known) = self.names.get(&name.to_ascii_lowercase()) {
            if known.kind == "ssl_error" {
                self.tls_errors.set(true);
            }
            return Ok(AclRef {
                name: known.name.clone(),
                negated: word.starts_with('!'),
            });
        }
        let problem = line.fatal(format!("ACL not found: {name}"));
        Err(Box::new(problem.hint(if name.is_empty() {
            "Write ! right before the name.".to_owned()
        } else {
            format!("Define it above this line: acl {name} TYPE VALUE…")
        })))
    }

    /// Notes a definition; returns the name as first written.
    fn define(&mut self, line: &Line<'_>, name: &str, kind: &'static str) -> Outcome<String> {
        let known = self
            .names
            .entry(name.to_ascii_lowercase())
            .or_insert_with(|| Known {
                name: name.to_owned(),
                kind,
            });
        if known.kind == kind {
            return Ok(known.name.clone());
        }
        let message = format!(
            "ACL '{name}' already exists with different type '{}'",
            known.kind
        );
        Err(Box::new(
            line.fatal(message)
                .hint("Give one of the two another name."),
        ))
    }
}

fn predefined_lines(
    table: &'static [(&str, &str, &[&str], &[&str])],
) -> impl Iterator<Item = AclLine> {
    let place = Place {
        file: Arc::from("predefined"),
        line: 0,
    };
    table
        .iter()
        .map(move |&(name, kind, flags, values)| AclLine {
            name: name.to_owned(),
            kind: kind.to_owned(),
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            values: values.iter().copied().collect(),
            predefined: true,
            place: place.clone(),
        })
}

/// `NAME TYPE [flag…] value…`
pub(crate) fn acl(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let name = line.required("ACL name")?;
    let word = line.required("ACL type")?;
    let Some(&kind) = draft.acls.kinds.get(&*word) else {
        let problem = line.fatal(format!("Invalid ACL type '{word}'"));
        return Err(Box::new(problem.hint("See the list of ACL types.")));
    };
    if name.eq_ignore_ascii_case("manager") && kind.name == "proto" {
        line.warn(
            "UPGRADE: ACL 'manager' is now a built-in ACL.",
            "Remove the line.",
        );
        let _old = line.words();
        return Ok(());
    }
    notes(draft, line, kind, &word);
    let name = draft.acls.define(line, &name, kind.name)?;
    let acl = definition(line, kind, name)?;
    if kind.values == Syntax::AclNames {
        for value in acl.values.texts() {
            draft.acls.reference(line, &value)?;
        }
    }
    if kind.name == "external" {
        external::class_of(draft, line, &acl)?;
    }
    if acl.values.is_empty() {
        line.warn(format!("empty ACL: {}", line.text()), "It never matches.");
    }
    draft.config.acls.push(acl);
    Ok(())
}

fn notes(draft: &mut Draft, line: &mut Line<'_>, kind: &Kind, word: &str) {
    let renamed = word != kind.name && draft.first(&format!("acl type {word}"));
    if renamed && matches!(word, "myip" | "myport") {
        let message = format!(
            "UPGRADE: ACL '{word}' type has been renamed to '{}'",
            kind.name
        );
        line.warn(message, "");
    }
    if kind.values == Syntax::Removed && draft.first(&format!("acl type {word}")) {
        let message = format!("ACL type '{word}' was removed from newer Squids");
        line.warn(message, "");
    }
}

fn definition(line: &mut Line<'_>, kind: &Kind, name: String) -> Outcome<AclLine> {
    let mut acl = AclLine {
        name,
        kind: kind.name.to_owned(),
        flags: Vec::new(),
        values: Values::default(),
        predefined: false,
        place: line.place.clone(),
    };
    if kind.values == Syntax::HeaderRegex {
        acl.values.push(line.required("header name")?);
    }
    while let Some(flag) = line.peek().filter(|word| is_flag(word)) {
        let _taken = line.word();
        if flag == "--" {
            break;
        }
        acl.flags.push(flag.into_owned());
    }
    let annotates = matches!(kind.name, "annotate_transaction" | "annotate_client");
    loop {
        let pair = if annotates { line.quoted_pair() } else { None };
        match pair {
            Some(pair) => acl.values.push(pair),
            None if line.list_item(&mut acl.values) => {}
            None => break,
        }
    }
    Ok(acl)
}

fn is_flag(word: &str) -> bool {
    matches!(word, "-i" | "+i" | "-n" | "-s" | "-m" | "--")
        || word.starts_with("-m=")
        || word
            .strip_prefix("--")
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests;
