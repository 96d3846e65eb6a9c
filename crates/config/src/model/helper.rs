//! Pools of helper programs.

use std::time::Duration;

/// `url_rewrite_children` and the like: how many helpers there are, and how they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Most helpers at a time.
    pub children: u32,
    /// Helpers started at once.
    pub startup: u32,
    /// Helpers that are kept ready beyond the busy ones.
    pub idle: u32,
    /// Questions that a helper is asked at the same time; 0: one, without a channel number.
    pub concurrency: u32,
    /// Questions that wait for a helper; `None` is twice `children`.
    pub queue_size: Option<u32>,
    /// What happens when the queue stays full.
    pub overload: Overload,
    /// A helper that a client has begun to log in with goes to others after this silence.
    pub reservation: Duration,
}

/// `on-persistent-overload=`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overload {
    /// The program ends.
    Die,
    /// Further questions are answered by an error.
    Err,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            children: 20,
            startup: 0,
            idle: 1,
            concurrency: 0,
            queue_size: None,
            overload: Overload::Die,
            reservation: Duration::from_secs(64),
        }
    }
}
