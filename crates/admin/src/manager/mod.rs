//! The pages of the cache manager: one table, a file for each page. A page is a struct; its text is written from it, and
//! its JSON (`Accept: application/json`, or `?format=json`) is the struct itself.

mod access;
mod actions;
mod menu;
mod report;

use proxy::internal::{Answer, Ask, Refused, WorkerReport};

use crate::{Admin, Scene, dashboard};
pub use report::Report;

/// What pages are, unless they say otherwise.
pub const TEXT: &str = "text/plain;charset=utf-8";
/// And in the other form.
pub const JSON: &str = "application/json";

/// A page.
#[derive(Debug)]
pub struct Row {
    /// Its name in URLs.
    pub name: &'static str,
    /// What the menu says of it.
    pub about: &'static str,
    /// Who may see it where `cachemgr_passwd` says nothing.
    pub protection: Protection,
    /// What makes it.
    pub make: Make,
}

/// Who may see a page where `cachemgr_passwd` says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Everyone whom the access rules let in.
    Public,
    /// Nobody.
    Protected,
}

/// What makes a page.
#[derive(Debug, Clone, Copy)]
pub enum Make {
    /// From what is known.
    Now(fn(&Scene<'_>) -> Report),
    /// From what is known, and from what the workers do now.
    Asking(fn(&Scene<'_>, &[WorkerReport]) -> Report),
    /// The same with a form of its own. Names that go on after a `/` are its own, too.
    Raw(fn(&Scene<'_>) -> Answer),
    /// The same, from what the workers do now, too.
    RawAsking(fn(&Scene<'_>, &[WorkerReport]) -> Answer),
}

use Make::{Asking, Now, Raw, RawAsking};
use Protection::{Protected, Public};

/// Every page, in the order of the menu.
#[rustfmt::skip]
pub const PAGES: &[Row] = &[
    Row { name: "index", about: "Cache Manager Interface", protection: Public, make: Raw(menu::index) },
    Row { name: "menu", about: "Cache Manager Menu", protection: Public, make: Now(menu::menu) },
    Row { name: "offline_toggle", about: "Toggle offline_mode setting", protection: Protected, make: Now(actions::offline_toggle) },
    Row { name: "shutdown", about: "Shut Down the Squid Process", protection: Protected, make: Now(actions::shutdown) },
    Row { name: "reconfigure", about: "Reconfigure Squid", protection: Protected, make: Now(actions::reconfigure) },
    Row { name: "rotate", about: "Rotate Squid Logs", protection: Protected, make: Now(actions::rotate) },
    Row { name: "squall", about: "Dashboard", protection: Public, make: RawAsking(dashboard::answer) },
];

/// Makes the page that is asked for.
///
/// # Errors
///
/// There is none of that name, or nobody may see it, or it has another password.
pub(crate) async fn answer(admin: &Admin, ask: Ask<'_>) -> Result<Answer, Refused> {
    let row = row(ask.page).ok_or(Refused::Unknown)?;
    access::check(&ask, row)?;
    let scene = Scene { ask: &ask, admin };
    Ok(match row.make {
        Now(make) => make(&scene).answer(&ask),
        Asking(make) => make(&scene, &ask.roll.call().await).answer(&ask),
        Raw(make) => make(&scene),
        RawAsking(make) => make(&scene, &ask.roll.call().await),
    })
}

fn row(page: &str) -> Option<&'static Row> {
    let page = if page.is_empty() { "index" } else { page };
    let (name, has_more) = match page.split_once('/') {
        Some((name, _)) => (name, true),
        None => (page, false),
    };
    let row = PAGES.iter().find(|row| row.name == name)?;
    let takes_more = matches!(row.make, Raw(_) | RawAsking(_));
    (!has_more || takes_more).then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_their_names() {
        let check = |page: &str, found: Option<&str>| {
            assert_eq!(row(page).map(|row| row.name), found, "{page}");
        };
        check("", Some("index"));
        check("menu", Some("menu"));
        check("index/x", Some("index"));
        check("menu/x", None);
        check("Menu", None);
        check("nothing", None);
    }

    #[test]
    fn no_name_is_there_twice() {
        let mut names: Vec<_> = PAGES.iter().map(|row| row.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
