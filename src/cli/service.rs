//! `-n`: the name of a service, for several proxies on one machine. It is in the PID file's usual
//! name, and stands for `${service_name}` in the configuration.

use std::fmt;

/// Letters that a name may have.
const LETTERS_MAX: usize = 32;

/// Letters and digits of ASCII, at most 32 of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServiceName(String);

impl ServiceName {
    /// Reads a name; says in Squid's words what is wrong with it.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let count = text.len();
        let alphanumeric = |letter: char| letter.is_ascii_alphanumeric();
        match text.find(|letter| !alphanumeric(letter)) {
            _ if text.is_empty() => Err("A service name is required for the -n option".into()),
            Some(0) => Err(format!(
                "Expected alphanumeric service name for the -n option but got: {text}"
            )),
            Some(_) => Err(format!(
                "Garbage after alphanumeric service name in the -n option value: {text}"
            )),
            None if count > LETTERS_MAX => Err(format!(
                "Service name (-n option) must be limited to {LETTERS_MAX} characters but got {count}"
            )),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ServiceName {
    fn default() -> Self {
        Self("squid".into())
    }
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_letters_and_digits_and_not_long() {
        let longest = "a".repeat(LETTERS_MAX);
        for good in ["squid", "Edge2", "7", &longest] {
            assert_eq!(ServiceName::of(good).unwrap().as_str(), good);
        }
        let check = |bad: &str, begin: &str| {
            let said = ServiceName::of(bad).unwrap_err();
            assert!(said.starts_with(begin), "{bad}: {said}");
        };
        check("", "A service name is required");
        check(" a", "Expected alphanumeric service name");
        check("../x", "Expected alphanumeric service name");
        check("a b", "Garbage after alphanumeric service name");
        check("bär", "Garbage after alphanumeric service name");
        check(
            &"a".repeat(33),
            "Service name (-n option) must be limited to 32",
        );
    }
}
