//! `squall top`: how a proxy goes, in a terminal. Reads `squall/live`, as the dashboard does.

mod feed;
mod rows;
mod screen;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::console;
use feed::{Feed, Source};
use screen::{Screen, Sort};

/// Keys are looked for so often; what is shown changes once a second.
const LOOK: Duration = Duration::from_millis(100);

/// How a proxy goes: q ends it, s sorts by bytes or by requests, p holds it
#[derive(Parser, Clone, Debug)]
#[command(
    name = "top",
    bin_name = "squall top",
    disable_help_flag = true,
    disable_version_flag = true,
    after_help = "Access rules decide who may look, as for the manager's pages; stock rules let this machine alone in."
)]
struct Words {
    /// The proxy's host
    #[arg(short = 'h', long, value_name = "HOST", default_value = "localhost")]
    host: String,
    /// The proxy's port
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 3128)]
    port: u16,
    /// User, where cachemgr_passwd asks for one
    #[arg(short = 'U', value_name = "USER")]
    user: Option<String>,
    /// Password, where cachemgr_passwd has one for the page `squall`
    #[arg(short = 'W', value_name = "PASSWORD")]
    password: Option<String>,
    /// Write what there is to see now, and end
    #[arg(long)]
    once: bool,
    /// Letters in a line, with --once
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u16).range(40..=500))]
    width: u16,
    /// Lines, with --once
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u16).range(10..=500))]
    height: u16,
    /// Sort by bytes from the start
    #[arg(long)]
    bytes: bool,
    /// Show this help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Does it; the first word is the program's name.
pub(crate) fn run(words: &[OsString]) -> ExitCode {
    let words = match Words::try_parse_from(words.iter().skip(1)) {
        Ok(words) => words,
        Err(error) if error.use_stderr() => {
            console::plain(error.render());
            return ExitCode::FAILURE;
        }
        Err(help) => {
            drop(io::stdout().write_all(help.render().to_string().as_bytes()));
            return ExitCode::SUCCESS;
        }
    };
    let source = Source::new(
        &words.host,
        words.port,
        words.user.as_deref(),
        words.password.as_deref(),
    );
    let sort = if words.bytes {
        Sort::Bytes
    } else {
        Sort::Requests
    };
    let done = if words.once {
        once(&source, sort, words.width, words.height)
    } else {
        live(source, sort)
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::plain(format_args!("squall top: {error:#}"));
            2.into()
        }
    }
}

/// One frame, as plain text.
fn once(source: &Source, sort: Sort, width: u16, height: u16) -> anyhow::Result<()> {
    let mut screen = Screen::new(sort);
    screen.put(source.fetch(sort)?);
    let text = plain(&mut screen, width, height)?;
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// What a terminal of that size would show.
fn plain(screen: &mut Screen, width: u16, height: u16) -> anyhow::Result<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height))?;
    terminal.draw(|frame| screen.draw(frame))?;
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for line in buffer.content().chunks(usize::from(width)) {
        let line: String = line.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    Ok(text)
}

fn live(source: Source, sort: Sort) -> anyhow::Result<()> {
    let mut terminal = ratatui::try_init().context("no terminal to draw on (--once needs none)")?;
    let mut screen = Screen::new(sort);
    let feed = Feed::start(source, sort)?;
    let done = watch(&mut terminal, &mut screen, &feed);
    ratatui::restore();
    done
}

fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    screen: &mut Screen,
    feed: &Feed,
) -> anyhow::Result<()> {
    loop {
        for news in feed.news() {
            match news {
                Ok(live) => screen.put(live),
                Err(error) => screen.lost(&error),
            }
        }
        terminal.draw(|frame| screen.draw(frame))?;
        if !event::poll(LOOK)? {
            continue;
        }
        let Event::Key(key) = event::read()? else {
            continue;
        };
        match asked(key) {
            Some(Asked::End) => return Ok(()),
            Some(Asked::Sort) => feed.sort(screen.sort()),
            Some(Asked::Hold) => screen.hold(),
            None => {}
        }
    }
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    End,
    Sort,
    Hold,
}

fn asked(key: KeyEvent) -> Option<Asked> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Asked::End),
        KeyCode::Char('q') | KeyCode::Esc => Some(Asked::End),
        KeyCode::Char('s') => Some(Asked::Sort),
        KeyCode::Char('p' | ' ') => Some(Asked::Hold),
        _ => None,
    }
}

#[cfg(test)]
#[path = "top/tests.rs"]
mod tests;
