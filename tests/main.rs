//! The real program on loopback, told as short stories: one module for each capability. Origins and clients are
//! `testkit`'s. `cargo test --test tests caching` runs one of them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test fails by panicking, and tells its figures"
)]

mod parts;
mod support;
mod versions;

mod accel;
mod access;
mod cache_status;
mod caching;
mod client_command;
mod clients;
mod collapse;
mod command_line;
mod conformance;
mod credentials;
mod crowds;
mod cuts;
mod dashboard;
mod delay_pools;
mod descriptors;
mod disk;
mod disk_failing;
mod disk_full;
mod disk_injuries;
mod disk_kills;
mod disk_large;
mod disk_parts;
mod disk_places;
mod disk_ring;
mod error_pages;
mod external_acl;
mod forward;
mod framing;
mod guard;
mod helper_faults;
mod hostile_origin;
mod house;
mod letter;
mod log_places;
mod log_readers;
mod login;
mod logs;
mod manager;
mod manager_pages;
mod memory;
mod metrics;
mod monitoring;
mod panics;
mod peer_login;
mod peers;
mod pinned;
mod poisoning;
mod program;
mod purging;
mod ranges;
mod real_helpers;
mod reload;
mod reply_size;
mod reuse;
mod rewriting;
mod snmp;
mod store_command;
mod timeouts;
mod top;
mod tunnel;
mod validation;
mod vary;
