//! `-k`: checks the configuration, then signals the proxy that runs with it.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use rustix::process::{Signal, kill_process, test_kill_process};

use crate::cli::{Args, Order};
use crate::{configuration, pid_file};

/// Does what `-k` asks for.
pub(crate) fn carry_out(order: Order, args: &Args) -> anyhow::Result<ExitCode> {
    let config = match configuration::check(args) {
        Ok(config) => config,
        Err(code) => return Ok(code),
    };
    if order == Order::Parse {
        return Ok(ExitCode::SUCCESS);
    }
    let Some(path) = pid_file::place(&config) else {
        bail!("pid_filename is none: cannot tell which process to signal");
    };
    let pid =
        pid_file::read(&path).with_context(|| format!("failed to open {}", path.display()))?;
    let sent = match signal(order) {
        Some(signal) => kill_process(pid, signal),
        None => test_kill_process(pid),
    };
    sent.with_context(|| format!("failed to signal PID {}", pid.as_raw_nonzero()))?;
    Ok(ExitCode::SUCCESS)
}

/// The signal of an order; `None` only asks whether there is a process.
const fn signal(order: Order) -> Option<Signal> {
    Some(match order {
        Order::Reconfigure => Signal::HUP,
        Order::Rotate => Signal::USR1,
        Order::Debug => Signal::USR2,
        Order::Shutdown => Signal::TERM,
        Order::Interrupt => Signal::INT,
        Order::Kill => Signal::KILL,
        Order::Restart => Signal::TTIN,
        Order::Check | Order::Parse => return None,
    })
}
