//! Instances of ephemeral resources that have expired.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use wardian_address::ResourceInstanceAddress;

/// The instances that can no longer be used because they could not be renewed.
#[derive(Clone, Debug, Default)]
pub struct Expired(Arc<Mutex<HashSet<ResourceInstanceAddress>>>);

impl Expired {
    pub fn add(&self, address: &ResourceInstanceAddress) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(address.clone());
    }

    /// Returns an expired instance for which `is_meant` returns true.
    pub fn find(
        &self,
        is_meant: impl Fn(&ResourceInstanceAddress) -> bool,
    ) -> Option<ResourceInstanceAddress> {
        let expired = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        expired.iter().find(|address| is_meant(address)).cloned()
    }
}
