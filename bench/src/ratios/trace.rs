//! What is asked for, in order: from a file, or drawn from one of the mixes.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use super::web::Web;
use crate::peak::{Mix, Object};

/// Objects beyond it are left out: it is Squid's usual `maximum_object_size`.
const OBJECT_BYTES_MAX: u64 = 4 << 20;

/// A request: for which object, and how large that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) object: u32,
    pub(crate) bytes: u32,
}

/// Requests, with what they come to.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) name: String,
    pub(crate) requests: Vec<Request>,
    pub(crate) objects: usize,
    /// Of all objects together, each once.
    pub(crate) bytes: u64,
}

/// A mix that requests can be drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// After Web Polygraph's PolyMix-4, without what may not be kept
    Polymix,
    /// Popularity and sizes as a content network's web traffic has them
    Web,
}

/// Which requests.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Options {
    #[arg(long, value_enum, default_value = "polymix")]
    mix: Source,
    /// How many
    #[arg(long, default_value_t = 1_500_000)]
    requests: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Writes them to standard output, as lines of `turn,object,bytes`.
pub(crate) fn write(options: &Options) -> Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let trace = Trace::drawn(options.mix, options.requests, options.seed);
    for (turn, Request { object, bytes }) in trace.requests.iter().enumerate() {
        writeln!(out, "{turn},{object},{bytes}")?;
    }
    Ok(out.flush()?)
}

impl Trace {
    /// So many requests of a mix; fewer, as what may not be kept is left out.
    pub(crate) fn drawn(source: Source, requests: u32, seed: u64) -> Self {
        match source {
            Source::Polymix => {
                // A third of the requests, as PolyMix-4's working set is to those of its two phases.
                let mut mix = Mix::new(seed, requests as usize / 3).favouring_small();
                let objects = (0..requests).map(|_| Object::of(mix.next().number));
                let kept = objects.filter(|object| object.kept);
                Self::new("polymix", kept.map(|object| (object.number, object.size)))
            }
            Source::Web => {
                let web = Web::new(seed, requests);
                Self::new("web", (0..requests).map(|turn| web.request(turn)))
            }
        }
    }

    /// From lines that end in `object,bytes`; others are skipped.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let mut requests = Vec::new();
        for line in BufReader::new(file).lines() {
            let line = line?;
            let mut fields = line.rsplit([',', ' ', '\t']).map(str::trim);
            let mut number = || fields.next().and_then(|field| field.parse().ok());
            if let (Some(bytes), Some(object)) = (number(), number()) {
                requests.push((u32::try_from(object)?, bytes));
            }
        }
        ensure!(!requests.is_empty(), "no request in {}", path.display());
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self::new(&name, requests.into_iter()))
    }

    /// An object is as large as when it was asked for first.
    fn new(name: &str, all: impl Iterator<Item = (u32, u64)>) -> Self {
        let mut sizes = std::collections::HashMap::new();
        let mut requests = Vec::new();
        for (object, bytes) in all.filter(|(_, bytes)| *bytes <= OBJECT_BYTES_MAX) {
            let bytes = *sizes.entry(object).or_insert(bytes);
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            requests.push(Request { object, bytes });
        }
        Self {
            name: name.to_owned(),
            requests,
            objects: sizes.len(),
            bytes: sizes.values().sum(),
        }
    }

    /// So many hundredths of all objects' bytes.
    pub(crate) fn share(&self, percent: u64) -> u64 {
        self.bytes * percent / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same() {
        for source in [Source::Polymix, Source::Web] {
            let requests = |seed| Trace::drawn(source, 20_000, seed).requests;
            assert_eq!(requests(1), requests(1));
            assert_ne!(requests(1), requests(2));
        }
    }

    #[test]
    fn repeated_requests_of_polymix_favour_what_is_small() {
        let trace = Trace::drawn(Source::Polymix, 100_000, 1);
        let all = trace
            .requests
            .iter()
            .map(|request| u64::from(request.bytes));
        let each = all.sum::<u64>() / trace.requests.len() as u64;
        let once = trace.bytes / trace.objects as u64;
        assert!(each * 10 < once * 7, "{each} {once}");
    }

    #[test]
    fn a_file_is_read_by_the_ends_of_its_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("some.csv");
        std::fs::write(
            &path,
            "time,id,bytes\n1,7,100\n2 8 50\n3,7,999\n4,9,5000000\n",
        )
        .unwrap();
        let trace = Trace::read(&path).unwrap();
        assert_eq!(
            (trace.name.as_str(), trace.objects, trace.bytes),
            ("some", 2, 150)
        );
        assert_eq!(trace.requests.len(), 3);
        assert!(Trace::read(&dir.path().join("none")).is_err());
    }
}
