use super::*;

fn fields(lines: &[(&str, &str)]) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in lines {
        fields.push(name.as_bytes(), value.as_bytes());
    }
    fields
}

#[test]
fn persistence_follows_version_and_connection() {
    let check = |version, lines: &[(&str, &str)], expected| {
        assert_eq!(
            may_reuse(version, &fields(lines)),
            expected,
            "{version:?} {lines:?}"
        );
    };
    check(Version::H11, &[], true);
    check(Version::H10, &[], false);
    check(Version::H11, &[("Connection", "close")], false);
    check(
        Version::H11,
        &[("Connection", "x"), ("Connection", "a, CLOSE ,b")],
        false,
    );
    check(Version::H10, &[("Connection", "Keep-Alive")], true);
    check(Version::H10, &[("Proxy-Connection", "keep-alive")], true);
    check(Version::H10, &[("Connection", "keep-alive, close")], false);
    check(Version::H11, &[("Proxy-Connection", "close")], false);
    check(Version::H11, &[("Connection", "closed")], true);
}

#[test]
fn hop_by_hop_fields_and_named_ones_go_but_protected_ones_stay() {
    let mut head = fields(&[
        ("Host", "a"),
        (
            "Connection",
            "X-A, content-length, Host, , via, x-b, Cookie, close",
        ),
        ("x-a", "1"),
        ("X-B", "2"),
        ("X-C", "3"),
        ("Cookie", "c"),
        ("Content-Length", "5"),
        ("Via", "1.1 b"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Connection", "keep-alive"),
        ("TE", "trailers"),
        ("Trailer", "X"),
        ("Transfer-Encoding", "chunked"),
        ("Upgrade", "h2c"),
        ("HTTP2-Settings", "x"),
        ("Proxy-Authorization", "Basic x"),
    ]);
    let names = |fields: &Fields| -> Vec<String> {
        fields
            .iter()
            .map(|line| String::from_utf8_lossy(line.name).into_owned())
            .collect()
    };
    let mut kept = head.clone();
    remove_hop_by_hop(&mut kept, ProxyAuth::Keep);
    assert_eq!(
        names(&kept),
        [
            "Host",
            "X-C",
            "Content-Length",
            "Via",
            "Proxy-Authorization"
        ]
    );
    remove_hop_by_hop(&mut head, ProxyAuth::Drop);
    assert_eq!(names(&head), ["Host", "X-C", "Content-Length", "Via"]);
}

#[test]
fn thousands_of_names_are_no_quadratic_work() {
    let mut head = Fields::new();
    let list: Vec<String> = (0..20_000).map(|at| format!("x-{at}")).collect();
    head.push(b"Connection", list.join(",").as_bytes());
    for name in &list {
        head.push(name.as_bytes(), b"");
    }
    remove_hop_by_hop(&mut head, ProxyAuth::Drop);
    assert!(head.is_empty());
}
