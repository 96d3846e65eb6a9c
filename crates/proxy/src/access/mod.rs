//! Who may do what. Asks the access lists, learns the facts that they ask for, and grants the
//! [`Permit`] without which nothing is sent anywhere.

mod login;
mod refusal;

use rules::{Answer, Facts, List, Question, ReplyFacts, Rule};
use wire::Fields;
use wire::http1::ResponseHead;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::flow::{Admitted, Permit, Received};
use crate::record::Record;

pub use login::Challenge;
pub(crate) use login::{ConnectionLogin, Logins, add_fields as add_login_fields};

/// Questions that one check may ask: each kind is asked once.
const QUESTIONS_MAX: usize = 4;

/// What the rules may see of a request.
pub(crate) fn facts<'f>(received: &Received<'f>) -> Facts<'f> {
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
    facts.luck = received.now.mono_ns.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    facts
}

/// `http_access`: may this request be served?
///
/// # Errors
///
/// It may not; the failure names the rule.
pub(crate) async fn admit<'c>(
    cx: &Context,
    received: &'c Received<'c>,
    record: &mut Record,
) -> Result<Admitted<'c>, Failure> {
    check(cx, List::HttpAccess, received)
        .await
        .inspect_err(|_| record.tag(crate::record::ResultTag::Denied))?;
    Ok(Admitted {
        received,
        permit: Permit::granted_by_access(),
    })
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
pub(crate) fn admit_reply(
    cx: &Context,
    received: &Received<'_>,
    reply: &ResponseHead,
    record: &mut Record,
) -> Result<(), Failure> {
    let list = cx.plan.rules.list(List::HttpReplyAccess);
    if list.always() == Some(true) {
        return Ok(());
    }
    let mut facts = facts(received);
    facts.reply = Some(ReplyFacts {
        status: reply.status,
        fields: &reply.fields,
    });
    match cx.plan.rules.check(List::HttpReplyAccess, &facts) {
        Answer::Allow(_) => Ok(()),
        Answer::Deny(rule) => {
            record.tag(crate::record::ResultTag::DeniedReply);
            let list = List::HttpReplyAccess;
            Err(Failure::denied(refusal::of(cx, list, rule, &facts)))
        }
        // What can't be known here must not open anything.
        Answer::Ask(_) => {
            record.tag(crate::record::ResultTag::DeniedReply);
            Err(Failure::denied(None))
        }
    }
}

/// Does the list say yes, as far as is known without waiting? For the lists that only steer.
pub(crate) fn allows(cx: &Context, list: List, received: &Received<'_>) -> bool {
    if let Some(always) = cx.plan.rules.list(list).always() {
        return always;
    }
    let facts = facts(received);
    cx.plan.rules.check(list, &facts).is_allow()
}

/// Does the log with this number want a line of a finished transaction?
pub(crate) fn logs(cx: &Context, log: usize, received: &Received<'_>, status: u16) -> bool {
    static NO_FIELDS: Fields = Fields::new();
    let list = List::LogAccess(log);
    if let Some(always) = cx.plan.rules.list(list).always() {
        return always;
    }
    let mut facts = facts(received);
    facts.reply = Some(ReplyFacts {
        status,
        fields: &NO_FIELDS,
    });
    cx.plan.rules.check(list, &facts).is_allow()
}

/// Asks a list; `Err` names the rule that denied, or says that the client has to log in.
async fn check(cx: &Context, list: List, received: &Received<'_>) -> Result<(), Failure> {
    let facts = facts(received);
    match cx.plan.rules.check(list, &facts) {
        Answer::Allow(_) => Ok(()),
        Answer::Deny(rule) => Err(deny(cx, list, received, (rule, &facts))),
        Answer::Ask(question) => Box::pin(learn(cx, list, received, question)).await,
    }
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
        Question::DestinationName => learnt.learn_destination_name(""),
        Question::ClientName => learnt.learn_client_name(""),
        Question::User => return login::learn_user(cx, received).await,
        Question::ClientConnections
        | Question::UserAddresses
        | Question::ClientMac
        | Question::External(_) => {}
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
