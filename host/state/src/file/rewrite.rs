//! Rewrites the file in place; see the documentation of the parent module.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};

use wardian_cache::sync_directory;

use super::StateFile;
use crate::error::{StateError, StateProblem};

/// The first byte of the file while it is incomplete.
const INCOMPLETE_MARK: &[u8] = b"~";

impl StateFile {
    pub(super) fn rewrite(&self, bytes: &[u8]) -> Result<(), StateError> {
        let done = match &self.lock {
            Some(lock) => lock.file().and_then(|file| rewrite(file, bytes)),
            None => OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .open(&self.path)
                .and_then(|file| rewrite(&file, bytes)),
        };
        done.and_then(|()| sync_directory(&self.path))
            .map_err(|error| StateError::new(&self.path, StateProblem::io("write the state")(error)))
    }
}

fn rewrite(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    let (first, rest) = bytes.split_at_checked(1).unwrap_or((bytes, &[]));
    file.seek(SeekFrom::Start(0))?;
    file.write_all(INCOMPLETE_MARK)?;
    file.write_all(rest)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_data()?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(first)?;
    file.sync_all()
}
