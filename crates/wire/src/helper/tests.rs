use proptest::prelude::*;

use super::*;

/// The answer in today's form, as text; `None` when the line is none.
fn today(line: &str, dialect: Dialect) -> Option<String> {
    let answer = Answer::parse(line.as_bytes(), dialect).ok()?;
    Some(String::from_utf8_lossy(&answer.to_line()).into_owned())
}

#[test]
fn pairs_read_as_squid_reads_them() {
    for (line, expected) in [
        ("OK", r"OK"),
        ("OK user=bob", r#"OK user="bob""#),
        ("OK  user=two  k_=spaces ", r#"OK user="two" k_="spaces""#),
        (r#"OK user="a b%41\n\"x""#, r#"OK user="a b%41\n\"x""#),
        ("OK k_=a%41%0ab k2_=%zz%", r#"OK k_="aA\nb" k2_="%zz%""#),
        (r#"OK k_="t\tq\\z""#, r#"OK k_="ttq\\z""#),
        ("OK k_=1 k_=2 bare k2_=3", r#"OK k_="1" k_="2" bare k2_=3"#),
        (r#"OK k_=a"b c"d k2_=x"#, r#"OK k_="ab cd" k2_="x""#),
        (r#"OK k_="a"k2_="b""#, r#"OK k_="ak2_=b""#),
        (
            "OK k_=%00x k2_=a%00b k3_=",
            r#"OK k_="%00x" k2_="a%00b" k3_="""#,
        ),
        ("OK k-1_=5 k.2_=6", r#"OK k-1_="5" k.2_=6"#),
        ("OK k_='a b' k2_=2", r#"OK k_="'a" b' k2_=2"#),
        (r"OK k_=a\ b", r#"OK k_="a\\" b"#),
        (r"OK k_=a%5Cb%5c k2_=%20%22", r#"OK k_="a\\b\\" k2_=" \"""#),
        (r#"ERR message="no no""#, r#"ERR message="no no""#),
        ("ERR no such user", "ERR no such user"),
        ("BH broken thing", r#"BH message="broken thing""#),
        ("TT token=a=", r#"TT token="a=""#),
    ] {
        assert_eq!(
            today(line, Dialect::Plain).as_deref(),
            Some(expected),
            "{line}"
        );
    }
}

#[test]
fn what_is_no_answer_is_refused() {
    for (line, expected) in [
        ("", Malformed::NoVerdict),
        ("hello", Malformed::NoVerdict),
        ("OKAY user=x", Malformed::NoVerdict),
        ("ok user=x", Malformed::NoVerdict),
        ("AF bob", Malformed::NoVerdict),
        ("0 OK", Malformed::NoVerdict),
        (r#"OK user=""#, Malformed::OpenQuote),
        (r#"OK user="a\"#, Malformed::OpenQuote),
        ("TT", Malformed::Empty),
        ("TT user=x", Malformed::Empty),
    ] {
        assert_eq!(
            Answer::parse(line.as_bytes(), Dialect::Plain),
            Err(expected),
            "{line}"
        );
    }
    let many = format!("OK{}", " k=v".repeat(PAIRS_MAX + 1));
    assert_eq!(
        Answer::parse(many.as_bytes(), Dialect::Plain),
        Err(Malformed::TooManyPairs)
    );
}

#[test]
fn older_forms_become_pairs() {
    use Dialect::{Digest, Negotiate, Ntlm, StoreId, UrlRewrite};
    let ha1 = "0123456789abcdef0123456789ABCDEF";
    for (dialect, line, expected) in [
        (Ntlm, "TT TlRMTQ==", Some(r#"TT token="TlRMTQ==""#)),
        (
            Ntlm,
            r"AF DOM\bob smith",
            Some(r#"OK user="DOM\\bob smith""#),
        ),
        (
            Ntlm,
            "NA bad password",
            Some(r#"ERR message="bad password""#),
        ),
        (Ntlm, "NA", Some("ERR")),
        (Ntlm, "AF", None),
        (
            Negotiate,
            "AF YII= bob",
            Some(r#"OK token="YII=" user="bob""#),
        ),
        (Negotiate, "AF bob", Some(r#"OK user="bob""#)),
        (
            Negotiate,
            "OK token=x user=y",
            Some(r#"OK token="x" user="y""#),
        ),
        (
            Digest,
            ha1,
            Some(r#"OK ha1="0123456789abcdef0123456789ABCDEF""#),
        ),
        (Digest, "0123", None),
        (UrlRewrite, "", Some("OK")),
        (
            UrlRewrite,
            "http://b/?k=v 10.0.0.1/- - GET k=v",
            Some(r#"OK rewrite-url="http://b/?k=v""#),
        ),
        (
            UrlRewrite,
            "302:http://b/",
            Some(r#"OK status="302" url="http://b/""#),
        ),
        (
            UrlRewrite,
            "304:http://b/",
            Some(r#"OK rewrite-url="304:http://b/""#),
        ),
        (
            UrlRewrite,
            "!g!http://b/",
            Some(r#"OK urlgroup="g" rewrite-url="http://b/""#),
        ),
        (StoreId, "http://b/", Some(r#"OK store-id="http://b/""#)),
        (StoreId, "ERR", Some("ERR")),
    ] {
        assert_eq!(
            today(line, dialect).as_deref(),
            expected,
            "{dialect:?} {line}"
        );
    }
}

/// What Squid 5.7 sent for these bytes, seen in an external ACL helper and a Basic one.
#[test]
fn words_are_written_as_squid_writes_them() {
    let marks = b"a b\tc !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\xe9";
    for (style, expected) in [
        (
            Quoting::Url,
            &b"a%20b%09c%20!%22%23$%25&%27()*+,-./:;%3C=%3E?@%5B%5C%5D%5E_%60%7B%7C%7D%7E%E9"[..],
        ),
        (
            Quoting::UrlKeepingPercent,
            b"a%20b%09c%20!%22%23$%&%27()*+,-./:;%3C=%3E?@%5B%5C%5D%5E_%60%7B%7C%7D%7E%E9",
        ),
        (
            Quoting::Quoted,
            b"a b\\tc !\\\"#$%&'()*+,-./:;<=>?@[\\\\]^_`{|}~\xe9",
        ),
        (
            Quoting::Shell,
            b"\"a b\tc !\\\"#$%&'()*+,-./:;<=>?@[\\\\]^_`{|}~\xe9\"",
        ),
        (Quoting::Raw, marks),
    ] {
        let mut out = Vec::new();
        quote(style, marks, &mut out);
        assert_eq!(
            out,
            expected,
            "{style:?}: {}",
            String::from_utf8_lossy(&out)
        );
    }
}

#[test]
fn no_style_lets_a_line_end_inside_a_word() {
    for (style, expected) in [
        (Quoting::Url, &b"%0D%0A%00"[..]),
        (Quoting::UrlKeepingPercent, b"%0D%0A%00"),
        (Quoting::Quoted, b"\\r\\n%00"),
        (Quoting::Shell, b"\\r\\n%00"),
        (Quoting::Raw, b"%0D%0A%00"),
    ] {
        let mut out = Vec::new();
        quote(style, b"\r\n\0", &mut out);
        assert_eq!(out, expected, "{style:?}");
    }
}

#[test]
fn channels_are_digits_before_a_blank() {
    assert_eq!(split_channel(b"12 OK a=b"), Some((12, &b"OK a=b"[..])));
    assert_eq!(split_channel(b"0"), Some((0, &b""[..])));
    for none in [
        &b"OK"[..],
        b"",
        b" 1 OK",
        b"-1 OK",
        b"1OK",
        b"99999999999999999999 OK",
    ] {
        assert_eq!(
            split_channel(none),
            None,
            "{}",
            String::from_utf8_lossy(none)
        );
    }
    let mut out = Vec::new();
    write_question(Some(3), b"a b", b'\n', &mut out);
    write_question(None, b"c", 1, &mut out);
    assert_eq!(out, b"3 a b\nc\x01");
}

#[test]
fn a_line_at_the_limit_passes_and_a_longer_one_does_not() {
    let mut lines = Lines::new(b'\n', 4);
    lines.push(b"abcd\nab");
    assert_eq!(lines.next_line(), Ok(Some(&b"abcd"[..])));
    assert_eq!(lines.next_line(), Ok(None));
    assert!(lines.has_rest());
    lines.push(b"cde");
    assert_eq!(lines.next_line(), Err(TooLong), "even before it ends");
    let mut lines = Lines::new(1, 4);
    lines.push(b"a\nb\r\x01");
    assert_eq!(
        lines.next_line(),
        Ok(Some(&b"a\nb\r"[..])),
        "LF and CR are content"
    );
    assert!(!lines.has_rest());
}

/// Undoes `%XX`.
fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = word;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|digits| str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.filter(|_| byte == b'%') {
            Some(digits) => {
                out.push(u8::from_str_radix(digits, 16).unwrap());
                rest = &after[2..];
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    out
}

/// Words as a shell reads them: quotes keep blanks, a backslash what follows; `\n`, `\r`, `\t` are those.
fn shell_words(line: &[u8]) -> Vec<Vec<u8>> {
    let mut words = vec![Vec::new()];
    let mut in_quotes = false;
    let mut bytes = line.iter();
    while let Some(&byte) = bytes.next() {
        let word = words.last_mut().unwrap();
        match byte {
            b'\\' => word.push(match bytes.next().unwrap() {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                other => *other,
            }),
            b'"' => in_quotes = !in_quotes,
            b' ' if !in_quotes => words.push(Vec::new()),
            _ => word.push(byte),
        }
    }
    words
}

proptest! {
    /// A helper that undoes a style as it is documented has the value; and a line has all its words, whatever they are.
    #[test]
    fn words_are_read_back(values in prop::collection::vec(prop::collection::vec(1_u8.., 1..40), 1..5)) {
        for style in [Quoting::Url, Quoting::UrlKeepingPercent, Quoting::Quoted, Quoting::Shell] {
            let words: Vec<Vec<u8>> = values.iter().map(|value| {
                let mut word = Vec::new();
                quote(style, value, &mut word);
                word
            }).collect();
            let quoted = |word: &Vec<u8>| [b"\"", word.as_slice(), b"\""].concat();
            let line = match style {
                Quoting::Quoted => words.iter().map(quoted).collect::<Vec<_>>().join(&b' '),
                _ => words.join(&b' '),
            };
            prop_assert!(!line.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0)));
            let read = match style {
                Quoting::Url | Quoting::UrlKeepingPercent => {
                    line.split(|byte| *byte == b' ').map(unescaped).collect::<Vec<_>>()
                }
                _ => shell_words(&line),
            };
            let expected: Vec<Vec<u8>> = match style {
                // What looks like an escape is one.
                Quoting::UrlKeepingPercent => values.iter().map(|value| unescaped(value)).collect(),
                _ => values.clone(),
            };
            prop_assert_eq!(read, expected, "{:?}", style);
        }
    }

    /// What a question says in URL or shell style, a helper that says it back is understood to say.
    #[test]
    fn a_word_comes_back_as_it_went(value in prop::collection::vec(1_u8.., 0..80)) {
        for (style, before, after) in [
            (Quoting::Url, "OK k=", ""),
            (Quoting::Shell, "OK k=\"", "\""),
        ] {
            let mut word = Vec::new();
            quote(style, &value, &mut word);
            if style == Quoting::Shell && word.first() == Some(&b'"') {
                // Its own quotes.
                word = word[1..word.len() - 1].to_vec();
            }
            let line = [before.as_bytes(), &word, after.as_bytes()].concat();
            let answer = Answer::parse(&line, Dialect::Plain).expect("a pair");
            prop_assert_eq!(answer.get("k"), Some(value.as_slice()));
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzz(&bytes);
    }
}
