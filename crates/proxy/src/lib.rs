//! The path of a request, station by station; `transaction.rs` has their order. Start reading there.
//!
//! Everything in here runs on a worker's thread ([`worker`]); what workers share comes in by
//! [`worker::Setup`].

mod busy;
pub mod clients;
pub mod context;
pub mod delay;
pub mod failure;
pub mod flow;
pub mod format;
pub mod helpers;
pub mod hops;
pub mod internal;
pub mod log;
pub mod plan;
pub mod record;
pub mod reply;
pub mod tally;
pub mod watch;
pub mod worker;

mod access;
mod adapt;
mod cache;
mod digits;
mod disk_ring;
mod fetch;
mod input;
mod listen;
mod marks;
mod recycle;
mod transaction;
mod tunnel;
