//! Stored responses on disk.

pub mod index;
