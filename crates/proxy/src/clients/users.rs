//! From how many addresses users log in (`max_user_ip`). An address counts for
//! `authenticate_ip_ttl` after it was last used.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use config::Config;
use smallvec::SmallVec;

use super::shards::{SHARDS, Shards, mean};

/// Users kept.
const USERS_MAX: usize = 65_536;

/// Addresses kept for a user; more count as so many.
const ADDRESSES_MAX: usize = 1024;

/// See the module. There is one where an ACL asks for it.
#[derive(Debug)]
pub struct UserAddresses {
    ttl_ns: u64,
    limits: Box<[Limit]>,
    users: Arc<Shards<Users>>,
}

type Users = HashMap<Arc<str>, SmallVec<[Seen; 2]>>;

/// An address that a user came from.
#[derive(Debug, Clone, Copy)]
struct Seen {
    addr: IpAddr,
    last_ns: u64,
}

/// A `max_user_ip` ACL.
#[derive(Debug, Clone, Copy)]
struct Limit {
    addresses: u32,
    /// `-s`: the address that is one too many is forgotten, rather than all.
    strict: bool,
}

impl UserAddresses {
    /// What the ACLs of the configuration need; users are carried over from `before`.
    pub(crate) fn of(config: &Config, before: Option<&Self>) -> Option<Self> {
        let lines = config.acls.iter().filter(|acl| acl.kind == "max_user_ip");
        let limits: Box<[Limit]> = lines.flat_map(limits).collect();
        (!limits.is_empty()).then(|| Self {
            ttl_ns: nanos(config.authenticate_ip_ttl),
            limits,
            users: before.map_or_else(Arc::default, |before| Arc::clone(&before.users)),
        })
    }

    /// Notes that the user came from the address.
    pub fn user_seen(&self, user: &Arc<str>, addr: IpAddr, now_ns: u64) {
        let mut users = self.users.of(&**user);
        if users.len() >= USERS_MAX / SHARDS && !users.contains_key(user) {
            let latest = |seen: &[Seen]| seen.iter().map(|seen| seen.last_ns).max().unwrap_or(0);
            let old = mean(users.values().map(|seen| latest(seen)));
            users.retain(|_, seen| latest(seen) > old);
        }
        let all = users.entry(Arc::clone(user)).or_default();
        all.retain(|seen| seen.addr != addr && now_ns.saturating_sub(seen.last_ns) <= self.ttl_ns);
        if all.len() >= ADDRESSES_MAX {
            all.remove(0);
        }
        let last_ns = now_ns;
        all.push(Seen { addr, last_ns });
    }

    /// From how many addresses the user comes, with this one. Where those are too many, the answer is
    /// given and the user begins anew, so that moving to another machine works at the second try; or,
    /// with `-s`, goes on with the addresses there were before.
    pub(crate) fn count(&self, user: &Arc<str>, addr: IpAddr, now_ns: u64) -> u32 {
        self.user_seen(user, addr, now_ns);
        let mut users = self.users.of(&**user);
        let Some(all) = users.get_mut(user) else {
            return 0;
        };
        let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let exceeded = |limit: &&Limit| count > limit.addresses;
        let mut exceeded = self.limits.iter().filter(exceeded).peekable();
        if exceeded.peek().is_some() {
            if exceeded.all(|limit| limit.strict) {
                all.retain(|seen| seen.addr != addr);
            } else {
                users.remove(user);
            }
        }
        count
    }
}

fn limits(line: &config::AclLine) -> Vec<Limit> {
    let strict = line.flags.iter().any(|flag| flag == "-s");
    let values = line
        .values
        .texts()
        .into_iter()
        .filter_map(|value| value.parse().ok());
    values
        .map(|addresses| Limit { addresses, strict })
        .collect()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(acls: &str) -> Option<UserAddresses> {
        let text = format!("authenticate_ip_ttl 60 seconds\n{acls}");
        UserAddresses::of(&config::parse(&text, "test").unwrap(), None)
    }

    fn counts(table: &UserAddresses, visits: &[(&str, &str, u64)]) -> Vec<u32> {
        let one = |(user, addr, secs): &(&str, &str, u64)| {
            let user: Arc<str> = (*user).into();
            table.count(&user, addr.parse().unwrap(), secs * 1_000_000_000)
        };
        visits.iter().map(one).collect()
    }

    #[test]
    fn there_is_none_without_an_acl() {
        assert!(table("acl x src 10.0.0.1").is_none());
    }

    #[test]
    fn addresses_of_a_user_add_up_until_they_expire() {
        let table = table("acl x max_user_ip 9").unwrap();
        let visits = [
            ("ann", "10.0.0.1", 100),
            ("ann", "10.0.0.2", 130),
            ("ann", "10.0.0.1", 140),
            ("bob", "10.0.0.2", 150),
            ("ann", "10.0.0.3", 195),
            ("ann", "10.0.0.3", 300),
        ];
        assert_eq!(counts(&table, &visits), [1, 2, 2, 1, 2, 1]);
    }

    #[test]
    fn who_has_too_many_begins_anew() {
        let table = table("acl x max_user_ip 1").unwrap();
        let visits = [
            ("ann", "10.0.0.1", 100),
            ("ann", "10.0.0.2", 101),
            ("ann", "10.0.0.2", 102),
            ("ann", "10.0.0.1", 103),
        ];
        assert_eq!(counts(&table, &visits), [1, 2, 1, 2]);
    }

    #[test]
    fn strictly_the_newcomer_stays_out() {
        let table = table("acl x max_user_ip -s 1").unwrap();
        let visits = [
            ("ann", "10.0.0.1", 100),
            ("ann", "10.0.0.2", 101),
            ("ann", "10.0.0.2", 102),
            ("ann", "10.0.0.1", 103),
        ];
        assert_eq!(counts(&table, &visits), [1, 2, 2, 1]);
    }

    #[test]
    fn users_and_their_addresses_are_bounded() {
        let table = table("acl x max_user_ip 9").unwrap();
        for number in 0..2 * USERS_MAX as u64 {
            let user: Arc<str> = format!("user{number}").into();
            table.user_seen(&user, "10.0.0.1".parse().unwrap(), number);
        }
        let kept: usize = table.users.all().map(|users| users.len()).sum();
        assert!(kept <= USERS_MAX, "{kept}");
        let user: Arc<str> = "many".into();
        for number in 0..2 * ADDRESSES_MAX {
            let addr = std::net::Ipv4Addr::from(u32::try_from(number).unwrap());
            table.user_seen(&user, addr.into(), 5);
        }
        assert_eq!(
            table.users.of("many").get("many").unwrap().len(),
            ADDRESSES_MAX
        );
    }
}
