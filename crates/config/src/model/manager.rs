//! Who may ask for which page of the cache manager: `cachemgr_passwd`.

/// One `cachemgr_passwd` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagerPassword {
    /// What the line asks for.
    pub protection: Protection,
    /// Actions that it holds for; `all` is every one.
    pub actions: Vec<String>,
}

/// What has to be known for an action.
#[derive(Clone, PartialEq, Eq)]
pub enum Protection {
    /// Nobody may (`disable`).
    Disabled,
    /// Nothing has to be known (`none`).
    Open,
    /// This password.
    Password(String),
}

/// A password is in no log.
impl std::fmt::Debug for Protection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Disabled => "Disabled",
            Self::Open => "Open",
            Self::Password(_) => "Password(***)",
        })
    }
}

impl ManagerPassword {
    /// Does the line say what holds for `action`?
    #[must_use]
    pub fn covers(&self, action: &str) -> bool {
        let named = |name: &String| name == "all" || name == action;
        self.actions.iter().any(named)
    }
}
