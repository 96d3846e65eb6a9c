//! What is learnt of a transaction while it goes on: answers to [`Question`]s, and what ACLs and helpers note.
//! Made with the request, empty and without cost until something is learnt; each fact is learnt once.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use smallvec::SmallVec;

/// See the module.
#[derive(Debug, Default)]
pub struct Learnt(OnceCell<Box<Facts>>);

#[derive(Debug, Default)]
struct Facts {
    indirect_client: Cell<Option<IpAddr>>,
    delayed_client: Cell<Option<IpAddr>>,
    target: TargetFacts,
    client_name: OnceCell<Box<str>>,
    user: OnceCell<Arc<str>>,
    client_connections: Cell<Option<u32>>,
    user_addresses: Cell<Option<u32>>,
    client_mac: Cell<Option<Option<[u8; 6]>>>,
    store_id: OnceCell<Box<[u8]>>,
    external_login: RefCell<ExternalLogin>,
    notes: RefCell<Notes>,
    client_notes: RefCell<Option<Notes>>,
    /// Indices of the ACLs that have annotated.
    annotated: RefCell<SmallVec<[u32; 4]>>,
}

/// Index of an `external` ACL, and what its helper said; `None`: it was asked in vain.
type Asked = (u32, Option<bool>);

/// What was asked with the target in mind.
#[derive(Debug, Default)]
struct TargetFacts {
    destination: OnceCell<Arc<[IpAddr]>>,
    destination_name: OnceCell<Box<str>>,
    externals: RefCell<SmallVec<[Asked; 4]>>,
    /// Of the target that took this one's place.
    next: OnceCell<Box<Self>>,
}

/// The login that external ACLs named, for peers.
#[derive(Clone, Default)]
pub struct ExternalLogin {
    /// `user=`
    pub user: Option<Arc<str>>,
    /// `password=`, as the helper said it. No log and no other helper gets it.
    pub password: Option<Arc<[u8]>>,
}

impl fmt::Debug for ExternalLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ExternalLogin");
        shown.field("user", &self.user).finish_non_exhaustive()
    }
}

impl Facts {
    /// Those of the target as it is now.
    fn target(&self) -> &TargetFacts {
        let mut latest = &self.target;
        while let Some(next) = latest.next.get() {
            latest = next;
        }
        latest
    }
}

impl Learnt {
    /// For a transaction on a connection that `annotate_client` has annotated before.
    pub fn with_client_notes(notes: &Notes) -> Self {
        let learnt = Self::default();
        learnt.note(|own| own.clone_from(notes));
        learnt.facts().client_notes.replace(Some(notes.clone()));
        learnt
    }

    fn facts(&self) -> &Facts {
        self.0.get_or_init(Box::default)
    }

    /// The client that trusted proxies say they ask for, as ACLs see it (`follow_x_forwarded_for`,
    /// `acl_uses_indirect_client`); `None` where it is the one that is connected.
    pub fn indirect_client(&self) -> Option<IpAddr> {
        self.0.get()?.indirect_client.get()
    }

    /// Notes it.
    pub fn learn_indirect_client(&self, addr: IpAddr) {
        self.facts().indirect_client.set(Some(addr));
    }

    /// The same as delay pools see it (`delay_pool_uses_indirect_client`).
    pub fn delayed_client(&self) -> Option<IpAddr> {
        self.0.get()?.delayed_client.get()
    }

    /// Notes it.
    pub fn learn_delayed_client(&self, addr: IpAddr) {
        self.facts().delayed_client.set(Some(addr));
    }

    /// The addresses of the target's host: `None` is not asked yet, empty is asked in vain.
    pub fn destination(&self) -> Option<&[IpAddr]> {
        Some(self.0.get()?.target().destination.get()?)
    }

    /// Notes them.
    pub fn learn_destination(&self, addresses: Arc<[IpAddr]>) {
        self.facts().target().destination.get_or_init(|| addresses);
    }

    /// Name of a target that is an address: `None` is not asked yet, empty is asked in vain.
    pub fn destination_name(&self) -> Option<&str> {
        Some(self.0.get()?.target().destination_name.get()?)
    }

    /// Notes it.
    pub fn learn_destination_name(&self, name: &str) {
        let facts = self.facts().target();
        facts.destination_name.get_or_init(|| name.into());
    }

