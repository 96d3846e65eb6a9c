//! What the words of a line mean, for directives that need more than one value.

mod choice;
pub(crate) mod header;
pub(crate) mod lists;
pub(crate) mod log;
pub(crate) mod peer;
pub(crate) mod port;
pub(crate) mod refresh;
pub(crate) mod simple;
