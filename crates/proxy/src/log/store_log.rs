//! `cache_store_log`: a line for each stored response that goes to disk, comes from there, or leaves the store, in
//! Squid's form:
//!
//! `time.ms ACTION  dir file MD5 status date modified expires type stated/real method key`
//!
//! A time that the response doesn't state is -1. A file number means nothing here: it is 00000000 for what is on disk,
//! FFFFFFFF for what isn't.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use md5::{Digest as _, Md5};
use net::clock::Clock;
use stats::Registry;
use store::{Event, Journal};

use super::handle::Options;
use super::line::{media_type, push_time};
use super::outlet::{Draft, Outlet, Renewal};
use super::output::{OpenError, Place};
use super::show::Show;
use super::text::push_url;
use crate::flow::{Object, Store, StoredResponse};

/// GET in Squid's table of methods: the first byte of what its keys are hashed from.
const GET: u8 = 1;

/// The store's log. It ends with this.
#[derive(Debug)]
pub struct StoreLog {
    outlet: Arc<Outlet>,
}

impl StoreLog {
    /// Opens the log and has the store tell it what happens.
    ///
    /// # Errors
    /// The file can't be opened.
    pub fn open(
        path: &Path,
        rotate: u32,
        clock: Clock,
        store: &Store,
        registry: &Registry,
    ) -> Result<Self, OpenError> {
        let options = Options::default();
        let place = Place::File(path.into());
        let draft = Draft {
            place: place.clone(),
            rotate,
            buffer_bytes_max: options.buffer_bytes_max,
            dies_on_error: false,
        };
        let outlet = Arc::new(Outlet::new(draft, 1, Arc::new(Show::new(&options))));
        let started = outlet.start(registry.cells());
        started.map_err(|reason| OpenError { place, reason })?;
        let teller = Teller {
            outlet: Arc::clone(&outlet),
            clock,
        };
        store.set_journal(Some(Box::new(teller)));
        Ok(Self { outlet })
    }

    /// Rotates it, after what was logged so far; doesn't wait for it.
    pub fn rotate(&self) {
        self.outlet.renew(Renewal::Rotate);
    }

    /// Writes what was logged and ends; waits `grace` at most. Was it written?
    pub fn close(&self, grace: Duration) -> bool {
        self.outlet.stop();
        self.outlet.wait_for(grace, |orders| orders.ended)
    }
}

impl Drop for StoreLog {
    fn drop(&mut self) {
        self.outlet.stop();
    }
}

/// What the store tells.
struct Teller {
    outlet: Arc<Outlet>,
    clock: Clock,
}

impl Journal<StoredResponse> for Teller {
    fn note(&self, event: Event, object: &Object) {
        let unix_ms = self.clock.now().unix_ms;
        self.outlet.append_with(0, |out, _| {
            write(
                out,
                unix_ms,
                event,
                object.key(),
                &object.meta,
                object.length(),
            );
        });
    }
}

fn write(
    out: &mut Vec<u8>,
    unix_ms: i64,
    event: Event,
    key: &[u8],
    meta: &StoredResponse,
    length: Option<u64>,
) {
    push_time(out, unix_ms);
    out.extend_from_slice(match event {
        Event::Loaded => b" SWAPIN  00 00000000 ",
        Event::Saved => b" SWAPOUT 00 00000000 ",
        Event::Released => b" RELEASE -1 FFFFFFFF ",
    });
    let hash = Md5::new().chain_update([GET]).chain_update(key).finalize();
    for byte in hash {
        out.extend_from_slice(format!("{byte:02X}").as_bytes());
    }
    out.extend_from_slice(format!(" {:4}", meta.status).as_bytes());
    for time in meta.stated_times() {
        out.extend_from_slice(format!(" {:>9}", time.unwrap_or(-1)).as_bytes());
    }
    out.push(b' ');
    match media_type(meta.content_type()) {
        b"" => out.extend_from_slice(b"unknown"),
        kind => push_url(out, kind),
    }
    let stated = meta
        .stated_length()
        .map_or("-1".to_owned(), |n| n.to_string());
    let real = length.unwrap_or(0);
    out.extend_from_slice(format!(" {stated}/{real} GET ").as_bytes());
    push_url(out, key);
    out.push(b'\n');
}
