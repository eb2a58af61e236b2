//! Restricts the files that the host itself reads for a configuration.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::call_context::CallContext;

/// Decides whether a configuration may have a file or directory read by one of the host's own
/// functions or data sources. The default allows every file that the system does: the
/// configuration is the user's.
#[derive(Clone, Default)]
pub struct FileGate(Option<Arc<Decide>>);

/// The reason is shown to users, as part of a sentence.
type Decide = dyn Fn(&CallContext, &Path) -> Result<(), String> + Send + Sync;

impl FileGate {
    /// Creates a gate with this decision.
    pub fn new(decide: impl Fn(&CallContext, &Path) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(decide)))
    }

    /// Checks that an absolute path may be read or listed for the object of this context.
    ///
    /// # Errors
    /// The reason if it may not.
    pub fn check(&self, context: &CallContext, path: &Path) -> Result<(), String> {
        self.0.as_ref().map_or(Ok(()), |decide| decide(context, path))
    }
}

impl fmt::Debug for FileGate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "FileGate(asks)" } else { "FileGate(open)" })
    }
}
