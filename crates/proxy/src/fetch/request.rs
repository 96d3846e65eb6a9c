//! The request as a hop gets it: made from the model, never by copying the client's lines
//! (RFC 9110 §7.6, RFC 9112 §3.2).

use http::Method;
use wire::field::{FieldId, Fields};
use wire::http1::{Framing, check_sent_head, remove_hop_by_hop, write_request_head};
use wire::target::Target;

use rules::rewrite::{append_via, forward_client};

use crate::access;
use crate::cache::Conditions;
use crate::context::Context;
use crate::fetch::login;
use crate::flow::Received;
use crate::format::Scene;
use crate::hops::Hop;

/// What is asked of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// As `server_persistent_connections` says.
    Usual,
    /// To stay open: the client has logged in over it, or is about to.
    Keep,
    /// To switch protocols.
    Upgrade,
}

/// Writes the head to `out`. `fields` is a scratch block.
pub(crate) fn write_head(
    cx: &Context,
    received: &Received<'_>,
    hop: &Hop,
    conditions: Option<&Conditions>,
    wish: Wish,
    fields: &mut Fields,
    out: &mut Vec<u8>,
) {
    let head = received.head;
    let target = received.target;
    fields.clone_from(&head.fields);
    remove_hop_by_hop(fields, hop.proxy_auth());
    let named = match received.asked {
        Some(asked) if !cx.plan.config.url_rewrite_host_header => asked,
        _ => target,
    };
    fields.set(FieldId::Host, hop.host_field(named));
    login::apply(received, hop, fields);
    if let Some(conditions) = conditions {
        conditions.apply(fields);
    }
    count_down(&head.method, fields);
    sign(cx, received, fields);
    // Header rules may say another host, not none: HTTP/1.1 requires one (RFC 9112 §3.2).
    if fields.get(FieldId::Host).is_none() {
        fields.set(FieldId::Host, hop.host_field(named));
    }
    frame(received.framing, &head.method, fields);
    if wish == Wish::Upgrade {
        if let Some(protocol) = head.fields.get(FieldId::Upgrade) {
            fields.set(FieldId::Upgrade, protocol);
            fields.set(FieldId::Connection, b"upgrade");
        }
    } else if wish == Wish::Usual && !cx.plan.config.server_persistent_connections {
        fields.set(FieldId::Connection, b"close");
    }
    write_request_head(
        &head.method,
        request_target(hop, &head.method, target),
        fields,
        out,
    );
    check_sent_head(out);
}

/// Absolute form to proxies, authority form for CONNECT, origin form to origins.
fn request_target<'t>(hop: &Hop, method: &Method, target: &'t Target) -> &'t [u8] {
    if hop.is_proxy() || method == Method::CONNECT {
        target.url()
    } else {
        target.origin_form(method)
    }
}

/// The content's framing toward the hop is ours to say.
fn frame(framing: Framing, method: &Method, fields: &mut Fields) {
    fields.remove(FieldId::TransferEncoding);
    fields.remove(FieldId::Trailer);
    match framing {
        Framing::Chunked => {
            fields.remove(FieldId::ContentLength);
            fields.set(FieldId::TransferEncoding, b"chunked");
        }
        Framing::Length(length) => {
            fields.set(FieldId::ContentLength, length.to_string().as_bytes());
        }
        Framing::None | Framing::UntilClose | Framing::Tunnel => {
            fields.remove(FieldId::ContentLength);
            fields.remove(FieldId::Expect);
            if method == Method::POST || method == Method::PUT {
                fields.set(FieldId::ContentLength, b"0");
            }
        }
    }
}

/// TRACE and OPTIONS say how much further they go (RFC 9110 §7.6.2).
fn count_down(method: &Method, fields: &mut Fields) {
    if method != Method::TRACE && method != Method::OPTIONS {
        return;
    }
    let left = fields
        .get(FieldId::MaxForwards)
        .and_then(wire::value::decimal);
    if let Some(left) = left {
        let left = left.saturating_sub(1).to_string();
        fields.set(FieldId::MaxForwards, left.as_bytes());
    }
}

/// Via, Surrogate-Capability, X-Forwarded-For, and the rules for request fields.
fn sign(cx: &Context, received: &Received<'_>, fields: &mut Fields) {
    let plan = &cx.plan;
    if plan.config.via {
        append_via(fields, received.head.version, &plan.lines.via_name);
    }
    if received.connection.port.accel().is_some() {
        fields.push_id(
            FieldId::SurrogateCapability,
            &plan.lines.surrogate_capability,
        );
    }
    let client = received.connection.client.ip();
    forward_client(fields, plan.config.forwarded_for, client);
    if !plan.rules.request_fields.is_noop() {
        let facts = access::facts(received);
        let scene = Scene::of_request(received);
        let expand = |line, out: &mut Vec<u8>| plan.formats.request_add(line, &scene, out);
        plan.rules
            .request_fields
            .apply(&plan.rules, &facts, fields, expand);
    }
}
