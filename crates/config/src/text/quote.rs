//! Words in quotes, and the words of a line when quoting is switched on.
//! Texts are cut at the front; what is wrong is said in Squid's words.

use super::walk::blank;

/// What a line has next when `configuration_includes_quoted_values` is on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Letters, digits and a few signs.
    Plain(&'a str),
    /// What was in quotes, without its escapes.
    Quoted(String),
    /// `parameters("name")`: the words of that file.
    Parameters(String),
}

/// Takes the next token off `rest`, which begins with neither a blank nor a comment.
pub(super) fn token<'a>(rest: &mut &'a str) -> Result<Token<'a>, String> {
    let whole = *rest;
    if whole.starts_with(['"', '\'']) {
        let text = quoted(rest)?;
        return ends(rest)
            .then_some(Token::Quoted(text))
            .ok_or_else(|| format!("Expecting space after the end of quoted token: {whole}"));
    }
    let end = whole.find(|c| !plain(c)).unwrap_or(whole.len());
    let (word, after) = whole.split_at_checked(end).unwrap_or((whole, ""));
    *rest = after;
    match after.chars().next() {
        _ if ends(after) => Ok(Token::Plain(word)),
        Some('(') => parameters(word, whole, rest).map(Token::Parameters),
        Some(c) => Err(format!(
            "Not alphanumeric character '{c}' in unquoted token {whole}"
        )),
        None => Ok(Token::Plain(word)),
    }
}

/// Takes what is in quotes off the front of `rest`, which begins with one.
pub(super) fn quoted(rest: &mut &str) -> Result<String, String> {
    let mut chars = rest.char_indices();
    let quote = chars.next().map_or('"', |(_, quote)| quote);
    let mut text = String::new();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            *rest = rest.get(at + 1..).unwrap_or_default();
            return Ok(text);
        }
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some((_, 'n')) => text.push('\n'),
            Some((_, 'r')) => text.push('\r'),
            Some((_, 't')) => text.push('\t'),
            Some((at, escaped)) if escaped.is_ascii_alphanumeric() => {
                let from = rest.get(at..).unwrap_or_default();
                return Err(format!("Unsupported escape sequence: {from}"));
            }
            Some((_, escaped)) => text.push(escaped),
            None => break,
        }
    }
    Err(format!(
        "missing quote char at the end of quoted string: {rest}"
    ))
}

/// Takes `("name")` off the front of `rest`.
fn parameters(function: &str, whole: &str, rest: &mut &str) -> Result<String, String> {
    if function != "parameters" {
        return Err(format!("Unknown cfg function: {whole}"));
    }
    *rest = rest.strip_prefix('(').unwrap_or(rest);
    *rest = rest.trim_start_matches(blank);
    if !rest.starts_with(['"', '\'']) {
        return Err(format!("Quoted filename missing: {whole}"));
    }
    let name = quoted(rest)?;
    *rest = rest.trim_start_matches(blank);
    match rest.strip_prefix(')').filter(|after| ends(after)) {
        Some(after) => {
            *rest = after;
            Ok(name)
        }
        None => Err(format!("missing ')' after {whole}")),
    }
}

/// True where a word may end.
fn ends(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(blank) || rest.starts_with('#')
}

/// May it stand in a word without quotes? `(` begins what a function takes.
fn plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || ".,)=_/:+-".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Token<'_>, left: &str) {
        let mut rest = text;
        assert_eq!(token(&mut rest), Ok(expected), "{text}");
        assert_eq!(rest, left, "{text}");
    }

    #[test]
    fn words_are_plain_quoted_or_in_a_file() {
        check("a.b,c)=_/:+-1 d", Token::Plain("a.b,c)=_/:+-1"), " d");
        check("\"a b\"#c", Token::Quoted("a b".into()), "#c");
        check(r"'a\'b' c", Token::Quoted("a'b".into()), " c");
        check(
            r#""\n\r\t\\\" \#""#,
            Token::Quoted("\n\r\t\\\" #".into()),
            "",
        );
        check("\"\"", Token::Quoted(String::new()), "");
        check("\"é\"", Token::Quoted("é".into()), "");
        check(
            "parameters(\"/a b\") c",
            Token::Parameters("/a b".into()),
            " c",
        );
        check("parameters( '/a' )", Token::Parameters("/a".into()), "");
        check("parameters (x", Token::Plain("parameters"), " (x");
    }

    fn refused(mut text: &str, expected: &str) {
        assert_eq!(token(&mut text), Err(expected.to_owned()));
    }

    #[test]
    fn what_is_wrong_is_said_in_squids_words() {
        refused(
            "a!b c",
            "Not alphanumeric character '!' in unquoted token a!b c",
        );
        refused(
            "^http",
            "Not alphanumeric character '^' in unquoted token ^http",
        );
        refused("é", "Not alphanumeric character 'é' in unquoted token é");
        refused(
            "a\"b\"",
            "Not alphanumeric character '\"' in unquoted token a\"b\"",
        );
        refused(
            "\"a\"b",
            "Expecting space after the end of quoted token: \"a\"b",
        );
        refused("\"a", "missing quote char at the end of quoted string: \"a");
        refused(
            "\"a\\",
            "missing quote char at the end of quoted string: \"a\\",
        );
        refused(r#""a\qb" c"#, "Unsupported escape sequence: qb\" c");
        refused("foo(\"/a\")", "Unknown cfg function: foo(\"/a\")");
        refused("parameters(/a)", "Quoted filename missing: parameters(/a)");
        refused("parameters(\"/a\"", "missing ')' after parameters(\"/a\"");
        refused(
            "parameters(\"/a\")x",
            "missing ')' after parameters(\"/a\")x",
        );
    }
}
