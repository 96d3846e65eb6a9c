//! Header rules: which fields pass, what replaces them, what is added.

use crate::model::access::{HeaderAccess, HeaderAdd, HeaderReplace};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

pub(crate) fn request_header_access(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let access = header_rule(draft, line)?;
    draft.config.request_header_access.push(access);
    Ok(())
}

pub(crate) fn reply_header_access(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let access = header_rule(draft, line)?;
    draft.config.reply_header_access.push(access);
    Ok(())
}

/// The 2.x form, for both directions.
pub(crate) fn header_access(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let access = header_rule(draft, line)?;
    draft.config.request_header_access.push(access.clone());
    draft.config.reply_header_access.push(access);
    Ok(())
}

fn header_rule(draft: &Draft, line: &mut Line<'_>) -> Outcome<HeaderAccess> {
    let header = name(line)?;
    let rule = draft.acls.rule(line)?;
    Ok(HeaderAccess { header, rule })
}

/// Squid leaves out a line without a name.
fn name(line: &mut Line<'_>) -> Outcome<String> {
    let name = line
        .word()
        .ok_or_else(|| line.error("missing header name"))?;
    Ok(name.into_owned())
}

pub(crate) fn request_header_replace(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let replace = replacement(line)?;
    draft.config.request_header_replace.push(replace);
    Ok(())
}

pub(crate) fn reply_header_replace(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let replace = replacement(line)?;
    draft.config.reply_header_replace.push(replace);
    Ok(())
}

/// `NAME TEXT`: the text is the rest of the line, or one quoted word.
fn replacement(line: &mut Line<'_>) -> Outcome<HeaderReplace> {
    let header = name(line)?;
    let rest = line.remainder();
    if rest.is_empty() {
        return Err(line.fatal("missing header value"));
    }
    let value = rest
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(rest);
    Ok(HeaderReplace {
        header,
        value: value.to_owned(),
        place: line.place.clone(),
    })
}

pub(crate) fn request_header_add(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let add = addition(draft, line)?;
    draft.config.request_header_add.push(add);
    Ok(())
}

/// `NAME VALUE [acl…]`
pub(crate) fn note(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let note = addition(draft, line)?;
    draft.config.note.push(note);
    Ok(())
}

pub(crate) fn reply_header_add(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let add = addition(draft, line)?;
    draft.config.reply_header_add.push(add);
    Ok(())
}

/// `NAME VALUE [acl…]`; the value may be in quotes.
fn addition(draft: &Draft, line: &mut Line<'_>) -> Outcome<HeaderAdd> {
    let name = line.required("header name")?.into_owned();
    let value = line
        .quoted_word()
        .ok_or_else(|| line.fatal("missing header value"))?;
    let acls = draft.acls.refs(line)?;
    let place = line.place.clone();
    Ok(HeaderAdd {
        name,
        value: value.text.into_owned(),
        quoted: value.quoted,
        acls,
        place,
    })
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn the_2x_form_holds_for_both_directions() {
        let config = parse("header_access Via deny all", "test").unwrap();
        assert_eq!(config.request_header_access, config.reply_header_access);
        assert_eq!(config.request_header_access[0].header, "Via");
        assert!(!config.request_header_access[0].rule.allow);
        assert_eq!(
            config.warnings[0].message,
            "Directive 'header_access' is obsolete."
        );
    }

    #[test]
    fn a_replacement_is_the_rest_of_the_line() {
        let config = parse(
            "header_replace User-Agent Nutscape/1.0 (CP/M; 8-bit)",
            "test",
        )
        .unwrap();
        assert_eq!(
            config.request_header_replace[0].value,
            "Nutscape/1.0 (CP/M; 8-bit)"
        );
    }

    #[test]
    fn a_name_without_a_value_is_fatal_and_a_line_without_a_name_is_left_out() {
        assert!(parse("reply_header_replace Server", "test").is_err());
        for directive in ["request_header_access", "request_header_replace"] {
            let config = parse(directive, "test").unwrap();
            assert_eq!(config.warnings[0].message, "missing header name");
        }
    }

    #[test]
    fn an_added_value_may_be_quoted() {
        let text = "request_header_add X-A \"b c\" localhost\nreply_header_add X-B d";
        let config = parse(text, "test").unwrap();
        let add = &config.request_header_add[0];
        assert_eq!((&*add.value, add.quoted, add.acls.len()), ("b c", true, 1));
        assert!(!config.reply_header_add[0].quoted);
    }
}
