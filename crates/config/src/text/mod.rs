//! The language of squid.conf, before any directive has a meaning: files into
//! logical lines, lines into words, words into values.

mod conditional;
mod glob;
pub(crate) mod line;
mod list;
mod quote;
pub(crate) mod source;
pub(crate) mod value;
pub(crate) mod walk;
