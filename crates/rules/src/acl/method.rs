//! Sets of request methods, for `method` ACLs.

use http::Method;

/// Methods: those of RFC 9110 and PURGE as bits, others by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct MethodSet {
    bits: u16,
    others: Vec<Box<str>>,
}

impl MethodSet {
    /// Adds a method; names of known methods are read in any letter case.
    pub(crate) fn insert(&mut self, name: &str) {
        let upper = name.to_ascii_uppercase();
        let known = Method::from_bytes(upper.as_bytes())
            .ok()
            .and_then(|method| bit(&method));
        match known {
            Some(bit) => self.bits |= bit,
            None => self.others.push(name.into()),
        }
    }

    #[inline]
    pub(crate) fn contains(&self, method: &Method) -> bool {
        match bit(method) {
            Some(bit) => self.bits & bit != 0,
            None => self.others.iter().any(|name| **name == *method.as_str()),
        }
    }
}

#[inline]
fn bit(method: &Method) -> Option<u16> {
    Some(match *method {
        Method::GET => 1,
        Method::HEAD => 1 << 1,
        Method::POST => 1 << 2,
        Method::PUT => 1 << 3,
        Method::DELETE => 1 << 4,
        Method::CONNECT => 1 << 5,
        Method::OPTIONS => 1 << 6,
        Method::TRACE => 1 << 7,
        Method::PATCH => 1 << 8,
        _ if method.as_str() == "PURGE" => 1 << 9,
        _ => return None,
    })
}
