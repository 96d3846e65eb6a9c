//! Bodies. A small one is one slice; a larger one is a list of pages, or lies in a file; one that is still arriving is a [`Fill`], written
//! by its [`Filler`] and followed by any number of [`Reader`]s.
//!
//! | phase of a fill | who moves it on |
//! | --- | --- |
//! | running, all of it held: newcomers can join | `Filler`: `append`, `commit` |
//! | running, window closed: only bytes near the readers are held | `Filler`, when too much is held |
//! | complete | `Filler::finish` |
//! | cut | `Filler::fail`, or its drop |

mod charge;
mod files;
mod fill;
mod filler;
mod joined;
mod pages;
mod reader;
mod slice;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::disk::Extents;
use crate::tier::Pieces;

pub(crate) use charge::{Charge, charged_bytes};
pub use files::{FileSlice, Files};
pub use fill::Fill;
pub use filler::{Filler, Keep, Overflow, Saving, Short};
pub(crate) use joined::joined;
pub use pages::Pages;
pub use reader::{ReadError, Reader};
pub use slice::Slice;

/// A complete body up to this size is one slice.
pub(crate) const WHOLE_BYTES_MAX: usize = 64 << 10;

/// A body in whatever state it is; cheap to clone.
#[derive(Clone, Debug)]
pub enum Body {
    /// Complete, in one slice.
    Whole(Bytes),
    /// Complete, in several slices.
    Pages(Arc<Pages>),
    /// Complete, on disk.
    Disk(Arc<Extents>),
    /// On disk, with holes.
    Pieces(Arc<Pieces>),
    /// Still arriving, or cut; or complete since a moment ago.
    Filling(Arc<Fill>),
}

impl Body {
    /// A reader from the first byte.
    #[must_use]
    pub fn reader(self) -> Reader {
        Reader::new(self)
    }

    /// Bytes of the whole body, if known.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Whole(bytes) => Some(bytes.len() as u64),
            Self::Pages(pages) => Some(pages.length()),
            Self::Disk(extents) => Some(extents.len()),
            Self::Pieces(pieces) => Some(pieces.len()),
            Self::Filling(fill) => fill.length(),
        }
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Pages(pages) => pages.length(),
            Self::Disk(_) | Self::Pieces(_) => 0,
            Self::Filling(fill) => fill.held_bytes(),
        }
    }
}

/// A complete body.
#[derive(Clone, Debug)]
pub(crate) enum Done {
    Whole(Bytes),
    Pages(Arc<Pages>),
    Disk(Arc<Extents>),
    Pieces(Arc<Pieces>),
}

impl Done {
    pub(crate) fn body(&self) -> Body {
        match self {
            Self::Whole(bytes) => Body::Whole(bytes.clone()),
            Self::Pages(pages) => Body::Pages(Arc::clone(pages)),
            Self::Disk(extents) => Body::Disk(Arc::clone(extents)),
            Self::Pieces(pieces) => Body::Pieces(Arc::clone(pieces)),
        }
    }
}

/// Locks, also after a panic elsewhere: every critical section here leaves its data whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
