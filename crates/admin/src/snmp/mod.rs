//! The SNMP agent: v1 and v2c, read only, with Squid's MIB (`snmp_port`, `snmp_access`). One datagram
//! after the other, on the program's control thread: pollers come once a minute, and no worker
//! waits for them.

mod agent;
mod collect;
mod figures;
mod gate;
mod socket;
mod tree;

use std::sync::Arc;

use proxy::worker::Orders;
use stats::{Cells, Counter};
use tokio::sync::watch;
use wire::snmp::Question;

use crate::Admin;
use collect::Collector;
pub use socket::Sockets;

/// Bytes of a question; one that is longer is cut by the system, and doesn't parse.
const QUESTION_BYTES_MAX: usize = 4096;

/// Answers until it is dropped, by the rules that hold at the time. Counts in `cells`.
///
/// # Errors
/// The sockets can't be used.
pub async fn serve(
    sockets: Sockets,
    admin: Arc<Admin>,
    orders: watch::Receiver<Orders>,
    cells: Arc<Cells>,
) -> std::io::Result<()> {
    let sockets = sockets.listen()?;
    let mut collector = Collector::default();
    let mut buffer = vec![0; QUESTION_BYTES_MAX];
    loop {
        // A client that is gone may show as an error of the next read; there is nothing to do.
        let Ok((length, client)) = sockets.hears.recv_from(&mut buffer).await else {
            continue;
        };
        cells.count(Counter::SnmpDatagrams);
        let Ok(question) = Question::parse(buffer.get(..length).unwrap_or_default()) else {
            cells.count(Counter::SnmpMalformed);
            continue;
        };
        let plan = Arc::clone(&orders.borrow().plan);
        let now = admin.now();
        if !gate::may_ask(
            &plan.rules,
            &question,
            client,
            sockets.local,
            now.unix_secs(),
        ) {
            cells.count(Counter::SnmpDenied);
            tracing::debug!("SNMP question of {client} refused");
            continue;
        }
        let figures = collector.collect(&admin, &orders.borrow(), now);
        let answer = agent::answer(&question, &figures);
        // Whoever asked may be gone.
        drop(sockets.speaks().send_to(&answer, client).await);
    }
}
