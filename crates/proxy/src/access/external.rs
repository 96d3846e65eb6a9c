//! External ACLs: what a helper says of a request, remembered for as long as its class says.
//!
//! Answers and helpers are shared by all workers, and outlive a reload that leaves the class as it
//! is. A question that is being asked is not asked a second time: others wait for its answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use config::external::ExternalAclType;
use config::{Config, Problem, Problems, Severity};
use hashbrown::HashMap;
use net::clock::Clock;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use rules::{ExternalLogin, Learnt, Notes, Question};
use tokio::sync::watch;
use wire::helper::{Answer, Verdict};

use super::answer;
use crate::context::Context;
use crate::failure::Failure;
use crate::flow::Received;
use crate::format::{AclCall, Format, Scene, dialect};
use crate::helpers::{Failed, Helpers, Kind, Options, Pool};

/// An answer of usual size with its question, in bytes; a larger one takes the place of several.
const ANSWER_BYTES_USUAL: usize = 512;

/// The pair that is no annotation: a password belongs in no log.
const SECRET: &[u8] = b"password";

/// All classes of a configuration.
#[derive(Debug, Default)]
pub(crate) struct Externals(Box<[Arc<Class>]>);

/// `external_acl_type`
struct Class {
    config: ExternalAclType,
    format: Format,
    asks_login: bool,
    pool: Arc<Pool>,
    answers: Answers,
}

/// What is known, and what is being asked.
struct Answers {
    ttl_ns: u64,
    negative_ttl_ns: u64,
    grace_percent: u64,
    /// `None`: nothing is kept.
    known: Option<Cache<Box<[u8]>, Arc<Known>, Size>>,
    asking: Mutex<Asking>,
}

/// What a helper said.
#[derive(Debug)]
struct Known {
    matches: bool,
    notes: Box<[(Box<str>, Box<str>)]>,
    login: ExternalLogin,
    /// When: monotonic clock, nanoseconds.
    at_ns: u64,
}

type Told = Result<Arc<Known>, Failed>;

/// Questions that helpers have now, and where to wait for what they say.
type Asking = HashMap<Box<[u8]>, watch::Receiver<Option<Told>>>;

#[derive(Clone)]
struct Size;

impl Weighter<Box<[u8]>, Arc<Known>> for Size {
    fn weight(&self, question: &Box<[u8]>, known: &Arc<Known>) -> u64 {
        let notes = known.notes.iter();
        let notes: usize = notes.map(|(name, value)| name.len() + value.len()).sum();
        (question.len() + notes).max(ANSWER_BYTES_USUAL) as u64
    }
}

/// How good an answer still is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Fresh,
    /// In use, but to be asked for anew.
    Grace,
    Expired,
}

/// An `external_acl_type` at one moment, for the manager's page.
#[derive(Debug)]
pub struct ExternalReport {
    /// Its name.
    pub name: String,
    /// Answers that are remembered.
    pub answers: usize,
    /// Its helpers.
    pub pool: Arc<Pool>,
}

impl Externals {
    /// All classes as they are now.
    pub(crate) fn report(&self) -> Vec<ExternalReport> {
        let report = |class: &Arc<Class>| ExternalReport {
            name: class.config.name.clone(),
            answers: class.answers.known.as_ref().map_or(0, Cache::len),
            pool: Arc::clone(&class.pool),
        };
        self.0.iter().map(report).collect()
    }

    /// Opens the pools of all classes; those of `before` that are the same stay as they are.
    ///
    /// # Errors
    /// The helper thread can't be started.
    pub(crate) fn open(
        config: &Config,
        helpers: &Helpers,
        before: Option<&Self>,
    ) -> Result<Self, Problems> {
        let known = before.map_or(&[][..], |before| &before.0);
        let classes = config.external_acl_types.iter().map(|config| {
            let same = known.iter().find(|class| is_same(&class.config, config));
            match same {
                Some(class) => Ok(Some(Arc::clone(class))),
                None => Class::open(config, helpers).map_err(|error| {
                    let line = format!("external_acl_type {}", config.name);
                    let (place, mark) = (&config.place, 0..line.len());
                    let message = format!("cannot start helpers: {error}");
                    let problem = Problem::new(Severity::Fatal, place, &line, mark, &message);
                    Problems(vec![problem])
                }),
            }
        });
        let classes: Result<Vec<_>, _> = classes.filter_map(Result::transpose).collect();
        Ok(Self(classes?.into()))
    }

