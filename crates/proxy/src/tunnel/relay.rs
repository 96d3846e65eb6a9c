//! Carries bytes between two connections until both directions have ended. A direction that waits
//! holds no buffer; each passes its peer's half-close on.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::BufMut;
use bytes::buf::Limit;
use net::deadline::Deadline;
use net::half::{ReadHalf, WriteHalf};
use smallvec::SmallVec;
use stats::Gauge;

use crate::context::Context;
use crate::delay::Delay;
use crate::input::READ_LARGE_BYTES;
use crate::listen::client::{ClientIn, ClientOut};

/// The hop's side of a tunnel.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) read: ReadHalf,
    pub(crate) write: WriteHalf,
    /// Whose bandwidth it takes.
    pub(crate) delay: Option<Rc<Delay>>,
}

/// A tunnel in which nothing moves ends.
#[derive(Clone, Copy)]
struct Idle<'d> {
    deadline: &'d Deadline,
    timeout: Duration,
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
    let (to_client, to_hop) = (Rc::clone(&output.progress.0), Cell::new(0));
    to_client.set(0);
    let _open = cx.cells.during(Gauge::TunnelsOpen);
    let idle = cx.ticker.deadline();
    let timeout = cx.plan.timeouts.read;
    idle.set(timeout);
    let sent_early = input.take_unread();
    let idle = Idle {
        deadline: &idle,
        timeout,
    };
    let up = async {
        put(&mut hop.write, &sent_early, &to_hop).await?;
        copy(cx, input.half(), &mut hop.write, &[], idle, &to_hop).await
    };
    let pace = output.pace.clone();
    let delays: SmallVec<[&Delay; 2]> = hop
        .delay
        .as_deref()
        .into_iter()
        .chain(pace.as_deref())
        .collect();
    let down = async {
        if let Some(pace) = &pace {
            pace.pay(early.len()).await;
        }
        put(output.half(), early, &to_client).await?;
        copy(cx, &mut hop.read, output.half(), &delays, idle, &to_client).await
    };
    let both = async { tokio::try_join!(up, down) };
    let timed_out = idle.deadline.guard(both).await.is_err();
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

/// Bytes that go on when all `delays` are paid for, are read in their steps.
async fn copy(
    cx: &Context,
    read: &mut ReadHalf,
    write: &mut WriteHalf,
    delays: &[&Delay],
    idle: Idle<'_>,
    carried: &Cell<u64>,
) -> io::Result<()> {
    let steps = delays.iter().map(|delay| delay.step());
    let step = steps.min().unwrap_or(READ_LARGE_BYTES);
    loop {
        read.read_ready().await?;
        // What waits for its turn is held in a buffer no larger than it is.
        let mut buffer = match delays {
            [] => cx.buffers.take(),
            _ => Vec::with_capacity(step),
        };
        buffer.clear();
        buffer.reserve(step);
        let outcome = pass(read, write, delays, &mut (&mut buffer).limit(step)).await;
        cx.buffers.give(buffer);
        match outcome? {
            0 => return write.shutdown(),
            count => {
                idle.deadline.set(idle.timeout);
                carried.set(carried.get() + count as u64);
            }
        }
    }
}

async fn pass(
    read: &mut ReadHalf,
    write: &mut WriteHalf,
    delays: &[&Delay],
    buffer: &mut Limit<&mut Vec<u8>>,
) -> io::Result<usize> {
    let count = read.read(buffer).await?;
    if count > 0 {
        for delay in delays {
            delay.pay(count).await;
        }
        write.write_parts(&[buffer.get_ref()]).await?;
    }
    Ok(count)
}
