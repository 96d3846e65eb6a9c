//! The helpers that come with Squid, where they are installed (Debian's `squid` package).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

/// Options for one of Squid's helpers; `None`, and a word about it, where it isn't installed.
fn installed(kind: Kind, program: &str, arguments: &[&str]) -> Option<Options> {
    let path = Path::new("/usr/lib/squid").join(program);
    if !path.exists() {
        println!("not installed: {}", path.display());
        return None;
    }
    let arguments = arguments.iter().map(|word| OsString::from(*word));
    let command = std::iter::once(path.into_os_string()).chain(arguments);
    Some(options(kind, command.collect()))
}

/// Asks each question and compares the answer as a line of today's form.
async fn check(options: Option<Options>, expected: &[(&str, &str)]) {
    let Some(options) = options else { return };
    let stage = Stage::new();
    let pool = stage.pool(&options);
    for (question, expected) in expected {
        let answer = within(pool.ask(question.as_bytes())).await.expect(question);
        assert_eq!(
            String::from_utf8_lossy(&answer.to_line()),
            *expected,
            "{question}"
        );
    }
    assert!(stage.helpers.stop(BOUND), "it ends when its input does");
    assert_eq!(pool.status().deaths, 0);
}

fn file(folder: &tempfile::TempDir, content: &str) -> String {
    let path = folder.path().join("data");
    std::fs::write(&path, content).expect("a file");
    path.display().to_string()
}

#[tokio::test]
async fn basic_fake_auth_says_ok() {
    let helper = installed(Kind::BasicAuth, "basic_fake_auth", &[]);
    check(helper, &[("bob secret", "OK"), ("a%20b x", "OK")]).await;
}

#[tokio::test]
async fn basic_ncsa_auth_knows_its_users() {
    let folder = tempfile::tempdir().expect("a folder");
    let users = file(&folder, "bob:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n");
    let helper = installed(Kind::BasicAuth, "basic_ncsa_auth", &[&users]);
    let expected = [
        ("bob secret", "OK"),
        ("bob wrong", "ERR Wrong password"),
        ("a%20b x", "ERR No such user"),
    ];
    check(helper, &expected).await;
}

#[tokio::test]
async fn digest_file_auth_knows_the_hash() {
    let folder = tempfile::tempdir().expect("a folder");
    let users = file(&folder, "bob:realm:908ff320725b0d3989b772c8bcf6b7e2\n");
    let helper = installed(Kind::DigestAuth, "digest_file_auth", &["-c", &users]);
    let expected = [
        (
            r#""bob":"realm""#,
            r#"OK ha1="908ff320725b0d3989b772c8bcf6b7e2""#,
        ),
        (r#""al":"realm""#, r#"ERR message="No such user""#),
    ];
    check(helper, &expected).await;
}

#[tokio::test]
async fn ext_file_userip_acl_knows_the_pairs() {
    let folder = tempfile::tempdir().expect("a folder");
    let pairs = file(&folder, "10.0.0.1 bob\n");
    let helper = installed(Kind::ExternalAcl, "ext_file_userip_acl", &["-f", &pairs]);
    check(helper, &[("10.0.0.1 bob", "OK"), ("10.0.0.1 al", "ERR")]).await;
}

#[tokio::test]
async fn url_fake_rewrite_changes_nothing() {
    let helper = installed(Kind::UrlRewrite, "url_fake_rewrite", &[]);
    check(helper, &[("http://a/ 10.0.0.1/- - GET", "ERR")]).await;
}

#[tokio::test]
async fn storeid_file_rewrite_speaks_with_channels() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = file(
        &folder,
        "^http://cdn[0-9]+\\.example/\thttp://cdn.example/\n",
    );
    let mut helper = installed(Kind::StoreId, "storeid_file_rewrite", &[&rules]);
    if let Some(helper) = &mut helper {
        helper.children.concurrency = 10;
    }
    let expected = [
        (
            "http://cdn7.example/x",
            r#"OK store-id="http://cdn.example/""#,
        ),
        ("http://other.example/", "ERR"),
    ];
    check(helper, &expected).await;
}

#[tokio::test]
async fn ntlm_fake_auth_shakes_hands_with_one_child() {
    let Some(mut options) = installed(Kind::NtlmAuth, "ntlm_fake_auth", &[]) else {
        return;
    };
    options.children.max = 2;
    let stage = Stage::new();
    let pool = stage.pool(&options);
    let mut child = within(pool.reserve()).await.expect("a child");
    let challenge = within(child.ask(b"YR")).await.expect("an answer");
    assert_eq!(challenge.verdict, Verdict::Tt);
    let token = STANDARD.decode(challenge.get("token").unwrap_or_default());
    assert!(token.expect("base64").starts_with(b"NTLMSSP\0\x02"));
    let proof = format!("KK {}", STANDARD.encode(authenticate()));
    let answer = within(child.ask(proof.as_bytes()))
        .await
        .expect("an answer");
    assert_eq!(answer.verdict, Verdict::Ok);
    let user = String::from_utf8_lossy(answer.get("user").unwrap_or_default()).into_owned();
    assert!(user.contains("bob"), "{user}");
}

/// An NTLM message of type 3 for `DOM\bob` without any proof.
fn authenticate() -> Vec<u8> {
    let (mut fields, mut content) = (Vec::new(), Vec::new());
    for part in [&[0_u8; 24][..], &[0; 24], b"DOM", b"bob", b"WS", b""] {
        let length = u16::try_from(part.len()).expect("short").to_le_bytes();
        let offset = u32::try_from(64 + content.len())
            .expect("short")
            .to_le_bytes();
        fields.extend([&length[..], &length, &offset].concat());
        content.extend_from_slice(part);
    }
    let mut head = [&b"NTLMSSP\0\x03\0\0\0"[..], &fields, &[2, 2, 0, 0]].concat();
    head.resize(64, 0);
    [head, content].concat()
}
