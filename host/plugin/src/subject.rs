//! For whom a call is made.
//!
//! Requests name resource types, as the protocol does; people know resource
//! instances by their addresses. A caller that runs a call inside
//! [`on_behalf_of`] lets whoever carries it out name the address in diagnostics,
//! log lines and audit records. It follows the future across threads, and ends
//! with it; a task spawned inside does not inherit it.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

thread_local! {
    static CURRENT: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// Runs `future` on behalf of `subject`: the address of a resource instance, a
/// provider configuration, or what else people know the work by.
pub async fn on_behalf_of<F: Future>(subject: impl Into<Arc<str>>, future: F) -> F::Output {
    let subject = subject.into();
    let mut future = pin!(future);
    poll_fn(|context| {
        let _entered = Entered(CURRENT.replace(Some(Arc::clone(&subject))));
        future.as_mut().poll(context)
    })
    .await
}

/// On whose behalf the current work is done.
pub fn current_subject() -> Option<Arc<str>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Puts back, also on a panic, what was before.
struct Entered(Option<Arc<str>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn each_future_has_its_own_subject_however_polls_interleave() {
        let mut outer = pin!(on_behalf_of("a.one", async {
            let before = current_subject();
            let inside = on_behalf_of("a.inner", async { current_subject() }).await;
            yield_once().await;
            (before, inside, current_subject())
        }));
        let mut other = pin!(on_behalf_of("a.two", async {
            yield_once().await;
            current_subject()
        }));
        let mut context = Context::from_waker(Waker::noop());
        assert!(outer.as_mut().poll(&mut context).is_pending());
        assert!(other.as_mut().poll(&mut context).is_pending());
        assert_eq!(current_subject(), None);
        let Poll::Ready((before, inside, after)) = outer.as_mut().poll(&mut context) else {
            panic!("the future is done after its second poll");
        };
        assert_eq!(before.as_deref(), Some("a.one"));
        assert_eq!(inside.as_deref(), Some("a.inner"));
        assert_eq!(after.as_deref(), Some("a.one"));
        assert_eq!(other.as_mut().poll(&mut context), Poll::Ready(Some("a.two".into())));
    }

    async fn yield_once() {
        let mut yielded = false;
        poll_fn(|_| if std::mem::replace(&mut yielded, true) { Poll::Ready(()) } else { Poll::Pending })
            .await;
    }
}