    /// Is the helper of this class told the name that the client logs in with?
    pub(super) fn asks_login(&self, class: &str) -> bool {
        self.class(class).is_some_and(|class| class.asks_login)
    }

    fn class(&self, name: &str) -> Option<&Arc<Class>> {
        self.0.iter().find(|class| class.config.name == name)
    }
}

/// The same line, wherever it stands?
fn is_same(one: &ExternalAclType, other: &ExternalAclType) -> bool {
    let place = other.place.clone();
    ExternalAclType {
        place,
        ..one.clone()
    } == *other
}

impl Class {
    /// `None`: its format makes no sense, which has been told.
    fn open(config: &ExternalAclType, helpers: &Helpers) -> io::Result<Option<Arc<Self>>> {
        let Ok(format) = Format::compile(&config.format, dialect(config)) else {
            return Ok(None);
        };
        let pool = helpers.pool(&options(config))?;
        Ok(Some(Arc::new(Self {
            asks_login: format.asks_login(),
            format,
            pool,
            answers: Answers::new(config),
            config: config.clone(),
        })))
    }
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Class").field(&self.config).finish()
    }
}

fn options(config: &ExternalAclType) -> Options {
    let pool = config::helper::Pool {
        // Squid has no other for these.
        overload: config::helper::Overload::Err,
        ..config.pool
    };
    Options {
        name: config.name.clone(),
        ..Options::new(Kind::ExternalAcl, &config.command, &pool)
    }
}

/// Asks what the helper says of the `external` ACL with this index, and notes what follows from it.
///
/// # Errors
///
/// The helper is to be told who the client is, and it has to say so first.
pub(super) async fn ask(cx: &Context, received: &Received<'_>, acl: u32) -> Result<(), Failure> {
    let learnt = received.learnt;
    if is_about_user(cx, acl) && learnt.user().is_none() {
        Box::pin(answer(cx, received, Question::User)).await?;
    }
    match find_out(cx, received, acl).await {
        Some(known) => {
            annotate(learnt, &known);
            learnt.learn_external(acl, known.matches);
        }
        None => learnt.fail_external(acl),
    }
    Ok(())
}

fn is_about_user(cx: &Context, acl: u32) -> bool {
    let class = cx.plan.rules.external(acl);
    class.is_some_and(|(class, _)| cx.plan.externals.asks_login(class))
}

/// `None`: it can't be found out.
async fn find_out(cx: &Context, received: &Received<'_>, acl: u32) -> Option<Arc<Known>> {
    let (class, data) = cx.plan.rules.external(acl)?;
    let name = cx.plan.rules.acls().name(acl)?;
    let class = cx.plan.externals.class(class)?;
    let mut question = cx.buffers.take();
    let scene = Scene::of_request(received).with_acl(AclCall { name, data });
    class.format.render(&scene, &mut question);
    let answers = &class.answers;
    let known = answers.known(&question);
    let age = known.as_ref().map(|known| answers.age(known, cx.clock));
    let known = match age {
        Some(Age::Fresh) => known,
        Some(Age::Grace) => {
            let (class, clock, question) = (Arc::clone(class), cx.clock, question.clone());
            drop(tokio::task::spawn_local(async move {
                class.answers.renew(&class.pool, clock, &question).await;
            }));
            known
        }
        Some(Age::Expired) | None => {
            // Apart, so that what is known costs no room for asking.
            let told = answers.tell(&class.pool, cx.clock, &question, known);
            // The pool tells the operator what is wrong with it, once.
            let told = Box::pin(told).await.inspect_err(|failed| {
                tracing::debug!("external_acl_type {}: {failed}", class.config.name);
            });
            told.ok()
        }
    };
    cx.buffers.give(question);
    known
}

/// What the helper says beside yes or no becomes annotations. The first tag stays, as in Squid.
fn annotate(learnt: &Learnt, known: &Known) {
    if known.login.user.is_some() || known.login.password.is_some() {
        learnt.learn_external_login(&known.login);
    }
    if known.notes.is_empty() {
        return;
    }
    let tags = known
        .notes
        .iter()
        .filter(|(name, _)| **name == *"clt_conn_tag");
    tags.for_each(|(name, value)| learnt.note_client(name, value));
    learnt.note(|notes: &mut Notes| {
        for (name, value) in &known.notes {
            let is_known = match &**name {
                "tag" => notes.last(name).is_some(),
                // What came last is what counts of these.
                "user" | "log" | "message" => {
                    notes.remove(name);
                    false
                }
                _ => notes.all(name).any(|known| *known == **value),
            };
            if !is_known {
                notes.add(name, value);
            }
        }
    });
}

