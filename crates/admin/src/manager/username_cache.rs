//! `username_cache`: the users that are remembered.

use proxy::plan::{KnownUser, KnownUsers};
use serde::Serialize;

use super::Report;
use super::share::{left_out, visible};
use crate::Scene;

/// Users that are listed.
const USERS_MAX: usize = 10_000;

#[derive(Serialize)]
struct Page {
    cached: usize,
    most: usize,
    users: Vec<User>,
    users_left_out: usize,
}

#[derive(Serialize)]
struct User {
    scheme: &'static str,
    name: String,
    check_ttl_secs: i64,
    cache_ttl_secs: i64,
}

pub(super) fn report(scene: &Scene<'_>) -> Report {
    let known = scene.plan().known_users(USERS_MAX, scene.ask.now.mono_ns);
    let page = Page::of(&known);
    Report::new(&page, page.text())
}

impl Page {
    fn of(known: &KnownUsers) -> Self {
        Self {
            cached: known.count,
            most: known.most,
            users: known.users.iter().map(User::of).collect(),
            users_left_out: known.count.saturating_sub(known.users.len()),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "Cached Usernames: {}\n\
             Type            State     Check TTL Cache TTL Username\tKey\n\
             --------------- --------- --------- --------- ------------------------------\n",
            self.cached
        );
        for user in &self.users {
            let kind = format!("AUTH_{}", user.scheme.to_ascii_uppercase());
            let name = visible(user.name.as_bytes());
            text += &format!(
                "{kind:<15} {:<9} {:<9} {:<9} {name}\t{name}\n",
                "Ok", user.check_ttl_secs, user.cache_ttl_secs
            );
        }
        text + &left_out(self.users_left_out, "users")
    }
}

impl User {
    fn of(user: &KnownUser) -> Self {
        Self {
            scheme: user.scheme,
            name: user.name.to_string(),
            check_ttl_secs: user.check_secs.max(-1),
            cache_ttl_secs: user.cache_secs.max(-1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_squids() {
        let user = KnownUser {
            scheme: "basic",
            name: "ann b".into(),
            check_secs: 3586,
            cache_secs: -77,
        };
        let known = KnownUsers {
            count: 2,
            most: 9,
            users: vec![user],
        };
        let expected = "\
Cached Usernames: 2
Type            State     Check TTL Cache TTL Username\tKey
--------------- --------- --------- --------- ------------------------------
AUTH_BASIC      Ok        3586      -1        ann%20b\tann%20b
(1 more users are not listed)
";
        assert_eq!(Page::of(&known).text(), expected);
    }
}
