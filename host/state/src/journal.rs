//! The journal: what a run has changed so far, durable before anything depends
//! on it, at the cost of the change alone.
//!
//! A file beside the state, `.terraform.tfstate.journal`, only ever appended to.
//! Each line is a checksum, a space and a JSON object. The checksum is over the
//! one before it and the line's own JSON, so that a line counts only behind the
//! lines that it was written behind.
//!
//! | line | holds |
//! |---|---|
//! | first | `wardian_journal` (format, 2; 1 had no intents), `lineage`, `serial` and `state`: which state is changed, the last being a fingerprint of the file |
//! | intent | `begun`: `address` and `action` of what a provider is about to be asked to do |
//! | change | `address`, `provider`, `objects`: all objects of one instance from now on, as in the state file; none where it is gone |
//! | last | `final`: the whole state as it is about to be written |
//!
//! A reader that meets a format it does not know refuses; a line with other
//! members than these ends what can be read.
//!
//! # When it is safe
//!
//! A record is handed to the system at once (`write`), which a kill of this
//! process at any moment cannot undo. Against the loss of power it is flushed to
//! the disk by a thread of the journal within `SYNC_INTERVAL`, many records at
//! a time, and in any case before the state file is rewritten.
//!
//! A kill between a provider's work and its record leaves an object of which the
//! state knows nothing, or not what it is now. No journal can prevent that, as the
//! two are not one step; but an intent without a change behind it says where to look.

mod recovery;
mod sync;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_cache::sync_directory;

pub use recovery::Intent;
pub(crate) use recovery::{Header, JournalContent, read};

use crate::beside::open_itself;
use crate::error::{StateError, StateProblem};
use crate::format::{Parts, encode_instance};
use crate::model::Instance;
use sync::Syncing;

/// The format that is written.
const FORMAT: u64 = 2;
/// The oldest that is read.
const OLDEST_FORMAT: u64 = 1;

/// A journal being written. Dropping it leaves the file for the next run to fold
/// in.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    lineage: String,
    /// The first line's JSON, to be written with the first record.
    header: String,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
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

    /// Goes on behind the last whole line of a journal that was left.
    pub(crate) fn reopen(path: PathBuf) -> Result<Self, StateError> {
        let found =
            read(&path)?.and_then(|content| Some((content.header?, content.checksum, content.length)));
        let failed = |error| StateError::new(&path, StateProblem::io("go on with the journal")(error));
        let Some((header, checksum, length)) = found else {
            return Err(failed(io::Error::other("it is gone")));
        };
        let open = || {
            let mut file = open_itself(&path, OpenOptions::new().write(true))?;
            file.set_len(length)?;
            file.seek(io::SeekFrom::End(0))?;
            let syncing = Syncing::start(&file)?;
            Ok(Open { file, checksum, syncing })
        };
        let open = open().map_err(failed)?;
        Ok(Self { path, lineage: header.lineage, header: String::new(), open: Some(open) })
    }

    /// The lineage of the state that is changed, which may be a new one.
    pub fn lineage(&self) -> &str {
        &self.lineage
    }

    /// Records what a provider is about to be asked to do with an instance. The
    /// next change of that instance is what came of it.
    ///
    /// # Errors
    ///
    /// Where it cannot be written. It must not be begun then.
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

    /// Records what an instance is from now on; nothing where it is gone. When
    /// this returns, no kill of the process can undo it.
    ///
    /// # Errors
    ///
    /// Where it cannot be written. Nothing that depends on the change may go on.
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

    /// Flushes to the disk what was recorded.
    ///
    /// # Errors
    ///
    /// Where that fails.
    pub fn sync(&mut self) -> Result<(), StateError> {
        match &self.open {
            None => Ok(()),
            Some(open) => open.file.sync_data().map_err(|error| self.failed(error)),
        }
    }

    /// Records the whole new state, on disk before this returns.
    pub(crate) fn record_final(&mut self, state: &str) -> Result<(), StateError> {
        let mut json = String::new();
        let mut members = Parts::object(&mut json);
        members.member("final").push_str(state);
        members.end();
        self.append(&json).map_err(|error| self.failed(error))?;
        self.sync()
    }

    /// Removes the journal: all of it is in the state.
    pub(crate) fn discard(&mut self) -> Result<(), StateError> {
        if self.open.take().is_some() { remove(&self.path) } else { Ok(()) }
    }

    fn append(&mut self, json: &str) -> io::Result<()> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let mut file =
                    open_itself(&self.path, OpenOptions::new().write(true).create(true).truncate(true))?;
                let checksum = write_line(&mut file, "", &self.header)?;
                sync_directory(&self.path)?;
                let syncing = Syncing::start(&file)?;
                self.open.insert(Open { file, checksum, syncing })
            }
        };
        open.syncing.check()?;
        open.checksum = write_line(&mut open.file, &open.checksum, json)?;
        open.syncing.request();
        Ok(())
    }

    fn failed(&self, error: io::Error) -> StateError {
        StateError::new(&self.path, StateProblem::io("write the journal")(error))
    }
}

/// Whoever gives up on a journal still wants it on the disk.
impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.sync();
    }
}

/// Appends a line, whole or not at all as far as a kill is concerned, and
/// returns its checksum.
fn write_line(file: &mut File, previous: &str, json: &str) -> io::Result<String> {
    let checksum = line_checksum(previous, json);
    let line = format!("{checksum} {json}\n");
    let start = file.stream_position()?;
    if let Err(error) = file.write_all(line.as_bytes()) {
        // Half a line would hide all that might still be written behind it.
        let _ = file.set_len(start);
        let _ = file.seek(io::SeekFrom::Start(start));
        return Err(error);
    }
    Ok(checksum)
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

/// What a state file's bytes are recognised by; empty for no bytes.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    if bytes.is_empty() { String::new() } else { blake3::hash(bytes).to_hex().to_string() }
}

/// Removes a journal's file.
pub(crate) fn remove(path: &Path) -> Result<(), StateError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StateError::new(path, StateProblem::io("remove the journal")(error)))
        }
        _ => Ok(()),
    }
}
