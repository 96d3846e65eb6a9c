//! Who uses the proxy (`client_db`): a row for each client address, with the connections it has open
//! and what it has asked for. Shared by all workers, and carried over when the configuration is read
//! anew.
//!
//! A row is locked when a connection begins or ends. In between, a connection counts in a `Tally`
//! of its own, so that requests of one client on many workers have nothing to wait for; who reads
//! adds the tallies up.
//!
//! | row | moved on by |
//! | --- | --- |
//! | with open connections | kept; there are no more than descriptors |
//! | without | kept until there are `IDLE_MAX` of them; then the older ones go |

mod shards;
mod tally;
pub mod users;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use slab::Slab;

use crate::record::Record;
use shards::{SHARDS, Shards, mean};
use tally::Tally;
pub use tally::Totals;

/// Rows of clients without a connection.
const IDLE_MAX: usize = 32_768;

/// Least time between two lines in the cache log about clients with too many connections.
const COMPLAINT_NS: u64 = 1_000_000_000;

/// See the module.
#[derive(Debug, Default)]
pub struct Clients {
    shards: Shards<Shard>,
    /// When the cache log was last told of a client with too many connections.
    complained_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    rows: HashMap<IpAddr, Row>,
    /// Rows without a connection.
    idle: usize,
}

/// A client.
#[derive(Debug, Default)]
struct Row {
    open: Slab<Arc<Tally>>,
    /// Sum of the tallies of connections that have ended.
    past: Totals,
    last_seen_ns: u64,
}

/// A row as it is read.
#[derive(Debug, Clone)]
pub struct Client {
    /// Whose it is.
    pub addr: IpAddr,
    /// Its open connections.
    pub connections: usize,
    /// What it has asked for.
    pub totals: Totals,
}

/// An open connection in its client's row, until it is dropped.
#[derive(Debug)]
pub(crate) struct Visit {
    clients: Arc<Clients>,
    addr: IpAddr,
    place: usize,
    tally: Arc<Tally>,
}

impl Clients {
    /// Enters a connection; `None` when its client has `limit` of them already.
    pub(crate) fn enter(
        self: &Arc<Self>,
        addr: IpAddr,
        limit: Option<u32>,
        now_ns: u64,
    ) -> Option<Visit> {
        let mut shard = self.shards.of(&addr);
        let row = shard.rows.entry(addr).or_default();
        let (open, fresh) = (row.open.len(), row.open.is_empty() && row.last_seen_ns > 0);
        let full = limit.is_some_and(|limit| open >= usize::try_from(limit).unwrap_or(usize::MAX));
        if full {
            if row.last_seen_ns == 0 {
                shard.rows.remove(&addr);
            }
            return None;
        }
        let tally = Arc::<Tally>::default();
        row.last_seen_ns = now_ns.max(1);
        let place = row.open.insert(Arc::clone(&tally));
        shard.idle -= usize::from(fresh);
        drop(shard);
        Some(Visit {
            clients: Arc::clone(self),
            addr,
            place,
            tally,
        })
    }

    /// Connections that the address has open.
    pub fn connections(&self, addr: IpAddr) -> usize {
        let shard = self.shards.of(&addr);
        shard.rows.get(&addr).map_or(0, |row| row.open.len())
    }

    /// Counts a transaction of a client that reached us over somebody else's connection.
    pub(crate) fn count_indirect(&self, addr: IpAddr, record: &Record, now_ns: u64) {
        let mut shard = self.shards.of(&addr);
        let row = shard.rows.entry(addr).or_default();
        let fresh = row.last_seen_ns == 0;
        row.last_seen_ns = now_ns.max(1);
        row.past.count(record);
        shard.idle += usize::from(fresh);
        shard.keep_to_size();
    }

    /// May the cache log be told of a client with too many connections? So often at most.
    pub(crate) fn may_complain(&self, now_ns: u64) -> bool {
        let last = self.complained_ns.load(Relaxed);
        let due = last == 0 || now_ns.saturating_sub(last) >= COMPLAINT_NS;
        if due {
            self.complained_ns.store(now_ns.max(1), Relaxed);
        }
        due
    }

    /// How many clients are known.
    pub fn len(&self) -> usize {
        self.shards.all().map(|shard| shard.rows.len()).sum()
    }

    /// Is none known?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rows, by address.
    pub fn snapshot(&self) -> Vec<Client> {
        let mut all = Vec::new();
        for shard in self.shards.all() {
            all.extend(shard.rows.iter().map(|(addr, row)| row.read(*addr)));
        }
        all.sort_unstable_by_key(|client| client.addr);
        all
    }
}

impl Shard {
    fn keep_to_size(&mut self) {
        if self.idle <= IDLE_MAX / SHARDS {
            return;
        }
        let idle = self.rows.values().filter(|row| row.open.is_empty());
        let old = mean(idle.map(|row| row.last_seen_ns));
        self.rows
            .retain(|_, row| !row.open.is_empty() || row.last_seen_ns > old);
        self.idle = self.rows.values().filter(|row| row.open.is_empty()).count();
    }
}

