//! ACLs: named tests over the facts of a transaction. One file per family of values; `test` holds what is asked of the
//! facts, `named` how ACLs are found and answer together, [`compile`] makes tests from `acl` lines.

pub mod address;
pub mod compile;
pub mod domain;
pub mod ere;
pub(crate) mod findings;
mod literal;
pub(crate) mod method;
pub(crate) mod named;
pub mod note;
pub mod number;
pub mod pattern;
pub(crate) mod test;
pub mod time;
pub mod user;
mod words;

pub use compile::Environment;
pub use named::{Acl, Acls, Term, Verdict};
