//! What the kernel is told about the writes of a file. Used by `store` for its volumes.

use std::ffi::{c_int, c_uint};
use std::fs::File;
use std::os::fd::AsRawFd;

/// `SYNC_FILE_RANGE_WRITE`.
const BEGIN: c_uint = 2;

// SAFETY: as in fcntl.h, of 64-bit offsets. Takes no pointer, and a number that isn't an open file's fails.
unsafe extern "C" {
    #[cfg_attr(target_pointer_width = "32", link_name = "sync_file_range64")]
    safe fn sync_file_range(file: c_int, at: i64, bytes: i64, flags: c_uint) -> c_int;
}

/// Has the kernel begin to write what lies in its memory to the disk, instead of when it has much of it: reads wait for
/// less then. Whether it does is seen by whoever syncs.
pub fn begin_writing(file: &File, at: u64, bytes: u64) {
    if let (Ok(at), Ok(bytes)) = (i64::try_from(at), i64::try_from(bytes)) {
        sync_file_range(file.as_raw_fd(), at, bytes, BEGIN);
    }
}
