//! Delay pools: bandwidth that requests, clients or responses share.

/// How fast a bucket fills, and how much it holds: bytes in a second, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// What is added in a second.
    pub restore: u64,
    /// What it holds.
    pub max: u64,
}

/// Who shares a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Everybody in the pool.
    Aggregate,
    /// A network of clients.
    Network,
    /// A client, told from others by so many of the lowest bits of an IPv4 address.
    Individual(u8),
    /// A user who has logged in.
    User,
    /// All to whom an external ACL gave the same tag.
    Tag,
    /// A client, by its whole address.
    Client,
    /// Nobody: each response has one of its own.
    Response,
}

/// A bucket for each of those whom the scope tells apart. What isn't limited has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Who shares a bucket.
    pub scope: Scope,
    /// What each holds.
    pub rate: Rate,
}

/// `delay_class`: whom the buckets of a pool tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayClass {
    /// 1: nobody.
    Aggregate,
    /// 2: clients too.
    Individual,
    /// 3: networks too.
    Network,
    /// 4: users too.
    User,
    /// 5: tags, and nothing else.
    Tag,
}

impl DelayClass {
    /// Its buckets, in the order in which `delay_parameters` has them.
    #[must_use]
    pub const fn scopes(self) -> &'static [Scope] {
        use Scope::{Aggregate, Individual, Network, Tag, User};
        match self {
            Self::Aggregate => &[Aggregate],
            Self::Individual => &[Aggregate, Individual(8)],
            Self::Network => &[Aggregate, Network, Individual(16)],
            Self::User => &[Aggregate, Network, Individual(16), User],
            Self::Tag => &[Tag],
        }
    }
}

/// A pool of `delay_pools` with its `delay_class` and `delay_parameters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayPool {
    /// Its class.
    pub class: DelayClass,
    /// What it limits; nothing without parameters.
    pub limits: Vec<Limit>,
}

/// `response_delay_pool`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponsePool {
    /// What `response_delay_pool_access` calls it.
    pub name: String,
    /// What it limits.
    pub limits: Vec<Limit>,
    /// How full its buckets are at first, percent.
    pub initial_bucket_level: u32,
}
