//! Who may see a page: `cachemgr_passwd`.

use config::{ManagerPassword, Protection as Password};
use proxy::internal::{Ask, Refused};

use super::{Protection, Row};

/// What holds for a page, in the menu's words.
pub(super) fn word(passwords: &[ManagerPassword], row: &Row) -> &'static str {
    match (of(passwords, row.name), row.protection) {
        (None, Protection::Public) | (Some(Password::Open), _) => "public",
        (None, Protection::Protected) => "hidden",
        (Some(Password::Disabled), _) => "disabled",
        (Some(Password::Password(_)), _) => "protected",
    }
}

/// May who asks see the page?
///
/// # Errors
///
/// Nobody may, or the password is another.
pub(super) fn check(ask: &Ask<'_>, row: &Row) -> Result<(), Refused> {
    let passwords = &ask.plan.config.cachemgr_passwd;
    match (of(passwords, row.name), row.protection) {
        (None, Protection::Public) | (Some(Password::Open), _) => Ok(()),
        (None, Protection::Protected) | (Some(Password::Disabled), _) => Err(Refused::Unknown),
        (Some(Password::Password(right)), _) => {
            let said = ask.user_and_password.as_ref();
            let same = said.is_some_and(|(_, said)| is_same(said, right));
            same.then_some(()).ok_or_else(|| Refused::Password {
                realm: row.name.to_owned(),
            })
        }
    }
}

/// The first line that names the page.
fn of<'p>(passwords: &'p [ManagerPassword], name: &str) -> Option<&'p Password> {
    let line = passwords.iter().find(|line| line.covers(name))?;
    Some(&line.protection)
}

/// Takes the same time wherever two passwords of one length differ.
fn is_same(said: &str, right: &str) -> bool {
    let pairs = said.bytes().zip(right.bytes());
    let differing = pairs.fold(0, |differing, (one, other)| differing | (one ^ other));
    said.len() == right.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::super::PAGES;
    use super::*;

    #[test]
    fn the_first_line_that_names_a_page_holds() {
        let conf = "cachemgr_passwd secret menu\ncachemgr_passwd disable shutdown menu\n\
                    cachemgr_passwd none rotate";
        let config = config::parse(conf, "test").unwrap();
        let check = |name: &str, expected: &str| {
            let row = PAGES.iter().find(|row| row.name == name).unwrap();
            assert_eq!(word(&config.cachemgr_passwd, row), expected, "{name}");
        };
        check("menu", "protected");
        check("shutdown", "disabled");
        check("rotate", "public");
        check("reconfigure", "hidden");
        check("index", "public");
        let all = config::parse("cachemgr_passwd x all", "test").unwrap();
        let words = PAGES.iter().map(|row| word(&all.cachemgr_passwd, row));
        assert!(words.into_iter().all(|word| word == "protected"));
    }

    #[test]
    fn passwords_are_compared_whole() {
        assert!(is_same("secret", "secret"));
        for said in ["", "secre", "secret ", "Secret", "secrex"] {
            assert!(!is_same(said, "secret"), "{said}");
        }
    }
}
