//! Invalidation: stored responses go, or become stale, because somebody says so: by key, by tag, by a test of the key.
//!
//! An invalidation is a [`Ban`] with a number. A response carries the number of the last one that it stood against, and one
//! that was asked for before a ban is judged by it whenever it arrives.
//!
//! | phase of a ban | who moves it on |
//! | --- | --- |
//! | in force | [`Store::ban`]: from now on no lookup gives what it meets |
//! | carried out | [`Store::carry_out`]: all that is stored has been judged by it; its count is the receipt |
//! | swept | [`Store::sweep`]: every stored response carries its number or a later one |
//! | forgotten | the next `ban`, some time later: what was asked for before it isn't trusted any more |

mod ban;
mod ledger;
mod tag;

use std::sync::Arc;

pub use ban::{Aim, Ban, KeyTest, Way};
pub use ledger::TooManyBans;
pub use tag::Tag;

pub(crate) use ledger::Ledger;

use crate::key::KeyRef;
use crate::object::{Object, Weigh};
use crate::store::Store;
use crate::tier::Volumes;
use ledger::Fate;

impl<M: Weigh> Store<M> {
    /// From now on no lookup gives what `aim` meets, nor what was asked for before and arrives later. `now` in Unix seconds.
    ///
    /// # Errors
    /// There are too many that haven't been swept. One may be made after the next [`Store::sweep`].
    pub fn ban(&self, aim: Aim, way: Way, now: i64) -> Result<Arc<Ban>, TooManyBans> {
        let ban = self.ledger().add(aim, way, now)?;
        let Some(volumes) = self.volumes() else {
            return Ok(ban);
        };
        match (&ban.aim, way) {
            (Aim::Key(_), _) => {}
            (Aim::Tagged { tags, .. }, Way::Remove) if volumes.bury(tags) => {}
            (Aim::Tagged { .. } | Aim::Keys(_), _) => volumes.note_ban(ban.moment),
        }
        Ok(ban)
    }

    /// Applies a ban to all that is stored; returns how many objects it has met so far. By key and by tag only those are
    /// looked at; a test of keys goes through all.
    pub fn carry_out(&self, ban: &Ban) -> u64 {
        match &ban.aim {
            Aim::Key(key) => {
                let on_disk = self.volumes().is_some_and(|volumes| volumes.remove(key));
                let in_memory = self.index().under(KeyRef::new(key));
                if in_memory.is_empty() && on_disk {
                    ban.count();
                }
                self.judge_all(&in_memory);
            }
            Aim::Tagged { tags, .. } => self.each_tagged(tags, |object| {
                self.stands(object);
            }),
            Aim::Keys(_) => self.sweep(ban.at),
        }
        self.ledger().met_by(ban)
    }

    /// Removes what has any of these tags; returns how many objects that were. What is arriving only now isn't met.
    pub fn remove_tagged(&self, tags: &[Tag]) -> usize {
        if let Some(volumes) = self.volumes()
            && !volumes.bury(tags)
        {
            self.ban_instead(tags, &volumes);
        }
        let mut removed = 0;
        self.each_tagged(tags, |object| {
            removed += usize::from(self.remove_object(object));
        });
        removed
    }

    /// What can't be written down on disk must be remembered; if that can't be either, nothing is left there.
    #[cold]
    fn ban_instead(&self, tags: &[Tag], volumes: &Volumes) {
        let aim = Aim::Tagged {
            tags: tags.into(),
            under: [].into(),
        };
        match self.ledger().add(aim, Way::Remove, 0) {
            Ok(ban) => volumes.note_ban(ban.moment),
            Err(TooManyBans) => volumes.clear(),
        }
    }

    /// Judges all that is stored, so that bans can be forgotten. Takes time; other threads go on meanwhile.
    pub fn sweep(&self, now: i64) {
        let newest = self.ledger().newest();
        self.index()
            .for_each_shard(|objects| self.judge_all(objects));
        self.ledger().swept(newest, now);
    }

    /// Is it time for a [`Store::sweep`]? Never without bans.
    pub fn sweep_is_due(&self, now: i64) -> bool {
        self.ledger().sweep_is_due(now)
    }

    /// May a request from now on get this object? If not, it is out of the index, and what took its place is for a lookup
    /// to find. Without bans since it was judged last, a load and a compare.
    #[inline]
    pub fn stands(&self, object: &Arc<Object<M>>) -> bool {
        object.judged() >= self.ledger().newest() || self.judge(object)
    }

    fn judge_all(&self, objects: &[Arc<Object<M>>]) {
        for object in objects {
            self.stands(object);
        }
    }

    fn each_tagged(&self, tags: &[Tag], mut act: impl FnMut(&Arc<Object<M>>)) {
        if tags.is_empty() {
            return; // what most unsafe requests invalidate: no lock is worth it
        }
        self.index()
            .for_each_tagged(tags, |objects| objects.iter().for_each(&mut act));
    }

    /// Whoever takes the object out of the index has it counted, so that each is counted once.
    #[cold]
    fn judge(&self, object: &Arc<Object<M>>) -> bool {
        let (key, tags) = (object.key(), object.meta.tags());
        let fate = self
            .ledger()
            .judge(object.judged(), key, tags, |fate, number| match fate {
                Fate::Stands => {
                    object.set_judged(number);
                    false
                }
                Fate::Stale { since } => self.make_stale(object, since, number),
                Fate::Gone => self.remove_object(object),
            });
        fate == Fate::Stands
    }

    /// Puts a stale twin into the object's place; what can't be stale goes. False if the object wasn't there any more.
    fn make_stale(&self, object: &Arc<Object<M>>, since: i64, judged: u64) -> bool {
        let stale = object.meta.stale_since(since);
        let Some(meta) = stale.filter(|_| object.is_complete()) else {
            return self.remove_object(object);
        };
        let twin = object.renewed(meta, judged);
        let key = KeyRef::new(object.key());
        let renewed = self.index().renew(key, object, &twin).is_some();
        if renewed {
            self.save(&twin);
        }
        renewed
    }
}
