//! Sockets, names, connection pools, clock and timeouts: everything between the operating system
//! and the messages. Knows no HTTP and no configuration; takes plain options.
//!
//! Each worker thread runs a current-thread runtime. What is named `Rc` inside belongs to one
//! worker; [`dns::Resolver`] and [`clock::Clock`] are shared by all.

pub mod affinity;
pub mod buffers;
pub mod clock;
pub mod deadline;
pub mod dial;
pub mod dns;
pub mod half;
pub mod listener;
pub mod mark;
pub mod neighbours;
pub mod pool;
pub mod special;
pub mod stream;

#[cfg(test)]
mod testing;
