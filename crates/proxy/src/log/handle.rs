//! The way to the access logs: what opens, rotates and closes them, and what each worker writes through. What is
//! behind it is in `outlet.rs`.

use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use stats::Registry;

use super::LogFacts;
use super::line::Format;
use super::outlet::{Draft, Outlet, Renewal};
use super::output::{OpenError, Place};
use super::show::Show;

/// One access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Where to; `None` for `access_log none`: what it matches goes to no log after it.
    pub place: Option<Place>,
    /// What a line looks like.
    pub format: Format,
    /// Old files kept on rotation, where the log has its own number.
    pub rotate: Option<u32>,
    /// Bytes that a worker's buffer holds at most, where that is more than usual (`buffer-size`).
    pub buffer_bytes: Option<usize>,
    /// A line that can't be written is the end of the proxy (`on-error=die`).
    pub dies_on_error: bool,
}

impl Spec {
    /// A log as it is without options.
    pub const fn new(place: Option<Place>, format: Format) -> Self {
        Self {
            place,
            format,
            rotate: None,
            buffer_bytes: None,
            dies_on_error: false,
        }
    }
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
    /// The bits of client addresses that are shown (`client_netmask`).
    pub client_netmask: Option<IpAddr>,
    /// Add both heads to lines in Squid's and web servers' formats (`log_mime_hdrs`).
    pub log_mime_hdrs: bool,
    /// Bytes that a worker's buffer holds at most while a log is slow; one for each worker and log.
    pub buffer_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            workers: 1,
            rotate: 10,
            strip_query_terms: true,
            client_netmask: None,
            log_mime_hdrs: false,
            buffer_bytes_max: 4 << 20,
        }
    }
}

/// The access logs: given to the workers as [`LogHandle`]s.
#[derive(Clone, Debug, Default)]
pub struct AccessLog(Option<Arc<Door>>);

impl AccessLog {
    /// Opens all logs and starts their threads; with no log there is none. Logs to the same place share it.
    ///
    /// # Errors
    /// The first place that can't be opened, or whose thread can't be started.
    pub fn open(specs: &[Spec], options: &Options, registry: &Registry) -> Result<Self, OpenError> {
        let mut drafts: Vec<Draft> = Vec::new();
        let places = specs
            .iter()
            .map(|spec| outlet_of(&mut drafts, spec, options));
        let places: Vec<_> = places.collect();
        if drafts.is_empty() {
            return Ok(Self(None));
        }
        let show = Arc::new(Show::new(options));
        let workers = options.workers.max(1);
        let mut door = Door {
            logs: Vec::with_capacity(specs.len()),
            outlets: Vec::with_capacity(drafts.len()),
            workers,
            shows_fields: specs.iter().any(|spec| spec.format.shows_fields()),
            shows_reply: specs.iter().any(|spec| spec.format.shows_reply(&show)),
        };
        for draft in drafts {
            let place = draft.place.clone();
            let outlet = Arc::new(Outlet::new(draft, workers, Arc::clone(&show)));
            let started = outlet.start(registry.cells());
            started.map_err(|reason| OpenError { place, reason })?;
            door.outlets.push(outlet);
        }
        for (spec, place) in specs.iter().zip(places) {
            door.logs.push(Log {
                format: spec.format.clone(),
                outlet: place.and_then(|place| door.outlets.get(place).cloned()),
            });
        }
        Ok(Self(Some(Arc::new(door))))
    }

    /// The handle of a worker, counted from 0.
    pub fn handle(&self, worker: usize) -> LogHandle {
        LogHandle(self.0.clone().map(|door| Desk {
            worker: worker % door.workers,
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
        for outlet in self.outlets() {
            outlet.renew(renewal);
        }
    }

    pub(super) fn outlets(&self) -> &[Arc<Outlet>] {
        self.0.as_ref().map_or(&[], |door| &door.outlets)
    }

    /// Waits until all that was logged so far is written, or `grace` is over. Was it written?
    pub fn flush(&self, grace: Duration) -> bool {
        let wanted = self.outlets().iter().map(|outlet| outlet.flush());
        let wanted: Vec<u64> = wanted.collect();
        let until = Instant::now() + grace;
        let mut outlets = self.outlets().iter().zip(wanted);
        outlets.all(|(outlet, wanted)| {
            let left = until.saturating_duration_since(Instant::now());
            outlet.wait_for(left, |orders| orders.ended || orders.flush_done >= wanted)
        })
    }

    /// Writes what was logged and ends the threads; what is logged later is lost.
    /// Waits `grace` at most: a pipe that nobody reads must not keep the program alive.
    pub fn close(&self, grace: Duration) -> bool {
        for outlet in self.outlets() {
            outlet.stop();
        }
        let until = Instant::now() + grace;
        self.outlets().iter().all(|outlet| {
            let left = until.saturating_duration_since(Instant::now());
            outlet.wait_for(left, |orders| orders.ended)
        })
    }

    /// Why the proxy must end, since a log lost lines that says `on-error=die`.
    pub fn fatal(&self) -> Option<&str> {
        self.outlets().iter().find_map(|outlet| outlet.fatal())
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
        self.0.as_ref().is_some_and(|desk| desk.door.shows_fields)
    }

    /// Does any log show fields of the reply? If so, its head is to be kept.
    pub(crate) fn shows_reply(&self) -> bool {
        self.0.as_ref().is_some_and(|desk| desk.door.shows_reply)
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
        for (number, log) in door.logs.iter().enumerate() {
            if wanted(number) {
                let Some(outlet) = &log.outlet else { return };
                outlet.append(*worker, &log.format, facts);
            }
        }
    }
}

/// Held by all who can log; when the last one goes, the threads end.
#[derive(Debug)]
struct Door {
    logs: Vec<Log>,
    outlets: Vec<Arc<Outlet>>,
    workers: usize,
    shows_fields: bool,
    shows_reply: bool,
}

#[derive(Debug)]
struct Log {
    format: Format,
    /// `None`: `access_log none`.
    outlet: Option<Arc<Outlet>>,
}

impl Drop for Door {
    fn drop(&mut self) {
        for outlet in &self.outlets {
            outlet.stop();
        }
    }
}

/// The number of the outlet to that place. Of logs that share one, the first says how it rotates.
fn outlet_of(drafts: &mut Vec<Draft>, spec: &Spec, options: &Options) -> Option<usize> {
    let place = spec.place.as_ref()?;
    let number = drafts.iter().position(|known| known.place == *place);
    let number = number.unwrap_or_else(|| {
        drafts.push(Draft {
            place: place.clone(),
            rotate: spec.rotate.unwrap_or(options.rotate),
            buffer_bytes_max: options.buffer_bytes_max,
            dies_on_error: false,
        });
        drafts.len() - 1
    });
    let draft = drafts.get_mut(number)?;
    draft.dies_on_error |= spec.dies_on_error;
    draft.buffer_bytes_max = draft.buffer_bytes_max.max(spec.buffer_bytes.unwrap_or(0));
    Some(number)
}
