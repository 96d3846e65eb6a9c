//! The pages, written from the tables and from `Live`. Complete as they come; scripts only keep them up to date.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::figures::{Kind, UNKNOWN};
use super::tables::{
    CHARTS, Chart, Column, OVERVIEW, TILES, TRANSACTION_FACTS, TRANSACTIONS, Table, Tile, Value,
};

/// Size of charts in their own units; they are stretched to their place.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 60.0;

/// Which page is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Overview,
    Transactions,
    Transaction,
}

/// A page that is kept up to date.
pub(super) fn page(page: Page, live: &Json) -> String {
    let mut out = String::new();
    if page == Page::Overview {
        out += "<div class=\"tiles\">";
        for tile in TILES {
            push_tile(&mut out, tile, live);
        }
        out += "</div><div class=\"charts\">";
        for chart in CHARTS {
            push_chart(&mut out, chart, live);
        }
        out += "</div>";
    }
    out += "<div class=\"cards\">";
    let tables = match page {
        Page::Overview => OVERVIEW,
        Page::Transactions => TRANSACTIONS,
        Page::Transaction => &[],
    };
    for table in tables {
        push_table(&mut out, table, live);
    }
    out += "</div>";
    document(page, live, &out)
}

/// The page of one transaction, or of none that is known.
pub(super) fn transaction(live: &Json, id: &str, found: Option<&Json>) -> String {
    let mut out = format!(
        "<section class=\"card wide\"><h2>Transaction {}</h2>",
        Escaped(id)
    );
    match found {
        None => {
            out += "<p>It isn't known (any more). A transaction is remembered for a minute or two, while \
                    somebody looks at these pages.</p>";
        }
        Some(row) => {
            push_phases(&mut out, row);
            out += "<dl>";
            for fact in TRANSACTION_FACTS {
                let shown = shown(fact.kind, of(row, fact.field));
                if !shown.is_empty() && shown != UNKNOWN && shown != "0" {
                    write_to(
                        &mut out,
                        format_args!("<dt>{}</dt><dd>{}</dd>", fact.title, Escaped(&shown)),
                    );
                }
            }
            out += "</dl>";
        }
    }
    out += "</section>";
    document(Page::Transaction, live, &out)
}

fn document(page: Page, live: &Json, content: &str) -> String {
    let host = of(of(live, "program"), "host").as_str().unwrap_or_default();
    let link = |to: Page, href: &str, title: &str| {
        let here = if page == to {
            " aria-current=\"page\""
        } else {
            ""
        };
        format!("<a href=\"{href}\"{here}>{title}</a>")
    };
    let about = [
        Value {
            before: "",
            pointer: "/program/version",
            kind: Kind::Text,
            after: "",
        },
        Value {
            before: "up ",
            pointer: "/program/uptime_secs",
            kind: Kind::Age,
            after: "",
        },
        Value {
            before: "CPU ",
            pointer: "/process/cpu",
            kind: Kind::Share,
            after: "",
        },
        Value {
            before: "memory ",
            pointer: "/process/resident_bytes",
            kind: Kind::Bytes,
            after: "",
        },
        Value {
            before: "files ",
            pointer: "/process/descriptors",
            kind: Kind::Count,
            after: "",
        },
    ];
    let mut facts = String::new();
    for fact in &about {
        push_value(&mut facts, fact, live);
    }
    let script = match page {
        Page::Overview | Page::Transactions => "<script src=\"app.js\" defer></script>",
        Page::Transaction => "",
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>{host} – Squall</title>\
         <link rel=\"icon\" href=\"icon.svg\"><link rel=\"stylesheet\" href=\"app.css\">{script}</head>\
         <body><header><h1><i id=\"pulse\"></i>{host}</h1>\
         <nav>{}{}{}</nav><p class=\"facts\">{facts}</p></header>\
         <main>{content}</main></body></html>\n",
        link(Page::Overview, ".", "Overview"),
        link(Page::Transactions, "transactions", "Transactions"),
        "<a href=\"/squid-internal-mgr/\">Manager pages</a>",
        host = Escaped(host),
    )
}