impl Row {
    fn read(&self, addr: IpAddr) -> Client {
        let mut totals = self.past.clone();
        for (_, tally) in &self.open {
            totals.add(tally);
        }
        Client {
            addr,
            connections: self.open.len(),
            totals,
        }
    }
}

impl Visit {
    /// Counts a finished transaction.
    pub(crate) fn count(&self, record: &Record, now_ns: u64) {
        if record.client.ip() == self.addr {
            self.tally.count(record);
        } else {
            let client = record.client.ip();
            self.clients.count_indirect(client, record, now_ns);
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut shard = self.clients.shards.of(&self.addr);
        let Some(row) = shard.rows.get_mut(&self.addr) else {
            return;
        };
        if row.open.try_remove(self.place).is_some() {
            row.past.add(&self.tally);
            let idle = row.open.is_empty();
            if idle {
                // Room for all that there were at once.
                row.open = Slab::new();
            }
            shard.idle += usize::from(idle);
            shard.keep_to_size();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::record::ResultTag;

    fn addr(number: u32) -> IpAddr {
        Ipv4Addr::from(number).into()
    }

    fn record(client: IpAddr, tag: ResultTag) -> Record {
        let mut record = Record::new((client, 9).into());
        record.tag(tag);
        record.request_bytes = 100;
        record.head_bytes = 30;
        record.body_bytes = 4;
        record
    }

    #[test]
    fn connections_are_counted_while_they_are_open() {
        let clients = Arc::new(Clients::default());
        let one = clients.enter(addr(1), None, 5).unwrap();
        let two = clients.enter(addr(1), None, 5).unwrap();
        let other = clients.enter(addr(2), None, 5).unwrap();
        assert_eq!(clients.connections(addr(1)), 2);
        drop(one);
        assert_eq!(
            (clients.connections(addr(1)), clients.connections(addr(2))),
            (1, 1)
        );
        drop((two, other));
        assert_eq!((clients.connections(addr(1)), clients.len()), (0, 2));
    }

    #[test]
    fn a_limit_is_the_number_that_may_be_open() {
        let clients = Arc::new(Clients::default());
        let open: Vec<_> = (0..3)
            .map_while(|_| clients.enter(addr(1), Some(2), 5))
            .collect();
        assert_eq!(open.len(), 2);
        assert!(clients.enter(addr(2), Some(2), 5).is_some());
        drop(open);
        assert!(clients.enter(addr(1), Some(2), 5).is_some());
        assert!(clients.enter(addr(3), Some(0), 5).is_none());
        assert_eq!(clients.len(), 2, "who is refused leaves no row");
    }

    #[test]
    fn a_row_adds_up_what_its_connections_asked_for() {
        let clients = Arc::new(Clients::default());
        let ended = clients.enter(addr(1), None, 5).unwrap();
        ended.count(&record(addr(1), ResultTag::Miss), 6);
        drop(ended);
        let open = clients.enter(addr(1), None, 7).unwrap();
        open.count(&record(addr(1), ResultTag::MemHit), 8);
        let [row] = &clients.snapshot()[..] else {
            panic!("one row");
        };
        assert_eq!((row.addr, row.connections), (addr(1), 1));
        let totals = &row.totals;
        assert_eq!(
            (
                totals.all(),
                totals.of(ResultTag::Miss),
                totals.of(ResultTag::MemHit)
            ),
            (2, 1, 1)
        );
        assert_eq!(
            (totals.bytes_in, totals.bytes_out, totals.hit_bytes_out),
            (200, 68, 34)
        );
    }

    #[test]
    fn requests_of_indirect_clients_are_their_own() {
        let clients = Arc::new(Clients::default());
        let visit = clients.enter(addr(1), None, 5).unwrap();
        visit.count(&record(addr(9), ResultTag::Miss), 6);
        let rows = clients.snapshot();
        let figures = rows.iter().map(|row| (row.connections, row.totals.all()));
        assert!(figures.eq([(1, 0), (0, 1)]), "{rows:?}");
        drop(clients.enter(addr(9), None, 7));
        assert_eq!(clients.len(), 2);
    }

    #[test]
    fn rows_without_connections_are_bounded_and_the_older_go_first() {
        let clients = Arc::new(Clients::default());
        let stays = clients.enter(addr(u32::MAX), None, 1).unwrap();
        let far_too_many = u32::try_from(3 * IDLE_MAX).unwrap();
        for number in 0..far_too_many {
            drop(clients.enter(addr(number), None, u64::from(number) + 2));
        }
        assert!(clients.len() <= IDLE_MAX + 1, "{}", clients.len());
        assert_eq!(clients.connections(addr(u32::MAX)), 1);
        let known = clients.snapshot();
        assert!(known.iter().any(|row| row.addr == addr(far_too_many - 1)));
        assert!(!known.iter().any(|row| row.addr == addr(0)));
        drop(stays);
    }
}
