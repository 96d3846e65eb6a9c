//! `config`: the settings that hold, each with its origin; no passwords.

use serde::Serialize;

use super::Report;
use crate::Scene;

/// A line of the configuration.
#[derive(Debug, Serialize)]
struct Setting<'t> {
    /// File and line, or `default`.
    origin: &'t str,
    line: &'t str,
}

/// `config`
pub(super) fn config(scene: &Scene<'_>) -> Report {
    let text = scene.config_text();
    Report::new(&settings(&text), text.as_str())
}

/// Each line with the comment above it, and those that end in `# default`.
fn settings(text: &str) -> Vec<Setting<'_>> {
    let mut origin = "";
    let mut settings = Vec::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            origin = comment;
        } else if let Some(line) = line.strip_suffix("  # default") {
            let origin = "default";
            settings.push(Setting { origin, line });
        } else if !line.is_empty() {
            settings.push(Setting { origin, line });
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_know_where_they_come_from() {
        let text = "# What holds.\n\n# squid.conf:3\nhttp_port 3128\n\nvia on  # default\n# chroot none  # default\n";
        let found: Vec<_> = settings(text).iter().map(|s| (s.origin, s.line)).collect();
        assert_eq!(
            found,
            [("squid.conf:3", "http_port 3128"), ("default", "via on")]
        );
    }
}
