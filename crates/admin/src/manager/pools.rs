//! The pages of helper programs: `redirector`, `store_id`, `location_rewriter`, `external_acl`, and those of the
//! authenticators. One form for all.

use proxy::helpers::{ChildStatus, Kind, Phase, Pool, Status};
use serde::Serialize;

use super::Report;
use crate::Scene;

#[derive(Serialize)]
struct Helpers {
    /// Of an `external_acl_type`.
    name: Option<String>,
    /// Answers that are remembered, of an `external_acl_type`.
    cache_size: Option<usize>,
    program: String,
    active: usize,
    most: usize,
    shutting_down: usize,
    requests_sent: u64,
    replies_received: u64,
    requests_timed_out: u64,
    requests_refused: u64,
    deaths: u64,
    queue: usize,
    queue_most: usize,
    average_service_msecs: u128,
    children: Vec<Child>,
}

#[derive(Serialize)]
struct Child {
    id: u64,
    descriptor: i32,
    pid: u32,
    requests: u64,
    replies: u64,
    timed_out: u64,
    pending: usize,
    reserved: bool,
    retiring: bool,
    last_secs: f64,
}

/// `redirector`
pub(super) fn redirector(scene: &Scene<'_>) -> Report {
    report(scene, Kind::UrlRewrite, "Redirector", "redirectors")
}

/// `store_id`
pub(super) fn store_id(scene: &Scene<'_>) -> Report {
    report(scene, Kind::StoreId, "StoreId helper", "StoreId helpers")
}

/// `location_rewriter`
pub(super) fn location_rewriter(scene: &Scene<'_>) -> Report {
    let (title, none) = ("Location Rewriter", "location rewriters");
    report(scene, Kind::LocationRewrite, title, none)
}

/// `basicauthenticator`
pub(super) fn basic(scene: &Scene<'_>) -> Report {
    report(
        scene,
        Kind::BasicAuth,
        "Basic Authenticator",
        "basic authenticators",
    )
}

/// `digestauthenticator`
pub(super) fn digest(scene: &Scene<'_>) -> Report {
    report(
        scene,
        Kind::DigestAuth,
        "Digest Authenticator",
        "digest authenticators",
    )
}

/// `ntlmauthenticator`
pub(super) fn ntlm(scene: &Scene<'_>) -> Report {
    report(
        scene,
        Kind::NtlmAuth,
        "NTLM Authenticator",
        "NTLM authenticators",
    )
}

/// `negotiateauthenticator`
pub(super) fn negotiate(scene: &Scene<'_>) -> Report {
    let (title, none) = ("Negotiate Authenticator", "Negotiate authenticators");
    report(scene, Kind::NegotiateAuth, title, none)
}

/// `external_acl`: one after the other.
pub(super) fn external_acl(scene: &Scene<'_>) -> Report {
    let classes = scene.plan().external_reports();
    let helpers = classes.iter().map(|class| Helpers {
        name: Some(class.name.clone()),
        cache_size: Some(class.answers),
        ..Helpers::of(&class.pool)
    });
    let helpers: Vec<_> = helpers.collect();
    let text = helpers.iter().fold(String::new(), |text, helpers| {
        let name = helpers.name.as_deref().unwrap_or_default();
        let size = helpers.cache_size.unwrap_or(0);
        text + &format!("External ACL Statistics: {name}\nCache size: {size}\n")
            + &helpers.text()
            + "\n"
    });
    Report::new(&helpers, text)
}

fn report(scene: &Scene<'_>, kind: Kind, title: &str, none: &str) -> Report {
    let pools = scene.helpers().pools();
    let pool = pools.iter().find(|pool| pool.options().kind == kind);
    let helpers = pool.map(|pool| Helpers::of(pool));
    let text = match &helpers {
        Some(helpers) => format!("{title} Statistics:\n") + &helpers.text(),
        None => format!("No {none} defined\n"),
    };
    Report::new(&helpers, text)
}

impl Helpers {
    fn of(pool: &Pool) -> Self {
        let options = pool.options();
        let program = options
            .command
            .first()
            .map(|program| program.to_string_lossy().into_owned());
        Self::with(
            program.unwrap_or_default(),
            options.children.max,
            &pool.status(),
        )
    }

