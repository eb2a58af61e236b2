//! The trait for provisioner calls.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use wardian_value::Value;

use crate::call_context::CallContext;
use crate::diagnostic::PluginDiagnostics;
use crate::schema::Schema;

/// A provisioner runs steps for an object that has just been created or will be destroyed.
///
/// Values have the schema's implied type and no marks. All calls can be made concurrently; dropping
/// a call cancels it and all operations that it has started. This trait does not define what a
/// provisioner may access: the implementation of the calls checks each access.
#[async_trait]
pub trait Provisioner: Send + Sync {
    /// Returns the schema of the provisioner's configuration.
    async fn schema(&self, context: &CallContext) -> Result<Arc<Schema>, PluginDiagnostics>;

    /// Validates a configuration, which may contain unknown values.
    async fn validate_config(&self, context: &CallContext, config: Value) -> PluginDiagnostics;

    /// Runs the steps, and passes their output to `output`.
    async fn provision(
        &self,
        context: &CallContext,
        request: ProvisionRequest,
        output: &mut ProvisionOutput<'_>,
    ) -> PluginDiagnostics;

    /// Requests that the calls in progress end gracefully; they still return. The error is the
    /// reason why the request failed.
    async fn stop(&self) -> Result<(), String>;
}

/// Receives a provisioner's output: one or more lines, each with or without its line break.
pub type ProvisionOutput<'a> = dyn FnMut(&str) + Send + 'a;

/// The request of [`Provisioner::provision`].
#[derive(Clone, Debug)]
pub struct ProvisionRequest {
    /// The configuration, without unknown values.
    pub config: Value,
    /// The connection to the object: the value of the `connection` blocks, without unknown values;
    /// null if there are none.
    pub connection: Value,
    /// State shared by the provisioners of this object.
    pub shared: SharedByObject,
}

/// State shared by the provisioners of one object, such as open connections. Only the
/// implementation of the calls accesses it. The state is dropped with its last clone.
#[derive(Clone, Default)]
pub struct SharedByObject(Arc<Mutex<Vec<Arc<dyn Shareable>>>>);

/// A value that can be shared by provisioners.
#[async_trait]
pub trait Shareable: Any + Send + Sync {
    /// Closes the value gracefully, within a short time. If this function is not called, the value
    /// is closed when it is dropped.
    async fn close(&self);
}

impl SharedByObject {
    /// Returns a shared value of this type for which `fits` returns true. If there is none, creates
    /// one and shares it.
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

    /// Closes the shared values. Must be called after the object's last provisioner.
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
    fn shared_value_is_found_by_next_provisioner() {
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
    fn closed_value_is_created_again() {
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
