//! What becomes of a log's lines: counted, and said in the cache log when some are lost, and when no more are.

use std::sync::Arc;

use stats::{Cells, Counter};

use super::output::Place;

/// See the module. Belongs to the log's thread.
#[derive(Debug)]
pub(super) struct Tally {
    place: String,
    cells: Arc<Cells>,
    /// Lines lost since it last went well.
    lost: u64,
}

impl Tally {
    pub(super) fn new(place: &Place, cells: Arc<Cells>) -> Self {
        Self {
            place: place.to_string(),
            cells,
            lost: 0,
        }
    }

    /// Lines came to be written.
    pub(super) fn taken(&self, lines: u64) {
        self.cells.add(Counter::LogLines, lines);
    }

    /// Lines are lost: said once per outage.
    pub(super) fn lost(&mut self, lines: u64, why: &str) {
        if self.lost == 0 {
            tracing::error!("log {}: {why}; lines are lost", self.place);
        }
        self.lost += lines;
        self.cells.add(Counter::LogLinesLost, lines);
    }

    /// All that came since the last look is written.
    pub(super) fn well(&mut self) {
        let lost = std::mem::take(&mut self.lost);
        if lost > 0 {
            let place = &self.place;
            tracing::warn!("log {place}: writing works again; {lost} lines were lost");
        }
    }

    /// The log ends.
    pub(super) fn end(self) {
        if self.lost > 0 {
            tracing::error!("log {}: {} lines were lost", self.place, self.lost);
        }
    }

    pub(super) const fn is_losing(&self) -> bool {
        self.lost > 0
    }
}