    /// Name of the client's address: `None` is not asked yet, empty is asked in vain.
    pub fn client_name(&self) -> Option<&str> {
        Some(self.0.get()?.client_name.get()?)
    }

    /// Notes it.
    pub fn learn_client_name(&self, name: &str) {
        self.facts().client_name.get_or_init(|| name.into());
    }

    /// Who has logged in: `None` is not asked yet. In vain isn't an answer: the client is challenged.
    pub fn user(&self) -> Option<&Arc<str>> {
        self.0.get()?.user.get()
    }

    /// Notes it.
    pub fn learn_user(&self, user: Arc<str>) {
        self.facts().user.get_or_init(|| user);
    }

    /// Connections that the client's address has open: `None` is not asked yet.
    pub fn client_connections(&self) -> Option<u32> {
        self.0.get()?.client_connections.get()
    }

    /// Notes them.
    pub fn learn_client_connections(&self, count: u32) {
        self.facts().client_connections.set(Some(count));
    }

    /// Addresses that the user logs in from: `None` is not asked yet.
    pub fn user_addresses(&self) -> Option<u32> {
        self.0.get()?.user_addresses.get()
    }

    /// Notes them.
    pub fn learn_user_addresses(&self, count: u32) {
        self.facts().user_addresses.set(Some(count));
    }

    /// The client's hardware address: `None` is not asked yet, `Some(None)` is asked in vain.
    pub fn client_mac(&self) -> Option<Option<[u8; 6]>> {
        self.0.get()?.client_mac.get()
    }

    /// Notes it.
    pub fn learn_client_mac(&self, mac: Option<[u8; 6]>) {
        self.facts().client_mac.set(Some(mac));
    }

    /// What the helper said of the `external` ACL with this index: `None` is not asked yet.
    pub fn external(&self, acl: u32) -> Option<bool> {
        self.asked_external(acl).flatten()
    }

    /// Was the helper asked in vain?
    pub fn is_external_unknown(&self, acl: u32) -> bool {
        self.asked_external(acl) == Some(None)
    }

    fn asked_external(&self, acl: u32) -> Option<Option<bool>> {
        let externals = self.0.get()?.target().externals.borrow();
        let found = externals.iter().find(|(known, _)| *known == acl);
        found.map(|(_, matches)| *matches)
    }

    /// Notes it.
    pub fn learn_external(&self, acl: u32, matches: bool) {
        let mut externals = self.facts().target().externals.borrow_mut();
        externals.push((acl, Some(matches)));
    }

    /// Notes that it can't be found out.
    pub fn fail_external(&self, acl: u32) {
        let mut externals = self.facts().target().externals.borrow_mut();
        externals.push((acl, None));
    }

    /// The login that external ACLs named.
    pub fn external_login(&self) -> ExternalLogin {
        let login = self.0.get().map(|facts| facts.external_login.borrow());
        login.map_or_else(ExternalLogin::default, |login| login.clone())
    }

    /// Notes what a helper said of it; what it didn't name stays.
    pub fn learn_external_login(&self, said: &ExternalLogin) {
        let mut login = self.facts().external_login.borrow_mut();
        if let Some(user) = &said.user {
            login.user = Some(Arc::clone(user));
        }
        if let Some(password) = &said.password {
            login.password = Some(Arc::clone(password));
        }
    }

    /// The request is for another target from now on: what was learnt of the old one, and by external ACLs that may
    /// have been told of it, isn't known any more.
    pub fn forget_target(&self) {
        if let Some(facts) = self.0.get() {
            facts.target().next.get_or_init(Box::default);
        }
    }

    /// What the response is stored under, where that isn't the URL.
    pub fn store_id(&self) -> Option<&[u8]> {
        self.0.get()?.store_id.get().map(|id| &**id)
    }

    /// Notes it.
    pub fn learn_store_id(&self, id: &[u8]) {
        self.facts().store_id.get_or_init(|| id.into());
    }

    /// What ACLs and helpers have noted so far.
    pub fn notes<T>(&self, read: impl FnOnce(&Notes) -> T) -> Option<T> {
        Some(read(&self.0.get()?.notes.borrow()))
    }

    /// What `annotate_client` has noted, to be kept with the connection; `None` when nothing.
    pub fn client_notes(&self) -> Option<Notes> {
        self.0.get()?.client_notes.borrow().clone()
    }

