//! Arguments that can't be understood: said in Squid's words, with its exit status.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ErrorKind};

use super::Args;
use crate::console;

/// Arguments that can't be understood.
#[derive(Debug)]
pub(crate) struct Misuse(clap::Error);

impl Misuse {
    /// What clap found wrong.
    pub(crate) const fn new(error: clap::Error) -> Self {
        Self(error)
    }

    /// Says so; the exit status is Squid's.
    pub(crate) fn tell(&self, called: &str) -> ExitCode {
        console::say(format_args!("FATAL: {}", self.words()));
        let usage = Args::command().bin_name(called).render_usage();
        console::plain(format_args!("{usage}\n-h lists the options."));
        ExitCode::FAILURE
    }

    /// What is wrong, in a line.
    pub(super) fn words(&self) -> String {
        let argument = self.context(ContextKind::InvalidArg).unwrap_or_default();
        let option = argument.split(' ').next().unwrap_or_default();
        let value = self.context(ContextKind::InvalidValue);
        match (self.0.kind(), value) {
            (ErrorKind::ValueValidation, _) if option == "-n" => self.reason(),
            (ErrorKind::ValueValidation | ErrorKind::InvalidValue, Some(value))
                if !value.is_empty() =>
            {
                format!("'{option} {value}': {}", self.reason())
            }
            _ => format!("'{option}': unrecognized option or missing required argument"),
        }
    }

    /// What the option's own reader said.
    fn reason(&self) -> String {
        let source = std::error::Error::source(&self.0);
        source.map_or_else(|| "no such value".into(), ToString::to_string)
    }

    fn context(&self, kind: ContextKind) -> Option<String> {
        self.0.get(kind).map(ToString::to_string)
    }
}
