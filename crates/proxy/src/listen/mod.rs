//! The way in: accepts connections, reads requests, writes replies. Gives each request to the
//! transaction and gets back what to do with the connection.

pub(crate) mod accept;
pub(crate) mod client;
pub(crate) mod http1;
mod paced;
pub(crate) mod target;
pub(crate) mod write;
