//! Passwords against the hashes of password files: bcrypt, SHA-crypt, and the MD5 ones of crypt(3) and
//! Apache. Takes milliseconds, on purpose: never on a worker.

use md5::{Digest as _, Md5};
use sha_crypt::{PasswordVerifier as _, ShaCrypt};

use super::secret::equal;

/// What a hash says of a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Right,
    Wrong,
    /// A hash that isn't done here (DES crypt, yescrypt).
    Unknown,
}

/// Does the password have this hash?
pub(super) fn verify(password: &[u8], hash: &str) -> Verdict {
    let is_right = if let Some(rest) = hash.strip_prefix("$apr1$") {
        md5_crypt_is(password, b"$apr1$", rest)
    } else if let Some(rest) = hash.strip_prefix("$1$") {
        md5_crypt_is(password, b"$1$", rest)
    } else if hash.starts_with("$5$") || hash.starts_with("$6$") {
        ShaCrypt::default().verify_password(password, hash).is_ok()
    } else if ["$2a$", "$2b$", "$2y$"]
        .iter()
        .any(|id| hash.starts_with(id))
    {
        bcrypt::verify(password, hash).unwrap_or(false)
    } else {
        return Verdict::Unknown;
    };
    if is_right {
        Verdict::Right
    } else {
        Verdict::Wrong
    }
}

/// `salt$hash` after the magic.
fn md5_crypt_is(password: &[u8], magic: &[u8], rest: &str) -> bool {
    let (salt, hash) = rest.split_once('$').unwrap_or((rest, ""));
    let salt = salt.as_bytes();
    // The algorithm has no more.
    let salt = salt.get(..8).unwrap_or(salt);
    equal(&md5_crypt(password, magic, salt), hash.as_bytes())
}

/// The MD5-based crypt of FreeBSD, 1994, which Apache has with a magic of its own.
fn md5_crypt(password: &[u8], magic: &[u8], salt: &[u8]) -> Vec<u8> {
    let alternate = md5(&[password, salt, password]);
    let mut first = Md5::new();
    [password, magic, salt]
        .iter()
        .for_each(|part| first.update(part));
    first.update(
        alternate
            .iter()
            .copied()
            .cycle()
            .take(password.len())
            .collect::<Vec<u8>>(),
    );
    let mut length = password.len();
    while length > 0 {
        let bit = if length & 1 == 1 {
            &[0][..]
        } else {
            password.get(..1).unwrap_or_default()
        };
        first.update(bit);
        length >>= 1;
    }
    let mut sum: [u8; 16] = first.finalize().into();
    for round in 0..1000 {
        let odd = round % 2 == 1;
        let parts: [&[u8]; 4] = [
            if odd { password } else { &sum },
            if round % 3 == 0 { &[] } else { salt },
            if round % 7 == 0 { &[] } else { password },
            if odd { &sum } else { password },
        ];
        sum = md5(&parts);
    }
    spell(&sum)
}

fn md5(parts: &[&[u8]]) -> [u8; 16] {
    let mut hash = Md5::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// The sum in the order and the alphabet of crypt(3).
fn spell(sum: &[u8; 16]) -> Vec<u8> {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = sum.map(u32::from);
    let groups = [
        (a << 16 | g << 8 | m, 4),
        (b << 16 | h << 8 | n, 4),
        (c << 16 | i << 8 | o, 4),
        (d << 16 | j << 8 | p, 4),
        (e << 16 | k << 8 | f, 4),
        (l, 2),
    ];
    let mut out = Vec::with_capacity(22);
    for (mut bits, count) in groups {
        for _ in 0..count {
            out.push(letter(bits & 63));
            bits >>= 6;
        }
    }
    out
}

fn letter(bits: u32) -> u8 {
    const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let place = usize::try_from(bits).unwrap_or(usize::MAX);
    LETTERS.get(place).copied().unwrap_or(b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `openssl passwd` and crypt(3).
    const HASHES: [(&str, &str); 7] = [
        ("$apr1$abcdefgh$", "$apr1$abcdefgh$IZn45UKVI/k9cP2.nd0900"),
        ("$1$abcdefgh$", "$1$abcdefgh$qpMmn7GbKJvZCGmRMyzvT0"),
        ("$1$ab$", "$1$ab$Ku91/xrE5XGSBPX8mtuJc/"),
        (
            "$5$saltsalt$",
            "$5$saltsalt$O3DgkgVdwEGnrAcDVtvaqYxWTBw0Sj38EpEpXegATXA",
        ),
        (
            "$6$saltsalt$",
            "$6$saltsalt$J.H9QZDjpzl5MVWaDSQ2DkuaqqTAVM918ixk3DjS3bDVO.oeFRjcxXcBQJ6F.JVcHMbcRKdZIFPSFAyI0kB0H.",
        ),
        (
            "$6$rounds=1000$salt$",
            "$6$rounds=1000$salt$dDFxa0AmNiK2A6uWXQ88vHE22SqGCWDA88v8NjMwRTyxQv6G9OwkoOf77rwiOID8qAleeSfmLW1FJuF2/IK4r.",
        ),
        (
            "$2y$",
            "$2y$05$abcdefghijklmnopqrstuuQDSF6qSJcy8N/IByZ1MdlzLHQR97r/O",
        ),
    ];

    #[test]
    fn each_kind_of_hash_knows_its_password() {
        for (kind, hash) in HASHES {
            assert!(hash.starts_with(kind), "{hash}");
            assert_eq!(
                verify("pass wörd".as_bytes(), hash),
                Verdict::Right,
                "{hash}"
            );
            for wrong in [&b""[..], b"pass word", b"pass w\xc3\xb6rd "] {
                assert_eq!(verify(wrong, hash), Verdict::Wrong, "{hash}");
            }
        }
    }

    #[test]
    fn what_is_no_hash_lets_nobody_in() {
        for hash in [
            "$apr1$",
            "$1$",
            "$1$salt$",
            "$5$",
            "$6$x",
            "$6$s$!",
            "$2y$",
            "$2y$10$short",
        ] {
            assert_eq!(verify(b"", hash), Verdict::Wrong, "{hash}");
            assert_eq!(verify(b"x", hash), Verdict::Wrong, "{hash}");
        }
        for hash in ["", "x", "rqXexS6ZhobKA", "$y$j9T$x$y", "*", "!"] {
            assert_eq!(verify(b"x", hash), Verdict::Unknown, "{hash}");
        }
    }
}
