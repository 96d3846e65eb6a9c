//! What a reader gets: a piece of a body, wherever it lies.

use std::io;

use bytes::Bytes;

use super::FileSlice;

/// A piece of a body.
#[derive(Clone, Debug)]
pub enum Slice {
    /// On the heap.
    Heap(Bytes),
    /// In a file of memory, to be sent from there.
    File(FileSlice),
}

impl Slice {
    /// Its bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Heap(bytes) => bytes.len() as u64,
            Self::File(file) => file.len(),
        }
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its bytes on the heap: a copy, if they lie in a file.
    ///
    /// # Errors
    /// See [`FileSlice::read`].
    pub fn to_bytes(&self) -> io::Result<Bytes> {
        match self {
            Self::Heap(bytes) => Ok(bytes.clone()),
            Self::File(file) => {
                let mut bytes = vec![0; usize::try_from(file.len()).unwrap_or(usize::MAX)];
                file.read(&mut bytes)?;
                Ok(Bytes::from(bytes))
            }
        }
    }

    /// What lies from `from` to `to`, both at most its length.
    pub(super) fn part(&self, from: u64, to: u64) -> Self {
        match self {
            Self::Heap(bytes) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX);
                let to = usize::try_from(to).unwrap_or(usize::MAX);
                Self::Heap(bytes.slice(from..to))
            }
            Self::File(file) => Self::File(file.part(from, to)),
        }
    }
}
