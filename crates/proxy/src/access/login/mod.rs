//! Logins: who the client is (`auth_param`). A rule that asks for the user comes here.
//!
//! | file | holds |
//! | --- | --- |
//! | `said.rs` | what the client says of itself: `Authorization`, `Proxy-Authorization` |
//! | `basic.rs`, `ncsa.rs` | Basic (RFC 7617), and password files that are read without a helper |
//! | `digest.rs`, `nonce.rs` | Digest (RFC 7616) |
//! | `handshake.rs` | NTLM and Negotiate (RFC 4559), by which a connection logs in |
//! | `known.rs` | what helpers have said, remembered |
//! | `connection.rs` | what a connection keeps of that |
//! | `offer.rs` | which schemes a client is offered (`auth_schemes`) |
//! | `users.rs` | who has logged in, for the manager's page |
//! | `challenge.rs` | what a client is told that has to log in |
//!
//! No password, digest or token is logged, shown or passed on from here.

mod basic;
mod challenge;
mod connection;
mod crypt;
mod digest;
mod handshake;
mod known;
mod ncsa;
mod nonce;
mod offer;
mod said;
mod secret;
mod users;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use config::auth::{AuthScheme, Scheme as Kind};
use config::{Config, Problem, Severity};
use rules::Rule;
use wire::helper::{Answer, Quoting, Verdict, quote};

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Side};
use crate::flow::Received;
use crate::format::{Dialect, Format, Scene};
use crate::helpers::{self, Failed, Helpers, Pool};

pub use challenge::Challenge;
pub(crate) use challenge::add_fields;
pub(crate) use connection::ConnectionLogin;
pub use users::{KnownUser, KnownUsers};

/// All schemes that are offered, in the order of the file.
#[derive(Debug)]
pub(crate) struct Logins {
    schemes: Vec<Arc<Scheme>>,
    /// For each line of `auth_schemes`.
    offers: Vec<Vec<Arc<Scheme>>>,
}

/// A scheme, with what is known by it. A reload that leaves its lines as they are keeps it.
#[derive(Debug)]
struct Scheme {
    config: AuthScheme,
    /// `authenticate_ttl`
    ttl: Duration,
    pool: Arc<Pool>,
    way: Way,
    extras: Option<Format>,
    /// The second of the last complaint about the helper: one a second is enough.
    complained: AtomicI64,
}

#[derive(Debug)]
enum Way {
    Basic(basic::Basic),
    Digest(digest::Digest),
    Handshake(handshake::Handshake),
}

/// A client that tries to log in.
struct Attempt<'a> {
    scheme: &'a Scheme,
    received: &'a Received<'a>,
    said: said::Said<'a>,
}

impl Attempt<'_> {
    async fn login(&self) -> Result<Arc<User>, Refused> {
        match &self.scheme.way {
            Way::Basic(basic) => basic.login(self).await,
            Way::Digest(digest) => digest.login(self).await,
            Way::Handshake(handshake) => handshake.login(self).await,
        }
    }

    /// What goes behind a question (`key_extras`).
    fn extras(&self) -> Vec<u8> {
        let mut extras = Vec::new();
        if let Some(format) = &self.scheme.extras {
            extras.push(b' ');
            format.render(&Scene::of_request(self.received), &mut extras);
        }
        extras
    }

    fn connection(&self) -> &ConnectionLogin {
        &self.received.connection.login
    }

    fn now_ns(&self) -> u64 {
        self.received.now.mono_ns
    }
}

/// Someone who has logged in.
#[derive(Debug)]
struct User {
    name: Arc<str>,
    /// What the helper said besides: `group`, `tag`, names of its own.
    notes: Vec<(Box<str>, Box<str>)>,
}

/// Why somebody isn't let in.
#[derive(Debug)]
enum Refused {
    /// The credentials are wrong, or make no sense. The name is for the log.
    Wrong(Option<Arc<str>>),
    /// They are wrong, and the helper has words for the client.
    Told(Option<Arc<str>>, Box<str>),
    /// They are right, but for a challenge that is too old (RFC 7616 §3.3, `stale`).
    Stale(Option<Arc<str>>),
    /// The handshake goes on: this is the next challenge.
    Continue(Box<[u8]>),
    /// The helper couldn't say.
    Unknown(Option<Arc<str>>),
}

impl Refused {
    /// What follows from a helper's no: its message is for the page, and without one what it says behind its answer.
    fn told(user: Option<Arc<str>>, answer: &Answer) -> Self {
        let message = answer.get("message").unwrap_or(&answer.rest);
        match message {
            b"" => Self::Wrong(user),
            _ => Self::Told(user, String::from_utf8_lossy(message).into()),
        }
    }
}

