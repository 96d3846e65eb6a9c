//! The store itself: its memory, and a volume of its disk.

use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread::{sleep, yield_now};
use std::time::Duration;

use anyhow::{Result, bail};
use bytes::Bytes;
use store::{
    Begin, Found, KeyRef, Options, Policy, Refused, Stamps, Store, Volume, VolumeOptions, Weigh,
};

use super::score::Score;
use super::trace::{Request, Trace};

/// Requests in a second, by the clock that the volume is told.
const REQUESTS_PER_SECOND: usize = 100;
/// The largest body that the proxy stores as one record.
const WHOLE_BYTES_MAX: usize = 256 << 10;
/// Until the disk has taken something; the trace comes faster than requests would.
const PAUSE: Duration = Duration::from_micros(50);

struct Nothing;

impl Weigh for Nothing {
    fn weight_bytes(&self) -> usize {
        0
    }
}

/// What all bodies consist of.
pub(crate) fn content(trace: &Trace) -> Bytes {
    let most = trace.requests.iter().map(|request| request.bytes).max();
    vec![0; most.unwrap_or(0) as usize].into()
}

/// The memory cache, with so many bytes.
pub(crate) fn memory(policy: Policy, trace: &Trace, content: &Bytes, bytes_max: u64) -> Score {
    let store = Store::new(Options {
        policy,
        memory_bytes_max: bytes_max,
        object_bytes_max: u64::MAX,
        ..Options::default()
    });
    let mut score = Score::default();
    for request in &trace.requests {
        let name = request.object.to_le_bytes();
        let key = KeyRef::new(&name);
        let hit = store.find(key, |_| true).is_some();
        score.note(request, hit);
        if !hit
            && let (Begin::Lead(slot), Some(body)) = (
                store.begin(key, Some(b""), |_| true),
                content.get(..request.bytes as usize),
            )
        {
            slot.insert(Nothing, body);
        }
    }
    score
}

/// A volume in that directory, of so many bytes.
pub(crate) fn disk(
    policy: Policy,
    trace: &Trace,
    content: &Bytes,
    bytes: u64,
    place: &Path,
) -> Result<Score> {
    let options = VolumeOptions {
        path: place.join("volume"),
        bytes,
        policy,
        ..VolumeOptions::default()
    };
    Volume::create(&options)?;
    let volume = Volume::open(options)?;
    let mut score = Score::default();
    let mut stored = 0;
    for (turn, request) in trace.requests.iter().enumerate() {
        let name = request.object.to_le_bytes();
        let now_secs = u32::try_from(turn / REQUESTS_PER_SECOND)?;
        let hit = match volume.find(&name, now_secs, None) {
            Found::Nothing => false,
            Found::Here(_) => true,
            Found::Later(reading) => {
                let mut reading = pin!(reading);
                wait(|cx| reading.as_mut().poll(cx)).is_some()
            }
        };
        score.note(request, hit);
        if !hit && store(&volume, &name, request, content)? {
            stored += u64::from(request.bytes);
        }
    }
    volume.flush()?;
    let usage = volume.usage();
    volume.close()?;
    if usage.wrong + usage.lost + usage.read_errors + usage.write_errors > 0 {
        bail!("the volume isn't sound: {usage:?}");
    }
    score.written = Some(usage.bytes_written as f64 / stored.max(1) as f64);
    std::fs::remove_dir_all(place.join("volume"))?;
    Ok(score)
}

/// Stores a body; false where it is too large for the volume.
fn store(volume: &Volume, name: &[u8], request: &Request, content: &Bytes) -> Result<bool> {
    let body = content.slice(..request.bytes as usize);
    let whole = body.len() <= WHOLE_BYTES_MAX.min(volume.whole_bytes_max() - name.len());
    loop {
        let put = if whole {
            volume.put(name, b"", &[&body], Stamps::default())
        } else {
            put_large(volume, name, body.clone())
        };
        match put {
            Ok(()) => return Ok(true),
            Err(Refused::Size) => return Ok(false),
            Err(Refused::Busy | Refused::Full | Refused::Opening) => sleep(PAUSE),
            Err(refused) => return Err(refused.into()),
        }
    }
}

fn put_large(volume: &Volume, name: &[u8], mut body: Bytes) -> Result<(), Refused> {
    let mut writing = volume.begin(name, Some(body.len() as u64))?;
    while !body.is_empty() {
        wait(|cx| writing.poll_append(&mut body, cx))?;
    }
    wait(|cx| writing.poll_finish(b"", Stamps::default(), cx))
}

fn wait<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = poll(&mut cx) {
            return value;
        }
        yield_now();
    }
}
