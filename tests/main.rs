//! The real program on loopback, told as short stories: one module for each capability. Origins and clients are
//! `testkit`'s. `cargo test --test tests caching` runs one of them.

mod support;

mod accel;
mod caching;
mod collapse;
mod crowds;
mod descriptors;
mod forward;
mod framing;
mod hostile_origin;
mod house;
mod panics;
mod reuse;
mod timeouts;
