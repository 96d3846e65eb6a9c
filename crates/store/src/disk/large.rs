//! STUB.
use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::{Refused, Stamps};

/// Stub.
#[derive(Debug)]
pub struct Extents;
impl Extents {
    /// Stub.
    pub fn length(&self) -> u64 {
        0
    }
    /// Stub.
    pub fn renew(&self, _meta: &[u8], _stamps: Stamps) {}
    /// Stub.
    pub fn poll_read(&self, _at: u64, _cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        Poll::Pending
    }
}
/// Stub.
#[derive(Debug)]
pub struct Writing;
impl Writing {
    /// Stub.
    pub fn poll_append(
        &mut self,
        _data: &mut Bytes,
        _cx: &mut Context<'_>,
    ) -> Poll<Result<(), Refused>> {
        Poll::Pending
    }
    /// Stub.
    pub fn finish(self, _rest: &[Bytes], _meta: &[u8], _stamps: Stamps) -> Result<(), Refused> {
        Err(Refused::Size)
    }
}
