//! `menu`: all pages, a line each. `index`: the same for a browser.

use std::fmt::Write as _;

use proxy::internal::Answer;
use serde::Serialize;

use super::{PAGES, Report, access};
use crate::Scene;

/// A line of the menu.
#[derive(Debug, Serialize)]
struct Item {
    action: &'static str,
    description: &'static str,
    protection: &'static str,
}

fn items(scene: &Scene<'_>) -> Vec<Item> {
    let passwords = &scene.config().cachemgr_passwd;
    let items = PAGES.iter().map(|row| Item {
        action: row.name,
        description: row.about,
        protection: access::word(passwords, row),
    });
    items.collect()
}

/// `menu`
pub(super) fn menu(scene: &Scene<'_>) -> Report {
    let items = items(scene);
    Report::new(&items, text(&items))
}

fn text(items: &[Item]) -> String {
    items.iter().fold(String::new(), |mut text, item| {
        // A String takes all that is written.
        let _ = writeln!(
            text,
            " {:<22}\t{:<32}\t{}",
            item.action, item.description, item.protection
        );
        text
    })
}

/// `index`
pub(super) fn index(scene: &Scene<'_>) -> Answer {
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Cache Manager</title><style>body{font:1rem/1.5 sans-serif;max-width:50rem;\
         margin:2rem auto;padding:0 1rem;color-scheme:light dark}td{padding:0 1rem 0 0}</style>\
         </head><body><h1>Cache Manager</h1><table>\n",
    );
    let shown = items(scene);
    let shown = shown
        .iter()
        .filter(|item| !matches!(item.protection, "hidden" | "disabled"));
    for item in shown {
        let Item {
            action,
            description,
            protection,
        } = item;
        let _ = writeln!(
            page,
            "<tr><td><a href=\"/squid-internal-mgr/{action}\">{action}</a></td>\
             <td>{description}</td><td>{protection}</td></tr>"
        );
    }
    page.push_str("</table></body></html>\n");
    Answer {
        status: 200,
        media_type: "text/html;charset=utf-8",
        fields: Vec::new(),
        content: page.into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_menu_has_a_line_for_each_page() {
        let item = Item {
            action: "info",
            description: "General Runtime Information",
            protection: "public",
        };
        assert_eq!(
            text(&[item]),
            " info                  \tGeneral Runtime Information     \tpublic\n"
        );
    }
}
