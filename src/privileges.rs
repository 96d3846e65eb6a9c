//! Gives up root's rights, for good, once the ports are bound.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{Context as _, bail};
use config::Config;
use config::marks::Flows;
use nix::unistd::{Gid, Group, Uid, User, initgroups, setgid, setgroups, setuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_keep_capabilities,
};

/// Who we become when the configuration doesn't say: the first that exists.
const USUAL_USERS: [&str; 3] = ["proxy", "squid", "nobody"];

/// Becomes `cache_effective_user`. Does nothing when we are not root. Of root's rights the one to bind low ports
/// stays, for a reload may need it; and where packets are marked, the one to do that.
pub(crate) fn give_up(config: &Config) -> anyhow::Result<()> {
    if !Uid::effective().is_root() {
        return Ok(());
    }
    let user = user(config.cache_effective_user.as_deref())?;
    if user.uid.is_root() {
        return Ok(());
    }
    let name = std::ffi::CString::new(user.name.as_str())?;
    set_keep_capabilities(true).context("cannot keep the right to bind ports")?;
    match config.cache_effective_group.as_deref() {
        Some(group) => {
            let gid = group_id(group)?;
            setgroups(&[gid]).context("cannot set the groups")?;
            setgid(gid).context("cannot change the group")?;
        }
        None => {
            initgroups(&name, user.gid).context("cannot set the groups")?;
            setgid(user.gid).context("cannot change the group")?;
        }
    }
    setuid(user.uid).with_context(|| format!("cannot become user {}", user.name))?;
    let had = capabilities(None)?.permitted;
    let kept = wanted(config) & had;
    let kept = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept).context("cannot give up root's rights")
}

/// What is kept of root's rights.
fn wanted(config: &Config) -> CapabilitySet {
    let marks = !config.tcp_outgoing_mark.is_empty()
        || !config.mark_client_packet.is_empty()
        || config.qos_flows.mark != Flows::default();
    if marks {
        CapabilitySet::NET_BIND_SERVICE | CapabilitySet::NET_ADMIN
    } else {
        CapabilitySet::NET_BIND_SERVICE
    }
}

/// Gives a socket to the user that we become: only sockets of one user may share a port, and a reload
/// may add some.
pub(crate) fn hand_over(config: &Config, socket: &impl AsFd) {
    if !Uid::effective().is_root() {
        return;
    }
    if let Ok(user) = user(config.cache_effective_user.as_deref()) {
        let uid = rustix::process::Uid::from_raw(user.uid.as_raw());
        if let Err(error) = rustix::fs::fchown(socket, Some(uid), None) {
            tracing::debug!("a socket stays root's: {error}");
        }
    }
}

/// Makes a log file while we may still write anywhere, and gives it to the user that we become, so
/// that a log in a directory of root's needs no preparation. What can't be made is complained of
/// when it is opened.
pub(crate) fn prepare(config: &Config, path: &Path) {
    if !Uid::effective().is_root() || !path.is_absolute() || path.starts_with("/dev") {
        return;
    }
    let Ok(user) = user(config.cache_effective_user.as_deref()) else {
        return;
    };
    let made = File::options().append(true).create_new(true).open(path);
    if made.is_ok() {
        let (uid, gid) = (user.uid.as_raw(), user.gid.as_raw());
        drop(std::os::unix::fs::chown(path, Some(uid), Some(gid)));
    }
}

/// Gives a directory and the files in it, or a file, to the user that we become.
pub(crate) fn hand_over_tree(config: &Config, path: &Path) -> anyhow::Result<()> {
    if !Uid::effective().is_root() {
        return Ok(());
    }
    let user = user(config.cache_effective_user.as_deref())?;
    let (uid, gid) = (user.uid.as_raw(), user.gid.as_raw());
    let give = |path: &Path| {
        // Not where a link leads.
        std::os::unix::fs::lchown(path, Some(uid), Some(gid))
            .with_context(|| format!("cannot give {} to {}", path.display(), user.name))
    };
    give(path)?;
    if path.is_dir() {
        for entry in std::fs::read_dir(path)? {
            give(&entry?.path())?;
        }
    }
    Ok(())
}

/// The name of the user that we run as, for messages.
pub(crate) fn user_name() -> String {
    let uid = Uid::effective();
    match User::from_uid(uid) {
        Ok(Some(user)) => user.name,
        _ => uid.to_string(),
    }
}

fn user(asked: Option<&str>) -> anyhow::Result<User> {
    if let Some(name) = asked {
        let found = User::from_name(name).context("cannot read the users")?;
        return found.with_context(|| {
            format!("getpwnam failed to find userid for effective user '{name}'")
        });
    }
    for name in USUAL_USERS {
        if let Ok(Some(user)) = User::from_name(name) {
            return Ok(user);
        }
    }
    bail!("Don't run Squall as root, set 'cache_effective_user'!")
}

fn group_id(name: &str) -> anyhow::Result<Gid> {
    let found = Group::from_name(name).context("cannot read the groups")?;
    let group = found
        .with_context(|| format!("getgrnam failed to find groupid for effective group '{name}'"))?;
    Ok(group.gid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_that_does_not_exist_is_named() {
        let error = user(Some("no-such-user")).unwrap_err();
        assert!(error.to_string().contains("effective user 'no-such-user'"));
        assert_eq!(user(Some("root")).unwrap().uid, Uid::from_raw(0));
    }

    /// The right over the network's settings is great: only what marks packets needs it.
    #[test]
    fn only_marks_keep_the_right_to_mark() {
        for (conf, keeps) in [
            ("", false),
            (
                "tcp_outgoing_tos 0x20 all\nclientside_tos 0x20 all\nqos_flows tos local-hit=0x30",
                false,
            ),
            ("tcp_outgoing_mark 0x1 all", true),
            ("mark_client_packet 0x1 all", true),
            ("clientside_mark 0x1 all", true),
            ("qos_flows mark local-hit=0x30", true),
        ] {
            let config = config::parse(&format!("acl all src all\n{conf}"), "test").unwrap();
            let kept = wanted(&config);
            assert_eq!(kept.contains(CapabilitySet::NET_ADMIN), keeps, "{conf}");
            assert!(kept.contains(CapabilitySet::NET_BIND_SERVICE));
        }
    }
}
