//! What a client connection keeps of logins: the half of a handshake, the user that it belongs to, and a word for
//! the next reply. A connection on which nobody logs in keeps nothing.

use std::cell::RefCell;
use std::sync::Arc;

use super::User;
use super::said::Said;
use crate::helpers::Reserved;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ConnectionLogin(RefCell<Option<Box<State>>>);

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    /// `Authentication-Info` of the next reply.
    info: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Nobody,
    /// The child of this scheme waits for the client's answer.
    Challenged(&'static str, Reserved),
    /// All requests are the user's, until the client says something else than what it logged in with.
    LoggedIn(Arc<User>, Box<[u8]>),
}

impl ConnectionLogin {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(self.0.borrow_mut().get_or_insert_default())
    }

    /// Whose connection it is, if what the client says agrees.
    pub(super) fn user(&self, said: Option<&Said<'_>>) -> Option<Arc<User>> {
        let state = self.0.borrow();
        let Phase::LoggedIn(user, with) = &state.as_ref()?.phase else {
            return None;
        };
        let agrees = said.is_none_or(|said| *said.value == **with);
        agrees.then(|| Arc::clone(user))
    }

    /// It belongs to the user, who logged in with this field value.
    pub(super) fn is_of(&self, user: &Arc<User>, with: &[u8]) {
        self.change(|state| state.phase = Phase::LoggedIn(Arc::clone(user), with.into()));
    }

    /// The child waits for the client's answer.
    pub(super) fn challenged(&self, scheme: &'static str, child: Reserved) {
        self.change(|state| state.phase = Phase::Challenged(scheme, child));
    }

    /// The child that waits for an answer, if it is of this scheme. Whoever it was, the connection is nobody's now.
    pub(super) fn take_child(&self, scheme: &str) -> Option<Reserved> {
        let state = self
            .0
            .borrow_mut()
            .as_mut()
            .map(|state| std::mem::take(&mut state.phase));
        match state? {
            Phase::Challenged(of, child) if of == scheme => Some(child),
            Phase::Challenged(..) | Phase::LoggedIn(..) | Phase::Nobody => None,
        }
    }

    /// It is nobody's.
    pub(super) fn forget(&self) {
        if let Some(state) = self.0.borrow_mut().as_mut() {
            state.phase = Phase::Nobody;
        }
    }

    /// The next reply says this.
    pub(super) fn tell(&self, info: Vec<u8>) {
        self.change(|state| state.info = Some(info));
    }

    /// What the reply has to say.
    pub(super) fn take_info(&self) -> Option<Vec<u8>> {
        self.0.borrow_mut().as_mut()?.info.take()
    }

    /// Has a reply something to say?
    pub(crate) fn has_info(&self) -> bool {
        self.0
            .borrow()
            .as_ref()
            .is_some_and(|state| state.info.is_some())
    }
}
