//! What `squall top` draws: five bands, made for 80×24, taller and wider where there is room.

use admin::dashboard::Kind;
use admin::dashboard::live::Live;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Sparkline, Table};

use super::rows::{self, HostColumn, clean, figure};

/// What lists are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Requests,
    Bytes,
}

/// What is shown, and how.
#[derive(Debug)]
pub(super) struct Screen {
    live: Live,
    sort: Sort,
    held: bool,
    /// Why there is no answer; empty while there is one.
    lost: String,
}

/// From this width on there is room for every column.
const WIDE: u16 = 100;

const QUIET: Style = Style::new().fg(Color::DarkGray);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

impl Screen {
    pub(super) fn new(sort: Sort) -> Self {
        Self {
            live: Live::default(),
            sort,
            held: false,
            lost: "asking".to_owned(),
        }
    }

    /// How it goes now.
    pub(super) fn put(&mut self, live: Live) {
        self.lost.clear();
        if !self.held {
            self.live = live;
        }
    }

    /// There was no answer.
    pub(super) fn lost(&mut self, why: &str) {
        why.clone_into(&mut self.lost);
    }

    /// Sorts in the other way, which it gives.
    pub(super) fn sort(&mut self) -> Sort {
        self.sort = match self.sort {
            Sort::Requests => Sort::Bytes,
            Sort::Bytes => Sort::Requests,
        };
        self.sort
    }

