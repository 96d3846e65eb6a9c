//! Tells systemd what the proxy is doing, when the unit has `Type=notify` or `Type=notify-reload`.
//! Without `NOTIFY_SOCKET` nothing is sent; that nobody listens there is no reason to stop.

use sd_notify::NotifyState::{self, MainPid, Ready, Reloading, Status, Stopping};

/// It serves; also after a reload, whether that went well or not.
pub(crate) fn ready() {
    let pid = MainPid(std::process::id());
    tell(&[Ready, pid, Status("Ready to serve requests")]);
}

/// It reads its configuration anew. The time tells this reload's `READY=1` from one before.
pub(crate) fn reloading() {
    let status = Status("Reading the configuration");
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[Reloading, now, status]),
        Err(_) => tell(&[Reloading, status]),
    }
}

/// It ends, perhaps after its clients have finished.
pub(crate) fn stopping() {
    tell(&[Stopping, Status("Shutting down")]);
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!("cannot tell systemd: {error}");
    }
}
