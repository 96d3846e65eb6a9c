//! Squall beside Squid: the same rules and requests to both, and the answers compared. `cargo xtask conformance`
//! runs it; each known difference stands in a table with its reason.

pub mod access;
mod expected;
mod programs;
pub mod refresh;
mod report;

pub use programs::{Programs, SQUID};
pub use report::Report;
