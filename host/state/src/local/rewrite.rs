//! Rewrites the file in place; see the documentation of the parent module.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};

use bytes::Bytes;
use wardian_cache::sync_directory;

use super::{FileAccess, LocalStorage};
use crate::error::{StateError, StateProblem};

/// The first byte of the file while it is incomplete.
const INCOMPLETE_MARK: &[u8] = b"~";

impl LocalStorage {
    /// Replaces the content of the file with the concatenated parts.
    pub(super) fn rewrite(&self, access: &FileAccess, parts: &[Bytes]) -> Result<(), StateError> {
        let done = match &access.lock {
            Some(lock) => lock.file().and_then(|file| rewrite(file, parts)),
            None => OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .open(&self.path)
                .and_then(|file| rewrite(&file, parts)),
        };
        done.and_then(|()| sync_directory(&self.path))
            .map_err(|error| StateError::new(&self.path, StateProblem::io("write the state")(error)))
    }
}

fn rewrite(mut file: &File, parts: &[Bytes]) -> io::Result<()> {
    let (beginning, others) = parts.split_first().map_or((&b""[..], parts), |(one, all)| (&**one, all));
    let (first, rest) = beginning.split_at_checked(1).unwrap_or((beginning, &[]));
    file.seek(SeekFrom::Start(0))?;
    file.write_all(INCOMPLETE_MARK)?;
    file.write_all(rest)?;
    for part in others {
        file.write_all(part)?;
    }
    file.set_len(parts.iter().map(|part| part.len() as u64).sum())?;
    file.sync_data()?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(first)?;
    file.sync_all()
}
