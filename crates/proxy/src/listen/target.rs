//! Whom a request is for: from request line, `Host` and the port it came in by to the one
//! normalised target (RFC 9112 §3.2, RFC 9110 §7.1; `http_port` accelerator options).

use config::port::VirtualPort;
use wire::http1::{KnownHost, RequestHead, Version};
use wire::target::{Authority, BadTarget, Form, Scheme, Target};

use crate::failure::{Failure, FailureKind};
use crate::flow::Connection;
use crate::internal::spelling;
use crate::plan::{Plan, PortMode};

/// Fills `target`.
///
/// # Errors
///
/// A request whose target or Host can't be understood: 400 and the connection ends.
pub(crate) fn resolve(
    plan: &Plan,
    connection: &Connection,
    head: &RequestHead,
    known: &mut KnownHost,
    target: &mut Target,
) -> Result<(), Failure> {
    let host = known.check(head).map_err(|bad| {
        Failure::client(FailureKind::InvalidReq, bad.to_string()).with_status(bad.status())
    })?;
    let raw = head.target();
    let whitespace = plan.uri_whitespace;
    let port = &*connection.port;
    let form = Form::of(&head.method, raw);
    if matches!(port.mode, PortMode::Manager) {
        return own_form(plan, connection, (raw, form), target);
    }
    let resolved = match form {
        // A tunnel would carry unread bytes to the accelerator's origins.
        Ok(Form::Authority { .. }) if port.accel().is_some() => {
            let detail = "CONNECT on an accelerator port";
            return Err(Failure::client(FailureKind::UnsupReq, detail).with_status(405));
        }
        Ok(Form::Authority { .. }) => target.set_authority(raw),
        Ok(Form::Absolute { scheme, .. }) if Scheme::of(scheme) == Scheme::CacheObject => {
            target.set_absolute(&spelling::without_password(raw), whitespace)
        }
        Ok(Form::Absolute { .. }) => target.set_absolute(raw, whitespace),
        Ok(Form::Origin | Form::Asterisk) => {
            return origin_form(plan, connection, (head, host), target);
        }
        Err(bad) => Err(bad),
    };
    resolved.map_err(|bad| Failure::client(FailureKind::InvalidUrl, bad.to_string()))
}

/// Origin form says only path and query: the rest comes from `Host` and the port's options.
fn origin_form(
    plan: &Plan,
    connection: &Connection,
    (head, host): (&RequestHead, Option<Authority<'_>>),
    target: &mut Target,
) -> Result<(), Failure> {
    let invalid = |detail: &'static str| Failure::client(FailureKind::InvalidUrl, detail);
    let PortMode::Accel(accel) = &connection.port.mode else {
        // A forward proxy needs to be told the host, unless it is asked for pages of its own.
        let path = spelling::spelt_out(head.target());
        let path = path.ok_or_else(|| invalid("a proxy port takes absolute URLs only"))?;
        return set_own(plan, connection, &path, target);
    };
    let (mut name, mut number) = match (accel.vhost, host) {
        (true, Some(host)) => (host.raw_host, host.port),
        _ => match &accel.default_site {
            Some(site) => (site.0.as_bytes(), site.1),
            None => match host {
                Some(host) => (host.raw_host, host.port),
                None if head.version == Version::H10 => (plan.visible_hostname.as_bytes(), None),
                None => return Err(invalid("no Host")),
            },
        },
    };
    match accel.vport {
        VirtualPort::Host => {}
        VirtualPort::Fixed(fixed) => number = Some(fixed),
        VirtualPort::Listening => number = Some(connection.local.port()),
    }
    if name.is_empty() {
        name = plan.visible_hostname.as_bytes();
    }
    let scheme = accel.scheme;
    let number = number.unwrap_or(if scheme == Scheme::Https { 443 } else { 80 });
    target
        .set_origin(scheme, name, number, head.target(), plan.uri_whitespace)
        .map_err(|bad| Failure::client(FailureKind::InvalidUrl, bad.to_string()))
}

/// A port that has nothing but pages of our own takes every path for one, whatever the host.
fn own_form(
    plan: &Plan,
    connection: &Connection,
    (raw, form): (&[u8], Result<Form<'_>, BadTarget>),
    target: &mut Target,
) -> Result<(), Failure> {
    let invalid = |bad: BadTarget| Failure::client(FailureKind::InvalidUrl, bad.to_string());
    let path = match form {
        Ok(Form::Origin) => raw,
        Ok(Form::Absolute { scheme, .. }) if Scheme::of(scheme) == Scheme::CacheObject => {
            let shown = spelling::without_password(raw);
            let resolved = target.set_absolute(&shown, plan.uri_whitespace);
            return resolved.map_err(invalid);
        }
        Ok(Form::Absolute { path, .. }) => path,
        Ok(Form::Authority { .. } | Form::Asterisk) => {
            let detail = "a manager port has pages only";
            return Err(Failure::client(FailureKind::UnsupReq, detail).with_status(405));
        }
        Err(bad) => return Err(invalid(bad)),
    };
    set_own(plan, connection, &spelling::spelt_out_anyway(path), target)
}

/// A page of our own, as rules are to see it.
fn set_own(
    plan: &Plan,
    connection: &Connection,
    path: &[u8],
    target: &mut Target,
) -> Result<(), Failure> {
    let host = plan.visible_hostname.as_bytes();
    let (port, whitespace) = (connection.local.port(), plan.uri_whitespace);
    target
        .set_origin(Scheme::Http, host, port, path, whitespace)
        .map_err(|bad| Failure::client(FailureKind::InvalidUrl, bad.to_string()))
}

/// `host[:port]` of an option apart; brackets of an IPv6 address stay with the host.
pub(crate) fn split_host(host: &[u8]) -> Option<(&[u8], Option<u16>)> {
    let colon = host
        .iter()
        .rposition(|byte| *byte == b':')
        .filter(|at| !host.get(*at..).unwrap_or_default().contains(&b']'));
    let Some(at) = colon else {
        return Some((host, None));
    };
    let (name, port) = host.split_at_checked(at)?;
    let port = std::str::from_utf8(port.get(1..)?).ok()?;
    if port.is_empty() {
        return Some((name, None));
    }
    let number = port.parse::<u16>().ok().filter(|number| *number != 0)?;
    Some((name, Some(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_split_at_the_last_colon_outside_brackets() {
        assert_eq!(split_host(b"a:81"), Some((b"a".as_slice(), Some(81))));
        assert_eq!(split_host(b"a"), Some((b"a".as_slice(), None)));
        assert_eq!(split_host(b"a:"), Some((b"a".as_slice(), None)));
        assert_eq!(split_host(b"[::1]"), Some((b"[::1]".as_slice(), None)));
        assert_eq!(split_host(b"[::1]:8"), Some((b"[::1]".as_slice(), Some(8))));
        assert_eq!(split_host(b"a:x"), None);
        assert_eq!(split_host(b"a:0"), None);
        assert_eq!(split_host(b"a:70000"), None);
    }
}
