//! `squall client`, which also answers to the name `squidclient`: asks a proxy for a URL or for a page of the cache
//! manager, and shows what comes back. Options and output are squidclient's.
//!
//! | exit status | means |
//! | --- | --- |
//! | 0 | an answer below 400; under the name `squidclient` any answer |
//! | 1 | the command line, or a file that it names, can't be used |
//! | 2 | the proxy can't be reached |
//! | 3 | an answer from 400 on |
//! | 4 | no answer in time, or one that broke off |

mod exchange;
mod ping;
mod request;
mod words;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use exchange::Broken;
pub(crate) use exchange::Wait;
use words::{Said, Words};

use crate::{cli, console};

/// The command line can't be used.
const MISUSE: u8 = 1;

/// Do the arguments ask for this, and not for a proxy?
pub(crate) fn is_asked(called: &str, words: &[OsString]) -> bool {
    called == "squidclient" || cli::asks_for(called, words, "client")
}

/// Does it.
pub(crate) fn run(called: &str, words: &[OsString]) -> ExitCode {
    let own_name = called != "squidclient";
    let words = match Words::read(words.iter().skip(usize::from(own_name))) {
        Ok(words) => words,
        Err(Said::Help(text)) => {
            drop(io::stdout().write_all(text.as_bytes()));
            return ExitCode::SUCCESS;
        }
        Err(Said::Misuse(text)) => {
            console::plain(text.trim_end());
            return MISUSE.into();
        }
    };
    let request = match request::write(&words) {
        Ok(request) => request,
        Err(error) => {
            console::plain(format_args!("ERROR: {error:#}"));
            return MISUSE.into();
        }
    };
    if words.verbose > 0 {
        let shown = [b"Request:\n", request.as_slice(), b"\n.\n"].concat();
        drop(io::stderr().write_all(&shown));
    }
    let wait = Wait {
        host: words.host(),
        port: words.port,
        local: words.local,
        patience: words.patience(),
    };
    let done = match words.ping() {
        Some(ping) => ping::run(&ping, &wait, &request),
        None => once(&wait, &request, words.silent),
    };
    match done {
        Ok(status) if own_name && status >= 400 => 3.into(),
        Ok(_) => ExitCode::SUCCESS,
        Err(broken) => {
            console::plain(format_args!("ERROR: {broken}"));
            broken.exit_status().into()
        }
    }
}

/// One request; what comes back is shown as it comes.
fn once(wait: &Wait, request: &[u8], silent: bool) -> Result<u16, Broken> {
    let mut out = io::stdout().lock();
    let answer = wait.exchange(request, |bytes| {
        if silent {
            return Ok(());
        }
        out.write_all(bytes)
    })?;
    // Whoever reads it may have read enough.
    drop(out.flush());
    Ok(answer.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn under_squids_name_a_stray_word_stays_one() {
        let check = |line: &str, asked: bool| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(is_asked(&cli::called(&words), &words), asked, "{line}");
        };
        check("squall client mgr:info", true);
        check("/usr/bin/squidclient mgr:info", true);
        check("squid client mgr:info", false);
        check("squall -N client", false);
    }
}
