//! Digest (RFC 7616 with MD5, as Squid has it): the helper gives the hash of name, realm and password (HA1), and
//! we see whether the client knows it too.

use std::sync::Arc;
use std::time::Duration;

use md5::{Digest as _, Md5};
use wire::helper::Quoting;

use super::known::Known;
use super::nonce::{Nonces, Use};
use super::said;
use super::secret::equal;
use super::users::{KnownUser, left};
use super::{Attempt, Refused, User};

/// 32 hexadecimal digits, small letters.
type Hex = [u8; 32];

#[derive(Debug)]
pub(super) struct Digest {
    options: config::auth::Digest,
    nonces: Nonces,
    known: Known<Vec<u8>, Hash>,
}

/// What the helper said of a user.
#[derive(Debug)]
struct Hash {
    user: Arc<User>,
    ha1: Hex,
    asked_ns: u64,
}

impl Digest {
    pub(super) fn new(options: config::auth::Digest) -> Self {
        Self {
            options,
            nonces: Nonces::new(),
            known: Known::new(),
        }
    }

    /// A nonce for a challenge.
    pub(super) fn nonce(&self, now_ns: u64) -> String {
        self.nonces.make(now_ns)
    }

    /// Who is it?
    pub(super) async fn login(&self, attempt: &Attempt<'_>) -> Result<Arc<User>, Refused> {
        let proof = Proof::parse(attempt.said.credentials).ok_or(Refused::Wrong(None))?;
        let name: Arc<str> = said::text(&proof.username).into();
        let known = self.prove(attempt, &proof, &name).await?;
        let now_ns = attempt.now_ns();
        match self
            .nonces
            .take(&proof.nonce, proof.count, &self.options, now_ns)
        {
            Use::Good => {}
            Use::Last => {
                let next = format!("nextnonce=\"{}\"", self.nonce(now_ns));
                attempt.connection().tell(next.into_bytes());
            }
            Use::Stale => return Err(Refused::Stale(Some(name))),
        }
        Ok(Arc::clone(&known.user))
    }

    /// How many logins are remembered, and `most` of them.
    pub(super) fn users(&self, most: usize, ttl_secs: i64, now_ns: u64) -> (usize, Vec<KnownUser>) {
        let users = self.known.some(most).map(|known| {
            let left = left(ttl_secs, known.asked_ns, now_ns);
            KnownUser {
                scheme: "digest",
                name: Arc::clone(&known.user.name),
                check_secs: left,
                cache_secs: left,
            }
        });
        (self.known.len(), users.collect())
    }

    /// The user, if the digest is good. One that isn't may be of a new password: then the helper is asked again.
    async fn prove(
        &self,
        attempt: &Attempt<'_>,
        proof: &Proof,
        name: &Arc<str>,
    ) -> Result<Arc<Hash>, Refused> {
        let scheme = attempt.scheme;
        let mut question = Vec::with_capacity(128);
        question.push(b'"');
        scheme.quote(Quoting::Quoted, name, &proof.username, &mut question);
        question.extend_from_slice(b"\":\"");
        wire::helper::quote(
            Quoting::Quoted,
            scheme.config.realm.as_bytes(),
            &mut question,
        );
        question.push(b'"');
        question.extend(attempt.extras());
        let method = attempt.received.head.method.as_str();
        let is_good = |known: &Hash| {
            proof.is_of(&known.ha1, method)
                || (self.options.post_workaround
                    && method != "GET"
                    && proof.is_of(&known.ha1, "GET"))
        };
        let now_ns = attempt.now_ns();
        let is_old = |known: &Hash| {
            Duration::from_nanos(now_ns.saturating_sub(known.asked_ns)) >= scheme.ttl
        };
        let holds = |known: &Hash| !is_old(known) && is_good(known);
        let ask = async {
            let answer = scheme.ask(&question, Some(name)).await?;
            let Some(ha1) = answer.get("ha1").and_then(hex) else {
                scheme.complain(&"the helper's answer has no ha1");
                return Err(Refused::Unknown(Some(Arc::clone(name))));
            };
            Ok(Hash {
                user: Arc::new(User::new(Arc::clone(name), &answer)),
                ha1,
                asked_ns: now_ns,
            })
        };
        let known = self.known.recall(&question, holds, ask).await?;
        if is_good(&known) {
            Ok(known)
        } else {
            Err(Refused::Wrong(Some(Arc::clone(name))))
        }
    }
}

/// What the client gives to prove that it knows the password.
#[derive(Debug, Default, PartialEq, Eq)]
struct Proof {
    username: Vec<u8>,
    realm: Vec<u8>,
    nonce: Vec<u8>,
    uri: Vec<u8>,
    response: Vec<u8>,
    cnonce: Vec<u8>,
    /// As it was written: it goes into the digest.
    nc: Vec<u8>,
    count: u64,
    has_qop: bool,
    is_session: bool,
}

