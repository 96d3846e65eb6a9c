//! What helpers said before there were pairs, turned into pairs.

use super::answer::{Answer, Dialect, Malformed, Verdict};
use crate::chars;

/// A line without a result word.
pub(super) fn bare(line: &[u8], dialect: Dialect) -> Result<Answer, Malformed> {
    let mut answer = Answer::new(Verdict::Ok);
    // Old rewriters may echo the whole question, with what the client put in: the first word counts.
    let (word, _) = first_word(line);
    match dialect {
        Dialect::Plain | Dialect::Ntlm | Dialect::Negotiate => return Err(Malformed::NoVerdict),
        Dialect::Digest if is_ha1(line) => answer.push("ha1", line),
        Dialect::Digest => return Err(Malformed::NoVerdict),
        Dialect::UrlRewrite | Dialect::StoreId if word.is_empty() => {}
        Dialect::UrlRewrite => url(word, &mut answer),
        Dialect::StoreId => answer.push("store-id", word),
    }
    Ok(answer)
}

/// What comes after a result word, in the older forms of NTLM and Negotiate: moves it into pairs
/// and leaves what is still to be read.
pub(super) fn after<'a>(
    word: &[u8],
    rest: &'a [u8],
    dialect: Dialect,
    answer: &mut Answer,
) -> Result<&'a [u8], Malformed> {
    let rest = rest.trim_ascii_start();
    let has_pairs = rest.starts_with(b"token=") || rest.starts_with(b"user=");
    match word {
        _ if has_pairs => return Ok(rest),
        b"TT" => {
            // A token may end in `=` and look like a pair.
            let (token, rest) = first_word(rest);
            if token.is_empty() {
                return Err(Malformed::Empty);
            }
            answer.push("token", token);
            return Ok(rest);
        }
        b"AF" => {
            let user = match first_word(rest) {
                (token, user) if dialect == Dialect::Negotiate && !user.is_empty() => {
                    answer.push("token", token);
                    user
                }
                _ => rest,
            };
            if user.is_empty() {
                return Err(Malformed::Empty);
            }
            answer.push("user", user);
        }
        b"NA" if !rest.is_empty() => answer.push("message", rest),
        b"NA" => {}
        _ => return Ok(rest),
    }
    Ok(b"")
}

/// `URL`, `30x:URL` or `!group!URL`.
fn url(word: &[u8], answer: &mut Answer) {
    let grouped = word
        .strip_prefix(b"!")
        .and_then(|r| chars::split_once(r, b'!'));
    if let Some((group, url)) = grouped {
        answer.push("urlgroup", group);
        answer.push("rewrite-url", url);
        return;
    }
    match chars::split_once(word, b':') {
        Some((status @ (b"301" | b"302" | b"303" | b"307" | b"308"), url)) => {
            answer.push("status", status);
            answer.push("url", url);
        }
        _ => answer.push("rewrite-url", word),
    }
}

fn is_ha1(line: &[u8]) -> bool {
    line.len() == 32 && line.iter().all(u8::is_ascii_hexdigit)
}

fn first_word(line: &[u8]) -> (&[u8], &[u8]) {
    let length = line.iter().take_while(|b| !b.is_ascii_whitespace()).count();
    let (word, rest) = line.split_at_checked(length).unwrap_or((line, b""));
    (word, rest.trim_ascii_start())
}