impl Answers {
    fn new(config: &ExternalAclType) -> Self {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let bytes_max = config.cache.saturating_mul(ANSWER_BYTES_USUAL) as u64;
        let known = (config.cache > 0).then(|| Cache::with_weighter(config.cache, bytes_max, Size));
        Self {
            ttl_ns: nanoseconds(config.ttl),
            negative_ttl_ns: nanoseconds(config.negative_ttl.unwrap_or(config.ttl)),
            grace_percent: config.grace_percent.min(100).into(),
            known,
            asking: Mutex::default(),
        }
    }

    fn age(&self, known: &Known, clock: Clock) -> Age {
        let ttl_ns = match known.matches {
            true => self.ttl_ns,
            false => self.negative_ttl_ns,
        };
        let age_ns = clock.now().mono_ns.saturating_sub(known.at_ns);
        if age_ns >= ttl_ns {
            Age::Expired
        } else if self.grace_percent > 0 && age_ns >= ttl_ns / 100 * (100 - self.grace_percent) {
            Age::Grace
        } else {
            Age::Fresh
        }
    }

    fn known(&self, question: &[u8]) -> Option<Arc<Known>> {
        self.known.as_ref()?.get(question)
    }

    /// The answer: asked for, or what another is about to be told; `old` is one that has expired.
    async fn tell(
        &self,
        pool: &Pool,
        clock: Clock,
        question: &[u8],
        old: Option<Arc<Known>>,
    ) -> Told {
        let told = loop {
            match self.lead_or_follow(question) {
                Part::Lead(lead) => break lead.ask(pool, clock).await,
                Part::Follow(mut asked) => {
                    if let Ok(told) = asked.wait_for(Option::is_some).await
                        && let Some(told) = told.as_ref()
                    {
                        break told.clone();
                    }
                    // Who asked has left before there was an answer: another asks.
                }
            }
        };
        match (told, old) {
            // An old answer is better than none when there are too many questions.
            (Err(Failed::Overloaded), Some(old)) => Ok(old),
            (told, _) => told,
        }
    }

    /// Asks anew, unless that is being done.
    async fn renew(&self, pool: &Pool, clock: Clock, question: &[u8]) {
        if let Part::Lead(lead) = self.lead_or_follow(question) {
            // What is known stays in use until it expires.
            drop(lead.ask(pool, clock).await);
        }
    }

    fn lead_or_follow(&self, question: &[u8]) -> Part<'_> {
        let mut asking = self.asking();
        if let Some(asked) = asking.get(question) {
            return Part::Follow(asked.clone());
        }
        let (told, asked) = watch::channel(None);
        asking.insert(question.into(), asked);
        Part::Lead(Lead {
            answers: self,
            question: question.into(),
            told,
        })
    }

    fn asking(&self) -> MutexGuard<'_, Asking> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is left to do for one who has a question.
enum Part<'a> {
    /// Nobody asks it: do.
    Lead(Lead<'a>),
    /// Wait for what another is told.
    Follow(watch::Receiver<Option<Told>>),
}

/// The right to ask a question, until it is dropped.
struct Lead<'a> {
    answers: &'a Answers,
    question: Box<[u8]>,
    told: watch::Sender<Option<Told>>,
}

impl Lead<'_> {
    async fn ask(self, pool: &Pool, clock: Clock) -> Told {
        let told = match pool.ask(&self.question).await {
            Ok(answer) => Known::new(&answer, clock),
            Err(failed) => Err(failed),
        };
        if let Some(cache) = &self.answers.known {
            match &told {
                Ok(known) => cache.insert(self.question.clone(), Arc::clone(known)),
                Err(Failed::Overloaded) => {}
                Err(_) => {
                    cache.remove(&self.question);
                }
            }
        }
        self.told.send_replace(Some(told.clone()));
        told
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.answers.asking().remove(&self.question);
    }
}

