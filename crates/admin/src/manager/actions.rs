//! Pages that do something: `shutdown`, `reconfigure`, `rotate`, `offline_toggle`. The program does it; the page says so.

use serde::Serialize;

use super::Report;
use crate::{Order, Scene};

/// What was done.
#[derive(Debug, Serialize)]
struct Done {
    said: String,
}

fn done(said: String) -> Report {
    let done = Done { said };
    Report::new(&done, done.said.clone())
}

fn order(scene: &Scene<'_>, order: Order, said: &str) -> Report {
    tracing::info!("cache manager: {}", scene.ask.page);
    // A full queue has the same order in it already.
    let _ = scene.orders().try_send(order);
    done(said.to_owned())
}

/// `shutdown`
pub(super) fn shutdown(scene: &Scene<'_>) -> Report {
    order(scene, Order::Shutdown, "")
}

/// `reconfigure`
pub(super) fn reconfigure(scene: &Scene<'_>) -> Report {
    let said = "Reconfiguring Squid Process ....";
    order(scene, Order::Reconfigure, said)
}

/// `rotate`
pub(super) fn rotate(scene: &Scene<'_>) -> Report {
    order(scene, Order::Rotate, "Rotating Squid Process Logs ....")
}

/// `offline_toggle`
pub(super) fn offline_toggle(scene: &Scene<'_>) -> Report {
    let on = scene.plan().rules.caching.toggle_offline();
    let state = if on { "ON" } else { "OFF" };
    tracing::info!("cache manager: offline_mode is now {state}");
    done(format!("offline_mode is now {state}\n"))
}