impl Logins {
    /// `None` when no scheme is complete. Those of `before` go on where their lines are the same.
    ///
    /// # Errors
    ///
    /// A helper program that isn't there, a format that makes no sense.
    pub(crate) fn new(
        config: &Config,
        helpers: &Helpers,
        before: Option<&Self>,
    ) -> Result<Option<Self>, Vec<Problem>> {
        let mut problems = Self::check(config);
        problems.extend(Self::missing(config).map(|problem| Problem {
            severity: Severity::Fatal,
            ..problem
        }));
        if !problems.is_empty() {
            return Err(problems);
        }
        let complete = config.auth_param.iter().filter(|known| known.is_complete());
        let schemes: Result<Vec<_>, Vec<Problem>> = complete
            .map(|scheme| {
                let known = before.and_then(|before| before.alike(scheme, config.authenticate_ttl));
                let opened = known.map_or_else(
                    || Scheme::open(scheme, config.authenticate_ttl, helpers).map(Arc::new),
                    Ok,
                );
                opened.map_err(|error| {
                    vec![problem(scheme, &format!("cannot start helpers: {error}"))]
                })
            })
            .collect();
        let schemes = schemes?;
        let offers = config.auth_schemes.iter();
        let offers = offers.map(|offer| offer::order(offer, &schemes)).collect();
        Ok((!schemes.is_empty()).then_some(Self { schemes, offers }))
    }

    /// Programs that aren't there. The file may be made for another machine: only who starts with it
    /// can't go on.
    pub(crate) fn missing(config: &Config) -> impl Iterator<Item = Problem> {
        let schemes = config.auth_param.iter();
        schemes.filter_map(|scheme| {
            let program = scheme.program.first()?;
            let missing = std::fs::metadata(program).err()?;
            let errno = missing.raw_os_error().unwrap_or(0);
            let why = rustix::io::Errno::from_raw_os_error(errno).to_string();
            let why = why.split(" (os error").next().unwrap_or_default();
            let message = format!("Authentication helper program {program}: ({errno}) {why}");
            Some(Problem {
                severity: Severity::Error,
                ..problem(scheme, &message)
            })
        })
    }

    /// What keeps the schemes from being used.
    pub(crate) fn check(config: &Config) -> Vec<Problem> {
        let formats = config.auth_param.iter().filter_map(|scheme| {
            let bad = Format::compile(&scheme.key_extras, Dialect::Logformat).err()?;
            Some(problem(scheme, &format!("key_extras: {bad}")))
        });
        formats.chain(offer::unknown(config)).collect()
    }

    /// The scheme of the same lines, wherever they stand.
    fn alike(&self, config: &AuthScheme, ttl: Duration) -> Option<Arc<Scheme>> {
        let same = self.schemes.iter().find(|known| {
            let moved = AuthScheme {
                place: known.config.place.clone(),
                ..config.clone()
            };
            known.config == moved && known.ttl == ttl
        });
        same.cloned()
    }

    fn find(&self, name: &[u8]) -> Option<&Scheme> {
        let mut schemes = self.schemes.iter();
        let found = schemes.find(|known| name.eq_ignore_ascii_case(known.name().as_bytes()));
        found.map(Arc::as_ref)
    }
}

fn problem(scheme: &AuthScheme, message: &str) -> Problem {
    let text = format!("auth_param {}", scheme.scheme.name());
    let whole = 0..text.len();
    Problem::new(Severity::Fatal, &scheme.place, &text, whole, message)
}

impl Scheme {
    fn open(config: &AuthScheme, ttl: Duration, helpers: &Helpers) -> io::Result<Self> {
        let kind = match config.scheme {
            Kind::Basic(_) => helpers::Kind::BasicAuth,
            Kind::Digest(_) => helpers::Kind::DigestAuth,
            Kind::Ntlm(_) => helpers::Kind::NtlmAuth,
            Kind::Negotiate(_) => helpers::Kind::NegotiateAuth,
        };
        let options = helpers::Options::new(kind, &config.program, &config.children);
        let pool = helpers.pool(&options)?;
        let way = match config.scheme {
            Kind::Basic(options) => Way::Basic(basic::Basic::new(options, &config.program)),
            Kind::Digest(options) => Way::Digest(digest::Digest::new(options)),
            Kind::Ntlm(_) | Kind::Negotiate(_) => Way::Handshake(handshake::Handshake),
        };
        Ok(Self {
            way,
            pool,
            ttl,
            // Checked before.
            extras: Format::compile(&config.key_extras, Dialect::Logformat)
                .ok()
                .filter(|_| !config.key_extras.is_empty()),
            config: config.clone(),
            complained: AtomicI64::new(0),
        })
    }

