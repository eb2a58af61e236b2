//! Which files the host itself reads for a configuration.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::call_context::CallContext;

/// Decides whether a file or directory may be read that a configuration names, in a
/// function or a data source of the host's own. The default lets everything through that
/// the system does: the configuration is the user's.
#[derive(Clone, Default)]
pub struct FileGate(Option<Arc<Decide>>);

/// The reason is for people, as part of a sentence.
type Decide = dyn Fn(&CallContext, &Path) -> Result<(), String> + Send + Sync;

impl FileGate {
    /// A gate that asks.
    pub fn new(decide: impl Fn(&CallContext, &Path) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(decide)))
    }

    /// Checks that an absolute path may be read or listed for the object of this context.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, context: &CallContext, path: &Path) -> Result<(), String> {
        self.0.as_ref().map_or(Ok(()), |decide| decide(context, path))
    }
}

impl fmt::Debug for FileGate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "FileGate(asks)" } else { "FileGate(open)" })
    }
}
