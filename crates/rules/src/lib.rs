//! Decisions as functions of facts and time: who may do what, what may be stored and reused, where a request goes
//! next, which fields are changed. Compiled from the configuration once; used by `proxy` on every request.
//!
//! Nothing here does I/O, reads a clock, starts a task or writes a log.

pub mod access;
pub mod acl;
pub mod caching;
pub mod delay;
pub mod facts;
pub mod hops;
mod learnt;
mod lists;
mod marks;
mod plan;
pub mod rewrite;
#[cfg(test)]
mod testing;
mod upgrade;

pub use access::{AccessList, Answer, Rule};
pub use acl::Environment;
pub use facts::{Codes, Facts, HopFacts, Question, ReplyFacts};
pub use learnt::{ExternalLogin, Learnt, Notes};
pub use lists::List;
pub use marks::{MarkRules, Marks};
pub use plan::Rules;
