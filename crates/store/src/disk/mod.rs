//! STUB until the engine lands.
use bytes::Bytes;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
#[derive(Debug)]
pub struct Volume;
#[derive(Debug)]
pub struct Stored {
    pub meta: Bytes,
    pub body: StoredBody,
    pub stamps: Stamps,
}
#[derive(Debug, Clone)]
pub enum StoredBody {
    Whole(Bytes),
    Extents(Arc<Extents>),
}
#[derive(Debug, Clone, Copy, Default)]
pub struct Stamps {
    pub date: u32,
    pub expires: u32,
    pub last_modified: u32,
    pub uses: u16,
    pub judged: u64,
}
#[derive(Debug)]
pub struct Extents;
impl Extents {
    pub fn renew(&self, _meta: &[u8], _stamps: Stamps) {}
    pub fn length(&self) -> u64 {
        0
    }
    pub fn poll_read(&self, _at: u64, _cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        Poll::Pending
    }
}
pub enum Found {
    Nothing,
    Here(Stored),
    Later(Reading),
}
pub struct Reading;
impl Future for Reading {
    type Output = Option<Stored>;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Stored>> {
        Poll::Ready(None)
    }
}
#[derive(Debug)]
pub struct Refused;
#[derive(Debug)]
pub struct Writing;
impl Writing {
    pub fn poll_append(
        &mut self,
        _data: &mut Bytes,
        _cx: &mut Context<'_>,
    ) -> Poll<Result<(), Refused>> {
        Poll::Pending
    }
    pub fn finish(self, _rest: &[Bytes], _meta: &[u8], _stamps: Stamps) -> Result<(), Refused> {
        Err(Refused)
    }
}
impl Volume {
    pub fn path(&self) -> &std::path::Path {
        std::path::Path::new("")
    }
    pub fn put(
        &self,
        _key: &[u8],
        _meta: &[u8],
        _body: &[&[u8]],
        _stamps: Stamps,
    ) -> Result<(), Refused> {
        Err(Refused)
    }
    pub fn begin(self: &Arc<Self>, _key: &[u8], _length: Option<u64>) -> Result<Writing, Refused> {
        Err(Refused)
    }
    pub fn find(&self, _key: &[u8]) -> Found {
        Found::Nothing
    }
    pub fn may_have(&self, _key: &[u8]) -> bool {
        false
    }
    pub fn remove(&self, _key: &[u8]) -> bool {
        false
    }
    pub fn update(
        &self,
        _key: &[u8],
        _stored: &Stored,
        _meta: &[u8],
        _stamps: Stamps,
    ) -> Result<(), Refused> {
        Err(Refused)
    }
    pub fn clear(&self) {}
    pub fn load(&self) -> u32 {
        0
    }
    pub fn takes(&self, _bytes: Option<u64>) -> bool {
        false
    }
}
