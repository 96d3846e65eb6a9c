//! The program: reads its arguments and does what they ask. It wires the parts and decides nothing.

mod access_log;
mod cache_dirs;
mod cache_log;
mod cli;
mod client_command;
mod config_command;
mod configuration;
mod console;
mod control;
mod daemon;
mod findings;
mod limits;
mod notify;
mod pid_file;
mod ports;
mod privileges;
mod reload;
mod serve;
mod signals;
mod snmp;
mod store_command;
mod store_log;
mod supports;
#[cfg(feature = "tui")]
mod top;
mod version;
mod workers;

use std::ffi::OsString;
use std::process::ExitCode;

/// Small and large requests from many threads at once: measured faster than the system's.
#[global_allocator]
static ALLOCATOR: sys::Allocator = sys::Allocator;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let name = cli::called(&words);
    if config_command::is_asked(&name, &words) {
        return config_command::run(&words);
    }
    if store_command::is_asked(&name, &words) {
        return store_command::run(&words);
    }
    if client_command::is_asked(&name, &words) {
        return client_command::run(&name, &words);
    }
    if cli::asks_for(&name, &words, "top") {
        return top(&words);
    }
    let args = match cli::read(&words) {
        Ok(args) => args,
        Err(misuse) => return misuse.tell(&name),
    };
    let done = match args.task() {
        cli::Task::Help => Ok(cli::help(&name)),
        cli::Task::Version => version::tell(&name, &args),
        cli::Task::Signal(order) => Ok(control::carry_out(order, &args)),
        cli::Task::MakeDirectories => Ok(configuration::make_directories(&args)),
        cli::Task::Serve => serve::run(&name, &args),
    };
    done.unwrap_or_else(|error| {
        console::fatal(&error);
        ExitCode::FAILURE
    })
}

#[cfg(feature = "tui")]
fn top(words: &[OsString]) -> ExitCode {
    top::run(words)
}

#[cfg(not(feature = "tui"))]
fn top(_words: &[OsString]) -> ExitCode {
    console::plain("squall top: this program was built without the feature `tui`");
    ExitCode::FAILURE
}
