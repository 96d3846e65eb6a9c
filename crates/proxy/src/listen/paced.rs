//! Writes to a client whose bandwidth is limited: in steps, each when it is paid for.

use std::io;
use std::iter;
use std::os::fd::AsFd;
use std::task::Context;
use std::time::Duration;

use store::FileSlice;

use super::client::{ClientOut, in_time};
use crate::delay::Delay;

impl ClientOut {
    /// Writes what is in `buf`, then `parts`.
    pub(super) async fn write_paced(
        &mut self,
        pace: &Delay,
        parts: &[&[u8]],
        timeout: Duration,
    ) -> io::Result<()> {
        let buf = std::mem::take(&mut self.buf);
        let parts = iter::once(buf.as_slice()).chain(parts.iter().copied());
        let steps = parts.flat_map(|part| part.chunks(pace.step()));
        let outcome = self.write_steps(pace, steps, timeout).await;
        self.buf = buf;
        outcome
    }

    async fn write_steps<'s>(
        &mut self,
        pace: &Delay,
        steps: impl Iterator<Item = &'s [u8]>,
        timeout: Duration,
    ) -> io::Result<()> {
        for step in steps {
            self.pay(pace, step.len(), timeout).await?;
            let (write, mut done) = (&mut self.write, 0);
            let written = |cx: &mut Context<'_>| write.poll_write_all(cx, step, &mut done);
            in_time(self.deadline.limit_poll(timeout, written).await)?;
        }
        Ok(())
    }

    /// Sends a step of a part of a file; returns how much that was.
    pub(super) async fn send_file_paced(
        &mut self,
        pace: &Delay,
        file: &FileSlice,
        timeout: Duration,
    ) -> io::Result<usize> {
        let left = usize::try_from(file.len()).unwrap_or(usize::MAX);
        let step = left.min(pace.step());
        self.pay(pace, step, timeout).await?;
        let (mut at, mut unsent) = (file.offset(), step as u64);
        while unsent > 0 {
            let write = &mut self.write;
            let sent = |cx: &mut Context<'_>| write.poll_send_file(cx, file.as_fd(), at, unsent);
            let sent = in_time(self.deadline.limit_poll(timeout, sent).await)? as u64;
            at += sent;
            unsent -= sent;
        }
        Ok(step)
    }

    /// Waits for the turn of some bytes, no longer than for the client.
    async fn pay(&self, pace: &Delay, bytes: usize, timeout: Duration) -> io::Result<()> {
        let paying = async {
            pace.pay(bytes).await;
            Ok(())
        };
        in_time(self.deadline.limit(timeout, paying).await)
    }
}
