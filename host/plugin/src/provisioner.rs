//! The provisioner's calls.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use wardian_value::Value;

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
    async fn schema(&self) -> Result<Arc<Schema>, PluginDiagnostics>;

    /// Checks a configuration, which may hold unknown values.
    async fn validate_config(&self, config: Value) -> PluginDiagnostics;

    /// Does the work, telling `output` what it shows meanwhile.
    async fn provision(
        &self,
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
pub struct SharedByObject(Arc<Mutex<Vec<Arc<dyn Any + Send + Sync>>>>);

impl SharedByObject {
    /// What was left of this type that fits, or else what is made now, which is left.
    pub fn find_or_leave<T: Any + Send + Sync>(
        &self,
        fits: impl Fn(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = left.iter().filter_map(|one| Arc::clone(one).downcast::<T>().ok());
        if let Some(found) = known.find(|one| fits(one)) {
            return found;
        }
        let made = Arc::new(make());
        left.push(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        made
    }
}

impl fmt::Debug for SharedByObject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedByObject")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_leaves_the_next_finds() {
        let shared = SharedByObject::default();
        let one = shared.find_or_leave(|_: &u8| true, || 1);
        let text = shared.find_or_leave(|_: &String| true, || "a".to_owned());
        assert!(Arc::ptr_eq(&one, &shared.clone().find_or_leave(|found| *found == 1, || 2)));
        assert_eq!((*shared.find_or_leave(|found: &u8| *found == 3, || 3), &**text), (3, "a"));
    }
}
