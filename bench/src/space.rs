//! `bench space`: how many responses of the picture server's sizes fit into a volume, counted by the volume itself: it is filled
//! until the first is driven out. Beside it what others take for the same responses, by their formats.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use store::{Policy, Refused, Stamps, Volume, VolumeOptions};

use crate::report::push;
use crate::store::size;

/// A response's URL, and its head as it came.
const URL: &str = "http://pictures.example.com/albums/2010/06/000000000000.jpg";
const HEAD: &str = "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 21 Nov 2026 00:00:00 GMT\r\n\
     Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nETag: \"4b2c6a-91f\"\r\n\
     Cache-Control: public, max-age=86400\r\nContent-Type: image/jpeg\r\nContent-Length: 2345\r\n\r\n";
/// Squid's formats: what stands before URL and head of a response, what begins each slot of rock, blocks of COSS.
const SQUID_META: u64 = 80;
const ROCK_CELL: u64 = 40;
const ROCK_SLOTS: [u64; 3] = [16 << 10, 4 << 10, 1 << 10];
const COSS_BLOCKS: [u64; 2] = [512, 1024];
/// Objects that the means of the others' sizes are taken of.
const SAMPLE: u32 = 200_000;
const PAUSE: Duration = Duration::from_micros(50);

/// How large a volume, and what lies beside each body.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    #[arg(long, default_value_t = 1024)]
    mib: u64,
    /// Bytes that the proxy stores beside key and body: of the head above they are some 85
    #[arg(long, default_value_t = 85)]
    meta: usize,
    /// Where the volume lies, in a folder of its own
    #[arg(long, default_value = "/dev/shm")]
    place: PathBuf,
    /// Where the results go
    #[arg(long, default_value = "bench/results")]
    results: PathBuf,
}

/// Counts, prints, and writes the results.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut out = format!(
        "# Responses in a gigabyte of disk\n\n\
         By `cargo xtask bench space`. Sizes are those of `bench store`; each has a URL of {} bytes and a head of {}, of which \
         Squall stores {} bytes. Squall's are counted in a volume of {} MiB when the first is driven out, all that it keeps free and \
         writes beside them included; the others' follow from their formats, every byte of the disk in use.\n\n\
         | store | bytes each | objects per GB | Squall's by those |\n| --- | --: | --: | --: |\n",
        URL.len(),
        HEAD.len(),
        options.meta,
        options.mib
    );
    let squall = (options.mib << 20) as f64 / count(options)? as f64;
    let mut row = |name: &str, each: f64| {
        let (objects, times) = (1e9 / each, each / squall);
        push(
            &mut out,
            format_args!("| {name} | {each:.0} | {objects:.0} | {times:.2} |\n"),
        );
    };
    row("Squall", squall);
    let beside = SQUID_META + (URL.len() + HEAD.len()) as u64;
    for slot in ROCK_SLOTS {
        let each = mean(|body| (beside + body).div_ceil(slot - ROCK_CELL) * slot);
        row(&format!("rock, `slot-size={slot}`"), each);
    }
    for block in COSS_BLOCKS {
        let each = mean(|body| (beside + body).next_multiple_of(block));
        row(&format!("COSS, `block-size={block}`"), each);
    }
    row(
        "a file for each, in blocks of 4096",
        mean(|body| (beside + body).next_multiple_of(4096)),
    );
    print!("{out}");
    fs::create_dir_all(&options.results)?;
    Ok(fs::write(options.results.join("space.md"), out)?)
}

fn mean(bytes: impl Fn(u64) -> u64) -> f64 {
    let all: u64 = (0..SAMPLE).map(|number| bytes(size(number))).sum();
    all as f64 / f64::from(SAMPLE)
}

/// How many there are in a volume when the first is driven out.
fn count(options: &Options) -> Result<u64> {
    let place = tempfile::tempdir_in(&options.place)?;
    let volume = VolumeOptions {
        path: place.path().join("volume"),
        bytes: options.mib << 20,
        policy: Policy::Lru,
        ..VolumeOptions::default()
    };
    Volume::create(&volume)?;
    let volume = Volume::open(volume)?;
    let (meta, content) = (vec![0; options.meta], vec![0; 64 << 10]);
    let (mut number, mut most) = (0, 0);
    let mut usage = volume.usage();
    while usage.evictions == 0 {
        most = usage.objects;
        let key = format!(
            "{}{number:012}.jpg",
            URL.trim_end_matches("000000000000.jpg")
        );
        let body = content
            .get(..usize::try_from(size(number))?)
            .unwrap_or_default();
        match volume.put(key.as_bytes(), &meta, &[body], Stamps::default()) {
            Ok(()) => number += 1,
            Err(Refused::Busy | Refused::Full | Refused::Opening) => sleep(PAUSE),
            Err(refused) => return Err(refused.into()),
        }
        usage = volume.usage();
    }
    volume.close()?;
    Ok(most)
}
