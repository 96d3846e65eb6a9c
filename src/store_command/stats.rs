//! `store stats`: how full each directory is, and what the next start finds. What a running proxy has counted, it alone
//! knows.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use config::Config;
use serde::Serialize;
use store::Survey;

use crate::cache_dirs;

/// Of one `cache_dir`; of one that can't be looked at, only its path.
#[derive(Debug, Serialize)]
struct Stats {
    path: PathBuf,
    #[serde(flatten)]
    found: Option<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    file: PathBuf,
    bytes_max: u64,
    bytes: u64,
    segments: u32,
    segments_used: u32,
    records: u64,
    damaged_chunks: usize,
    opened: u64,
    index: Index,
}

/// Where the next start finds the index, as far as it can be told from outside.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Index {
    /// In shared memory: the file, and the bytes of memory that it takes.
    Memory { file: PathBuf, bytes: u64 },
    /// In its copy beside the log.
    Disk,
    /// Nowhere: it is made from the tables of the log.
    Tables,
}

pub(super) fn run(config: &Config, json: bool) -> anyhow::Result<ExitCode> {
    let paths = cache_dirs::volumes(config)
        .into_iter()
        .map(|options| options.path);
    let surveys = super::surveys(config);
    let found = surveys.iter().map(|survey| survey.as_ref().map(Found::of));
    let stats: Vec<Stats> = paths
        .zip(found)
        .map(|(path, found)| Stats { path, found })
        .collect();
    let mut out = super::output();
    if json {
        serde_json::to_writer_pretty(&mut out, &serde_json::json!({ "cache_dirs": stats }))?;
        writeln!(out)?;
    } else {
        for stats in &stats {
            write(&mut out, stats)?;
        }
    }
    out.flush()?;
    Ok(super::code(stats.iter().all(|stats| stats.found.is_some())))
}

impl Found {
    fn of(survey: &Survey) -> Self {
        let usage = survey.usage();
        Self {
            file: survey.file(),
            bytes_max: usage.bytes_max,
            bytes: usage.bytes,
            segments: usage.segments,
            segments_used: usage.segments_used,
            records: usage.records,
            damaged_chunks: survey.damaged_chunks().len(),
            opened: usage.epoch,
            index: Index::of(survey),
        }
    }
}

impl Index {
    fn of(survey: &Survey) -> Self {
        let file = survey.index_file();
        let kept = file.and_then(|file| Some((fs::metadata(&file).ok()?, file)));
        match kept {
            Some((metadata, file)) => Self::Memory {
                file,
                bytes: metadata.blocks() * 512,
            },
            None if survey.usage().has_image => Self::Disk,
            None => Self::Tables,
        }
    }
}

fn write(out: &mut impl std::io::Write, stats: &Stats) -> std::io::Result<()> {
    let Some(found) = &stats.found else {
        return writeln!(out, "{}: can't be looked at", stats.path.display());
    };
    let share = found.bytes * 100 / found.bytes_max.max(1);
    writeln!(out, "{}", stats.path.display())?;
    writeln!(out, "  file            {}", found.file.display())?;
    writeln!(
        out,
        "  bytes           {} of {} ({share} %)",
        found.bytes, found.bytes_max
    )?;
    writeln!(
        out,
        "  segments        {} of {}",
        found.segments_used, found.segments
    )?;
    writeln!(out, "  records         {}", found.records)?;
    writeln!(out, "  damaged chunks  {}", found.damaged_chunks)?;
    writeln!(out, "  opened          {} times", found.opened)?;
    match &found.index {
        Index::Memory { file, bytes } => {
            writeln!(
                out,
                "  index           {}, {bytes} bytes of memory",
                file.display()
            )
        }
        Index::Disk => writeln!(out, "  index           a copy beside the log"),
        Index::Tables => writeln!(out, "  index           to be made from the log"),
    }
}
