//! What is changed in header blocks on their way: `request_header_access` and its kin, Via, X-Forwarded-For.
//! Without such lines a plan is a no-op that the caller skips.

use std::net::IpAddr;

use config::{Config, ForwardedFor, HeaderAccess, HeaderAdd, HeaderReplace, Problem};
use wire::http1::Version;
use wire::{FieldId, Fields};

use crate::access::{AccessList, Pick};
use crate::acl::Acls;
use crate::facts::Facts;
use crate::plan::Rules;

/// X-Forwarded-For isn't grown beyond this: so long a list is a loop.
const FORWARDED_BYTES_MAX: usize = 32 << 10;

/// `request_header_*` or `reply_header_*` lines, compiled.
#[derive(Clone, Debug, Default)]
pub struct HeaderRules {
    /// Fields with rules of their own.
    named: Box<[NamedRule]>,
    /// For field names that nobody registered.
    other: Option<FieldRule>,
    /// For all that have no rule yet.
    all: Option<FieldRule>,
    added: Box<[Pick<AddedField>]>,
}

#[derive(Clone, Debug)]
struct NamedRule {
    id: FieldId,
    name: Box<str>,
    rule: FieldRule,
}

#[derive(Clone, Debug)]
struct FieldRule {
    list: AccessList,
    replacement: Option<Box<str>>,
}

/// A field to add.
#[derive(Clone, Debug)]
struct AddedField {
    name: Box<str>,
    value: Box<str>,
    /// Of a value with codes: the number of its line among those of its directive.
    line: Option<usize>,
}

/// What becomes of a field line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate<'r> {
    Keep,
    Drop,
    Replace(&'r str),
}

impl HeaderRules {
    pub(crate) fn compile_request(
        config: &Config,
        acls: &Acls,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let names = ["request_header_access", "request_header_add"];
        let lines = (
            &*config.request_header_access,
            &*config.request_header_replace,
            &*config.request_header_add,
        );
        Self::compile(names, lines, acls, problems)
    }

    pub(crate) fn compile_reply(config: &Config, acls: &Acls, problems: &mut Vec<Problem>) -> Self {
        let names = ["reply_header_access", "reply_header_add"];
        let lines = (
            &*config.reply_header_access,
            &*config.reply_header_replace,
            &*config.reply_header_add,
        );
        Self::compile(names, lines, acls, problems)
    }

    fn compile(
        [access_directive, add_directive]: [&str; 2],
        (access, replace, add): (&[HeaderAccess], &[HeaderReplace], &[HeaderAdd]),
        acls: &Acls,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut headers: Vec<&str> = Vec::new();
        for line in access {
            if !headers
                .iter()
                .any(|known| known.eq_ignore_ascii_case(&line.header))
            {
                headers.push(&line.header);
            }
        }
        let mut rules = Self::default();
        let mut named = Vec::new();
        for header in headers {
            let own = access
                .iter()
                .filter(|line| line.header.eq_ignore_ascii_case(header));
            let lines: Vec<_> = own.map(|line| line.rule.clone()).collect();
            let value = replace
                .iter()
                .rev()
                .find(|line| line.header.eq_ignore_ascii_case(header));
            let rule = FieldRule {
                list: AccessList::compile(access_directive, &lines, true, acls, problems),
                replacement: value.map(|line| line.value.as_str().into()),
            };
            if header.eq_ignore_ascii_case("All") {
                rules.all = Some(rule);
            } else if header.eq_ignore_ascii_case("Other") {
                rules.other = Some(rule);
            } else {
                named.push(NamedRule {
                    id: FieldId::of(header.as_bytes()),
                    name: header.into(),
                    rule,
                });
            }
        }
        rules.named = named.into();
        let added = add.iter().enumerate().filter_map(|(number, line)| {
            let field = AddedField {
                name: (*line.name).into(),
                value: (*line.value).into(),
                line: line.quoted.then_some(number),
            };
            Pick::compile(
                add_directive,
                &line.acls,
                &line.place,
                field,
                acls,
                problems,
            )
        });
        rules.added = added.collect();
        rules
    }

    /// Is there nothing to do for any message?
    #[inline]
    pub fn is_noop(&self) -> bool {
        self.named.is_empty() && self.other.is_none() && self.all.is_none() && self.added.is_empty()
    }