fn push_tile(out: &mut String, tile: &Tile, live: &Json) {
    write_to(
        out,
        format_args!(
            "<section class=\"tile\"><h2>{}</h2><p class=\"big\">",
            tile.title
        ),
    );
    push_value(out, &tile.value, live);
    *out += "</p><p class=\"below\">";
    for value in tile.below {
        push_value(out, value, live);
    }
    *out += "</p>";
    push_svg(out, &[tile.series], false, tile.value.kind, live);
    *out += "</section>";
}

fn push_value(out: &mut String, value: &Value, live: &Json) {
    let json = live.pointer(value.pointer).unwrap_or(&Json::Null);
    write_to(
        out,
        format_args!(
            "<span>{}<b data-at=\"{}\" data-as=\"{}\">{}</b>{}</span> ",
            value.before,
            value.pointer,
            value.kind.word(),
            Escaped(&shown(value.kind, json)),
            value.after
        ),
    );
}

fn push_chart(out: &mut String, chart: &Chart, live: &Json) {
    write_to(
        out,
        format_args!(
            "<figure class=\"card\"><figcaption><h2>{}</h2>",
            chart.title
        ),
    );
    for (number, (series, words)) in chart.lines.iter().enumerate() {
        let last = of(of(live, "series"), series)
            .as_array()
            .and_then(|all| all.last());
        write_to(
            out,
            format_args!(
                "<span class=\"key k{number}\">{words} <b data-last=\"{series}\" data-as=\"{}\">{}</b></span>",
                chart.kind.word(),
                shown(chart.kind, last.unwrap_or(&Json::Null))
            ),
        );
    }
    *out += "<time></time></figcaption><div class=\"plot\">";
    let series: Vec<&str> = chart.lines.iter().map(|(series, _)| *series).collect();
    let scale = push_svg(out, &series, chart.stacked, chart.kind, live);
    write_to(
        out,
        format_args!(
            "<span class=\"top\">{}</span><span class=\"floor\">{}</span></div>\
             <p class=\"axis\"><span>5 minutes ago</span><span>now</span></p></figure>",
            chart.kind.number(scale.top),
            scale
                .floor
                .map_or_else(String::new, |floor| chart.kind.number(floor)),
        ),
    );
}

/// Draws lists of the series, and gives their scale.
fn push_svg(out: &mut String, series: &[&str], stacked: bool, kind: Kind, live: &Json) -> Scale {
    let lists: Vec<Vec<Option<f64>>> = series
        .iter()
        .map(|name| numbers(of(of(live, "series"), name)))
        .collect();
    let lines = if stacked { stack(&lists) } else { lists };
    let scale = Scale::of(&lines, kind);
    write_to(
        out,
        format_args!(
            "<svg class=\"lines{}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" \
             data-series=\"{}\" data-as=\"{}\" aria-hidden=\"true\">",
            if stacked { " stacked" } else { "" },
            series.join(" "),
            kind.word()
        ),
    );
    for (number, line) in lines.iter().enumerate() {
        let (line, area) = paths(line, scale);
        write_to(
            out,
            format_args!(
                "<path class=\"area k{number}\" d=\"{area}\"/><path class=\"line k{number}\" d=\"{line}\"/>"
            ),
        );
    }
    *out += "</svg>";
    scale
}

fn numbers(list: &Json) -> Vec<Option<f64>> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(Json::as_f64).collect()
}

/// Each list on top of those after it: the first is drawn first, as the highest.
fn stack(lists: &[Vec<Option<f64>>]) -> Vec<Vec<Option<f64>>> {
    let mut below: Vec<f64> = Vec::new();
    let mut stacked = Vec::new();
    for list in lists.iter().rev() {
        below.resize(list.len(), 0.0);
        for (sum, value) in below.iter_mut().zip(list) {
            *sum += value.unwrap_or(0.0);
        }
        stacked.push(below.iter().copied().map(Some).collect());
    }
    stacked.reverse();
    stacked
}

