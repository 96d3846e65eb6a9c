//! Work that waits for a disk on nobody's behalf: whoever wakes it, a thread of a volume, carries it on.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use crate::content::lock;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// See the module.
pub(super) struct Detached(Mutex<Option<Work>>);

impl Detached {
    /// Does what can be done at once, and the rest when it is woken. If it never is, nothing is left of it.
    pub(super) fn run(work: impl Future<Output = ()> + Send + 'static) {
        Arc::new(Self(Mutex::new(Some(Box::pin(work))))).go_on();
    }

    fn go_on(self: Arc<Self>) {
        let mut work = lock(&self.0);
        let waker = Waker::from(Arc::clone(&self));
        let ready = work.as_mut().is_some_and(|work| {
            work.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
        });
        if ready {
            *work = None;
        }
    }
}

impl Wake for Detached {
    fn wake(self: Arc<Self>) {
        self.go_on();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::Poll;

    use super::*;

    #[test]
    fn whoever_wakes_carries_on() {
        let (tell, told) = mpsc::channel();
        let (give, given) = mpsc::channel::<Waker>();
        let mut waited = false;
        let wait = std::future::poll_fn(move |cx| {
            if std::mem::replace(&mut waited, true) {
                return Poll::Ready(());
            }
            give.send(cx.waker().clone()).unwrap();
            Poll::Pending
        });
        Detached::run(async move {
            wait.await;
            tell.send(std::thread::current().id()).unwrap();
        });
        let waker = given.recv().unwrap();
        assert!(told.try_recv().is_err());
        let thread = std::thread::spawn(move || {
            waker.wake();
            std::thread::current().id()
        });
        assert_eq!(told.recv().unwrap(), thread.join().unwrap());
    }
}
