//! Digest, with curl.

use super::{curl, door, offers, origin, try_as};
use crate::support::{Entry, client};

const DIGEST: &str = "auth_param digest program {helpers}/digest_file_auth {dir}/digest
auth_param digest realm The house";

/// Digest with an independent client; a nonce ends after its uses, and nobody is asked for a password again.
#[test]
fn digest() {
    let origin = origin();
    let conf = format!("{DIGEST}\nauth_param digest nonce_max_count 3");
    let program = door(&conf, &[("digest", "bob:secret\n")]);
    let url = |path: &str| origin.url(path);
    let as_bob = ["--proxy-digest", "-U", "bob:secret"];
    let (a, b, c, d, e) = (url("/a"), url("/b"), url("/c"), url("/d"), url("/e"));
    let discard = ["-o", "/dev/null"];
    let args = [
        &as_bob[..],
        &[&a, &b],
        &discard,
        &[&c],
        &discard,
        &[&d],
        &discard,
        &[&e],
        &discard,
    ]
    .concat();
    let (status, told) = curl(&program, &args);
    assert_eq!(status, "200 200 200 200 200", "{told}");
    assert!(
        told.contains("Digest realm=\"The house\", nonce=\""),
        "{told}"
    );
    assert_eq!(origin.total(), 5);
    assert!(
        origin
            .requests()
            .iter()
            .all(|request| request.field("Proxy-Authorization").is_none())
    );
    let line = program.wait_for_log(|line| line.contains("/e ") && line.contains("/200"));
    assert_eq!(Entry::of(&line).user, "bob");
    for wrong in ["bob:wrong", "eve:secret"] {
        let (status, told) = curl(&program, &["--proxy-digest", "-U", wrong, &a]);
        assert_eq!(status, "407", "{told}");
    }
    assert_eq!(origin.total(), 5);
}

/// What was said once doesn't let anybody in again: it is answered with a new nonce, by `stale=true`.
#[test]
fn a_digest_is_good_once() {
    let origin = origin();
    let program = door(DIGEST, &[("digest", "bob:secret\n")]);
    let url = origin.url("/");
    let (status, told) = curl(&program, &["--proxy-digest", "-U", "bob:secret", &url]);
    assert_eq!(status, "200", "{told}");
    let said = told
        .lines()
        .find_map(|line| line.strip_prefix("> Proxy-Authorization: "));
    let said = said.unwrap().trim();
    let mut client = client(&program);
    let again = try_as(&mut client, &url, said);
    assert_eq!(again.status, 407);
    let offers = offers(&again);
    assert!(
        offers.len() == 1 && offers[0].contains("stale=true"),
        "{offers:?}"
    );
    // With a nonce of somebody's own making, and a wrong digest.
    for other in [
        said.replace("nonce=\"0", "nonce=\"1"),
        said.replace("response=\"", "response=\"0"),
    ] {
        assert_eq!(try_as(&mut client, &url, &other).status, 407);
    }
    assert_eq!(origin.total(), 1);
}
