//! `-k`: checks the configuration, then signals the proxy that runs with it.

use std::io;
use std::process::ExitCode;

use config::Config;
use rustix::process::{Signal, kill_process, test_kill_process};

use crate::cli::{Args, Order};
use crate::{configuration, console, pid_file};

/// Does what `-k` asks for. Nothing is signalled when the configuration is broken, as in Squid.
pub(crate) fn carry_out(order: Order, args: &Args) -> ExitCode {
    if order == Order::Parse {
        return configuration::parse(args).map_or_else(|code| code, |_| ExitCode::SUCCESS);
    }
    let config = match configuration::check(args) {
        Ok(config) => config,
        Err(code) => return code,
    };
    match send(order, &config, args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            console::say(format_args!("FATAL: {reason}"));
            ExitCode::FAILURE
        }
    }
}

/// Signals the process that the PID file names; says in Squid's words why it can't.
fn send(order: Order, config: &Config, args: &Args) -> Result<(), String> {
    let path = pid_file::place(config, &args.service_name());
    let path = path.ok_or("no pid_filename configured")?;
    let pid = pid_file::read(&path).map_err(|reason| reason.to_string())?;
    let signal = signal(order);
    let sent = match signal {
        Some(signal) => kill_process(pid, signal),
        None => test_kill_process(pid),
    };
    sent.map_err(|error| {
        format!(
            "failed to send signal {} to Squid instance with PID {}: {}",
            signal.map_or(0, Signal::as_raw),
            pid.as_raw_nonzero(),
            console::reason(&io::Error::from(error))
        )
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use config::FilePlace;

    fn send_to(pid_filename: FilePlace) -> String {
        let config = Config {
            pid_filename,
            ..config::built_in()
        };
        send(Order::Reconfigure, &config, &Args::default()).unwrap_err()
    }

    #[test]
    fn what_cannot_be_signalled_is_told_in_squids_words() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("squid.pid");
        std::fs::write(&path, "999999999\n").unwrap();
        assert_eq!(
            send_to(FilePlace::File(path)),
            "failed to send signal 1 to Squid instance with PID 999999999: (3) No such process"
        );
        assert_eq!(send_to(FilePlace::None), "no pid_filename configured");
        let missing = send_to(FilePlace::File("/nowhere/squid.pid".into()));
        assert!(missing.starts_with("failed to open /nowhere/squid.pid: (2)"));
    }
}
