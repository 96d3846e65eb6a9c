//! Bodies that are too large for one record, or whose length isn't known at first: in fragments, each a record of its own
//! in the stream of such, and a head with their list, which is written last. So who finds the head finds the body, and a
//! body that is broken off has left nothing but dead bytes.

mod extents;
mod keep;
mod writing;

pub use extents::{ExtentReader, Extents};
pub(crate) use keep::keep;
pub use writing::Writing;