impl Known {
    fn new(answer: &Answer, clock: Clock) -> Told {
        let matches = match answer.verdict {
            Verdict::Ok => true,
            Verdict::Err => false,
            // It could not find out.
            Verdict::Bh | Verdict::Tt => return Err(Failed::Garbage),
        };
        let pairs = answer.pairs.iter().filter(|pair| pair.key != SECRET);
        let said = |key| answer.get(key).filter(|value| !value.is_empty());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into();
        Ok(Arc::new(Self {
            matches,
            notes: pairs
                .map(|pair| (text(&pair.key), text(&pair.value)))
                .collect(),
            login: ExternalLogin {
                user: said("user").map(|user| String::from_utf8_lossy(user).into()),
                password: said("password").map(Into::into),
            },
            at_ns: clock.now().mono_ns,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(options: &str) -> Answers {
        let line = format!("external_acl_type c {options} %SRC /bin/true");
        let config = config::parse(&line, "test").unwrap();
        Answers::new(&config.external_acl_types[0])
    }

    fn known(matches: bool, at_ns: u64) -> Arc<Known> {
        Arc::new(Known {
            matches,
            notes: Box::default(),
            login: ExternalLogin::default(),
            at_ns,
        })
    }

    #[test]
    fn answers_age_by_what_they_say() {
        let clock = Clock::new();
        let now = clock.now().mono_ns;
        for (options, yes, no) in [
            ("", Age::Fresh, Age::Fresh),
            ("ttl=0", Age::Expired, Age::Expired),
            ("negative_ttl=0", Age::Fresh, Age::Expired),
            ("ttl=0 negative_ttl=9", Age::Expired, Age::Fresh),
            ("grace=100", Age::Grace, Age::Grace),
        ] {
            let answers = answers(options);
            assert_eq!(answers.age(&known(true, now), clock), yes, "{options}");
            assert_eq!(answers.age(&known(false, now), clock), no, "{options}");
        }
    }

    #[test]
    fn no_more_answers_are_kept_than_the_line_says() {
        for (cache, most) in [(0, 0), (10, 10), (1000, 1000)] {
            let answers = answers(&format!("cache={cache}"));
            for number in 0..5000_u32 {
                let question = number.to_string().into_bytes().into_boxed_slice();
                if let Some(cache) = &answers.known {
                    cache.insert(question, known(true, 0));
                }
            }
            let kept = (0..5000_u32)
                .filter(|number| answers.known(number.to_string().as_bytes()).is_some());
            let kept = kept.count();
            assert!(kept <= most && kept >= most / 2, "{kept} of {most}");
        }
    }

    #[test]
    fn who_leaves_before_the_answer_lets_another_ask() {
        let answers = answers("");
        let Part::Lead(lead) = answers.lead_or_follow(b"q") else {
            panic!("nobody asks yet");
        };
        assert!(matches!(answers.lead_or_follow(b"q"), Part::Follow(_)));
        assert!(matches!(answers.lead_or_follow(b"other"), Part::Lead(_)));
        drop(lead);
        assert!(matches!(answers.lead_or_follow(b"q"), Part::Lead(_)));
    }

    #[test]
    fn what_a_helper_says_becomes_annotations() {
        let learnt = Learnt::default();
        for line in [
            "OK user=a tag=first group=x k_=1 password=secret",
            "OK user=b tag=second group=x group=y",
        ] {
            let answer = Answer::parse(line.as_bytes(), wire::helper::Dialect::Plain).unwrap();
            annotate(&learnt, &Known::new(&answer, Clock::new()).unwrap());
        }
        let notes = learnt.notes(|notes| {
            let notes = notes.iter().map(|(name, value)| format!("{name}={value}"));
            notes.collect::<Vec<_>>().join(" ")
        });
        let conn = Answer::parse(b"OK clt_conn_tag=c", wire::helper::Dialect::Plain).unwrap();
        annotate(&learnt, &Known::new(&conn, Clock::new()).unwrap());
        let client = learnt.client_notes().unwrap();
        assert_eq!(client.last("clt_conn_tag"), Some("c"));
        let login = learnt.external_login();
        assert_eq!(login.user.as_deref(), Some("b"));
        assert_eq!(login.password.as_deref(), Some(&b"secret"[..]));
        assert!(!format!("{login:?}").contains("secret"));
        let expected = "tag=first group=x k_=1 user=b group=y";
        assert_eq!(notes.as_deref(), Some(expected));
    }
}
