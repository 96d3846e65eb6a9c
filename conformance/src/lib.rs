//! What Squall does beside what Squid does, and beside what the public suite for HTTP caches wants. `cargo xtask
//! conformance` runs it; each known difference stands in a table with its reason.

pub mod access;
pub mod cache;
mod expected;
pub mod log;
pub mod monitoring;
mod programs;
pub mod refresh;
mod report;

pub use programs::{Programs, SQUID};
pub use report::Report;
