//! The journal: a write-ahead log of the changes of a run. Each change is durable before an
//! operation that depends on it starts, and the cost of recording a change depends only on its
//! size.
//!
//! The journal is a sidecar file of the state, `.terraform.tfstate.journal`, to which records are
//! only appended. Each line consists of a checksum, a space and a JSON object. The checksum covers
//! the previous checksum and the line's own JSON, so a line is valid only after the lines that
//! preceded it when it was written.
//!
//! | line | content |
//! |---|---|
//! | first | `wardian_journal` (format, 2; format 1 had no intents); `lineage`, `serial` and `state` (a fingerprint of the file) of the state that is changed |
//! | intent | `begun`: `address` and `action` of the next request to a provider |
//! | change | `address`, `provider`, `objects`: all current objects of one instance, in the format of the state file; empty if the instance was removed |
//! | last | `final`: the complete state, before it is written |
//!
//! A reader rejects a journal that has an unknown format or contains an unknown record.
//!
//! # Durability
//!
//! A record is written to the file at once (`write`), so it is preserved even if this process is
//! killed. To preserve records in a power failure, a separate thread flushes them to the disk
//! within `SYNC_INTERVAL`, many records at a time, and always before the state file is rewritten.
//!
//! If the process is killed between a provider's change and its record, the state lacks the object
//! or contains outdated values. A journal cannot prevent this, since the change and the record are
//! not one atomic step; but an intent without a following change identifies the object.

mod recovery;
mod sync;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_cache::sync_directory;

pub use recovery::Intent;
pub(crate) use recovery::{Header, JournalContent, read};

use crate::error::{StateError, StateProblem};
use crate::format::{Parts, encode_instance};
use crate::model::Instance;
use crate::sidecar::open_no_follow;
use sync::Syncing;

/// The format version in which journals are written.
const FORMAT: u64 = 2;
/// The oldest format version that can be read.
const OLDEST_FORMAT: u64 = 1;

/// A journal to which records are written. If it is dropped, its file remains, and the next run
/// merges it into the state.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    lineage: String,
    /// The JSON text of the first line. It is written with the first record.
    header: String,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// The length of the file.
    length: u64,
    checksum: String,
    syncing: Syncing,
}

impl Journal {
    pub(crate) fn new(path: PathBuf, lineage: &str, serial: u64, fingerprint: &str) -> Self {
        let mut header = String::new();
        let mut members = Parts::object(&mut header);
        members.number("wardian_journal", FORMAT);
        members.text("lineage", lineage);
        members.number("serial", serial);
        members.text("state", fingerprint);
        members.end();
        Self { path, lineage: lineage.to_owned(), header, open: None }
    }

    /// Reopens an existing journal for appending after its last complete line.
    pub(crate) fn reopen(path: PathBuf) -> Result<Self, StateError> {
        let found =
            read(&path)?.and_then(|content| Some((content.header?, content.checksum, content.length)));
        let failed = |error| StateError::new(&path, StateProblem::io("continue the journal")(error));
        let Some((header, checksum, length)) = found else {
            return Err(failed(io::Error::other("it no longer exists")));
        };
        let open = || {
            let mut file = open_no_follow(&path, OpenOptions::new().write(true))?;
            file.set_len(length)?;
            file.seek(io::SeekFrom::End(0))?;
            let syncing = Syncing::start(&file)?;
            Ok(Open { file, length, checksum, syncing })
        };
        let open = open().map_err(failed)?;
        Ok(Self { path, lineage: header.lineage, header: String::new(), open: Some(open) })
    }

    /// Returns the lineage of the state after the changes, which may be a new one.
    pub fn lineage(&self) -> &str {
        &self.lineage
    }

