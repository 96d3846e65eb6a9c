//! `deny_info`: what a refused client gets, and the ACLs that it goes by.

use crate::model::deny_info::{DenyAnswer, DenyInfo};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// The letters of the `%` codes that a redirection may have.
const CODES: &str = "aAbBcDeEfFgGhHiIlLmMoOpPRsStTuUwWxzZ%";

/// `[NNN:]PAGE|[3NN:]URL|TCP_RESET acl…`
pub(crate) fn deny_info(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let word = line.required("page")?;
    let answer = answer(&word).map_err(|message| line.fatal(message))?;
    let acls = line.words();
    if acls.is_empty() {
        line.note_error(
            "deny_info line contains no ACL's, skipping",
            "Name the ACLs it is for.",
        );
        return Ok(());
    }
    if let DenyAnswer::Redirect { url, .. } = &answer {
        check_codes(url, line);
    }
    draft.config.deny_info.push(DenyInfo {
        answer,
        acls,
        place: line.place.clone(),
    });
    Ok(())
}

/// What the first word means; `Err` holds Squid's words for what makes no sense.
fn answer(word: &str) -> Result<DenyAnswer, String> {
    if word == "TCP_RESET" {
        return Ok(DenyAnswer::Reset);
    }
    let number = word.split_once(':').and_then(|(number, rest)| {
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        digits.then_some((number, rest))
    });
    let (status, place) = match number {
        None => (None, word),
        Some((number, rest)) => {
            let status = number.parse().ok().filter(|code| (200..600).contains(code));
            let wrong = || format!("status {number} is not valid on '{word}'");
            (Some(status.ok_or_else(wrong)?), rest)
        }
    };
    let redirects = place.contains(':');
    match status {
        Some(300..400) if !redirects => Err(format!(
            "status {} requires a URL on '{word}'",
            status.unwrap_or_default()
        )),
        Some(code) if redirects && !(300..400).contains(&code) => {
            Err(format!("status {code} requires a template on '{word}'"))
        }
        _ if redirects => Ok(DenyAnswer::Redirect {
            status,
            url: place.to_owned(),
        }),
        _ => Ok(DenyAnswer::Page {
            status,
            name: place.to_owned(),
        }),
    }
}

/// Codes that mean nothing stay as they are.
fn check_codes(url: &str, line: &mut Line<'_>) {
    let mut rest = url;
    while let Some((_, after)) = rest.split_once('%') {
        let mut letters = after.chars();
        match letters.next() {
            Some('s') => line.warn(
                "deny_info now accepts coded tags. Use %u to get the full URL instead of %s",
                "",
            ),
            Some(letter) if CODES.contains(letter) => {}
            _ => line.note_error(
                format!("deny_info: Unsupported deny_info %code near %{after}"),
                "Write %% for a percent sign.",
            ),
        }
        rest = letters.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn the_first_word_is_a_page_a_url_or_a_reset() {
        let page = |status, name: &str| {
            let name = name.to_owned();
            Ok(DenyAnswer::Page { status, name })
        };
        let redirect = |status, url: &str| {
            let url = url.to_owned();
            Ok(DenyAnswer::Redirect { status, url })
        };
        assert_eq!(answer("TCP_RESET"), Ok(DenyAnswer::Reset));
        assert_eq!(answer("ERR_X"), page(None, "ERR_X"));
        assert_eq!(answer("404:ERR_X"), page(Some(404), "ERR_X"));
        assert_eq!(answer("204:ERR_X"), page(Some(204), "ERR_X"));
        assert_eq!(answer("http://x/?%u"), redirect(None, "http://x/?%u"));
        assert_eq!(answer("303:http://x/"), redirect(Some(303), "http://x/"));
        assert_eq!(answer("mailto:x"), redirect(None, "mailto:x"));
    }

    #[test]
    fn a_status_that_makes_no_sense_is_fatal_in_squids_words() {
        let check = |word: &str, expected: &str| {
            assert_eq!(answer(word), Err(expected.to_owned()));
            assert!(parse(&format!("deny_info {word} all"), "test").is_err());
        };
        check("700:ERR_X", "status 700 is not valid on '700:ERR_X'");
        check("40:ERR_X", "status 40 is not valid on '40:ERR_X'");
        check(
            "99999:http://x",
            "status 99999 is not valid on '99999:http://x'",
        );
        check("302:ERR_X", "status 302 requires a URL on '302:ERR_X'");
        check(
            "404:http://x/",
            "status 404 requires a template on '404:http://x/'",
        );
    }

    #[test]
    fn a_line_names_acls_and_says_what_is_odd() {
        let config = parse(
            "deny_info http://a/?%s%q%% one two\ndeny_info ERR_X\ndeny_info TCP_RESET three",
            "test",
        )
        .unwrap();
        assert_eq!(config.deny_info[0].acls, ["one", "two"]);
        assert_eq!(config.deny_info[1].answer, DenyAnswer::Reset);
        let said = config.warnings.iter().map(|said| &*said.message);
        let expected = [
            "deny_info now accepts coded tags. Use %u to get the full URL instead of %s",
            "deny_info: Unsupported deny_info %code near %q%%",
            "deny_info line contains no ACL's, skipping",
        ];
        assert!(said.eq(expected), "{:?}", config.warnings);
    }
}
