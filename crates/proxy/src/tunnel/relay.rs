//! Carries bytes between two connections until both directions have ended. A direction that waits
//! holds no buffer; each passes its peer's half-close on.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use net::deadline::Deadline;
use net::half::{ReadHalf, WriteHalf};

use crate::context::Context;
use crate::input::READ_LARGE_BYTES;
use crate::listen::client::{ClientIn, ClientOut};

/// The hop's side of a tunnel.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) read: ReadHalf,
    pub(crate) write: WriteHalf,
}

/// How a tunnel ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// Bytes carried to the client.
    pub(crate) to_client: u64,
    /// Bytes carried to the hop.
    pub(crate) to_hop: u64,
    /// Nothing moved for `read_timeout`.
    pub(crate) timed_out: bool,
}

/// Carries bytes until both directions have ended, one has failed, or nothing moves for
/// `read_timeout`. `early` is what the hop has already said.
pub(crate) async fn relay(
    cx: &Context,
    input: &mut ClientIn,
    output: &mut ClientOut,
    mut hop: Ends,
    early: &[u8],
) -> End {
    let (to_client, to_hop) = (Cell::new(0), Cell::new(0));
    let idle = cx.ticker.deadline();
    let timeout = cx.plan.timeouts.read;
    idle.set(timeout);
    let sent_early = input.take_unread();
    let up = async {
        put(&mut hop.write, &sent_early, &to_hop).await?;
        copy(cx, input.half(), &mut hop.write, &idle, timeout, &to_hop).await
    };
    let down = async {
        put(output.half(), early, &to_client).await?;
        copy(cx, &mut hop.read, output.half(), &idle, timeout, &to_client).await
    };
    let both = async { tokio::try_join!(up, down) };
    let timed_out = idle.guard(both).await.is_err();
    End {
        to_client: to_client.get(),
        to_hop: to_hop.get(),
        timed_out,
    }
}

async fn put(write: &mut WriteHalf, bytes: &[u8], carried: &Cell<u64>) -> io::Result<()> {
    if !bytes.is_empty() {
        write.write_parts(&[bytes]).await?;
        carried.set(carried.get() + bytes.len() as u64);
    }
    Ok(())
}

async fn copy(
    cx: &Context,
    read: &mut ReadHalf,
    write: &mut WriteHalf,
    idle: &Deadline,
    timeout: Duration,
    carried: &Cell<u64>,
) -> io::Result<()> {
    loop {
        read.read_ready().await?;
        let mut buffer = cx.buffers.take();
        buffer.clear();
        buffer.reserve(READ_LARGE_BYTES);
        let outcome = pass(read, write, &mut buffer).await;
        cx.buffers.give(buffer);
        match outcome? {
            0 => return write.shutdown(),
            count => {
                idle.set(timeout);
                carried.set(carried.get() + count as u64);
            }
        }
    }
}

async fn pass(
    read: &mut ReadHalf,
    write: &mut WriteHalf,
    buffer: &mut Vec<u8>,
) -> io::Result<usize> {
    let count = read.read(buffer).await?;
    if count > 0 {
        write.write_parts(&[buffer]).await?;
    }
    Ok(count)
}
