//! Basic (RFC 7617): a name and a password. Good ones are remembered, by a hash; wrong ones are asked
//! about each time, as Squid does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::sync::Cache;
use wire::helper::{Answer, Quoting, Verdict};

use super::known::Known;
use super::ncsa::{Found, Ncsa};
use super::said;
use super::secret::Secret;
use super::users::{KnownUser, left};
use super::{Attempt, Refused, User};

/// Users whose latest password is remembered.
const USERS_MAX: usize = 16 * 1024;

type Key = [u8; 16];

#[derive(Debug)]
pub(super) struct Basic {
    options: config::auth::Basic,
    secret: Secret,
    known: Known<Key, Password>,
    /// Key of the password that was right last, by user: an older one no longer counts.
    latest: Cache<Key, Key>,
    /// The file of `basic_ncsa_auth`, read here.
    file: Option<Ncsa>,
}

/// A password that was right.
#[derive(Debug)]
struct Password {
    user: Arc<User>,
    asked_ns: u64,
    seen_ns: AtomicU64,
}

impl Password {
    fn holds(&self, options: &config::auth::Basic, ttl: Duration, now_ns: u64) -> bool {
        let age = |since: u64| Duration::from_nanos(now_ns.saturating_sub(since));
        age(self.asked_ns) < options.credentialsttl
            && age(self.seen_ns.load(Ordering::Relaxed)) < ttl
    }
}

impl Basic {
    pub(super) fn new(options: config::auth::Basic, program: &[String]) -> Self {
        Self {
            options,
            secret: Secret::new(),
            known: Known::new(),
            latest: Cache::new(USERS_MAX),
            file: Ncsa::of(program),
        }
    }

    /// Who is it?
    pub(super) async fn login(&self, attempt: &Attempt<'_>) -> Result<Arc<User>, Refused> {
        let decoded = attempt.said.decoded().ok_or(Refused::Wrong(None))?;
        let pair = Pair::of(&decoded, &self.options)?;
        let extras = attempt.extras();
        let key = self
            .secret
            .hash(&[pair.user.as_bytes(), pair.password, &extras]);
        let now_ns = attempt.now_ns();
        let user_key = self.secret.hash(&[pair.user.as_bytes(), &extras]);
        let is_latest = self.latest.get(&user_key) == Some(key);
        let ttl = attempt.scheme.ttl;
        let holds = |known: &Password| is_latest && known.holds(&self.options, ttl, now_ns);
        let ask = async {
            let user = Arc::new(self.ask(attempt, &pair, &extras).await?);
            self.latest.insert(user_key, key);
            Ok(Password {
                user,
                asked_ns: now_ns,
                seen_ns: AtomicU64::new(now_ns),
            })
        };
        let known = self.known.recall(&key, holds, ask).await?;
        known.seen_ns.fetch_max(now_ns, Ordering::Relaxed);
        Ok(Arc::clone(&known.user))
    }

    /// How many logins are remembered, and `most` of them.
    pub(super) fn users(&self, most: usize, ttl_secs: i64, now_ns: u64) -> (usize, Vec<KnownUser>) {
        let check = i64::try_from(self.options.credentialsttl.as_secs()).unwrap_or(i64::MAX);
        let users = self.known.some(most).map(|known| KnownUser {
            scheme: "basic",
            name: Arc::clone(&known.user.name),
            check_secs: left(check, known.asked_ns, now_ns),
            cache_secs: left(ttl_secs, known.seen_ns.load(Ordering::Relaxed), now_ns),
        });
        (self.known.len(), users.collect())
    }

    async fn ask(
        &self,
        attempt: &Attempt<'_>,
        pair: &Pair<'_>,
        extras: &[u8],
    ) -> Result<User, Refused> {
        let name = &pair.user;
        if let Some(file) = &self.file {
            match file.check(&pair.user_bytes, pair.password).await {
                Found::Right => return Ok(User::new(Arc::clone(name), &Answer::new(Verdict::Ok))),
                Found::Wrong => return Err(Refused::Wrong(Some(Arc::clone(name)))),
                Found::Unknown => {}
            }
        }
        let scheme = attempt.scheme;
        let mut question = Vec::with_capacity(256);
        scheme.quote(Quoting::Url, name, &pair.user_bytes, &mut question);
        question.push(b' ');
        let password = said::text(pair.password);
        scheme.quote(Quoting::Url, &password, pair.password, &mut question);
        question.extend_from_slice(extras);
        let answer = scheme.ask(&question, Some(name)).await?;
        Ok(User::new(Arc::clone(name), &answer))
    }
}

