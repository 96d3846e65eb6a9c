//! The language of squid.conf, before any directive has a meaning: files into
//! logical lines, lines into words, words into values.

mod glob;
pub(crate) mod line;
pub(crate) mod value;
pub(crate) mod walk;
