//! What `-v` prints. Scripts look for `Version N.M` in its first line.

use std::io::Write as _;
use std::process::ExitCode;

/// Our own version.
pub(crate) const OURS: &str = env!("CARGO_PKG_VERSION");

/// The Squid whose behaviour callers may count on when they call us `squid`.
const SQUID: &str = "6.13";

/// Prints the version; called as `squid`, as Squid does.
pub(crate) fn tell(called: &str) -> anyhow::Result<ExitCode> {
    std::io::stdout().write_all(text(called).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn text(called: &str) -> String {
    let about = "A caching web proxy that reads squid.conf.";
    if called == "squid" {
        format!(
            "Squid Cache: Version {SQUID}\nService Name: squid\n\
             This is Squall {OURS} in the place of Squid. {about}\n"
        )
    } else {
        format!("Squall Cache: Version {OURS}\nService Name: squid\n{about}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_has_a_version_with_a_dot() {
        for (called, begin) in [
            ("squid", "Squid Cache: Version 6."),
            ("squall", "Squall Cache: Version 0."),
        ] {
            assert!(text(called).starts_with(begin), "{called}");
            assert!(text(called).contains(OURS));
        }
    }
}