/// How high a value is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    top: f64,
    /// The lowest value of a logarithmic scale: times go from microseconds to minutes.
    floor: Option<f64>,
}

impl Scale {
    fn of(lines: &[Vec<Option<f64>>], kind: Kind) -> Self {
        let values = || lines.iter().flatten().flatten().copied();
        let highest = values().fold(0.0, f64::max);
        if kind != Kind::Time {
            let top = ceiling(highest);
            return Self { top, floor: None };
        }
        let power = |value: f64| 10_f64.powf(value);
        let lowest = values()
            .filter(|value| *value > 0.0)
            .fold(highest, f64::min);
        let floor = power(lowest.max(1.0).log10().floor());
        Self {
            top: power(highest.max(1.0).log10().ceil()).max(floor * 10.0),
            floor: Some(floor),
        }
    }

    /// From 0, at the bottom, to 1.
    fn height(self, value: f64) -> f64 {
        let height = match self.floor {
            Some(floor) if value > floor => (value / floor).ln() / (self.top / floor).ln(),
            Some(_) => 0.0,
            None => value / self.top,
        };
        height.clamp(0.0, 1.0)
    }
}

/// A round number, not below the value.
fn ceiling(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];
    let step = steps.into_iter().find(|step| step * power >= value);
    step.unwrap_or(10.0) * power
}

/// The line through the values, and the area below it. The last value is at the right edge; what isn't known is a gap.
fn paths(values: &[Option<f64>], scale: Scale) -> (String, String) {
    let (mut line, mut area) = (String::new(), String::new());
    let mut start: Option<f64> = None;
    #[expect(clippy::cast_precision_loss, reason = "a few hundred points")]
    let x = |place: usize| WIDTH - 1.0 * (values.len() - 1 - place) as f64;
    for (place, value) in values.iter().enumerate() {
        let Some(value) = value else {
            close(&mut area, start.take(), x(place.saturating_sub(1)));
            continue;
        };
        let (x, y) = (
            x(place),
            HEIGHT - 1.0 - scale.height(*value) * (HEIGHT - 2.0),
        );
        if start.is_none() {
            write_to(&mut area, format_args!("M{x} {HEIGHT}L{x} {y:.1}"));
            write_to(&mut line, format_args!("M{x} {y:.1}"));
            start = Some(x);
        } else {
            write_to(&mut area, format_args!("L{x} {y:.1}"));
            write_to(&mut line, format_args!("L{x} {y:.1}"));
        }
    }
    close(&mut area, start, WIDTH);
    (line, area)
}

fn close(area: &mut String, start: Option<f64>, end: f64) {
    if start.is_some() {
        write_to(area, format_args!("L{end} {HEIGHT}Z"));
    }
}

fn push_table(out: &mut String, table: &Table, live: &Json) {
    let wide = if table.wide { " wide" } else { "" };
    write_to(
        out,
        format_args!(
            "<section class=\"card{wide}\"><h2>{}<small>{}</small>",
            table.title, table.note
        ),
    );
    if matches!(table.list, "hosts" | "clients") {
        push_choice(out, of(live, "by").as_str().unwrap_or_default());
    }
    write_to(
        out,
        format_args!(
            "</h2><div class=\"scroll\"><table data-list=\"{}\" data-empty=\"{}\"><thead><tr>",
            table.list, table.empty
        ),
    );
    for column in table.columns {
        write_to(
            out,
            format_args!(
                "<th{} data-field=\"{}\" data-as=\"{}\">{}</th>",
                class(column),
                column.field,
                column.kind.word(),
                column.title
            ),
        );
    }
    *out += "</tr></thead><tbody>";
    let rows = of(live, table.list).as_array().map(Vec::as_slice);
    let rows = rows.unwrap_or_default();
    for row in rows {
        *out += "<tr>";
        for column in table.columns {
            push_cell(out, column, of(row, column.field));
        }
        *out += "</tr>";
    }
    if rows.is_empty() {
        write_to(
            out,
            format_args!(
                "<tr class=\"empty\"><td colspan=\"{}\">{}</td></tr>",
                table.columns.len(),
                table.empty
            ),
        );
    }
    *out += "</tbody></table></div></section>";
}

