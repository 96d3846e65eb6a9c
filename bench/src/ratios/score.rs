//! What came of a trace.

use std::fmt;

use serde::Serialize;

use super::trace::Request;

/// See the module.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Score {
    requests: u64,
    bytes: u64,
    hits: u64,
    hit_bytes: u64,
    /// Bytes written to disk for each that was to be stored.
    pub(crate) written: Option<f64>,
}

impl Score {
    pub(crate) fn note(&mut self, request: &Request, hit: bool) {
        let bytes = u64::from(request.bytes);
        self.requests += 1;
        self.bytes += bytes;
        if hit {
            self.hits += 1;
            self.hit_bytes += bytes;
        }
    }

    /// Hits by requests.
    pub(crate) fn by_object(&self) -> f64 {
        self.hits as f64 / self.requests.max(1) as f64
    }

    /// The same by their bytes.
    pub(crate) fn by_byte(&self) -> f64 {
        self.hit_bytes as f64 / self.bytes.max(1) as f64
    }

    pub(crate) fn missed_bytes(&self) -> f64 {
        (self.bytes - self.hit_bytes).max(1) as f64
    }
}

/// As it stands in the tables.
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [object, byte] = [self.by_object(), self.by_byte()].map(|ratio| format!("{ratio:.3}"));
        let short = |ratio: &str| ratio.trim_start_matches('0').to_owned();
        write!(f, "{} / {}", short(&object), short(&byte))?;
        match self.written {
            Some(written) => write!(f, ", {written:.2}"),
            None => Ok(()),
        }
    }
}