    const fn name(&self) -> &'static str {
        self.config.scheme.name()
    }

    /// Appends a value to a question. Names and passwords are UTF-8 if that is asked for.
    fn quote(&self, style: Quoting, value: &str, bytes: &[u8], question: &mut Vec<u8>) {
        let value = if self.config.utf8 {
            value.as_bytes()
        } else {
            bytes
        };
        quote(style, value, question);
    }

    /// Asks the helper: `Ok` for yes.
    async fn ask(&self, question: &[u8], name: Option<&Arc<str>>) -> Result<Answer, Refused> {
        self.sort_out(self.pool.ask(question).await, name)
    }

    /// Parts a yes from a no, and from what is no answer, which the log is told.
    fn sort_out(
        &self,
        answer: Result<Answer, Failed>,
        name: Option<&Arc<str>>,
    ) -> Result<Answer, Refused> {
        match answer {
            Ok(answer) => match answer.verdict {
                Verdict::Ok | Verdict::Tt => Ok(answer),
                Verdict::Err => Err(Refused::told(name.cloned(), &answer)),
                Verdict::Bh => {
                    let message = answer.get("message").unwrap_or_default().escape_ascii();
                    self.complain(&format_args!("the helper could not say: {message}"));
                    Err(Refused::Unknown(name.cloned()))
                }
            },
            Err(failed) => {
                self.complain(&failed);
                Err(Refused::Unknown(name.cloned()))
            }
        }
    }

    /// Tells the log that nobody can log in, once a second.
    fn complain(&self, why: &dyn std::fmt::Display) {
        let now = jiff::Timestamp::now().as_second();
        if self.complained.swap(now, Ordering::Relaxed) != now {
            tracing::error!("auth_param {}: {why}", self.name());
        }
    }
}

impl User {
    /// A user as the helper's answer describes him. What was asked for is no secret to keep.
    fn new(name: Arc<str>, answer: &Answer) -> Self {
        const RESERVED: [&[u8]; 6] = [b"user", b"password", b"ha1", b"token", b"nonce", b"message"];
        let pairs = answer.pairs.iter();
        let told = pairs.filter(|pair| !RESERVED.contains(&pair.key.as_slice()));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into();
        let notes = told.map(|pair| (text(&pair.key), text(&pair.value)));
        Self {
            name,
            notes: notes.collect(),
        }
    }

    fn learn(&self, received: &Received<'_>) {
        received.learnt.learn_user(Arc::clone(&self.name));
        if !self.notes.is_empty() {
            received.learnt.note(|notes| {
                for (name, value) in &self.notes {
                    notes.add(name, value);
                }
            });
        }
    }
}

/// Learns who sent a request.
///
/// # Errors
///
/// Nobody, as far as can be said: the client is challenged.
pub(crate) async fn learn_user(cx: &Context, received: &Received<'_>) -> Result<(), Failure> {
    let Some(logins) = &cx.plan.logins else {
        let failure = Failure::new(FailureKind::AccessDenied, Side::Us);
        return Err(failure.with_detail("a rule asks for the user, and no auth_param says how"));
    };
    let said = said::Said::of(received);
    if let Some(user) = received.connection.login.user(said.as_ref()) {
        user.learn(received);
        return Ok(());
    }
    let Some((said, scheme)) = said.and_then(|said| Some((said, logins.find(said.scheme)?))) else {
        return Err(challenge::all(cx, logins, received, None));
    };
    let attempt = Attempt {
        scheme,
        received,
        said,
    };
    match attempt.login().await {
        Ok(user) => {
            user.learn(received);
            Ok(())
        }
        Err(refused) => Err(challenge::after(cx, logins, &attempt, refused)),
    }
}

/// Does the rule, if it denies, deny a user? Its last ACL says so, as for Squid.
pub(crate) fn is_asked_by(cx: &Context, rule: &Rule) -> bool {
    let needs_user = |class: &str| cx.plan.externals.asks_login(class);
    cx.plan.logins.is_some() && cx.plan.rules.asks_login(rule, needs_user)
}

/// The user is known, and a rule that looks at him said no: another login may be better. A connection
/// that has logged in begins anew.
pub(crate) fn another(cx: &Context, received: &Received<'_>) -> Option<Failure> {
    let logins = cx.plan.logins.as_ref()?;
    received.connection.login.forget();
    let user = received.learnt.user().cloned();
    Some(challenge::all(cx, logins, received, user))
}
