use super::*;

fn absolute(raw: &str) -> Result<Target, BadTarget> {
    let mut target = Target::new();
    target.set_absolute(raw.as_bytes(), UriWhitespace::Strip)?;
    Ok(target)
}

fn url(raw: &str) -> String {
    let target = absolute(raw).unwrap_or_else(|error| panic!("{raw}: {error}"));
    String::from_utf8(target.url().to_vec()).expect("ASCII")
}

#[test]
fn urls_are_normalised() {
    for (raw, expected) in [
        ("HTTP://A.Example", "http://a.example/"),
        ("http://a.example:80/", "http://a.example/"),
        ("http://a.example:/x", "http://a.example/x"),
        ("http://a.example:8080/x", "http://a.example:8080/x"),
        ("https://a.example:443/x", "https://a.example/x"),
        ("https://a.example:80/x", "https://a.example:80/x"),
        ("http://a.example./x", "http://a.example/x"),
        ("http://a.example?q", "http://a.example/?q"),
        ("http://a.example/X#frag", "http://a.example/X"),
        ("http://a.example#frag", "http://a.example/"),
        ("http://a_b.example/", "http://a_b.example/"),
        ("http://[2001:DB8:0::1]:80/", "http://[2001:db8::1]/"),
        ("http://[::ffff:127.0.0.1]/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://0x7f.0.0.1/", "http://127.0.0.1/"),
        (
            "http://a.example/%2F//x/../%zz%00?a;b",
            "http://a.example/%2F//x/../%zz%00?a;b",
        ),
        ("http://a.example/\u{e9}", "http://a.example/%C3%A9"),
        (
            "http://a.example/a\"<>\\^`{|}",
            "http://a.example/a\"<>\\^`{|}",
        ),
        ("ftp://u:p@a.example/", "ftp://u:p@a.example/"),
        (
            "cache_object://a.example/info",
            "cache_object://a.example/info",
        ),
        ("Wais://a.example:210/x", "wais://a.example:210/x"),
    ] {
        assert_eq!(url(raw), expected, "{raw}");
    }
}

#[test]
fn bad_urls_are_refused() {
    for (raw, expected) in [
        ("", BadTarget::Scheme),
        ("/x", BadTarget::Scheme),
        ("a.example/x", BadTarget::Scheme),
        ("http:/a", BadTarget::Scheme),
        ("1http://a/", BadTarget::Scheme),
        ("ht tp://a/", BadTarget::Scheme),
        ("http://", BadTarget::Host),
        ("http:///x", BadTarget::Host),
        ("http://:80/", BadTarget::Host),
        ("http://[::1/", BadTarget::Host),
        ("http://[::1]x/", BadTarget::Host),
        ("http://[fe80::1%25eth0]/", BadTarget::Host),
        ("http://[v1.x]/", BadTarget::Host),
        ("http://a%0d%0ab/", BadTarget::Host),
        ("http://a,b/", BadTarget::Host),
        ("http://a b/", BadTarget::Host),
        ("http://a..b/", BadTarget::Host),
        ("http://.a/", BadTarget::Host),
        ("http://\u{e9}/", BadTarget::Host),
        ("http://a\\b/", BadTarget::Host),
        ("http://010.0.0.1/", BadTarget::Host),
        ("http://256.0.0.1/", BadTarget::Host),
        ("http://1.2.3.4.5/", BadTarget::Host),
        ("http://4294967296/", BadTarget::Host),
        ("http://a:0/", BadTarget::Port),
        ("http://a:65536/", BadTarget::Port),
        ("http://a:99999/", BadTarget::Port),
        ("http://a:000080/", BadTarget::Port),
        ("http://a:+80/", BadTarget::Port),
        ("http://a:80:80/", BadTarget::Port),
        ("http://u@a/", BadTarget::UserInfo),
        ("https://u:p@a/", BadTarget::UserInfo),
        ("http://a\\@b/", BadTarget::UserInfo),
        ("ftp://u@v@a/", BadTarget::UserInfo),
        ("http://a/\u{1}", BadTarget::Path),
        ("http://a/\r\n", BadTarget::Path),
        ("http://a/\0", BadTarget::Path),
    ] {
        assert_eq!(absolute(raw).err(), Some(expected), "{raw:?}");
    }
    assert!(absolute(&format!("http://{}/", "a".repeat(256))).is_err());
}

