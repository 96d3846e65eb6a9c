//! Single values: names, files, and words out of a fixed set.

use std::path::PathBuf;

use crate::model::cache::{MemoryCacheMode, Replacement};
use crate::model::{FilePlace, ForwardedFor, Relaxed, UriWhitespace};
use crate::text::line::{Line, Outcome};

impl Line<'_> {
    /// One word as it is.
    pub(crate) fn text_word(&mut self) -> Outcome<String> {
        self.required("value").map(Into::into)
    }

    /// One word as it is, for a field that may be unset.
    pub(crate) fn optional_text(&mut self) -> Outcome<Option<String>> {
        self.text_word().map(Some)
    }

    /// A whole number; Squid takes what is below zero, and we take it for zero.
    pub(crate) fn natural(&mut self) -> Outcome<u32> {
        let number = self.integer()?.max(0);
        u32::try_from(number).map_err(|_| self.fatal(format!("{number} is out of range")))
    }

    /// A size; `none` is no limit.
    pub(crate) fn size_or_all(&mut self) -> Outcome<u64> {
        Ok(self.size_or_none()?.unwrap_or(u64::MAX))
    }

    /// The rest of the line as it is.
    pub(crate) fn remainder_text(&mut self) -> Outcome<String> {
        Ok(self.remainder().to_owned())
    }

    /// A directory or file, or `none`.
    pub(crate) fn path(&mut self) -> Outcome<Option<PathBuf>> {
        let word = self.required("path")?;
        Ok((word != "none").then(|| PathBuf::from(&*word)))
    }

    /// A file, or `none`.
    pub(crate) fn file_place(&mut self) -> Outcome<FilePlace> {
        let word = self.required("file name")?;
        let path = word
            .strip_prefix("stdio:")
            .or_else(|| word.strip_prefix("daemon:"));
        let path = path.unwrap_or(&word);
        Ok(if path == "none" {
            FilePlace::None
        } else {
            FilePlace::File(path.into())
        })
    }

    /// What the memory cache keeps.
    pub(crate) fn memory_cache_mode(&mut self) -> Outcome<MemoryCacheMode> {
        let word = self.required("mode")?;
        Ok(match &*word {
            "always" => MemoryCacheMode::Always,
            "disk" => MemoryCacheMode::Disk,
            "network" => MemoryCacheMode::Network,
            "never" => MemoryCacheMode::Never,
            _ => {
                let problem = self.fatal(format!("'{word}' is no memory_cache_mode"));
                return Err(Box::new(
                    problem.hint("Write always, disk, network or never."),
                ));
            }
        })
    }

    /// An eviction policy.
    pub(crate) fn replacement(&mut self) -> Outcome<Option<Replacement>> {
        let word = self.required("policy")?;
        let kind = if word == "heap" { self.word() } else { None };
        let policy = match (&*word, kind.as_deref()) {
            ("lru", _) => Replacement::Lru,
            ("heap", Some("LRU")) => Replacement::HeapLru,
            ("heap", Some("GDSF")) => Replacement::HeapGdsf,
            ("heap", Some("LFUDA")) => Replacement::HeapLfuda,
            (name, kind) => {
                let problem = self.fatal(format!("Unknown policy {name} {}", kind.unwrap_or("")));
                let hint = "Policies are lru, heap LRU, heap GDSF and heap LFUDA.";
                return Err(Box::new(problem.hint(hint)));
            }
        };
        Ok(Some(policy))
    }

    /// `on`, `off` or `warn`.
    pub(crate) fn relaxed(&mut self) -> Outcome<Relaxed> {
        if self.peek().as_deref() == Some("warn") {
            let _warn = self.word();
            return Ok(Relaxed::Warn);
        }
        Ok(if self.on_off()? {
            Relaxed::On
        } else {
            Relaxed::Off
        })
    }

    /// What becomes of X-Forwarded-For.
    pub(crate) fn forwarded_for(&mut self) -> Outcome<ForwardedFor> {
        let word = self.required("value")?.to_ascii_lowercase();
        match &*word {
            "on" => Ok(ForwardedFor::On),
            "off" => Ok(ForwardedFor::Off),
            "transparent" => Ok(ForwardedFor::Transparent),
            "truncate" => Ok(ForwardedFor::Truncate),
            "delete" => Ok(ForwardedFor::Delete),
            _ => {
                let problem = self.error(format!("forwarded_for can't be '{word}'"));
                let hint = "Values are on, off, transparent, truncate and delete.";
                Err(Box::new(problem.hint(hint)))
            }
        }
    }

    /// What becomes of white space in request targets.
    pub(crate) fn uri_whitespace(&mut self) -> Outcome<UriWhitespace> {
        let word = self.required("value")?;
        match &*word {
            "strip" => Ok(UriWhitespace::Strip),
            "deny" => Ok(UriWhitespace::Deny),
            "allow" => Ok(UriWhitespace::Allow),
            "encode" => Ok(UriWhitespace::Encode),
            "chop" => Ok(UriWhitespace::Chop),
            _ => Err(self.fatal(format!("Invalid option '{word}'"))),
        }
    }
}
