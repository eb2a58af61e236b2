//! Restricts the files that the host itself reads for a configuration.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::call_context::CallContext;

/// Decides whether the host's own functions and data sources may read a file or directory for a
/// configuration. The default gate allows every file that the operating system allows, since the
/// user trusts the configuration.
#[derive(Clone, Default)]
pub struct FileGate(Option<Arc<Decide>>);

/// The error is the reason, which is shown to users as part of a sentence.
type Decide = dyn Fn(&CallContext, &Path) -> Result<(), String> + Send + Sync;

impl FileGate {
    /// Creates a gate from a function that decides.
    pub fn new(decide: impl Fn(&CallContext, &Path) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(decide)))
    }

    /// Checks that an absolute path may be read or listed for the object of this context.
    ///
    /// # Errors
    /// The reason, if this is not allowed.
    pub fn check(&self, context: &CallContext, path: &Path) -> Result<(), String> {
        self.0.as_ref().map_or(Ok(()), |decide| decide(context, path))
    }
}

impl fmt::Debug for FileGate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "FileGate(asks)" } else { "FileGate(open)" })
    }
}
