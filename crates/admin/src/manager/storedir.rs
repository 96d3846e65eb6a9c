//! `storedir`: the `cache_dir`s, and how full each is.

use std::fmt::Write as _;
use std::path::Path;

use config::{CacheDir, DirKind, Replacement};
use rustix::fs::statvfs;
use serde::Serialize;
use stats::Gauge;
use store::{VolumeState, VolumeUsage};

use super::Report;
use super::figures::{float, percent};
use crate::Scene;

/// See the module.
#[derive(Debug, Clone, Serialize)]
struct StoreDirs {
    entries: u64,
    bytes_max: u64,
    bytes: u64,
    rings: u64,
    reads_by_rings: u64,
    reads_by_threads: u64,
    dirs: Vec<Dir>,
}

/// One of them.
#[derive(Debug, Clone, Serialize)]
struct Dir {
    kind: &'static str,
    path: String,
    policy: &'static str,
    serving: bool,
    bytes_max: u64,
    bytes: u64,
    objects: u64,
    file_system: FileSystem,
}

/// What the system says of its file system.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct FileSystem {
    block_bytes: u64,
    kb: u64,
    used_kb: u64,
    inodes: u64,
    used_inodes: u64,
}

/// `storedir`
pub(super) fn storedir(scene: &Scene<'_>) -> Report {
    let dirs = StoreDirs::of(scene);
    let mut text = String::new();
    // A String takes all that is written.
    let _ = dirs.write(&mut text);
    Report::new(&dirs, text)
}

impl StoreDirs {
    fn of(scene: &Scene<'_>) -> Self {
        let (memory, volumes) = (scene.memory(), scene.volumes());
        let lines = &scene.config().cache_dirs;
        let usage = |path: &Path| {
            let found = volumes.each.iter().find(|(of, _)| of == path);
            found.map(|(_, usage)| *usage)
        };
        Self {
            entries: memory.objects + volumes.total.objects,
            bytes_max: volumes.total.bytes_max,
            bytes: volumes.total.bytes,
            rings: scene.registry().gauge(Gauge::DiskRings),
            reads_by_rings: volumes.total.reads_by_rings,
            reads_by_threads: volumes.total.reads_by_threads,
            dirs: lines
                .iter()
                .map(|line| Dir::of(line, usage(&line.path)))
                .collect(),
        }
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "Store Directory Statistics:")?;
        writeln!(out, "Store Entries          : {}", self.entries)?;
        writeln!(out, "Maximum Swap Size      : {} KB", self.bytes_max >> 10)?;
        writeln!(out, "Current Store Swap Size: {:.2} KB", kb(self.bytes))?;
        let used = percent(float(self.bytes), float(self.bytes_max));
        let free = if self.bytes_max == 0 {
            0.0
        } else {
            100.0 - used
        };
        writeln!(
            out,
            "Current Capacity       : {used:.2}% used, {free:.2}% free"
        )?;
        if !self.dirs.is_empty() {
            writeln!(
                out,
                "Reads from disk        : {} by io_uring ({} workers), {} by threads",
                self.reads_by_rings, self.rings, self.reads_by_threads
            )?;
        }
        writeln!(out)?;
        for (number, dir) in self.dirs.iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            dir.write(number, out)?;
        }
        Ok(())
    }
}

impl Dir {
    /// Without usage it failed, or isn't open yet.
    fn of(line: &CacheDir, usage: Option<VolumeUsage>) -> Self {
        let used = usage.unwrap_or_default();
        Self {
            kind: match line.kind {
                DirKind::Ufs => "ufs",
                DirKind::Aufs => "aufs",
                DirKind::Diskd => "diskd",
                DirKind::Rock => "rock",
                DirKind::Coss => "coss",
                DirKind::Null => "null",
            },
            path: line.path.display().to_string(),
            policy: match line.replacement {
                Some(Replacement::HeapLru | Replacement::HeapGdsf | Replacement::HeapLfuda) => {
                    "heap"
                }
                Some(Replacement::Lru) | None => "lru",
            },
            serving: usage.is_some_and(|usage| usage.state == VolumeState::Serving),
            bytes_max: if usage.is_some() {
                used.bytes_max
            } else {
                line.bytes
            },
            bytes: used.bytes,
            objects: used.objects,
            file_system: FileSystem::of(&line.path),
        }
    }

