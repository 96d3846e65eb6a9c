//! NTLM and Negotiate: client and helper exchange tokens over several requests of one connection, which then is
//! the user's. We carry the tokens, and keep the child that has the other half in its memory.
//!
//! | the connection is | the client says | the helper is asked | then |
//! | --- | --- | --- | --- |
//! | nobody's | a token | a child of one's own: `YR token` | challenged, the user's, or nobody's |
//! | challenged | a token | that child: `KK token` | likewise |
//! | the user's | nothing, or the same again | nothing | the user's |
//! | the user's | something else | as if nobody's | |

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wire::helper::Verdict;

use super::said;
use super::{Attempt, Refused, User};
use crate::helpers::Reserved;

#[derive(Debug)]
pub(super) struct Handshake;

impl Handshake {
    /// Who is it?
    pub(super) async fn login(&self, attempt: &Attempt<'_>) -> Result<Arc<User>, Refused> {
        let (scheme, said) = (attempt.scheme, attempt.said);
        let login = attempt.connection();
        let begun = login.take_child(scheme.name());
        // A token is Base64, or there is none: nothing else goes to the helper.
        if !said.credentials.iter().all(is_of_token) {
            return Err(Refused::Wrong(None));
        }
        let (word, child) = match begun {
            Some(child) if !child.is_over() => ("KK", Ok(child)),
            Some(_) | None => ("YR", scheme.pool.reserve().await),
        };
        let mut child = match child {
            Ok(child) => child,
            Err(failed) => {
                return Err(scheme
                    .sort_out(Err(failed), None)
                    .err()
                    .unwrap_or(Refused::Unknown(None)));
            }
        };
        let mut question = Vec::with_capacity(said.credentials.len() + 16);
        question.extend_from_slice(word.as_bytes());
        if !said.credentials.is_empty() {
            question.push(b' ');
            question.extend_from_slice(said.credentials);
        }
        question.extend(attempt.extras());
        let answer = scheme.sort_out(child.ask(&question).await, None)?;
        let token = answer
            .get("token")
            .filter(|token| token.iter().all(is_of_token));
        if answer.verdict == Verdict::Tt {
            return Err(self.go_on(attempt, child, token));
        }
        let Some(name) = answer
            .get("user")
            .filter(|name| !name.is_empty() && !said::has_control(name))
        else {
            scheme.complain(&"the helper's answer has no user");
            return Err(Refused::Unknown(None));
        };
        if let Some(token) = token.filter(|_| scheme.name() == "negotiate") {
            login.tell([b"Negotiate ", token].concat());
        }
        let user = Arc::new(User::new(said::text(name).into(), &answer));
        login.is_of(&user, said.value);
        Ok(user)
    }

    /// The helper has a challenge for the client; the child waits for the answer to it.
    fn go_on(&self, attempt: &Attempt<'_>, child: Reserved, token: Option<&[u8]>) -> Refused {
        let scheme = attempt.scheme;
        let Some(token) = token.filter(|token| STANDARD.decode(token).is_ok()) else {
            scheme.complain(&"the helper's challenge is no token");
            return Refused::Unknown(None);
        };
        attempt.connection().challenged(scheme.name(), child);
        Refused::Continue(token.into())
    }
}

fn is_of_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(byte)
}
