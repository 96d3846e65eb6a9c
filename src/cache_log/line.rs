//! The words of an event, as a line of the log.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Level};

/// Words at the beginning of a message that say how bad it is.
const GRAVE: [&str; 3] = ["FATAL: ", "ERROR: ", "WARNING: "];

/// The text of an event: one line, whatever a peer sent into it.
pub(super) fn text(event: &Event<'_>) -> String {
    let mut words = Words::default();
    event.record(&mut words);
    let word = match *event.metadata().level() {
        _ if GRAVE.iter().any(|word| words.message.starts_with(word)) => "",
        Level::ERROR => "ERROR: ",
        Level::WARN => "WARNING: ",
        _ => "",
    };
    format!("{word}{}{}", words.message, words.fields).replace(|char: char| char.is_control(), " ")
}

#[derive(Debug, Default)]
struct Words {
    message: String,
    fields: String,
}

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = if field.name() == "message" {
            write!(self.message, "{value:?}")
        } else {
            write!(self.fields, " {}={value:?}", field.name())
        };
        written.expect("a String takes all that is written");
    }
}
