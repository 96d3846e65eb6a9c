//! What is found in the places of stored responses.

use bytes::Bytes;

use super::format::Stamps;

/// One stored response.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Where its record begins in the file.
    pub offset: u64,
    /// Bytes of its record; a large body lies elsewhere.
    pub bytes: u32,
    /// Uses that were counted when it was last written.
    pub uses: u32,
    /// What was found there.
    pub content: ListedContent,
}

/// What was found in the place of a stored response.
#[derive(Clone, Debug)]
pub enum ListedContent {
    /// What was written: what was read of it has been compared with its checksums.
    Sound {
        /// The key.
        key: Bytes,
        /// What the owner keeps with the body.
        meta: Bytes,
        /// Bytes of the body.
        body_bytes: u64,
        /// What the owner keeps besides.
        stamps: Stamps,
    },
    /// It, or a part of a large body, has made room for others: it won't be found any more.
    Outlived,
    /// Something else.
    Damaged,
}