    /// Applies the rules to a block that is about to be sent. `expand` writes the value of the `…_header_add` line with
    /// that number, its logformat codes filled in. A rule that would need a fact that nobody has asked for doesn't allow.
    pub fn apply(
        &self,
        rules: &Rules,
        facts: &Facts<'_>,
        fields: &mut Fields,
        mut expand: impl FnMut(usize, &mut Vec<u8>),
    ) {
        let acls = rules.acls();
        if !self.named.is_empty() || self.other.is_some() || self.all.is_some() {
            self.filter(acls, facts, fields);
        }
        let mut value = Vec::new();
        for pick in self.added.iter().filter(|pick| pick.applies(acls, facts)) {
            value.clear();
            match pick.value.line {
                Some(line) => expand(line, &mut value),
                None => value.extend_from_slice(pick.value.value.as_bytes()),
            }
            fields.push(pick.value.name.as_bytes(), &value);
        }
    }

    fn filter(&self, acls: &Acls, facts: &Facts<'_>, fields: &mut Fields) {
        let fate = |id, name: &[u8]| self.fate(id, name, acls, facts);
        let Some(first) = fields
            .iter()
            .position(|line| fate(line.id, line.name) != Fate::Keep)
        else {
            return;
        };
        let mut kept = Fields::new();
        for (at, line) in fields.iter().enumerate() {
            match if at < first {
                Fate::Keep
            } else {
                fate(line.id, line.name)
            } {
                Fate::Keep => kept.push(line.name, line.value),
                Fate::Replace(value) => kept.push(line.name, value.as_bytes()),
                Fate::Drop => {}
            }
        }
        *fields = kept;
    }

    fn fate(&self, id: FieldId, name: &[u8], acls: &Acls, facts: &Facts<'_>) -> Fate<'_> {
        let Some(rule) = self.find(id, name) else {
            return Fate::Keep;
        };
        if rule.list.check(acls, facts).is_allow() {
            return Fate::Keep;
        }
        rule.replacement
            .as_deref()
            .map_or(Fate::Drop, Fate::Replace)
    }

    /// The rule of the field itself, else `Other` for names nobody registered, else `All`.
    fn find(&self, id: FieldId, name: &[u8]) -> Option<&FieldRule> {
        let is_own = |own: &&NamedRule| {
            own.id == id && (id != FieldId::Other || own.name.as_bytes().eq_ignore_ascii_case(name))
        };
        let own = self.named.iter().find(is_own).map(|own| &own.rule);
        let other = || self.other.as_ref().filter(|_| id == FieldId::Other);
        own.or_else(other).or(self.all.as_ref())
    }
}

/// Appends our element to Via (RFC 9110 §7.6.3). `by` is our name, with a comment if there is to be one.
pub fn append_via(fields: &mut Fields, received: Version, by: &str) {
    let mut value = Vec::with_capacity(64);
    fields.join_into(FieldId::Via, &mut value);
    if !value.is_empty() {
        value.extend_from_slice(b", ");
    }
    value.extend_from_slice(match received {
        Version::H10 => b"1.0 ",
        Version::H11 => b"1.1 ",
    });
    value.extend_from_slice(by.as_bytes());
    fields.set(FieldId::Via, &value);
}

/// Applies `forwarded_for` to a request's X-Forwarded-For.
pub fn forward_client(fields: &mut Fields, mode: ForwardedFor, client: IpAddr) {
    let mut value = Vec::with_capacity(48);
    match mode {
        ForwardedFor::Transparent => return,
        ForwardedFor::Delete => {
            fields.remove(FieldId::XForwardedFor);
            return;
        }
        ForwardedFor::Truncate => {}
        ForwardedFor::On | ForwardedFor::Off => {
            fields.join_into(FieldId::XForwardedFor, &mut value);
            if value.len() > FORWARDED_BYTES_MAX {
                value.clear();
                value.extend_from_slice(b"error");
            }
            if !value.is_empty() {
                value.extend_from_slice(b", ");
            }
        }
    }
    if mode == ForwardedFor::Off {
        value.extend_from_slice(b"unknown");
    } else {
        wire::value::addr::write(client, &mut value);
    }
    fields.set(FieldId::XForwardedFor, &value);
}

#[cfg(test)]
mod tests;