/// A name and a password, as bytes for the helper; the name as text for all others.
#[derive(Debug)]
struct Pair<'p> {
    user: Arc<str>,
    user_bytes: Vec<u8>,
    password: &'p [u8],
}

impl<'p> Pair<'p> {
    fn of(decoded: &'p [u8], options: &config::auth::Basic) -> Result<Self, Refused> {
        let colon = memchr::memchr(b':', decoded);
        let cut = colon.and_then(|at| decoded.split_at_checked(at));
        let (user, rest) = cut.unwrap_or((decoded, b""));
        let password = rest.get(1..).unwrap_or_default();
        if user.is_empty() || said::has_control(decoded) {
            return Err(Refused::Wrong(None));
        }
        let mut user_bytes = user.to_vec();
        if !options.casesensitive {
            user_bytes.make_ascii_lowercase();
        }
        let user: Arc<str> = said::text(&user_bytes).into();
        // Directories take a login without a password for an anonymous one, and let it in.
        if colon.is_none() || (password.is_empty() && !options.blankpassword) {
            return Err(Refused::Wrong(Some(user)));
        }
        Ok(Self {
            user,
            user_bytes,
            password,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: config::auth::Basic = config::auth::Basic {
        credentialsttl: Duration::from_secs(60),
        casesensitive: false,
        blankpassword: false,
    };

    #[test]
    fn a_pair_is_parted_at_the_first_colon() {
        let pair = Pair::of(b"Joe:a:b", &OPTIONS).unwrap();
        assert_eq!((&*pair.user, pair.password), ("joe", &b"a:b"[..]));
        let options = config::auth::Basic {
            casesensitive: true,
            ..OPTIONS
        };
        assert_eq!(&*Pair::of(b"Joe:a", &options).unwrap().user, "Joe");
        assert_eq!(&*Pair::of(b"j\xf6:a", &OPTIONS).unwrap().user, "jö");
        assert_eq!(&*Pair::of("jö:a".as_bytes(), &OPTIONS).unwrap().user, "jö");
    }

    #[test]
    fn what_is_no_pair_never_reaches_a_helper() {
        let name = |decoded: &[u8]| match Pair::of(decoded, &OPTIONS) {
            Err(Refused::Wrong(name)) => name,
            other => panic!("{other:?}"),
        };
        for decoded in [
            &b""[..],
            b":",
            b":pw",
            b"a\nb:pw",
            b"a:p\rw",
            b"a:p\0w",
            b"a\x7f:x",
        ] {
            assert_eq!(name(decoded), None, "{decoded:?}");
        }
        for decoded in [&b"joe"[..], b"joe:"] {
            assert_eq!(name(decoded).as_deref(), Some("joe"), "{decoded:?}");
        }
        let blank = config::auth::Basic {
            blankpassword: true,
            ..OPTIONS
        };
        assert_eq!(Pair::of(b"joe:", &blank).unwrap().password, b"");
    }

    #[test]
    fn a_password_holds_until_it_is_old_or_long_unused() {
        const SEC: u64 = 1_000_000_000;
        let user = User::new("joe".into(), &Answer::new(Verdict::Ok));
        let known = Password {
            user: Arc::new(user),
            asked_ns: 0,
            seen_ns: AtomicU64::new(0),
        };
        let ttl = Duration::from_secs(10);
        assert!(known.holds(&OPTIONS, ttl, 9 * SEC));
        assert!(!known.holds(&OPTIONS, ttl, 10 * SEC));
        known.seen_ns.store(55 * SEC, Ordering::Relaxed);
        assert!(known.holds(&OPTIONS, ttl, 59 * SEC));
        assert!(!known.holds(&OPTIONS, ttl, 60 * SEC));
    }
}