    fn with(program: String, most: usize, status: &Status) -> Self {
        Self {
            name: None,
            cache_size: None,
            program,
            active: status.active,
            most,
            shutting_down: status.retiring,
            requests_sent: status.sent,
            replies_received: status.received,
            requests_timed_out: status.timed_out,
            requests_refused: status.refused,
            deaths: status.deaths,
            queue: status.queue,
            queue_most: status.queue_max,
            average_service_msecs: status.average.as_millis(),
            children: status.children.iter().map(Child::of).collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "  program: {}\n  number active: {} of {} ({} shutting down)\n  requests sent: {}\n  \
             replies received: {}\n  requests timedout: {}\n  queue length: {}\n  \
             avg service time: {} msec\n\n   \
             ID #\t     FD\t    PID\t # Requests\t  # Replies\t# Timed-out\t Flags\t   Time\t Offset\tRequest\n",
            self.program,
            self.active,
            self.most,
            self.shutting_down,
            self.requests_sent,
            self.replies_received,
            self.requests_timed_out,
            self.queue,
            self.average_service_msecs
        );
        for child in &self.children {
            child.write(&mut text);
        }
        text + "\nFlags key:\n   B\tBUSY\n   W\tWRITING\n   C\tCLOSING\n   R\tRESERVED\n   \
                S\tSHUTDOWN PENDING\n   P\tPLACEHOLDER\n"
    }
}

impl Child {
    fn of(child: &ChildStatus) -> Self {
        Self {
            id: child.id,
            descriptor: child.descriptor,
            pid: child.pid,
            requests: child.sent,
            replies: child.received,
            timed_out: child.timed_out,
            pending: child.pending,
            reserved: child.phase == Phase::Reserved,
            retiring: child.phase == Phase::Retiring,
            last_secs: child.last.as_secs_f64(),
        }
    }

    fn write(&self, text: &mut String) {
        let flag = |is_set: bool, letter| if is_set { letter } else { ' ' };
        let [busy, reserved, retiring] = [
            flag(self.pending > 0, 'B'),
            flag(self.reserved, 'R'),
            flag(self.retiring, 'S'),
        ];
        // Squid shows the question here, with the passwords in it. We don't.
        let request = if self.pending > 0 {
            "(not shown)"
        } else {
            "(none)"
        };
        *text += &format!(
            "{:7}\t{:7}\t{:7}\t{:11}\t{:11}\t{:11}\t{busy}  {reserved}{retiring} \t{:7.3}\t{:7}\t{request}\n",
            self.id,
            self.descriptor,
            self.pid,
            self.requests,
            self.replies,
            self.timed_out,
            self.last_secs,
            0
        );
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_text_is_squids() {
        let child = ChildStatus {
            id: 7,
            pid: 30770,
            descriptor: 23,
            phase: Phase::Ready,
            sent: 1,
            received: 1,
            timed_out: 0,
            pending: 0,
            last: Duration::from_millis(3),
        };
        let status = Status {
            active: 1,
            sent: 1,
            received: 1,
            average: Duration::from_millis(3),
            children: vec![child],
            ..Status::default()
        };
        let expected = "  program: /usr/lib/squid/ext.sh
  number active: 1 of 2 (0 shutting down)
  requests sent: 1
  replies received: 1
  requests timedout: 0
  queue length: 0
  avg service time: 3 msec

   ID #\t     FD\t    PID\t # Requests\t  # Replies\t# Timed-out\t Flags\t   Time\t Offset\tRequest
      7\t     23\t  30770\t          1\t          1\t          0\t      \t  0.003\t      0\t(none)

Flags key:
   B\tBUSY
   W\tWRITING
   C\tCLOSING
   R\tRESERVED
   S\tSHUTDOWN PENDING
   P\tPLACEHOLDER
";
        assert_eq!(
            Helpers::with("/usr/lib/squid/ext.sh".into(), 2, &status).text(),
            expected
        );
    }

    #[test]
    fn a_question_is_not_shown_as_it_may_hold_a_password() {
        let child = Child {
            id: 1,
            descriptor: 5,
            pid: 9,
            requests: 1,
            replies: 0,
            timed_out: 0,
            pending: 1,
            reserved: true,
            retiring: false,
            last_secs: 0.0,
        };
        let mut text = String::new();
        child.write(&mut text);
        assert!(
            text.contains("\tB  R  \t") && text.ends_with("(not shown)\n"),
            "{text:?}"
        );
    }
}
