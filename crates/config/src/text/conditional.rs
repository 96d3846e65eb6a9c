//! `if`, `else` and `endif`: which lines of a file count.

use super::value::parse_integer;
use crate::problem::Place;

/// Conditionals around the current line.
#[derive(Default)]
pub(super) struct Branches {
    open: Vec<Branch>,
    /// How many of them are not taken.
    skipped: usize,
}

struct Branch {
    taken: bool,
    in_else: bool,
    place: Place,
}

/// What a line means as a part of a conditional.
pub(super) enum Statement {
    /// Nothing.
    None,
    /// It was one.
    Done,
    /// A second `else`, which takes the first branch again.
    Again,
    /// It was a wrong one.
    Bad(String),
}

impl Branches {
    /// True when the current line doesn't count.
    pub(super) fn skipping(&self) -> bool {
        self.skipped > 0
    }

    /// Where the outermost `if` is that has no `endif` yet.
    pub(super) fn unclosed(&self) -> Option<&Place> {
        self.open.first().map(|branch| &branch.place)
    }

    /// Takes a line of the words `word` and `rest`, if it is one of a conditional.
    pub(super) fn statement(&mut self, word: &str, rest: &str, place: &Place) -> Statement {
        match word {
            "if" => self.begin(rest, place),
            "else" => self.turn(),
            "endif" => self.end(),
            _ => Statement::None,
        }
    }

    /// A condition is judged even where it doesn't count, as Squid does.
    fn begin(&mut self, rest: &str, place: &Place) -> Statement {
        let condition = condition(rest);
        let taken = *condition.as_ref().unwrap_or(&false);
        self.skipped += usize::from(!taken);
        self.open.push(Branch {
            taken,
            in_else: false,
            place: place.clone(),
        });
        condition.err().map_or(Statement::Done, Statement::Bad)
    }

    fn turn(&mut self) -> Statement {
        let Some(branch) = self.open.last_mut() else {
            return Statement::Bad("'else' without 'if'".into());
        };
        if branch.taken {
            self.skipped += 1;
        } else {
            self.skipped -= 1;
        }
        branch.taken = !branch.taken;
        if std::mem::replace(&mut branch.in_else, true) {
            return Statement::Again;
        }
        Statement::Done
    }

    fn end(&mut self) -> Statement {
        let Some(branch) = self.open.pop() else {
            return Statement::Bad("'endif' without 'if'".into());
        };
        self.skipped -= usize::from(!branch.taken);
        Statement::Done
    }
}

/// `true`, `false`, or two whole numbers compared.
fn condition(text: &str) -> Result<bool, String> {
    let text = text.split(" #").next().unwrap_or_default().trim();
    match text {
        "true" => return Ok(true),
        "false" => return Ok(false),
        _ => {}
    }
    let (left, right) = text
        .split_once('=')
        .ok_or_else(|| format!("Unable to evaluate expression '{text}'"))?;
    let number = |side: &str| {
        let side = side.trim();
        parse_integer(side).ok_or_else(|| format!("String is not a integer number: '{side}'"))
    };
    Ok(number(left)? == number(right)?)
}
