//! Who may do what. Asks the access lists, learns the facts that they ask for, and grants the
//! [`Permit`] without which nothing is sent anywhere.

mod external;
mod indirect;
mod login;
mod refusal;

use std::net::IpAddr;

use rules::{Answer, Facts, List, Question, ReplyFacts, Rule};
use wire::Fields;
use wire::http1::ResponseHead;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::flow::{Admitted, Permit, Received};
use crate::plan::PortMode;
use crate::record::Record;

pub use external::ExternalReport;
pub(crate) use external::Externals;
pub(crate) use indirect::follow;
pub use login::{Challenge, KnownUser, KnownUsers};
pub(crate) use login::{ConnectionLogin, Logins, add_fields as add_login_fields};
pub(crate) use refusal::of as refusal_of;

/// Questions that one check may ask: each kind is asked once.
const QUESTIONS_MAX: usize = 64;

/// What the rules may see of a request.
pub(crate) fn facts<'f>(received: &'f Received<'f>) -> Facts<'f> {
    let connection = received.connection;
    let mut facts = Facts::new(
        connection.client,
        connection.local,
        &connection.port.name,
        (
            &received.head.method,
            received.target,
            &received.head.fields,
        ),
        received.learnt,
        received.now.unix_secs(),
    );
    facts.client = client(received);
    facts.codes = Some(received);
    facts.luck = received.now.mono_ns.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    facts
}

/// `http_access`, or on a port of ours `manager_access`: may this request be served?
///
/// # Errors
///
/// It may not; the failure names the rule.
pub(crate) async fn admit<'c>(
    cx: &Context,
    received: &'c Received<'c>,
    record: &mut Record,
) -> Result<Admitted<'c>, Failure> {
    let list = match received.connection.port.mode {
        PortMode::Manager => List::ManagerAccess,
        PortMode::Forward | PortMode::Accel(_) => List::HttpAccess,
    };
    check(cx, list, received)
        .await
        .inspect_err(|_| record.tag(crate::record::ResultTag::Denied))?;
    Ok(Admitted {
        received,
        permit: Permit::granted_by_access(),
    })
}

/// `adapted_http_access`: may the request be served as adaptation has left it?
///
/// # Errors
///
/// It may not; the failure names the rule.
pub(crate) async fn readmit<'c>(
    cx: &Context,
    received: &'c Received<'c>,
    Admitted { permit, .. }: Admitted<'_>,
    record: &mut Record,
) -> Result<Admitted<'c>, Failure> {
    check(cx, List::AdaptedHttpAccess, received)
        .await
        .inspect_err(|_| record.tag(crate::record::ResultTag::Denied))?;
    Ok(Admitted { received, permit })
}

/// Does the list say yes, once all that it asks for is learnt?
pub(crate) async fn permits(cx: &Context, list: List, received: &Received<'_>) -> bool {
    check(cx, list, received).await.is_ok()
}

/// `miss_access`: may this request make us fetch?
///
/// # Errors
///
/// It may not.
pub(crate) async fn admit_miss(cx: &Context, received: &Received<'_>) -> Result<(), Failure> {
    let checked = check(cx, List::MissAccess, received).await;
    checked.map_err(|mut failure| {
        if failure.kind == FailureKind::AccessDenied {
            failure.kind = FailureKind::ForwardingDenied;
        }
        failure
    })
}

/// `http_reply_access`: may this reply be sent?
///
/// # Errors
///
/// It may not.
pub(crate) async fn admit_reply(
    cx: &Context,
    received: &Received<'_>,
    reply: &ResponseHead,
    record: &mut Record,
) -> Result<(), Failure> {
    let list = cx.plan.rules.list(List::HttpReplyAccess);
    // A reply that says only a status has nothing to keep back.
    if list.always() == Some(true) || matches!(reply.status, 100..=199 | 204 | 304) {
        return Ok(());
    }
    let mut refusal = None;
    for _ in 0..=QUESTIONS_MAX {
        let mut facts = facts(received);
        facts.reply = Some(ReplyFacts {
            status: reply.status,
            fields: &reply.fields,
        });
        facts.hop = Some(record.hop_facts());
        let question = match cx.plan.rules.check(List::HttpReplyAccess, &facts) {
            Answer::Allow(_) => return Ok(()),
            Answer::Deny(rule) => {
                refusal = refusal::of(cx, List::HttpReplyAccess, rule, &facts);
                break;
            }
            Answer::Ask(question) => question,
        };
        // It is too late to ask for a login: who can't be known is refused.
        if Box::pin(answer(cx, received, question)).await.is_err() {
            break;
        }
    }
    record.tag(crate::record::ResultTag::DeniedReply);
    Err(Failure::denied(refusal))
}

/// How much content a reply may have (`reply_body_max_size`); `None` for any.
pub(crate) fn reply_content_max(
    cx: &Context,
    received: &Received<'_>,
    reply: &ResponseHead,
    record: &Record,
) -> Option<u64> {
    let mut facts = facts(received);
    facts.reply = Some(ReplyFacts {
        status: reply.status,
        fields: &reply.fields,
    });
    facts.hop = Some(record.hop_facts());
    cx.plan.rules.reply_body_max_size(&facts)
}

/// Does the list say yes, as far as is known without waiting? For the lists that only steer.
pub(crate) fn allows(cx: &Context, list: List, received: &Received<'_>) -> bool {
    if let Some(always) = cx.plan.rules.list(list).always() {
        return always;
    }
    let facts = facts(received);
    cx.plan.rules.check(list, &facts).is_allow()
}

