//! A disk that fails as a test wants it to.

use std::io;
use std::sync::Mutex;

/// What is to go wrong; nothing by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// The error of every read.
    pub(crate) read: Option<i32>,
    /// The error of every write.
    pub(crate) write: Option<i32>,
    /// Writes that go well before that.
    pub(crate) writes_left: usize,
    /// Bytes of each write that get through, while it looks as if all of them did.
    pub(crate) torn: Option<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Plan>);

impl Faults {
    pub(crate) fn set(&self, plan: Plan) {
        *self.0.lock().unwrap() = plan;
    }

    pub(crate) fn before_read(&self) -> io::Result<()> {
        let plan = self.0.lock().unwrap();
        plan.read
            .map_or(Ok(()), |error| Err(io::Error::from_raw_os_error(error)))
    }

    pub(crate) fn before_write<'a>(&self, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        let mut plan = self.0.lock().unwrap();
        if let Some(error) = plan.write {
            if plan.writes_left == 0 {
                return Err(io::Error::from_raw_os_error(error));
            }
            plan.writes_left -= 1;
        }
        let kept = plan.torn.unwrap_or(bytes.len()).min(bytes.len());
        Ok(&bytes[..kept])
    }
}