    /// May the ACL with this index annotate the transaction? It does so once, though it may be asked again: a list is
    /// checked anew for each fact that is learnt.
    pub(crate) fn may_annotate(&self, acl: u32) -> bool {
        let mut annotated = self.facts().annotated.borrow_mut();
        let may = !annotated.contains(&acl);
        if may {
            annotated.push(acl);
        }
        may
    }

    /// Annotates the transaction, and its connection if `client`.
    pub(crate) fn annotate(&self, client: bool, mut change: impl FnMut(&mut Notes)) {
        let facts = self.facts();
        change(&mut facts.notes.borrow_mut());
        if client {
            change(facts.client_notes.borrow_mut().get_or_insert_default());
        }
    }

    /// Notes something of the client's connection: its later transactions know it too.
    pub fn note_client(&self, name: &str, value: &str) {
        let mut notes = self.facts().client_notes.borrow_mut();
        notes.get_or_insert_default().set(name, value);
    }

    /// Adds to the notes, or changes them.
    pub fn note(&self, change: impl FnOnce(&mut Notes)) {
        change(&mut self.facts().notes.borrow_mut());
    }
}

/// Annotations: names with values, in the order in which they came; a name may come again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes(Vec<(Box<str>, Box<str>)>);

impl Notes {
    /// Adds a value to those of the name.
    pub fn add(&mut self, name: &str, value: &str) {
        self.0.push((name.into(), value.into()));
    }

    /// Makes it the only value of the name.
    pub fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.add(name, value);
    }

    /// Puts a value behind the latest of the name, with a delimiter between; adds it when there is none.
    pub fn append(&mut self, name: &str, value: &str, delimiter: char) {
        let latest = self.0.iter_mut().rev().find(|(known, _)| **known == *name);
        match latest {
            Some((_, known)) => *known = format!("{known}{delimiter}{value}").into(),
            None => self.add(name, value),
        }
    }

    /// Takes all values of the name away.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| **known != *name);
    }

    /// The values of the name.
    pub fn all<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n str> {
        let of_name = self.0.iter().filter(move |(known, _)| **known == *name);
        of_name.map(|(_, value)| &**value)
    }

    /// The latest value of the name.
    pub fn last<'n>(&'n self, name: &'n str) -> Option<&'n str> {
        self.all(name).last()
    }

    /// All names with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_before_it_is_learnt_and_nothing_is_learnt_twice() {
        let learnt = Learnt::default();
        assert_eq!(learnt.destination(), None);
        assert_eq!(learnt.external(3), None);
        learnt.learn_destination(Arc::new([]));
        learnt.learn_destination(Arc::new(["192.0.2.1".parse().unwrap()]));
        assert_eq!(learnt.destination(), Some([].as_slice()));
        learnt.learn_external(3, true);
        assert_eq!((learnt.external(3), learnt.external(4)), (Some(true), None));
        learnt.fail_external(5);
        assert_eq!(
            (learnt.external(5), learnt.is_external_unknown(5)),
            (None, true)
        );
        assert!(!learnt.is_external_unknown(3) && !learnt.is_external_unknown(4));
        assert_eq!(learnt.client_name(), None);
    }

    #[test]
    fn another_target_is_learnt_anew() {
        let learnt = Learnt::default();
        learnt.forget_target();
        for name in ["first", "second", "third"] {
            assert_eq!(learnt.destination_name(), None);
            assert_eq!(learnt.external(3), None);
            learnt.learn_destination_name(name);
            learnt.learn_external(3, true);
            assert_eq!(learnt.destination_name(), Some(name));
            learnt.learn_client_name("client");
            learnt.forget_target();
        }
        assert_eq!(learnt.destination_name(), None);
        assert_eq!(learnt.client_name(), Some("client"));
    }

    #[test]
    fn notes_keep_their_order() {
        let mut notes = Notes::default();
        notes.add("group", "a");
        notes.add("user", "x");
        notes.add("group", "b");
        assert_eq!(notes.all("group").collect::<Vec<_>>(), ["a", "b"]);
        notes.set("group", "c");
        assert_eq!(notes.last("group"), Some("c"));
        assert_eq!(notes.iter().count(), 2);
        notes.append("group", "d", ':');
        notes.append("new", "e", ':');
        assert_eq!(
            (notes.last("group"), notes.last("new")),
            (Some("c:d"), Some("e"))
        );
    }
}