    fn write(&self, number: usize, out: &mut String) -> std::fmt::Result {
        let Self {
            kind,
            path,
            policy,
            objects,
            ..
        } = self;
        let FileSystem {
            block_bytes,
            kb: size,
            used_kb,
            inodes,
            used_inodes,
        } = self.file_system;
        let share = |part: u64, whole: u64| percent(float(part), float(whole));
        writeln!(out, "Store Directory #{number} ({kind}): {path}")?;
        writeln!(out, "FS Block Size {block_bytes} Bytes")?;
        writeln!(out, "Maximum Size: {} KB", self.bytes_max >> 10)?;
        writeln!(out, "Current Size: {:.2} KB", kb(self.bytes))?;
        writeln!(
            out,
            "Percent Used: {:.2}%",
            share(self.bytes, self.bytes_max)
        )?;
        writeln!(out, "Current entries: {objects}")?;
        let space = share(used_kb, size);
        writeln!(
            out,
            "Filesystem Space in use: {used_kb}/{size} KB ({space:.0}%)"
        )?;
        let files = share(used_inodes, inodes);
        writeln!(
            out,
            "Filesystem Inodes in use: {used_inodes}/{inodes} ({files:.0}%)"
        )?;
        writeln!(out, "Flags:{}", if self.serving { " SELECTED" } else { "" })?;
        writeln!(out, "Removal policy: {policy}")
    }
}

impl FileSystem {
    fn of(path: &Path) -> Self {
        statvfs(path).map_or_else(
            |_| Self::default(),
            |found| {
                let kb = |blocks: u64| blocks.saturating_mul(found.f_frsize) >> 10;
                Self {
                    block_bytes: found.f_frsize,
                    kb: kb(found.f_blocks),
                    used_kb: kb(found.f_blocks.saturating_sub(found.f_bfree)),
                    inodes: found.f_files,
                    used_inodes: found.f_files.saturating_sub(found.f_ffree),
                }
            },
        )
    }
}

/// With its fraction, as Squid has it here.
fn kb(bytes: u64) -> f64 {
    float(bytes) / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_where_tools_look_for_them() {
        let dirs = StoreDirs {
            entries: 56,
            bytes_max: 20 << 20,
            bytes: 84 << 10,
            rings: 2,
            reads_by_rings: 30,
            reads_by_threads: 4,
            dirs: vec![Dir {
                kind: "ufs",
                path: "/cache".to_owned(),
                policy: "lru",
                serving: true,
                bytes_max: 20 << 20,
                bytes: 84 << 10,
                objects: 3,
                file_system: FileSystem {
                    block_bytes: 4096,
                    kb: 100,
                    used_kb: 17,
                    inodes: 1000,
                    used_inodes: 60,
                },
            }],
        };
        let mut text = String::new();
        dirs.write(&mut text).unwrap();
        assert_eq!(
            text,
            "Store Directory Statistics:\n\
             Store Entries          : 56\n\
             Maximum Swap Size      : 20480 KB\n\
             Current Store Swap Size: 84.00 KB\n\
             Current Capacity       : 0.41% used, 99.59% free\n\
             Reads from disk        : 30 by io_uring (2 workers), 4 by threads\n\
             \n\
             Store Directory #0 (ufs): /cache\n\
             FS Block Size 4096 Bytes\n\
             Maximum Size: 20480 KB\n\
             Current Size: 84.00 KB\n\
             Percent Used: 0.41%\n\
             Current entries: 3\n\
             Filesystem Space in use: 17/100 KB (17%)\n\
             Filesystem Inodes in use: 60/1000 (6%)\n\
             Flags: SELECTED\n\
             Removal policy: lru\n"
        );
    }
}
