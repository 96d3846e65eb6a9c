//! The lines of `squall top`'s lists.

use admin::dashboard::Kind;
use admin::dashboard::live::{
    ActiveRow, HelperRow, Live, PeerRow, Place, Ranked, TransactionRow, WorkerRow,
};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Row};

/// Height of a full bar of a chart, in its own units.
pub(super) const BAR: u64 = 1000;

/// Letters of a gauge.
const GAUGE: usize = 10;
/// From this width on a line has room for limits, too.
const ROOMY: usize = 48;

const QUIET: Style = Style::new().fg(Color::DarkGray);
const GOOD: Style = Style::new().fg(Color::Green);
const WARN: Style = Style::new().fg(Color::Yellow);
const BAD: Style = Style::new().fg(Color::Red);

/// Text that moves no cursor and turns no line around, whatever a client has sent.
pub(super) fn clean(text: &str) -> String {
    let hides = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars()
        .map(|letter| if hides(letter) { ' ' } else { letter })
        .collect()
}

/// For figures that people read.
#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
pub(super) const fn real(value: u64) -> f64 {
    value as f64
}

pub(super) fn figure(kind: Kind, value: u64) -> String {
    kind.number(real(value))
}

/// Height of a bar.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 1000"
)]
pub(super) fn bar(value: f64, most: f64) -> u64 {
    if most <= 0.0 {
        return 0;
    }
    ((value / most).clamp(0.0, 1.0) * real(BAR)).round() as u64
}

/// What is told of a host, besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostColumn {
    Requests,
    Bytes,
    Hits,
}

pub(super) fn hosts_header(columns: &[HostColumn]) -> Row<'static> {
    let titles = columns.iter().map(|column| match column {
        HostColumn::Requests => "Requests",
        HostColumn::Bytes => "Bytes",
        HostColumn::Hits => "Hits",
    });
    let right = titles.map(|title| Cell::from(Text::from(title).right_aligned()));
    Row::new(std::iter::once(Cell::from("Name")).chain(right)).style(QUIET)
}

pub(super) fn transactions_header() -> Row<'static> {
    let right = |title: &'static str| Cell::from(Text::from(title).right_aligned());
    Row::new([
        right("Time"),
        right("Sent"),
        right("Status"),
        Cell::from("Client"),
        Cell::from("Result"),
        Cell::from("URL"),
    ])
    .style(QUIET)
}

fn number(text: String) -> Cell<'static> {
    Cell::from(Text::from(text).right_aligned())
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| Kind::Share.number(value))
}

pub(super) fn hosts(live: &Live, columns: &[HostColumn]) -> Vec<Row<'static>> {
    let row = |host: &Ranked| {
        let facts = columns.iter().map(|column| {
            number(match column {
                HostColumn::Requests => figure(Kind::Count, host.requests),
                HostColumn::Bytes => figure(Kind::Bytes, host.bytes),
                HostColumn::Hits => share(host.hit_share),
            })
        });
        Row::new(std::iter::once(Cell::from(clean(&host.key))).chain(facts))
    };
    live.hosts.iter().map(row).collect()
}

/// Those in progress, then those that have ended.
pub(super) fn transactions(active: &[ActiveRow], ended: &[TransactionRow]) -> Vec<Row<'static>> {
    let active = active.iter().map(|one| {
        Row::new([
            number(figure(Kind::Time, one.elapsed_us)),
            number(figure(Kind::Bytes, one.sent_bytes)),
            number("…".to_owned()),
            Cell::from(clean(&one.client)),
            Cell::from(clean(&one.method)),
            Cell::from(clean(&one.url)),
        ])
        .style(WARN)
    });
    let ended = ended.iter().map(|one| {
        let status = match one.status {
            100..400 => Style::new(),
            400..500 => WARN,
            _ => BAD,
        };
        Row::new([
            number(figure(Kind::Time, one.elapsed_us)),
            number(figure(Kind::Bytes, one.sent_bytes)),
            number(one.status.to_string()).style(status),
            Cell::from(clean(&one.client)),
            Cell::from(clean(&one.result)),
            Cell::from(clean(&one.url)),
        ])
    });
    active.chain(ended).collect()
}

/// Workers, places of the store, peers, pools: a line each.
pub(super) fn parts(live: &Live, width: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    lines.extend(live.workers.iter().map(|one| worker(one, width)));
    lines.extend(live.store.iter().map(|one| place(one, width)));
    lines.extend(live.peers.iter().map(|one| peer(one, width)));
    lines.extend(live.helpers.iter().map(|one| helper(one, width)));
    lines
}

fn worker(worker: &WorkerRow, width: usize) -> Line<'static> {
    let facts = format!("{}/s", Kind::Rate.number(worker.requests));
    gauged(&worker.name, facts, worker.busy, width, Style::new())
}

fn place(place: &Place, width: usize) -> Line<'static> {
    let mut facts = figure(Kind::Bytes, place.bytes);
    if width >= ROOMY {
        facts = format!("{facts} of {}", figure(Kind::Bytes, place.bytes_max));
    }
    match place.state.as_str() {
        "serving" => gauged(&place.name, facts, place.used, width, Style::new()),
        state => sided(&place.name, vec![Span::styled(clean(state), BAD)], width),
    }
}

fn peer(peer: &PeerRow, width: usize) -> Line<'static> {
    let style = if peer.state == "up" { GOOD } else { BAD };
    let facts = vec![
        Span::raw(format!("{} open  ", peer.open)),
        Span::styled(clean(&peer.state), style),
    ];
    sided(&peer.name, facts, width)
}

fn helper(helper: &HelperRow, width: usize) -> Line<'static> {
    let style = if helper.queue > 0 { WARN } else { Style::new() };
    let facts = vec![
        Span::raw(format!(
            "{}/{} run  {} busy  ",
            helper.running, helper.max, helper.busy
        )),
        Span::styled(format!("{} wait", helper.queue), style),
    ];
    sided(&helper.name, facts, width)
}

/// A name, facts, and how full it is.
fn gauged(
    name: &str,
    facts: String,
    share: Option<f64>,
    width: usize,
    style: Style,
) -> Line<'static> {
    let share_of = share.unwrap_or(0.0).clamp(0.0, 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "from 0 to 10"
    )]
    let full = (share_of * GAUGE as f64).round() as usize;
    let percent = share.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", share * 100.0));
    let facts = vec![
        Span::styled(facts, style),
        Span::raw(format!(" {percent:>5} ")),
        Span::styled("█".repeat(full), Style::new().fg(Color::Cyan)),
        Span::styled("░".repeat(GAUGE - full), QUIET),
    ];
    sided(name, facts, width)
}

/// A name at the left, which gives way, and facts at the right.
fn sided(name: &str, facts: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let taken: usize = facts.iter().map(Span::width).sum();
    let room = width.saturating_sub(taken + 1);
    let name = clean(name);
    let short: String = match name.chars().count() > room {
        // The end of a path says more than its begin.
        true => {
            let hidden = name.chars().count() + 1 - room.max(1);
            std::iter::once('…')
                .chain(name.chars().skip(hidden))
                .collect()
        }
        false => name,
    };
    let shown = Span::raw(short);
    let gap = width.saturating_sub(shown.width() + taken);
    let mut line = Line::from(vec![shown, Span::raw(" ".repeat(gap))]);
    line.extend(facts);
    line
}