/// The same of a reply.
pub(crate) fn allows_reply(
    cx: &Context,
    list: List,
    received: &Received<'_>,
    reply: ReplyFacts<'_>,
    record: &Record,
) -> bool {
    let mut facts = facts(received);
    facts.reply = Some(reply);
    facts.hop = Some(record.hop_facts());
    cx.plan.rules.check(list, &facts).is_allow()
}

/// Applies the `note` lines to a finished transaction.
pub(crate) fn annotate(cx: &Context, received: &Received<'_>, record: &Record) {
    let facts = final_facts(received, record);
    for line in cx.plan.rules.notes(&facts) {
        if let Some(line) = cx.plan.config.note.get(line) {
            received
                .learnt
                .note(|notes| notes.add(&line.name, &line.value));
        }
    }
}

/// What is known of a finished transaction.
fn final_facts<'f>(received: &'f Received<'f>, record: &'f Record) -> Facts<'f> {
    static NO_FIELDS: Fields = Fields::new();
    let mut facts = facts(received);
    facts.reply = Some(ReplyFacts {
        status: record.status,
        fields: &NO_FIELDS,
    });
    facts.hop = Some(record.hop_facts());
    facts.error = record.error.map(FailureKind::page);
    facts
}

/// `stats_collection`: does a finished transaction count?
pub(crate) fn counts(cx: &Context, received: &Received<'_>, record: &Record) -> bool {
    let list = List::StatsCollection;
    if let Some(always) = cx.plan.rules.list(list).always() {
        return always;
    }
    let facts = final_facts(received, record);
    cx.plan.rules.check(list, &facts).is_allow()
}

/// Does the log with this number want a line of a finished transaction?
pub(crate) fn logs(cx: &Context, log: usize, received: &Received<'_>, record: &Record) -> bool {
    let list = List::LogAccess(log);
    if let Some(always) = cx.plan.rules.list(list).always() {
        return always;
    }
    let facts = final_facts(received, record);
    cx.plan.rules.check(list, &facts).is_allow()
}

/// Asks a list; `Err` names the rule that denied, or says that the client has to log in.
async fn check(cx: &Context, list: List, received: &Received<'_>) -> Result<(), Failure> {
    if cx.plan.rules.list(list).always() == Some(true) {
        return Ok(());
    }
    let question = {
        let facts = facts(received);
        match cx.plan.rules.check(list, &facts) {
            Answer::Allow(_) => return Ok(()),
            Answer::Deny(rule) => return Err(deny(cx, list, received, (rule, &facts))),
            Answer::Ask(question) => question,
        }
    };
    Box::pin(learn(cx, list, received, question)).await
}

/// Learns what the list asks for until it can say.
async fn learn(
    cx: &Context,
    list: List,
    received: &Received<'_>,
    mut question: Question,
) -> Result<(), Failure> {
    for _ in 0..QUESTIONS_MAX {
        let answered = answer(cx, received, question).await;
        let facts = facts(received);
        answered.map_err(|failure| Failure {
            refusal: refusal::of(cx, list, None, &facts),
            ..failure
        })?;
        match cx.plan.rules.check(list, &facts) {
            Answer::Allow(_) => return Ok(()),
            Answer::Deny(rule) => return Err(deny(cx, list, received, (rule, &facts))),
            Answer::Ask(next) => question = next,
        }
    }
    Err(Failure::denied(None))
}

/// Learns one fact, if only that it can't be known.
///
/// # Errors
///
/// The client has to say first who it is.
pub(crate) async fn answer(
    cx: &Context,
    received: &Received<'_>,
    question: Question,
) -> Result<(), Failure> {
    let learnt = received.learnt;
    match question {
        Question::Destination => {
            let found = cx.resolve(received.target.host()).await;
            learnt.learn_destination(found.unwrap_or_default());
        }
        Question::DestinationName => {
            let name = match received.target.host_ip() {
                Some(addr) => cx.resolver.name_of(addr).await.ok(),
                None => None,
            };
            learnt.learn_destination_name(name.as_deref().unwrap_or_default());
        }
        Question::ClientName => {
            let name = cx.resolver.name_of(client(received)).await.ok();
            learnt.learn_client_name(name.as_deref().unwrap_or_default());
        }
        Question::ClientConnections => {
            let clients = cx.plan.clients.as_ref();
            let open = clients.map_or(0, |clients| clients.connections(client(received)));
            learnt.learn_client_connections(u32::try_from(open).unwrap_or(u32::MAX));
        }
        Question::UserAddresses => {
            if let (Some(user), Some(table)) = (learnt.user(), &cx.plan.user_addresses) {
                let count = table.count(user, client(received), received.now.mono_ns);
                learnt.learn_user_addresses(count);
            }
        }
        Question::ClientMac => {
            let now_ns = received.now.mono_ns;
            learnt.learn_client_mac(cx.plan.neighbours.mac_of(client(received), now_ns));
        }
        Question::User => return Box::pin(login::learn_user(cx, received)).await,
        Question::External(acl) => return external::ask(cx, received, acl).await,
    }
    Ok(())
}

/// A denial; of a user, it asks for another login.
fn deny(
    cx: &Context,
    list: List,
    received: &Received<'_>,
    (rule, facts): (Option<&Rule>, &Facts<'_>),
) -> Failure {
    let asks = rule.is_some_and(|rule| login::is_asked_by(cx, rule));
    let again = asks.then(|| login::another(cx, received)).flatten();
    Failure {
        refusal: refusal::of(cx, list, rule, facts),
        ..again.unwrap_or_else(|| Failure::denied(None))
    }
}

/// The client as rules see it.
pub(crate) fn client(received: &Received<'_>) -> IpAddr {
    let indirect = received.learnt.indirect_client();
    indirect.unwrap_or_else(|| received.connection.client.ip())
}
