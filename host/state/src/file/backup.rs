//! The state as it was before the first change.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{BackupRule, StateFile};
use crate::beside::create_temporary;
use crate::error::{StateError, StateProblem};

impl StateFile {
    /// Keeps what is in the file now, once.
    pub(super) fn back_up(&mut self) -> Result<(), StateError> {
        if self.backed_up {
            return Ok(());
        }
        let path = match &self.options.backup {
            BackupRule::Off => return Ok(()),
            BackupRule::At(path) => path.clone(),
            BackupRule::Beside => {
                let mut name = self.path.clone().into_os_string();
                name.push(".backup");
                PathBuf::from(name)
            }
        };
        let bytes = self.target_bytes()?;
        if !bytes.is_empty() {
            write_whole(&path, &bytes)?;
        }
        self.backed_up = true;
        Ok(())
    }
}

/// Writes a file that nobody has open: all of it or nothing, and on disk. Where
/// its name is that of a symbolic link, the link is replaced, not followed.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StateError> {
    let failed = |error| StateError::new(path, StateProblem::io("write the file")(error));
    let (new, mut file) = create_temporary(path).map_err(failed)?;
    let mut write = || {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&new);
        failed(error)
    })
}
