//! What the end-to-end tests are made of: the real program on loopback ([`Program`]), a scripted
//! web server ([`Origin`]) and a strict raw client ([`Client`]).
//!
//! ```no_run
//! use testkit::{Client, Origin, Program, Reply};
//!
//! let origin = Origin::start(|_| Reply::ok("hello").field("Cache-Control", "max-age=60"));
//! let program = Program::start("http_access allow all");
//! let answer = Client::connect(program.addr()).get(&origin.url("/"));
//! assert_eq!((answer.status, answer.body()), (200, b"hello".as_slice()));
//! program.wait_for_log(|line| line.contains("TCP_MISS/200"));
//! ```
//!
//! Nothing here sleeps for time: every wait is for an event and ends by [`WAIT`] at the latest, with a
//! panic in the test that waited. The kit reads HTTP by its own few lines, so that it can disagree with the
//! program.

#![expect(
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test kit fails by a panic in the test that called it"
)]

mod bytes;
mod client;
mod connection;
mod dns;
mod message;
mod origin;
mod ports;
mod process;
mod program;
mod reply;
mod wait;

pub use bytes::{Pattern, hash};
pub use client::{Client, Failed, Response};
pub use connection::Connection;
pub use dns::NameServer;
pub use message::{Body, Head};
pub use origin::{Origin, Request};
pub use ports::{free_port, is_listening};
pub use process::{Usage, usage};
pub use program::{Builder, Finished, Program, Signal, squall};
pub use reply::Reply;
pub use wait::{Gate, WAIT, until, until_within};
