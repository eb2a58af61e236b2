//! The provisioner's calls.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use wardian_value::Value;

use crate::call_context::CallContext;
use crate::diagnostic::PluginDiagnostics;
use crate::schema::Schema;

/// A provisioner: work on an object that was just created, or is about to go.
///
/// Values are against the schema's implied type and bear no marks. All calls may be made
/// concurrently; one that is dropped is given up, with all that it started. What a
/// provisioner may touch is not said here: whoever carries the calls out decides that for
/// each call, and hands over no more.
#[async_trait]
pub trait Provisioner: Send + Sync {
    /// The schema of its configuration.
    async fn schema(&self, context: &CallContext) -> Result<Arc<Schema>, PluginDiagnostics>;

    /// Checks a configuration, which may hold unknown values.
    async fn validate_config(&self, context: &CallContext, config: Value) -> PluginDiagnostics;

    /// Does the work, telling `output` what it shows meanwhile.
    async fn provision(
        &self,
        context: &CallContext,
        request: ProvisionRequest,
        output: &mut ProvisionOutput<'_>,
    ) -> PluginDiagnostics;

    /// Asks for an orderly end of what is in flight; calls still answer. The error says
    /// why it could not be asked for.
    async fn stop(&self) -> Result<(), String>;
}

/// Hears what a provisioner shows: a line or several, each with or without its break.
pub type ProvisionOutput<'a> = dyn FnMut(&str) + Send + 'a;

/// See [`Provisioner::provision`].
#[derive(Clone, Debug)]
pub struct ProvisionRequest {
    /// Wholly known.
    pub config: Value,
    /// How the object is reached: what its connection blocks say, wholly known; null where
    /// there are none.
    pub connection: Value,
    /// What the provisioners of this object have in common.
    pub shared: SharedByObject,
}

/// What the provisioners of one object leave to those after them: open connections. Only
/// whoever carries the calls out looks into it; it ends with its last clone.
#[derive(Clone, Default)]
pub struct SharedByObject(Arc<Mutex<Vec<Arc<dyn Shareable>>>>);

/// What can be left.
#[async_trait]
pub trait Shareable: Any + Send + Sync {
    /// Brings it to an orderly end, soon. Without this, it ends as it may when it is dropped.
    async fn close(&self);
}

impl SharedByObject {
    /// What was left of this type that fits, or else what is made now, which is left.
    pub fn find_or_leave<T: Shareable>(&self, fits: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Arc<T> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = left.iter().filter_map(|one| {
            let one: Arc<dyn Any + Send + Sync> = Arc::<dyn Shareable>::clone(one);
            one.downcast::<T>().ok()
        });
        if let Some(found) = known.find(|one| fits(one)) {
            return found;
        }
        let made = Arc::new(make());
        left.push(Arc::<T>::clone(&made));
        made
    }

    /// Closes what was left. To be called when no provisioner of the object follows.
    pub async fn close(&self) {
        let left = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for one in left {
            one.close().await;
        }
    }
}

impl fmt::Debug for SharedByObject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedByObject")
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Waker};

    use super::*;

    #[derive(Default)]
    struct Left<T> {
        value: T,
        is_closed: AtomicBool,
    }

    fn left<T>(value: T) -> Left<T> {
        Left { value, is_closed: AtomicBool::new(false) }
    }

    #[async_trait]
    impl<T: Send + Sync + 'static> Shareable for Left<T> {
        async fn close(&self) {
            assert!(!self.is_closed.swap(true, Ordering::Relaxed), "once is enough");
        }
    }

    #[test]
    fn what_one_leaves_the_next_finds() {
        let shared = SharedByObject::default();
        let one = shared.find_or_leave(|_: &Left<u8>| true, || left(1));
        let text = shared.find_or_leave(|_: &Left<&str>| true, || left("a"));
        assert!(Arc::ptr_eq(
            &one,
            &shared.clone().find_or_leave(|found: &Left<u8>| found.value == 1, || left(2))
        ));
        let third = shared.find_or_leave(|found: &Left<u8>| found.value == 3, || left(3));
        assert_eq!((third.value, text.value), (3, "a"));
    }

    #[test]
    fn what_is_left_is_closed_and_then_made_anew() {
        let shared = SharedByObject::default();
        let one = shared.find_or_leave(|_: &Left<u8>| true, || left(1));
        let mut context = Context::from_waker(Waker::noop());
        for shared in [shared.clone(), shared.clone()] {
            assert!(pin!(shared.close()).poll(&mut context).is_ready());
        }
        assert!(one.is_closed.load(Ordering::Relaxed));
        let other = shared.find_or_leave(|_: &Left<u8>| true, || left(2));
        assert!(!other.is_closed.load(Ordering::Relaxed) && other.value == 2);
    }
}
