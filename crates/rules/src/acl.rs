//! ACLs: named tests over the facts of a transaction. One file per family of values; [`test`](mod@test) holds what is
//! asked of the facts, [`compile`] makes tests from `acl` lines.

pub mod address;
pub mod compile;
pub mod domain;
pub mod ere;
pub(crate) mod findings;
mod literal;
pub mod note;
pub mod number;
pub mod pattern;
pub mod test;
pub mod time;
pub mod user;
mod words;

pub use compile::Environment;
pub use test::{Acl, Acls, Term, Verdict};
