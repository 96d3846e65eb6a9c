//! A pool: who falls into it, and its buckets. They are found by who shares them, and shared by all workers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use config::delay::{Limit, Rate, Scope};
use rules::List;
use rules::delay::{Share, Taker, share};

use super::bucket::Bucket;
use super::report::{LimitReport, name};

/// Buckets of one scope above which those that are full, and that nobody uses, go.
const BUCKETS_MAX: usize = 65_536;

/// A pool of any kind.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    /// Who falls into it.
    pub(super) list: List,
    tables: Arc<[Table]>,
}

impl Pool {
    /// The pool with these limits; its buckets are carried over when it was the same `before`.
    pub(super) fn new(list: List, limits: &[Limit], percent: u32, before: &[Self]) -> Self {
        let same = |pool: &&Self| {
            let tables = pool.tables.iter();
            pool.list == list
                && tables
                    .map(|table| (table.limit, table.percent))
                    .eq(limits.iter().map(|limit| (*limit, percent)))
        };
        if let Some(pool) = before.iter().find(same) {
            return pool.clone();
        }
        let tables = limits.iter();
        let tables = tables.map(|limit| Table {
            limit: *limit,
            percent,
            shelf: Mutex::default(),
        });
        Self {
            list,
            tables: tables.collect(),
        }
    }

    /// What `taker` takes from: each bucket, and how it fills.
    pub(super) fn buckets<'p>(
        &'p self,
        taker: &'p Taker<'_>,
        now_ns: u64,
    ) -> impl Iterator<Item = (Arc<Bucket>, Rate)> + 'p {
        let tables = self.tables.iter();
        tables.filter_map(move |table| {
            let share = share(table.limit.scope, taker)?;
            Some((table.bucket(share, now_ns), table.limit.rate))
        })
    }
}

impl Pool {
    /// What it limits, and how full its buckets are: those that are in use and those that aren't full, of each scope
    /// no more than `most`.
    pub(super) fn report(&self, most: usize, now_ns: u64) -> Vec<LimitReport> {
        let tables = self.tables.iter();
        tables.map(|table| table.report(most, now_ns)).collect()
    }
}

/// The buckets of a scope.
#[derive(Debug)]
struct Table {
    limit: Limit,
    /// How full they are at first.
    percent: u32,
    shelf: Mutex<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    buckets: HashMap<Share, Arc<Bucket>>,
    /// Buckets that the last clearing left.
    left: usize,
}

impl Table {
    fn bucket(&self, share: Share, now_ns: u64) -> Arc<Bucket> {
        let fresh = || Arc::new(Bucket::new(self.limit.rate, self.percent, now_ns));
        if self.limit.scope == Scope::Response {
            return fresh();
        }
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = shelf.buckets.get(&share) {
            return Arc::clone(bucket);
        }
        if shelf.buckets.len() >= BUCKETS_MAX.max(2 * shelf.left) {
            shelf.clear(now_ns);
        }
        Arc::clone(shelf.buckets.entry(share).or_insert_with(fresh))
    }
}

impl Table {
    fn report(&self, most: usize, now_ns: u64) -> LimitReport {
        let shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let buckets = shelf.buckets.iter().take(most);
        let mut levels: Vec<_> = buckets
            .map(|(share, bucket)| (name(share), bucket.level(now_ns)))
            .collect();
        let buckets = shelf.buckets.len();
        drop(shelf);
        levels.sort_unstable();
        LimitReport {
            scope: self.limit.scope,
            rate: self.limit.rate,
            buckets,
            levels,
        }
    }
}

impl Shelf {
    /// Drops the buckets of which there is nothing to remember; where that doesn't help, all that nobody uses. Those
    /// in use are no more than connections.
    fn clear(&mut self, now_ns: u64) {
        let is_used = |bucket: &Arc<Bucket>| Arc::strong_count(bucket) > 1;
        self.buckets
            .retain(|_, bucket| is_used(bucket) || !bucket.is_full(now_ns));
        if self.buckets.len() > BUCKETS_MAX / 2 {
            self.buckets.retain(|_, bucket| is_used(bucket));
        }
        self.left = self.buckets.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn limit(scope: Scope, bytes: u64) -> Limit {
        let rate = Rate {
            restore: bytes,
            max: bytes,
        };
        Limit { scope, rate }
    }

    fn pool(limits: &[Limit], before: &[Pool]) -> Pool {
        Pool::new(List::DelayAccess(1), limits, 100, before)
    }

    fn taker(user: Option<&str>) -> Taker<'_> {
        Taker {
            addr: "10.0.0.1".parse().unwrap(),
            user,
            tag: None,
        }
    }

    fn only(pool: &Pool, user: &str, now_ns: u64) -> Arc<Bucket> {
        pool.buckets(&taker(Some(user)), now_ns).next().unwrap().0
    }

    #[test]
    fn users_have_buckets_of_their_own_beside_the_common_one() {
        let pool = pool(&[limit(Scope::Aggregate, 9), limit(Scope::User, 5)], &[]);
        let of = |user| -> Vec<_> {
            pool.buckets(&taker(user), 0)
                .map(|(bucket, _)| bucket)
                .collect()
        };
        let (ann, bob, nobody) = (of(Some("ann")), of(Some("bob")), of(None));
        assert!(Arc::ptr_eq(&ann[0], &bob[0]) && Arc::ptr_eq(&ann[0], &nobody[0]));
        assert!(!Arc::ptr_eq(&ann[1], &bob[1]) && Arc::ptr_eq(&ann[1], &of(Some("ann"))[1]));
        assert_eq!(nobody.len(), 1);
    }

    #[test]
    fn equal_pools_keep_their_buckets() {
        let limits = [limit(Scope::User, 5)];
        let before = [pool(&limits, &[])];
        let ann = only(&before[0], "ann", 0);
        assert!(Arc::ptr_eq(&ann, &only(&pool(&limits, &before), "ann", 0)));
        for other in [
            pool(&[limit(Scope::User, 6)], &before),
            Pool::new(List::DelayAccess(2), &limits, 100, &before),
            Pool::new(List::DelayAccess(1), &limits, 50, &before),
        ] {
            assert!(!Arc::ptr_eq(&ann, &only(&other, "ann", 0)));
        }
    }

    #[test]
    fn the_table_is_bounded_and_remembers_debts() {
        let pool = pool(&[limit(Scope::User, 5)], &[]);
        only(&pool, "debtor", 0).take(50, 0);
        let used = only(&pool, "user", 0);
        for number in 0..BUCKETS_MAX {
            only(&pool, &number.to_string(), 0);
        }
        let count = || pool.tables[0].shelf.lock().unwrap().buckets.len();
        assert!(count() < 100, "{}", count());
        assert_eq!(only(&pool, "debtor", 0).take(0, 0), 9 * SECOND);
        assert!(Arc::ptr_eq(&used, &only(&pool, "user", 0)));
        // Debts of more than are to be kept are forgotten, but not those of who is here.
        used.take(50, 0);
        for number in 0..=BUCKETS_MAX {
            only(&pool, &number.to_string(), 0).take(9, 0);
        }
        assert!(count() < 100, "{}", count());
        assert_eq!(only(&pool, "user", 0).take(0, 0), 9 * SECOND);
    }
}