/// By what hosts and clients are ranked.
fn push_choice(out: &mut String, by: &str) {
    *out += "<span class=\"by\">";
    for (word, href) in [("requests", "."), ("bytes", "?by=bytes")] {
        let here = if by == word {
            " aria-current=\"true\""
        } else {
            ""
        };
        write_to(out, format_args!("<a href=\"{href}\"{here}>by {word}</a>"));
    }
    *out += "</span>";
}

fn class(column: &Column) -> &'static str {
    match column.kind {
        kind if kind.is_number() => " class=\"n\"",
        _ if matches!(column.field, "url" | "key") => " class=\"long\"",
        _ => "",
    }
}

fn push_cell(out: &mut String, column: &Column, value: &Json) {
    let text = shown(column.kind, value);
    let text = Escaped(&text);
    let class = class(column);
    let cell = |inner: String| format!("<td{class} data-field=\"{}\">{inner}</td>", column.field);
    *out += &match column.kind {
        Kind::Id => cell(format!("<a href=\"transaction?id={text}\">{text}</a>")),
        Kind::Bar => {
            let width = value.as_f64().unwrap_or(0.0).clamp(0.0, 1.0) * 100.0;
            cell(format!(
                "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
                 <rect width=\"{width:.1}\" height=\"8\"/></svg>{text}"
            ))
        }
        Kind::Status => {
            let class = value.as_u64().unwrap_or(0) / 100;
            cell(format!("<span class=\"s{class}\">{text}</span>"))
        }
        Kind::Text if column.field == "state" => cell(format!(
            "<span class=\"state\" data-state=\"{text}\">{text}</span>"
        )),
        _ => cell(text.to_string()),
    };
}

/// Where the time of a transaction went.
fn push_phases(out: &mut String, row: &Json) {
    let us = |field: &str| of(row, field).as_f64();
    let Some(all) = us("elapsed_us").filter(|all| *all > 0.0) else {
        return;
    };
    let before = us("before_hop_us").unwrap_or(0.0).min(all);
    let hop = us("hop_us").unwrap_or(0.0).min(all - before);
    let phases = match us("before_hop_us") {
        None => vec![("answered from here", all)],
        Some(_) => vec![
            ("before a hop was tried", before),
            ("until the hop answered", hop),
            ("until the reply was sent", all - before - hop),
        ],
    };
    let mut x = 0.0;
    *out += "<svg class=\"phases\" viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" aria-hidden=\"true\">";
    for (number, (_, us)) in phases.iter().enumerate() {
        let width = us / all * 1000.0;
        write_to(
            out,
            format_args!(
                "<rect class=\"k{number}\" x=\"{x:.1}\" width=\"{width:.1}\" height=\"20\"/>"
            ),
        );
        x += width;
    }
    *out += "</svg><p class=\"legend\">";
    for (number, (words, us)) in phases.iter().enumerate() {
        let us = Kind::Time.number(*us);
        write_to(
            out,
            format_args!("<span class=\"key k{number}\">{words} <b>{us}</b></span>"),
        );
    }
    *out += "</p>";
}

/// A member of an object; null where there is none.
fn of<'j>(object: &'j Json, name: &str) -> &'j Json {
    object.get(name).unwrap_or(&Json::Null)
}

/// A value as text, not escaped yet.
fn shown(kind: Kind, value: &Json) -> String {
    match value {
        Json::Null => UNKNOWN.to_owned(),
        Json::String(text) => text.clone(),
        other => other
            .as_f64()
            .map_or_else(|| other.to_string(), |number| kind.number(number)),
    }
}

/// Text that may stand in HTML, between tags and between double quotes. Control bytes become blanks.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                letter if letter.is_control() => out.write_char(' ')?,
                letter => out.write_char(letter)?,
            }
        }
        Ok(())
    }
}

fn write_to(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text)
        .expect("a String takes all that is written");
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
