//! `url_rewrite_*`, `store_id_*` and `location_rewrite_*`: commands, what they are told, what becomes of late answers.

use crate::model::rewrite::{HelperProgram, OnTimeout, UrlRewriteTimeout};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

pub(crate) fn url_rewrite_program(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    program(&mut draft.config.url_rewrite_program, line);
    Ok(())
}

pub(crate) fn store_id_program(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    program(&mut draft.config.store_id_program, line);
    Ok(())
}

pub(crate) fn location_rewrite_program(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    program(&mut draft.config.location_rewrite_program, line);
    Ok(())
}

/// A further line has further arguments. `none`, the documented default, is no program.
fn program(known: &mut Option<HelperProgram>, line: &mut Line<'_>) {
    let words = line.words();
    match known {
        Some(program) => program.command.extend(words),
        None if words.is_empty() || words == ["none"] => {}
        None => {
            *known = Some(HelperProgram {
                command: words,
                place: line.place.clone(),
            });
        }
    }
}

pub(crate) fn url_rewrite_extras(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.url_rewrite_extras = extras(line)?;
    Ok(())
}

pub(crate) fn store_id_extras(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    draft.config.store_id_extras = extras(line)?;
    Ok(())
}

fn extras(line: &mut Line<'_>) -> Outcome<String> {
    let word = line.quoted_word();
    let word = word.ok_or_else(|| line.fatal("missing value"))?;
    Ok(word.text.into_owned())
}

/// The list of 2.7 that is `store_id_access` now.
pub(crate) fn storeurl_access(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let rule = draft.acls.rule(line)?;
    draft.config.store_id_access.push(rule);
    Ok(())
}

/// `TIME [on_timeout=ACTION] [response="LINE"]`
pub(crate) fn url_rewrite_timeout(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let after = line.time()?;
    let (mut action, mut response) = (None, None);
    while let Some(word) = line.peek().map(std::borrow::Cow::into_owned) {
        match word.split_once('=') {
            Some(("on_timeout", name)) => {
                line.word();
                action = Some(name.to_owned());
            }
            Some(("response", _)) => response = Some(answer(line)),
            _ => return Err(line.fatal(format!("unsupported option {word}"))),
        }
    }
    let action = match (action.as_deref(), response) {
        (Some("use_configured_response"), Some(response)) => OnTimeout::Answer(response),
        (Some("use_configured_response"), None) => {
            let missing =
                "Expected 'response=' option after 'on_timeout=use_configured_response' option";
            return Err(line.fatal(missing));
        }
        (_, Some(_)) => {
            let unasked = "'response=' option is valid only when used with the 'on_timeout=use_configured_response' option";
            return Err(line.fatal(unasked));
        }
        (None | Some("bypass"), None) => OnTimeout::Bypass,
        (Some("fail"), None) => OnTimeout::Fail,
        (Some("retry"), None) => OnTimeout::Retry,
        (Some(other), None) => {
            return Err(line.fatal(format!("unsupported \"on_timeout\" action: {other}")));
        }
    };
    // As the other times: zero is no limit.
    draft.config.url_rewrite_timeout =
        (!after.is_zero()).then_some(UrlRewriteTimeout { after, action });
    Ok(())
}

/// What stands behind `response=`: to the closing quote, or one word.
fn answer(line: &mut Line<'_>) -> String {
    let rest = line.value();
    let rest = rest.strip_prefix("response=").unwrap_or(rest);
    let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    match quoted {
        Some((text, behind)) => {
            // Words up to the one that the quote ends in are read.
            while line.value().len() > behind.trim_start().len() && line.word().is_some() {}
            text.to_owned()
        }
        None => {
            let word = line.word().unwrap_or_default();
            word.strip_prefix("response=").unwrap_or(&word).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Config, parse};

    fn config(text: &str) -> Config {
        parse(text, "test").unwrap_or_else(|problems| panic!("{text}: {problems}"))
    }

    fn fatal(text: &str, message: &str) {
        let problems = parse(text, "test").unwrap_err();
        assert!(
            problems.0.last().unwrap().message.contains(message),
            "{problems}"
        );
    }

    #[test]
    fn a_program_has_arguments_in_one_line_or_more() {
        let command = |text| config(text).url_rewrite_program.map(|p| p.command);
        assert_eq!(command(""), None);
        assert_eq!(command("url_rewrite_program none"), None);
        let both = "redirect_program /bin/a -c x\nurl_rewrite_program -d";
        assert_eq!(
            command(both).unwrap(),
            ["/bin/a", "-c", "x", "-d"],
            "in the order of the lines"
        );
        let store = config("storeurl_rewrite_program /bin/b").store_id_program;
        assert_eq!(store.unwrap().command, ["/bin/b"]);
    }

    #[test]
    fn timeouts_have_an_action() {
        let timeout = |text: &str| {
            let line = format!("url_rewrite_timeout {text}");
            config(&line).url_rewrite_timeout
        };
        let after = Duration::from_secs(2);
        let with = |action| Some(UrlRewriteTimeout { after, action });
        assert_eq!(timeout("2 seconds"), with(OnTimeout::Bypass));
        assert_eq!(timeout("2 seconds on_timeout=fail"), with(OnTimeout::Fail));
        assert_eq!(
            timeout("2 seconds on_timeout=retry"),
            with(OnTimeout::Retry)
        );
        let said = "2 seconds on_timeout=use_configured_response response=\"OK url=http://a/\"";
        assert_eq!(
            timeout(said),
            with(OnTimeout::Answer("OK url=http://a/".into()))
        );
        let bare = "2 seconds response=ERR on_timeout=use_configured_response";
        assert_eq!(timeout(bare), with(OnTimeout::Answer("ERR".into())));
        assert_eq!(timeout("0 seconds"), None);
    }

    #[test]
    fn timeouts_that_make_no_sense_are_refused_in_squids_words() {
        let at = "url_rewrite_timeout 1 second";
        fatal(
            &format!("{at} on_timeout=use_configured_response"),
            "Expected 'response=' option after",
        );
        fatal(
            &format!("{at} on_timeout=bypass response=x"),
            "'response=' option is valid only when used with",
        );
        fatal(
            &format!("{at} on_timeout=maybe"),
            "unsupported \"on_timeout\" action: maybe",
        );
        fatal(&format!("{at} sooner"), "unsupported option sooner");
    }

    #[test]
    fn access_lists_and_extras_are_kept() {
        let all = config(
            "redirector_access deny all\nstoreurl_access allow all\nhttp_access2 deny all\n\
             url_rewrite_extras \"%>a %>rm\"\nstore_id_bypass off\nredirector_bypass on",
        );
        assert!(!all.url_rewrite_access[0].allow);
        assert!(all.store_id_access[0].allow);
        assert!(!all.adapted_http_access[0].allow);
        assert_eq!(all.url_rewrite_extras, "%>a %>rm");
        assert!(!all.store_id_bypass && all.url_rewrite_bypass);
    }
}
