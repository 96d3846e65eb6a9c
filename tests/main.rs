//! The real program on loopback, told as short stories: one module for each capability. Origins and clients are
//! `testkit`'s. `cargo test --test tests caching` runs one of them.

mod support;

mod caching;
mod collapse;
mod framing;
mod house;
mod panics;
mod hostile_origin;
mod forward;
mod accel;
