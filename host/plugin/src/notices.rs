//! Diagnostics of the host about a call that is in progress.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{PluginDiagnostic, PluginDiagnostics};

/// Maximum number of notices of a call, since a plugin may try many accesses.
const MAX_NOTICES: usize = 20;

/// Collects diagnostics of this host about one call, for a caller that shows nothing but the response:
/// another host to which the plugin is served. Clones share the diagnostics.
#[derive(Clone, Debug, Default)]
pub struct CallNotices(Arc<Mutex<PluginDiagnostics>>);

impl CallNotices {
    /// Adds a diagnostic, unless the same one was added.
    pub fn add(&self, notice: PluginDiagnostic) {
        let mut notices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() < MAX_NOTICES && !notices.contains(&notice) {
            notices.push(notice);
        }
    }

    /// Removes and returns the diagnostics.
    pub fn take(&self) -> PluginDiagnostics {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_collected_once_and_limited() {
        let notices = CallNotices::default();
        let clone = notices.clone();
        for _ in 0..3 {
            clone.add(PluginDiagnostic::warning("Denied by policy", "a"));
        }
        assert_eq!(notices.take().len(), 1);
        assert!(clone.take().is_empty());
        for number in 0..2 * MAX_NOTICES {
            notices.add(PluginDiagnostic::warning("Denied by policy", number.to_string()));
        }
        assert_eq!(notices.take().len(), MAX_NOTICES);
    }
}
