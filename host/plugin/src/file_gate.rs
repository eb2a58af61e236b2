//! Restricts the files that the host itself reads for a configuration.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::call_context::CallContext;

/// Checks whether the host's own functions and data sources may read a file or directory for a
/// configuration. The default gate allows every file that the operating system allows, because the
/// user trusts the configuration.
#[derive(Clone, Default)]
pub struct FileGate {
    decide: Option<Arc<Decide>>,
    decide_content: Option<Arc<DecideContent>>,
}

/// The decision on an access. An error contains the reason for a denial, as part of a sentence.
type Decide = dyn Fn(&CallContext, &Path) -> Result<(), String> + Send + Sync;
type DecideContent = dyn Fn(&CallContext, &Path, &[u8]) -> Result<(), String> + Send + Sync;

impl FileGate {
    /// Creates a gate from the function that checks accesses.
    pub fn new(decide: impl Fn(&CallContext, &Path) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self { decide: Some(Arc::new(decide)), decide_content: None }
    }

    /// Adds a check of the content of the files that [`FileGate::check`] permits.
    #[must_use]
    pub fn with_content(
        self,
        decide: impl Fn(&CallContext, &Path, &[u8]) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { decide_content: Some(Arc::new(decide)), ..self }
    }

    /// Checks that an absolute path may be read or listed for the object of this call context.
    ///
    /// # Errors
    /// Returns the reason why the access is not allowed.
    pub fn check(&self, context: &CallContext, path: &Path) -> Result<(), String> {
        self.decide.as_ref().map_or(Ok(()), |decide| decide(context, path))
    }

    /// Checks that the content of a file may be used for the object of this call context.
    ///
    /// # Errors
    /// Returns the reason why the content must not be used.
    pub fn check_content(&self, context: &CallContext, path: &Path, content: &[u8]) -> Result<(), String> {
        self.decide_content.as_ref().map_or(Ok(()), |decide| decide(context, path, content))
    }
}

impl fmt::Debug for FileGate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.decide.is_some() { "FileGate(asks)" } else { "FileGate(open)" })
    }
}