    /// Records a request for an instance before the provider receives it. The next recorded
    /// change of that instance is the result of the request.
    ///
    /// # Errors
    ///
    /// If the record cannot be written. The request must then not be sent.
    pub fn record_intent(
        &mut self,
        address: &ResourceInstanceAddress,
        action: &str,
    ) -> Result<(), StateError> {
        let mut json = String::new();
        let mut members = Parts::object(&mut json);
        let mut intent = Parts::object(members.member("begun"));
        intent.text("address", &address.to_string());
        intent.text("action", action);
        intent.end();
        members.end();
        self.append(&json).map_err(|error| self.failed(error))
    }

    /// Records the new objects of an instance, or none if the instance was removed. Once this
    /// function has returned, the record is preserved even if the process is killed.
    ///
    /// # Errors
    ///
    /// If the record cannot be written. Operations that depend on the change must then not start.
    pub fn record(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Option<&Instance>,
    ) -> Result<(), StateError> {
        let mut json = String::new();
        let mut members = Parts::object(&mut json);
        members.text("address", &address.to_string());
        members.text("provider", &provider.to_string());
        let mut objects = Parts::array(members.member("objects"));
        if let Some(instance) = instance {
            encode_instance(&mut objects, &address.key, instance);
        }
        objects.end();
        members.end();
        self.append(&json).map_err(|error| self.failed(error))
    }

    /// Flushes the records to the disk.
    ///
    /// # Errors
    ///
    /// If the flush fails.
    pub fn sync(&mut self) -> Result<(), StateError> {
        match &self.open {
            None => Ok(()),
            Some(open) => open.file.sync_data().map_err(|error| self.failed(error)),
        }
    }

    /// Records the complete new state. The record is on disk when this function returns.
    pub(crate) fn record_final(&mut self, state: &str) -> Result<(), StateError> {
        let mut json = String::new();
        let mut members = Parts::object(&mut json);
        members.member("final").push_str(state);
        members.end();
        self.append(&json).map_err(|error| self.failed(error))?;
        self.sync()
    }

    /// Removes the journal after all its changes are in the state.
    pub(crate) fn discard(&mut self) -> Result<(), StateError> {
        if self.open.take().is_some() { remove(&self.path) } else { Ok(()) }
    }

    fn append(&mut self, json: &str) -> io::Result<()> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let file =
                    open_no_follow(&self.path, OpenOptions::new().write(true).create(true).truncate(true))?;
                let syncing = Syncing::start(&file)?;
                let mut open = Open { file, length: 0, checksum: String::new(), syncing };
                open.write_line(&self.header)?;
                sync_directory(&self.path)?;
                self.open.insert(open)
            }
        };
        open.syncing.check()?;
        open.write_line(json)?;
        open.syncing.request();
        Ok(())
    }

    fn failed(&self, error: io::Error) -> StateError {
        StateError::new(&self.path, StateProblem::io("write the journal")(error))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.sync();
    }
}

impl Open {
    /// Appends a line. If the write fails, the bytes that were already written are removed.
    fn write_line(&mut self, json: &str) -> io::Result<()> {
        let checksum = line_checksum(&self.checksum, json);
        let line = format!("{checksum} {json}\n");
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // A partial line would invalidate all lines after it.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(io::SeekFrom::Start(self.length));
            return Err(error);
        }
        self.length += u64::try_from(line.len()).unwrap_or(u64::MAX);
        self.checksum = checksum;
        Ok(())
    }
}

fn line_checksum(previous: &str, json: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(previous.as_bytes());
    hasher.update(json.as_bytes());
    let mut text = hasher.finalize().to_hex().to_string();
    text.truncate(CHECKSUM_LENGTH);
    text
}

const CHECKSUM_LENGTH: usize = 16;

/// Returns the fingerprint of a state file's bytes; empty if there are no bytes.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    if bytes.is_empty() { String::new() } else { blake3::hash(bytes).to_hex().to_string() }
}

pub(crate) fn remove(path: &Path) -> Result<(), StateError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StateError::new(path, StateProblem::io("remove the journal")(error)))
        }
        _ => Ok(()),
    }
}
