//! What `-v` prints. Scripts look for `Version N.M` in its first line.

use std::io::Write as _;
use std::process::ExitCode;

use crate::cli::Args;

/// Our own version.
pub(crate) const OURS: &str = env!("CARGO_PKG_VERSION");

/// The Squid whose behaviour callers may count on when they call us `squid`.
pub(crate) const SQUID: &str = "6.13";

/// What scripts look for among Squid's `configure options:`, as far as it is so here: which user
/// and which places hold without a line, and that files may be large.
const OPTIONS: [&str; 7] = [
    "--prefix=/usr",
    "--sysconfdir=/etc/squid",
    "--with-logdir=/var/log/squid",
    "--with-pidfile=/run/squid.pid",
    "--with-default-user=proxy",
    "--with-large-files",
    "--enable-removal-policies=lru,heap",
];

/// Prints the version; called as `squid`, as Squid does.
pub(crate) fn tell(called: &str, args: &Args) -> anyhow::Result<ExitCode> {
    let text = text(called, args.service_name().as_str());
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn text(called: &str, service: &str) -> String {
    let about = "A caching web proxy that reads squid.conf.";
    let options = OPTIONS.map(|option| format!(" '{option}'")).concat();
    let (name, version, us) = if called == "squid" {
        let us = format!("This is Squall {OURS} in the place of Squid. {about}");
        ("Squid", SQUID, us)
    } else {
        ("Squall", OURS, about.to_owned())
    };
    format!(
        "{name} Cache: Version {version}\nService Name: {service}\n{us}\n\
         configure options: {options}\n"
    )
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
            let text = text(called, "edge");
            assert!(text.starts_with(begin), "{called}");
            assert!(text.contains("\nService Name: edge\n") && text.contains(OURS));
            assert!(text.contains("\nconfigure options:  '--prefix=/usr'"));
        }
    }
}
