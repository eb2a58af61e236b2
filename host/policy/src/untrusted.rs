//! Restrictions for untrusted configurations.
//!
//! The configuration's own policy file is also untrusted: its denials apply, but its grants are
//! ignored. Only the organisation can grant network access. Plugins cannot start programs or write
//! files, and cannot read some files, such as states, which contain the secrets of all resources.

use std::path::{Path, PathBuf};

use wardian_access::{AccessRequest, FileOperation, ProtectedClass, ProtectedClasses, is_within};

use crate::level::Level;

/// The restrictions, with the unreadable paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct UntrustedRestrictions {
    unreadable: Vec<PathBuf>,
    /// A directory in the data directory that can be read, although the data directory is hidden.
    readable_data: Option<PathBuf>,
}

impl UntrustedRestrictions {
    pub(crate) fn new(unreadable: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { unreadable: unreadable.into_iter().collect(), readable_data: None }
    }

    pub(crate) fn with_readable_data(mut self, directory: PathBuf) -> Self {
        self.readable_data = Some(directory);
        self
    }

    /// Returns the reason why a request is denied regardless of the files' grants.
    pub(crate) fn denial_reason(
        &self,
        request: &AccessRequest,
        classes: ProtectedClasses,
    ) -> Option<&'static str> {
        match request {
            AccessRequest::Process(_) => Some("programs are not started"),
            AccessRequest::Communicator(_) => Some("connections to remote machines are not opened"),
            AccessRequest::File(file) if file.operation() == FileOperation::Write => {
                Some("files are not written")
            }
            AccessRequest::File(file) if file.operation() == FileOperation::Connect => {
                Some("connections to sockets are not opened")
            }
            AccessRequest::File(file)
                if self.is_hidden(file.path()) || self.has_hidden_class(file.path(), classes) =>
            {
                Some("states and related files are not read")
            }
            _ => None,
        }
    }

    /// Whether a path is hidden. A parent directory of a hidden path is not hidden, since each of
    /// its entries is checked separately.
    fn is_hidden(&self, path: &Path) -> bool {
        self.unreadable.iter().any(|hidden| is_within(path, hidden))
    }

    fn has_hidden_class(&self, path: &Path, classes: ProtectedClasses) -> bool {
        let is_readable_data = || self.readable_data.as_ref().is_some_and(|data| is_within(path, data));
        classes
            .iter()
            .any(|class| is_hidden_class(class) && !(class == ProtectedClass::Data && is_readable_data()))
    }

    /// Whether grants of a level apply.
    pub(crate) fn accepts_grants_of(level: Level, request: &AccessRequest) -> bool {
        match request {
            AccessRequest::Network(_) | AccessRequest::LookUp(_) => level == Level::Organisation,
            _ => level != Level::RootModule,
        }
    }
}

/// Whether files of a class cannot be read, because they are secret or often contain secrets.
fn is_hidden_class(class: ProtectedClass) -> bool {
    class.protects_against(FileOperation::Read)
        || matches!(
            class,
            ProtectedClass::Data | ProtectedClass::VersionControl | ProtectedClass::CliConfiguration
        )
}