    /// Stops, or goes on.
    pub(super) fn hold(&mut self) {
        self.held = !self.held;
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>) {
        let tall = frame.area().height >= 30;
        // What is left is halved, but hosts and parts need no more than this.
        let half = frame
            .area()
            .height
            .saturating_sub(if tall { 11 } else { 9 })
            / 2;
        let [head, figures, charts, middle, below, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(3),
            Constraint::Length(if tall { 6 } else { 4 }),
            Constraint::Length(half.clamp(7, 20)),
            Constraint::Min(3),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        self.draw_head(frame, head);
        self.draw_figures(frame, figures);
        self.draw_charts(frame, charts);
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)])
                .spacing(1)
                .areas(middle);
        self.draw_hosts(frame, left);
        self.draw_parts(frame, right);
        self.draw_transactions(frame, below);
        self.draw_foot(frame, foot);
    }

    fn draw_head(&self, frame: &mut Frame<'_>, area: Rect) {
        let Live {
            program, process, ..
        } = &self.live;
        let mut line = Line::from(vec![
            Span::styled(clean(&program.host), STRONG),
            Span::styled(format!("  {}", clean(&program.version)), QUIET),
            format!("  up {}", figure(Kind::Age, program.uptime_secs)).into(),
        ]);
        if !self.lost.is_empty() {
            line.push_span(Span::styled(
                format!("  no answer: {}", clean(&self.lost)),
                Style::new().fg(Color::Red),
            ));
            frame.render_widget(line, area);
            return;
        }
        let right = Line::from(format!(
            "CPU {}  mem {}  files {}/{}",
            Kind::Share.number(process.cpu),
            figure(Kind::Bytes, process.resident_bytes),
            process.descriptors,
            process.descriptors_max
        ));
        frame.render_widget(line, area);
        let width = u16::try_from(right.width()).unwrap_or(0).min(area.width);
        let place = Rect {
            x: area.right().saturating_sub(width),
            width,
            ..area
        };
        frame.render_widget(right, place);
    }

    fn draw_figures(&self, frame: &mut Frame<'_>, area: Rect) {
        let now = &self.live.now;
        let share =
            |share: Option<f64>| share.map_or("–".into(), |share| Kind::Share.number(share));
        let time = |us: Option<u64>| us.map_or("–".into(), |us| figure(Kind::Time, us));
        let cells = [
            [
                ("Requests", format!("{}/s", Kind::Rate.number(now.requests))),
                ("In progress", figure(Kind::Count, now.active)),
                ("In all", figure(Kind::Count, now.requests_total)),
            ],
            [
                ("From cache", share(now.hit_share)),
                ("of bytes", share(now.hit_byte_share)),
                ("Failures", format!("{}/s", Kind::Rate.number(now.errors))),
            ],
            [
                ("Median", time(now.p50_us)),
                ("p95", time(now.p95_us)),
                ("p99", time(now.p99_us)),
            ],
            [
                ("To clients", Kind::ByteRate.number(now.out_bytes)),
                ("Fetched", Kind::ByteRate.number(now.hop_bytes)),
                (
                    "Clients",
                    format!("{} ({} idle)", now.connections, now.connections_idle),
                ),
            ],
        ];
        let columns = Layout::horizontal([
            Constraint::Fill(11),
            Constraint::Fill(10),
            Constraint::Fill(8),
            Constraint::Fill(11),
        ])
        .split(area);
        for (cells, place) in cells.into_iter().zip(columns.iter()) {
            let lines = cells.map(|(title, value)| {
                Line::from(vec![
                    Span::styled(format!("{title} "), QUIET),
                    Span::styled(value, STRONG),
                ])
            });
            frame.render_widget(Paragraph::new(lines.to_vec()), *place);
        }
    }

    fn draw_charts(&self, frame: &mut Frame<'_>, area: Rect) {
        let series = &self.live.series;
        let requests = series.hits.iter().zip(&series.misses);
        let requests: Vec<f64> = requests.map(|(hits, misses)| hits + misses).collect();
        let p99: Vec<f64> = series
            .p99_us
            .iter()
            .map(|us| us.map_or(0.0, rows::real))
            .collect();
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)])
                .spacing(1)
                .areas(area);
        draw_chart(
            frame,
            left,
            "Requests/s",
            Kind::Rate,
            &requests,
            Color::Cyan,
        );
        draw_chart(frame, right, "p99", Kind::Time, &p99, Color::Magenta);
    }

    fn draw_hosts(&self, frame: &mut Frame<'_>, area: Rect) {
        let by = match self.sort {
            Sort::Requests => "by requests",
            Sort::Bytes => "by bytes",
        };
        let title = format!("Hosts {by}");
        let columns: &[HostColumn] = match (area.width >= WIDE / 2, self.sort) {
            (true, _) => &[HostColumn::Requests, HostColumn::Bytes, HostColumn::Hits],
            (false, Sort::Requests) => &[HostColumn::Requests, HostColumn::Hits],
            (false, Sort::Bytes) => &[HostColumn::Bytes, HostColumn::Hits],
        };
        let widths = columns.iter().map(|_| Constraint::Length(9));
        let table = Table::new(
            rows::hosts(&self.live, columns),
            std::iter::once(Constraint::Fill(1)).chain(widths),
        )
        .header(rows::hosts_header(columns))
        .block(block(&title));
        frame.render_widget(table, area);
    }

    /// Workers, store, peers, helpers: what fits.
    fn draw_parts(&self, frame: &mut Frame<'_>, area: Rect) {
        let room = usize::from(area.height.saturating_sub(1));
        let mut lines = rows::parts(&self.live, usize::from(area.width));
        if lines.len() > room {
            let hidden = lines.len() - room + 1;
            lines.truncate(room.saturating_sub(1));
            lines.push(Line::styled(format!("and {hidden} more"), QUIET));
        }
        let block = block("Workers, store, peers, helpers");
        frame.render_widget(Paragraph::new(lines).block(block), area);
    }

    fn draw_transactions(&self, frame: &mut Frame<'_>, area: Rect) {
        let (title, ended) = match self.sort {
            Sort::Requests => ("In progress, and the slowest lately", &self.live.slowest),
            Sort::Bytes => ("In progress, and the largest lately", &self.live.largest),
        };
        // Half of the lines are for those that have ended.
        let most = usize::from(area.height / 2);
        let active = self.live.active.get(..most).unwrap_or(&self.live.active);
        let wide = area.width >= WIDE;
        let result = if wide { 16 } else { 0 };
        let table = Table::new(
            rows::transactions(active, ended),
            [
                Constraint::Length(8),
                Constraint::Length(8),
                Constraint::Length(6),
                Constraint::Length(15),
                Constraint::Length(result),
                Constraint::Fill(1),
            ],
        )
        .header(rows::transactions_header())
        .block(block(title));
        frame.render_widget(table, area);
    }

    fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect) {
        let sort = match self.sort {
            Sort::Requests => "sort by bytes",
            Sort::Bytes => "sort by requests",
        };
        let hold = if self.held { "go on" } else { "hold" };
        let key = |key: &'static str| key.bold();
        let line = Line::from(vec![
            key("q"),
            " end  ".into(),
            key("s"),
            format!(" {sort}  ").into(),
            key("p"),
            format!(" {hold}").into(),
        ]);
        frame.render_widget(line.style(QUIET), area);
    }
}

fn block(title: &str) -> Block<'_> {
    Block::new()
        .borders(Borders::TOP)
        .border_style(QUIET)
        .title(Span::styled(format!("{title} "), QUIET))
}

/// The last values, the newest at the right edge.
fn draw_chart(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    kind: Kind,
    values: &[f64],
    color: Color,
) {
    let hidden = values.len().saturating_sub(usize::from(area.width));
    let shown = values.get(hidden..).unwrap_or_default();
    let most = shown.iter().copied().fold(0.0, f64::max);
    let missing = usize::from(area.width).saturating_sub(shown.len());
    let bars =
        std::iter::repeat_n(0, missing).chain(shown.iter().map(|value| rows::bar(*value, most)));
    let title = format!("{title}, at most {}", kind.number(most));
    let chart = Sparkline::default()
        .data(bars.collect::<Vec<u64>>())
        .max(rows::BAR)
        .style(Style::new().fg(color))
        .block(block(&title));
    frame.render_widget(chart, area);
}
