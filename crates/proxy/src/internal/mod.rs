//! Requests for the proxy itself: how they are told from others (`spelling`), and the seam to `admin`, which makes the
//! pages. A page is made like any reply: access rules come before it, header rules and the log after it.

pub(crate) mod own;
mod roll;
pub(crate) mod seat;
pub(crate) mod spelling;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use net::clock::Now;
use net::dns::Resolver;
use wire::field::FieldId;
use wire::http1::{ResponseHead, Version, reason_phrase};

use crate::access::Challenge;
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Side};
use crate::flow::{Admitted, Content, Head, Received, Response};
use crate::listen::client::{ClientError, ClientIn};
use crate::plan::{Plan, PortMode};
use crate::record::{Record, ResultTag};

pub(crate) use roll::Letters;
pub use roll::Roll;
pub use seat::{ConnectionReport, IdleHop, TransactionReport, WorkerReport};

/// Content of a request for a page, bytes.
const CONTENT_BYTES_MAX: usize = 64 * 1024;

/// Who answers for pages of our own. The program plugs `admin` in.
pub trait Pages: fmt::Debug + Send + Sync {
    /// Makes a page.
    ///
    /// # Errors
    ///
    /// There is no such page, or the client has to say who it is.
    fn answer<'a>(&'a self, ask: Ask<'a>) -> Answering<'a>;
}

/// A page in the making, on the worker that was asked.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Answer, Refused>> + 'a>>;

/// What is asked. Access rules have let it pass.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// Name of the page, `info` or `squall/app.js`, percent-decoded; empty for the index.
    pub page: &'a str,
    /// What follows the `?`, as sent; mostly empty.
    pub query: &'a str,
    /// GET, HEAD or POST.
    pub method: &'a Method,
    /// The `Accept` field; empty when there is none.
    pub accept: &'a [u8],
    /// The `If-None-Match` field; empty when there is none.
    pub if_none_match: &'a [u8],
    /// Basic credentials, or the password of `cache_object://host/page@password` with an empty user.
    pub user_and_password: Option<(String, String)>,
    /// The request's content; mostly empty.
    pub body: &'a [u8],
    /// The client speaks HTTP/1.0.
    pub http10: bool,
    /// It came in by a `manager_port`.
    pub on_manager_port: bool,
    /// The configuration in force, worked out.
    pub plan: &'a Arc<Plan>,
    /// What is known of names.
    pub resolver: &'a Resolver,
    /// The workers, who can be asked what they do.
    pub roll: &'a Roll,
    /// When the request came.
    pub now: Now,
}

/// A page.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// `Content-Type`.
    pub media_type: &'static str,
    /// Further fields; a `Cache-Control` among them takes the place of ours.
    pub fields: Vec<(&'static str, String)>,
    /// Content.
    pub content: Vec<u8>,
}

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// There is none of that name, or it is hidden, or nobody may see it.
    Unknown,
    /// The password is missing or wrong; the page's name is the realm.
    Password {
        /// What the password is for.
        realm: String,
    },
}

/// Is the request for the proxy itself? Of others, all that is looked at are scheme and first bytes of the path.
pub(crate) fn owns(plan: &Plan, received: &Received<'_>) -> bool {
    let connection = received.connection;
    spelling::is_page(received.target) && plan.own.is_host_of(received.target, connection.local)
        || matches!(connection.port.mode, PortMode::Manager)
}

/// Makes the page that a request asks for.
///
/// # Errors
///
/// There is no such page, the password is missing, or the request's content is too long or doesn't come.
pub(crate) async fn page<'c>(
    cx: &'c Context,
    admitted: &Admitted<'_>,
    input: &mut ClientIn,
    record: &mut Record,
) -> Result<Response<'c>, Failure> {
    let received = admitted.received;
    let head = received.head;
    // Squid's word for all that becomes of it.
    record.tag(ResultTag::Miss);
    if !matches!(head.method, Method::GET | Method::HEAD | Method::POST) {
        let failure = Failure::client(FailureKind::UnsupReq, "no method for a page of ours");
        return Err(failure.with_status(405));
    }
    let body = content(input).await?;
    let field = |id| head.fields.get(id).unwrap_or_default();
    let on_manager_port = matches!(received.connection.port.mode, PortMode::Manager);
    if on_manager_port && head.target() == b"/" {
        return Ok(reply(cx, received, to_dashboard()));
    }
    let (page, query) = spelling::page_and_query(received.target).ok_or_else(unknown)?;
    let answer = cx.pages.answer(Ask {
        page: &page,
        query,
        method: &head.method,
        accept: field(FieldId::Accept),
        if_none_match: field(FieldId::IfNoneMatch),
        user_and_password: credentials(received),
        body: &body,
        http10: head.version == Version::H10,
        on_manager_port,
        plan: &cx.plan,
        resolver: &cx.resolver,
        roll: &cx.roll,
        now: received.now,
    });
    match answer.await {
        Ok(answer) => Ok(reply(cx, received, answer)),
        Err(Refused::Unknown) => Err(unknown()),
        Err(Refused::Password { realm }) => {
            let mut failure = Failure::new(FailureKind::CacheMgrAccessDenied, Side::Client);
            failure.challenge = Some(Box::new(Challenge::of_page(&realm)));
            Err(failure)
        }
    }
}

