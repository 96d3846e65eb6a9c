//! Request framing beside other implementations: where both accept, both must agree.

#[cfg(test)]
mod against_desync_guardian;
#[cfg(test)]
mod against_hyper;
#[cfg(test)]
mod common;
