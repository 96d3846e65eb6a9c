//! Which Squids have a directive.

use std::fmt;

/// The Squids that have a directive, from 2.5 to 8. Older ones were not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The first.
    pub since: &'static str,
    /// The last; `None` when the newest has it.
    pub until: Option<&'static str>,
    /// Those in between that lack it.
    pub except: Option<&'static str>,
}

/// From this one on.
pub(super) const fn since(first: &'static str) -> Versions {
    Versions {
        since: first,
        until: None,
        except: None,
    }
}

/// From the first to the last.
pub(super) const fn only(first: &'static str, last: &'static str) -> Versions {
    Versions {
        since: first,
        until: Some(last),
        except: None,
    }
}

/// From here alone.
pub(super) const fn ours() -> Versions {
    since("Squall")
}

impl Versions {
    /// Is it a directive of ours, that no Squid knows?
    #[must_use]
    pub fn is_ours(self) -> bool {
        self == ours()
    }

    /// The same, without those.
    pub(super) const fn except(self, gap: &'static str) -> Self {
        Self {
            except: Some(gap),
            ..self
        }
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.since)?;
        if let Some(last) = self.until.filter(|last| *last != self.since) {
            write!(f, "–{last}")?;
        }
        if let Some(gap) = self.except {
            write!(f, " (not {gap})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_a_range_with_a_gap() {
        assert_eq!(since("2.6").to_string(), "2.6");
        assert_eq!(since("2.6").except("3.0").to_string(), "2.6 (not 3.0)");
        assert_eq!(only("2.5", "3.1").to_string(), "2.5–3.1");
        assert_eq!(only("2.7", "2.7").to_string(), "2.7");
    }
}
