//! For whom a call is made, and what must not be repeated of it.
//!
//! Requests name resource types, as the protocol does; people know resource
//! instances by their addresses. A caller that runs a call inside
//! [`on_behalf_of`] lets whoever carries it out name the address in diagnostics,
//! log lines and audit records, and mask in them what is [secret](Secrets). Both follow
//! the future across threads, and end with it; a task spawned inside does not inherit them.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

use crate::secrets::Secrets;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Work>>> = const { RefCell::new(None) };
}

struct Work {
    subject: Option<Arc<str>>,
    secrets: Secrets,
}

/// Runs `future` on behalf of `subject`: the address of a resource instance, a
/// provider configuration, or what else people know the work by. It has secrets of its own.
pub async fn on_behalf_of<F: Future>(subject: impl Into<Arc<str>>, future: F) -> F::Output {
    inside(Work { subject: Some(subject.into()), secrets: Secrets::default() }, future).await
}

/// Runs `future` with these secrets, on behalf of whom the current work is done.
pub async fn with_secrets<F: Future>(secrets: Secrets, future: F) -> F::Output {
    inside(Work { subject: current_subject(), secrets }, future).await
}

async fn inside<F: Future>(work: Work, future: F) -> F::Output {
    let work = Arc::new(work);
    let mut future = pin!(future);
    poll_fn(|context| {
        let _entered = Entered(CURRENT.replace(Some(Arc::clone(&work))));
        future.as_mut().poll(context)
    })
    .await
}

/// On whose behalf the current work is done.
pub fn current_subject() -> Option<Arc<str>> {
    CURRENT.with_borrow(|current| current.as_ref()?.subject.clone())
}

/// What must not be repeated of the current work. Where none goes on nothing that is added
/// counts.
pub fn current_secrets() -> Secrets {
    CURRENT.with_borrow(|current| current.as_ref().map(|work| work.secrets.clone())).unwrap_or_default()
}

/// Puts back, also on a panic, what was before.
struct Entered(Option<Arc<Work>>);

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

    #[test]
    fn secrets_belong_to_the_work_that_they_were_told_in() {
        let mut outer = pin!(on_behalf_of("a.one", async {
            current_secrets().add_text("of the outer");
            let inner = Secrets::beside([current_secrets()]);
            with_secrets(inner, async {
                current_secrets().add_text("of the inner");
                yield_once().await;
                let said = current_secrets().mask("of the outer, of the inner").into_owned();
                (current_subject(), said)
            })
            .await
        }));
        let mut context = Context::from_waker(Waker::noop());
        assert!(outer.as_mut().poll(&mut context).is_pending());
        assert_eq!(current_secrets().mask("of the outer"), "of the outer");
        let Poll::Ready((subject, said)) = outer.as_mut().poll(&mut context) else {
            panic!("the future is done after its second poll");
        };
        assert_eq!(subject.as_deref(), Some("a.one"));
        assert_eq!(said, "(sensitive value), (sensitive value)");
    }

    async fn yield_once() {
        let mut yielded = false;
        poll_fn(|_| if std::mem::replace(&mut yielded, true) { Poll::Ready(()) } else { Poll::Pending })
            .await;
    }
}