impl Proof {
    /// `None` when it makes no sense: a parameter is missing, comes twice, or isn't what we offered.
    fn parse(text: &[u8]) -> Option<Self> {
        let mut proof = Self::default();
        let (mut qop, mut algorithm) = (Vec::new(), Vec::new());
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let mut rest = text;
        while let Some((name, value, after)) = parameter(rest)? {
            rest = after;
            if seen.len() == PARAMETERS_MAX || seen.contains(&name) {
                return None;
            }
            match name.as_slice() {
                b"username" => proof.username = value,
                b"realm" => proof.realm = value,
                b"nonce" => proof.nonce = value,
                b"uri" => proof.uri = value,
                b"response" => proof.response = value.to_ascii_lowercase(),
                b"cnonce" => proof.cnonce = value,
                b"nc" => proof.nc = value,
                b"qop" => qop = value,
                b"algorithm" => algorithm = value,
                _ => {}
            }
            seen.push(name);
        }
        proof.has_qop = !qop.is_empty();
        proof.is_session = algorithm.eq_ignore_ascii_case(b"MD5-sess");
        let is_md5 = algorithm.is_empty() || algorithm.eq_ignore_ascii_case(b"MD5");
        let counted = if proof.has_qop {
            proof.count = count(&proof.nc)?;
            qop.eq_ignore_ascii_case(b"auth") && !proof.cnonce.is_empty()
        } else {
            proof.nc.is_empty() && (proof.cnonce.is_empty() || proof.is_session)
        };
        let named = !proof.username.is_empty() && !proof.username.contains(&b'"');
        let whole =
            !proof.uri.is_empty() && !proof.nonce.is_empty() && hex(&proof.response).is_some();
        let makes_sense = counted && named && whole && (is_md5 || proof.is_session);
        makes_sense.then_some(proof)
    }

    /// Was it made by one who knows this hash (RFC 7616 §3.4.1)?
    fn is_of(&self, ha1: &Hex, method: &str) -> bool {
        let session;
        let ha1 = if self.is_session {
            session = md5(&[ha1, &self.nonce, &self.cnonce]);
            &session
        } else {
            ha1
        };
        let ha2 = md5(&[method.as_bytes(), &self.uri]);
        let expected = if self.has_qop {
            md5(&[ha1, &self.nonce, &self.nc, &self.cnonce, b"auth", &ha2])
        } else {
            md5(&[ha1, &self.nonce, &ha2])
        };
        equal(&expected, &self.response)
    }
}

/// Parameters that are looked at; a client sends about ten.
const PARAMETERS_MAX: usize = 32;

/// A name in small letters, its value, and what comes after.
type Parameter<'t> = (Vec<u8>, Vec<u8>, &'t [u8]);

/// The next `name=value` or `name="value"`; `Some(None)` at the end, `None` when there is something else.
fn parameter(text: &[u8]) -> Option<Option<Parameter<'_>>> {
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
    let skipped = text.iter().take_while(|byte| is_between(byte)).count();
    let text = text.get(skipped..)?;
    if text.is_empty() {
        return Some(None);
    }
    let equals = memchr::memchr(b'=', text)?;
    let name = text.get(..equals)?.trim_ascii().to_ascii_lowercase();
    let rest = text.get(equals + 1..)?.trim_ascii_start();
    if name.is_empty()
        || !name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'*')
    {
        return None;
    }
    let (value, after) = match rest.strip_prefix(b"\"") {
        Some(quoted) => until_quote(quoted)?,
        None => {
            let length = rest.iter().take_while(|byte| !is_between(byte)).count();
            let (value, after) = rest.split_at_checked(length)?;
            (value.to_vec(), after)
        }
    };
    if said::has_control(&value) || after.first().is_some_and(|byte| !is_between(byte)) {
        return None;
    }
    Some(Some((name, value, after)))
}

/// What stands before the closing quote, without the `\` of escapes, and what comes after it.
fn until_quote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut value = Vec::new();
    let mut bytes = text.iter().enumerate();
    while let Some((at, &byte)) = bytes.next() {
        match byte {
            b'"' => return Some((value, text.get(at + 1..)?)),
            b'\\' => value.push(*bytes.next()?.1),
            _ => value.push(byte),
        }
    }
    None
}

/// Eight hexadecimal digits.
fn count(nc: &[u8]) -> Option<u64> {
    let is_count = nc.len() == 8 && nc.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(nc).ok().filter(|_| is_count)?;
    u64::from_str_radix(digits, 16).ok()
}