#[test]
fn parts_are_seen_as_they_will_be_used() {
    let target = absolute("http://[2001:db8::1]:81/p?q#f").expect("valid");
    assert_eq!((target.host(), target.port()), ("2001:db8::1", 81));
    assert_eq!(target.host_ip(), "2001:db8::1".parse().ok());
    assert_eq!(
        (target.authority(), target.path()),
        (&b"[2001:db8::1]:81"[..], &b"/p?q"[..])
    );
    assert_eq!(
        (target.scheme(), target.scheme_name()),
        (Scheme::Http, &b"http"[..])
    );
    let target = absolute("http://[::ffff:10.0.0.1]/").expect("valid");
    assert_eq!(target.host_ip(), "10.0.0.1".parse().ok());
    assert_eq!(
        absolute("http://a1.example/").expect("valid").host_ip(),
        None
    );
}

#[test]
fn white_space_is_treated_as_configured() {
    let check = |ws, expected: Result<&str, BadTarget>| {
        let mut target = Target::new();
        let result = target.set_absolute(b"http://a/b c\td", ws);
        assert_eq!(
            result.map(|()| target.url()),
            expected.map(str::as_bytes),
            "{ws:?}"
        );
    };
    check(UriWhitespace::Strip, Ok("http://a/bcd"));
    check(UriWhitespace::Deny, Err(BadTarget::Path));
    check(UriWhitespace::Encode, Ok("http://a/b%20c%09d"));
    check(UriWhitespace::Allow, Ok("http://a/b%20c%09d"));
    check(UriWhitespace::Chop, Ok("http://a/b"));
}

#[test]
fn connect_needs_host_and_port() {
    let mut target = Target::new();
    assert_eq!(target.set_authority(b"A.example.:443"), Ok(()));
    assert_eq!(
        (target.url(), target.host(), target.port()),
        (&b"a.example:443"[..], "a.example", 443)
    );
    assert_eq!(
        (target.authority(), target.path()),
        (target.url(), &b""[..])
    );
    assert_eq!(target.scheme(), Scheme::Tunnel);
    assert_eq!(target.set_authority(b"[::1]:8443"), Ok(()));
    assert_eq!((target.url(), target.host()), (&b"[::1]:8443"[..], "::1"));
    for bad in [
        "a",
        "a:",
        "a:0",
        "a:65536",
        ":443",
        "a:443/",
        "http://a:443",
        "*",
        "u@a:443",
        "::1:443",
        "a:443 ",
        "",
    ] {
        assert!(target.set_authority(bad.as_bytes()).is_err(), "{bad}");
        assert!(target.is_empty());
    }
}

#[test]
fn parts_make_the_same_target_as_a_url() {
    let mut target = Target::new();
    for host in ["A.example", "a.example."] {
        assert_eq!(
            target.set_parts(Scheme::Http, host.as_bytes(), 8080, b"/x?y"),
            Ok(())
        );
        assert_eq!(Ok(target.clone()), absolute("http://a.example:8080/x?y"));
    }
    for host in ["::1", "[::1]"] {
        assert_eq!(
            target.set_parts(Scheme::Https, host.as_bytes(), 0, b"/"),
            Ok(())
        );
        assert_eq!(Ok(target.clone()), absolute("https://[::1]/"));
    }
    for (host, path) in [
        ("a", ""),
        ("a", "x"),
        ("", "/"),
        ("a:80", "/"),
        ("a/b", "/"),
    ] {
        assert!(
            target
                .set_parts(Scheme::Http, host.as_bytes(), 80, path.as_bytes())
                .is_err()
        );
    }
}

#[test]
fn options_of_a_whole_server_stays_that() {
    let mut target = Target::new();
    target
        .set_parts(Scheme::Http, b"a", 80, b"*")
        .expect("valid");
    assert_eq!(
        (target.url(), target.path()),
        (&b"http://a/"[..], &b"/"[..])
    );
    assert_eq!(target.origin_form(&Method::OPTIONS), b"*");
    let target = absolute("http://a").expect("valid");
    assert_eq!(target.origin_form(&Method::OPTIONS), b"*");
    assert_eq!(target.origin_form(&Method::GET), b"/");
    let target = absolute("http://a/").expect("valid");
    assert_eq!(target.origin_form(&Method::OPTIONS), b"/");
}

#[test]
fn forms_go_with_methods() {
    let check = |method: Method, raw: &str, ok: bool| {
        assert_eq!(
            Form::of(&method, raw.as_bytes()).is_ok(),
            ok,
            "{method} {raw}"
        );
    };
    check(Method::GET, "/", true);
    check(Method::GET, "http://a/", true);
    check(Method::GET, "*", false);
    check(Method::GET, "a:80", false);
    check(Method::OPTIONS, "*", true);
    check(Method::CONNECT, "a:80", true);
    check(Method::CONNECT, "/", false);
    check(Method::CONNECT, "http://a/", false);
    check(Method::CONNECT, "*", false);
    check(Method::CONNECT, "a", false);
}
