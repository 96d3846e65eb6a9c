//! `-k`: what may be asked of a running proxy, and of a configuration.

/// What `-k` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Read the configuration anew.
    Reconfigure,
    /// Begin new log files.
    Rotate,
    /// Toggle debugging.
    Debug,
    /// Let clients finish, then end.
    Shutdown,
    /// End at once.
    Interrupt,
    /// Kill.
    Kill,
    /// Restart.
    Restart,
    /// Is it running?
    Check,
    /// Is the configuration good?
    Parse,
}

impl Order {
    /// In the order in which Squid tries prefixes: `r` is reconfigure.
    const NAMES: [(&'static str, Self); 9] = [
        ("reconfigure", Self::Reconfigure),
        ("rotate", Self::Rotate),
        ("debug", Self::Debug),
        ("shutdown", Self::Shutdown),
        ("interrupt", Self::Interrupt),
        ("kill", Self::Kill),
        ("restart", Self::Restart),
        ("check", Self::Check),
        ("parse", Self::Parse),
    ];

    /// The order that begins with these letters.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        Self::NAMES
            .iter()
            .find(|(name, _)| !text.is_empty() && name.starts_with(text))
            .map(|(_, order)| *order)
            .ok_or_else(|| {
                let names = Self::NAMES.map(|(name, _)| name);
                format!("not one of {}", names.join(", "))
            })
    }
}
