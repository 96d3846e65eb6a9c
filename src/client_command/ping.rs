//! `--ping`: the same request again and again, with times, as squidclient tells them.

use std::io::{self, Write as _};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Zoned;

use super::exchange::{Broken, Wait};

/// How often, and how far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ping {
    /// 0: until interrupted.
    pub(super) count: u32,
    /// From the start of one to the start of the next.
    pub(super) interval: Duration,
}

/// What the answers took, milliseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    count: u32,
    least: f64,
    greatest: f64,
    sum: f64,
}

impl Times {
    fn add(&mut self, ms: f64) {
        self.least = if self.count == 0 {
            ms
        } else {
            self.least.min(ms)
        };
        self.greatest = self.greatest.max(ms);
        self.sum += ms;
        self.count += 1;
    }

    /// The last line.
    fn told(&self) -> String {
        let mean = self.sum / f64::from(self.count.max(1));
        let [least, mean, greatest] = [self.least, mean, self.greatest].map(|ms| ms / 1000.0);
        format!(
            "\n{} requests, round-trip (secs) min/avg/max = {least:.3}/{mean:.3}/{greatest:.3}\n",
            self.count
        )
    }
}

/// Pings until it is through, or until nobody answers; gives the last status.
pub(super) fn run(ping: &Ping, wait: &Wait, request: &[u8]) -> Result<u16, Broken> {
    let mut times = Times::default();
    let mut status = 0;
    let interrupted = interrupted();
    for number in 1.. {
        let began = Instant::now();
        let answer = wait.exchange(request, |_| Ok(()));
        let took = began.elapsed();
        match answer {
            Ok(answer) => {
                times.add(took.as_secs_f64() * 1000.0);
                status = answer.status;
                say(&line(&Zoned::now(), number, took, answer.bytes));
            }
            Err(broken) => {
                say(&times.told());
                return Err(broken);
            }
        }
        if number == ping.count {
            break;
        }
        let rest = ping.interval.saturating_sub(took);
        if !matches!(
            interrupted.recv_timeout(rest),
            Err(RecvTimeoutError::Timeout)
        ) {
            break;
        }
    }
    say(&times.told());
    Ok(status)
}

/// Says when the user has had enough: the summary still comes. Where signals can't be waited for, they end the program.
fn interrupted() -> Receiver<()> {
    let (sender, interrupted) = mpsc::sync_channel(1);
    let wait = move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build();
        let waited = runtime.and_then(|runtime| runtime.block_on(tokio::signal::ctrl_c()));
        match waited {
            Ok(()) => drop(sender.send(())),
            Err(_) => thread::park(),
        }
    };
    drop(thread::spawn(wait));
    interrupted
}

fn line(now: &Zoned, number: u32, took: Duration, bytes: u64) -> String {
    let ms = took.as_millis();
    // As squidclient has it: of no time there is no rate.
    let rate = if ms == 0 {
        -1.0
    } else {
        real(u128::from(bytes)) / real(ms)
    };
    let now = now.strftime("%Y-%m-%d %H:%M:%S");
    format!(
        "{now} [{number}]: {:.3} secs, {rate:.6} KB/s\n",
        took.as_secs_f64()
    )
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
const fn real(value: u128) -> f64 {
    value as f64
}

/// Nobody may be reading it: that is no reason to stop.
fn say(text: &str) {
    drop(io::stderr().write_all(text.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_least_mean_and_greatest() {
        let mut times = Times::default();
        for ms in [20.0, 10.0, 60.0] {
            times.add(ms);
        }
        let told = times.told();
        assert_eq!(
            told,
            "\n3 requests, round-trip (secs) min/avg/max = 0.010/0.030/0.060\n"
        );
    }
}