fn unknown() -> Failure {
    Failure::client(FailureKind::InvalidUrl, "no such page").with_status(404)
}

fn to_dashboard() -> Answer {
    Answer {
        status: 302,
        media_type: "text/plain;charset=utf-8",
        fields: vec![("Location", "/squall/".to_owned())],
        content: Vec::new(),
    }
}

/// The request's content, whole.
async fn content(input: &mut ClientIn) -> Result<Vec<u8>, Failure> {
    let mut content = Vec::new();
    loop {
        let piece = match input.next().await {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(content),
            Err(ClientError::Gone(_)) => {
                return Err(Failure::new(FailureKind::ClientGone, Side::Client));
            }
            Err(error) => {
                return Err(Failure::client(FailureKind::InvalidReq, error.to_string()));
            }
        };
        if content.len() + piece.len() > CONTENT_BYTES_MAX {
            let detail = "content of a request for a page of ours";
            return Err(Failure::client(FailureKind::TooBig, detail));
        }
        content.extend_from_slice(piece);
    }
}

/// Who asks: `Authorization: Basic`, or the password in a `cache_object` URL.
fn credentials(received: &Received<'_>) -> Option<(String, String)> {
    let head = received.head;
    let basic = head.fields.get(FieldId::Authorization).and_then(|value| {
        let (scheme, token) = value.trim_ascii().split_at_checked(6)?;
        let token = scheme.eq_ignore_ascii_case(b"basic ").then_some(token)?;
        let decoded = STANDARD.decode(token.trim_ascii()).ok()?;
        let pair = String::from_utf8(decoded).ok()?;
        let (user, password) = pair.split_once(':')?;
        Some((user.to_owned(), password.to_owned()))
    });
    let in_url = || {
        let password = spelling::password(head.target())?;
        Some((String::new(), password))
    };
    basic.or_else(in_url)
}

fn reply<'c>(cx: &Context, received: &Received<'_>, answer: Answer) -> Response<'c> {
    let mut head = cx.heads.take();
    head.clear();
    head.status = answer.status;
    head.set_reason(reason_phrase(answer.status).as_bytes());
    write_fields(cx, received, &answer, &mut head);
    // As Squid: cachemgr.cgi, which speaks HTTP/1.0, would say our length of its own, longer page.
    let says_length = received.head.version == Version::H11;
    Response {
        head: Head::Built(head),
        length: says_length.then_some(answer.content.len() as u64),
        content: Content::Page(answer.content),
        content_max: None,
        close: false,
    }
}

fn write_fields(cx: &Context, received: &Received<'_>, answer: &Answer, head: &mut ResponseHead) {
    let fields = &mut head.fields;
    fields.push_id(FieldId::Server, cx.plan.lines.software.as_bytes());
    fields.push_id(FieldId::Date, &cx.date(received.now));
    fields.push_id(FieldId::ContentType, answer.media_type.as_bytes());
    fields.push_id(FieldId::CacheControl, b"no-cache, no-store");
    // Squid lets scripts of other sites read its pages, and its version: but for those that say they are for their own.
    let own_site = |(name, _): &(&str, String)| *name == "Cross-Origin-Resource-Policy";
    if !answer.fields.iter().any(own_site)
        && let Some(origin) = received.head.fields.get_name(b"Origin")
    {
        fields.push(b"Access-Control-Allow-Origin", origin);
        fields.push(b"Access-Control-Expose-Headers", b"Server");
    }
    for (name, value) in &answer.fields {
        fields.set_name(name.as_bytes(), value.as_bytes());
    }
}
