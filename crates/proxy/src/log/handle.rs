//! The way to the access logs: what opens, rotates and closes them, and what each worker writes through. The thread
//! behind it is in `writer.rs`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::LogFacts;
use super::line::Format;
use super::output::{OpenError, Output, Place};
use super::writer::{Log, Renewal, Shared, start};

/// One access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Where to; `None` for `access_log none`: what it matches goes to no log after it.
    pub place: Option<Place>,
    /// What a line looks like.
    pub format: Format,
    /// Old files kept on rotation, where the log has its own number.
    pub rotate: Option<u32>,
}

/// What all access logs share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Worker threads; each gets its own buffers. Should there be more one day, they share them.
    pub workers: usize,
    /// Old files kept on rotation (`logfile_rotate`); 0 only opens the file anew.
    pub rotate: u32,
    /// Cut URLs after their `?` (`strip_query_terms`).
    pub strip_query_terms: bool,
    /// Bytes that a worker's buffer holds at most while the disk is slow.
    pub buffer_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            workers: 1,
            rotate: 10,
            strip_query_terms: true,
            buffer_bytes_max: 4 << 20,
        }
    }
}

/// The access logs: given to the workers as [`LogHandle`]s.
#[derive(Clone, Debug, Default)]
pub struct AccessLog(pub(super) Option<Arc<Door>>);

impl AccessLog {
    /// Opens all logs and starts their thread; with no log there is none. Logs to the same
    /// place share it.
    ///
    /// # Errors
    /// The first place that can't be opened, or the thread that can't be started.
    pub fn open(specs: &[Spec], options: &Options) -> Result<Self, OpenError> {
        let mut outputs: Vec<Output> = Vec::new();
        let mut logs = Vec::with_capacity(specs.len());
        for spec in specs {
            let output = match &spec.place {
                Some(place) => {
                    let rotate = spec.rotate.unwrap_or(options.rotate);
                    Some(shared_output(&mut outputs, place, rotate)?)
                }
                None => None,
            };
            logs.push(Log {
                format: spec.format.clone(),
                output,
            });
        }
        let Some(first) = outputs.first().map(|output| output.place().clone()) else {
            return Ok(Self(None));
        };
        let shared = Arc::new(Shared::new(logs, outputs.len(), options));
        start(&shared, outputs).map_err(|reason| OpenError {
            place: first,
            reason,
        })?;
        Ok(Self(Some(Arc::new(Door(shared)))))
    }

    /// The handle of a worker, counted from 0.
    pub fn handle(&self, worker: usize) -> LogHandle {
        LogHandle(self.0.clone().map(|door| Desk {
            worker: worker % door.0.workers,
            door,
        }))
    }

    /// Becomes a log that others have taken the place of: it is held only by the transactions that
    /// still run, and ends with the last of them.
    pub fn retire(self) -> RetiredLog {
        RetiredLog(self.0.as_ref().map(Arc::downgrade).unwrap_or_default())
    }

    /// Is there a log at all?
    pub const fn has_any(&self) -> bool {
        self.0.is_some()
    }

    /// Rotates all logs, after what was logged so far; doesn't wait for it.
    pub fn rotate(&self) {
        self.renew(Renewal::Rotate);
    }

    fn renew(&self, renewal: Renewal) {
        if let Some(door) = &self.0 {
            door.0.order(|orders| orders.renewal = Some(renewal));
        }
    }

    /// Waits until all that was logged so far is written, or `grace` is over. Was it written?
    pub fn flush(&self, grace: Duration) -> bool {
        let Some(door) = &self.0 else { return true };
        let wanted = door.0.order(|orders| {
            orders.flush_wanted += 1;
            orders.flush_wanted
        });
        door.0
            .wait_for(grace, |orders| orders.ended || orders.flush_done >= wanted)
    }

    /// Writes what was logged and ends the thread; what is logged later is lost.
    /// Waits `grace` at most: a pipe that nobody reads must not keep the program alive.
    pub fn close(&self, grace: Duration) -> bool {
        let Some(door) = &self.0 else { return true };
        door.0.order(|orders| orders.stop = true);
        door.0.wait_for(grace, |orders| orders.ended)
    }

    /// Lines lost because a buffer was full.
    pub fn dropped_lines(&self) -> u64 {
        self.0
            .as_ref()
            .map_or(0, |door| door.0.dropped.load(Ordering::Relaxed))
    }
}

/// See [`AccessLog::retire`].
#[derive(Debug)]
pub struct RetiredLog(Weak<Door>);

impl RetiredLog {
    /// Opens its files anew, since another log has renamed them. `false`: it has ended.
    pub fn reopen(&self) -> bool {
        let log = self.0.upgrade();
        let lives = log.is_some();
        AccessLog(log).renew(Renewal::Reopen);
        lives
    }

    /// As [`AccessLog::close`].
    pub fn close(&self, grace: Duration) -> bool {
        AccessLog(self.0.upgrade()).close(grace)
    }
}

/// A worker's way to the access logs.
#[derive(Clone, Debug, Default)]
pub struct LogHandle(Option<Desk>);

#[derive(Clone, Debug)]
struct Desk {
    door: Arc<Door>,
    worker: usize,
}

impl LogHandle {
    /// A handle that logs nothing.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Is there a log at all?
    pub const fn has_any(&self) -> bool {
        self.0.is_some()
    }

    /// Does any log show the request's `Referer` or `User-Agent`? If not, they needn't be looked up.
    pub fn shows_fields(&self) -> bool {
        self.0.as_ref().is_some_and(|desk| {
            let mut logs = desk.door.0.logs.iter();
            logs.any(|log| log.format.shows_fields())
        })
    }

    /// Does any log show fields of the reply? If so, its head is to be kept.
    pub(crate) fn shows_reply(&self) -> bool {
        let desk = self.0.as_ref();
        desk.is_some_and(|desk| desk.door.0.shows_reply)
    }

    /// Writes the transaction's line to each log.
    pub fn write(&self, facts: &LogFacts<'_>) {
        self.write_where(facts, |_| true);
    }

    /// Writes the transaction's line to each log that `wanted` chooses by its place in the
    /// configuration. An `access_log none` that is chosen ends the matter.
    pub fn write_where(&self, facts: &LogFacts<'_>, mut wanted: impl FnMut(usize) -> bool) {
        let Some(Desk { door, worker }) = &self.0 else {
            return;
        };
        for (number, log) in door.0.logs.iter().enumerate() {
            if wanted(number) {
                let Some(output) = log.output else { return };
                door.0.append(*worker, output, &log.format, facts);
            }
        }
    }
}

/// Held by all who can log; when the last one goes, the thread ends.
#[derive(Debug)]
pub(super) struct Door(pub(super) Arc<Shared>);

impl Drop for Door {
    fn drop(&mut self) {
        self.0.order(|orders| orders.stop = true);
    }
}

/// The output of that place, opened if it isn't yet.
fn shared_output(
    outputs: &mut Vec<Output>,
    place: &Place,
    rotate: u32,
) -> Result<usize, OpenError> {
    if let Some(known) = outputs.iter().position(|open| open.place() == place) {
        return Ok(known);
    }
    outputs.push(Output::open(place.clone(), rotate)?);
    Ok(outputs.len() - 1)
}
