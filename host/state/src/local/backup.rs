//! Backs up the state before the first change.

use std::path::Path;

use wardian_cache::AtomicWrite;

use super::{BackupRule, FileAccess, LocalStorage};
use crate::error::{StateError, StateProblem};
use crate::sidecar::Sidecars;

impl LocalStorage {
    /// Backs up the current content of the file, or the given content that replaces it. Only the first
    /// call has an effect.
    pub(super) fn back_up(
        &self,
        access: &mut FileAccess,
        replacement: Option<&[u8]>,
    ) -> Result<(), StateError> {
        if access.is_backed_up {
            return Ok(());
        }
        let path = match &self.backup {
            BackupRule::Off => return Ok(()),
            BackupRule::At(path) => path.clone(),
            BackupRule::DefaultPath => Sidecars::for_state(&self.path).backup,
        };
        match replacement {
            Some(bytes) => write_file(&path, bytes)?,
            None => {
                let bytes = self.bytes(access)?;
                if !bytes.is_empty() {
                    write_file(&path, &bytes)?;
                }
            }
        }
        access.is_backed_up = true;
        Ok(())
    }
}

/// Replaces a file durably and atomically. The caller must ensure that no other program has the
/// file open.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), StateError> {
    AtomicWrite::new()
        .write(path, &[bytes])
        .map_err(|error| StateError::new(path, StateProblem::io("write the file")(error)))
}