fn hex(text: &[u8]) -> Option<Hex> {
    let digits: Hex = text.try_into().ok()?;
    digits
        .iter()
        .all(u8::is_ascii_hexdigit)
        .then(|| digits.map(|digit| digit.to_ascii_lowercase()))
}

/// MD5 of the parts with colons between, as digits.
fn md5(parts: &[&[u8]]) -> Hex {
    let mut hash = Md5::new();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            hash.update(b":");
        }
        hash.update(part);
    }
    let sum: [u8; 16] = hash.finalize().into();
    let digit = |nibble: u8| {
        if nibble < 10 {
            b'0' + nibble
        } else {
            b'a' + nibble - 10
        }
    };
    let digits = sum
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    let mut hex = [b'0'; 32];
    hex.iter_mut().zip(digits).for_each(|(to, from)| *to = from);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2617 §3.5: the password is "Circle Of Life".
    const MUFASA: &str = "username=\"Mufasa\", realm=\"testrealm@host.com\", \
        nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", uri=\"/dir/index.html\", qop=auth, nc=00000001, \
        cnonce=\"0a4f113b\", response=\"6629fae49393a05397450978507c4ef1\", \
        opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"";

    fn ha1() -> Hex {
        md5(&[b"Mufasa", b"testrealm@host.com", b"Circle Of Life"])
    }

    #[test]
    fn the_example_of_the_rfc_is_good() {
        let proof = Proof::parse(MUFASA.as_bytes()).unwrap();
        assert!(proof.is_of(&ha1(), "GET"));
        assert_eq!((proof.count, &*proof.username), (1, &b"Mufasa"[..]));
        assert!(!proof.is_of(&ha1(), "POST"));
        assert!(!proof.is_of(&md5(&[b"Mufasa", b"testrealm@host.com", b"x"]), "GET"));
        let moved = MUFASA.replace("/dir/index.html", "/other");
        assert!(!Proof::parse(moved.as_bytes()).unwrap().is_of(&ha1(), "GET"));
    }

    #[test]
    fn sessions_and_old_digests_are_computed_their_way() {
        let mut proof = Proof::parse(MUFASA.as_bytes()).unwrap();
        let ha2 = md5(&[b"GET", b"/dir/index.html"]);
        let session = md5(&[&ha1(), &proof.nonce, &proof.cnonce]);
        proof.is_session = true;
        proof.response = md5(&[
            &session,
            &proof.nonce,
            b"00000001",
            b"0a4f113b",
            b"auth",
            &ha2,
        ])
        .to_vec();
        assert!(proof.is_of(&ha1(), "GET"));
        proof.is_session = false;
        assert!(!proof.is_of(&ha1(), "GET"));
        proof.has_qop = false;
        proof.response = md5(&[&ha1(), &proof.nonce, &ha2]).to_vec();
        assert!(proof.is_of(&ha1(), "GET"));
    }

    #[test]
    fn what_makes_no_sense_is_nobody() {
        let without = |part: &str| MUFASA.replace(part, "");
        let with = |part: &str, other: &str| MUFASA.replace(part, other);
        for text in [
            String::new(),
            "\"".to_owned(),
            "username=\"".to_owned(),
            "=x".to_owned(),
            without("username=\"Mufasa\", "),
            without("nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", "),
            without("uri=\"/dir/index.html\", "),
            without("nc=00000001, "),
            without("qop=auth, "),
            without("cnonce=\"0a4f113b\", "),
            with("nc=00000001", "nc=1"),
            with("nc=00000001", "nc=+0000001"),
            with("nc=00000001", "nc=000000000000000000001"),
            with("qop=auth", "qop=auth-int"),
            with("6629fae49393a05397450978507c4ef1", "6629"),
            with("\"Mufasa\"", "\"Mu\\\"fasa\""),
            with("\"Mufasa\"", "\"Mufasa\"x"),
            with("\"Mufasa\"", "\"Mu\nfasa\""),
            format!("{MUFASA}, username=\"x\""),
            format!("{MUFASA}, algorithm=SHA-256"),
            format!("{MUFASA}, x=\"open"),
        ] {
            assert_eq!(Proof::parse(text.as_bytes()), None, "{text}");
        }
        for text in [
            format!("{MUFASA}, algorithm=md5,"),
            format!(" {MUFASA}, a=,,b=\"\""),
        ] {
            assert!(Proof::parse(text.as_bytes()).is_some(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn anything_may_come(text: Vec<u8>) {
            drop(Proof::parse(&text));
            drop(Proof::parse(&[MUFASA.as_bytes(), &text].concat()));
        }
    }
}
