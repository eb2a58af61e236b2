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
//! | first | `wardian_journal` (format, 2; format 1 had no intents; only journals of remote states contain stores); `lineage`, `serial` and `state` (a fingerprint of the file) of the state that is changed |
//! | intent | `begun`: `address` and `action` of the next request to a provider |
//! | change | `address`, `provider`, `objects`: all current objects of one instance, in the format of the state file; empty if the instance was removed |
//! | store | `stored`: the fingerprint of an unfinished state, before it is stored while the run continues |
//! | last | `final`: the complete state, before it is written |
//!
//! A reader rejects a journal that has an unknown format or contains an unknown record.
//!
//! # Encryption
//!
//! If new states are encrypted, so is the journal, and a line precedes the first line: it contains
//! `wardian_journal` (format 3) and `encryption`, the encrypted key of the other lines. Each other line
//! is `sealed`: the encrypted JSON object, as above, in Base64. The checksum of the previous line is
//! authenticated with it, so lines cannot be exchanged or removed, except at the end.
//!
//! # Durability
//!
//! Records are collected in memory, and [`Journal::commit`] writes all of them to the file with one
//! system call. They are then preserved even if this process is killed. To preserve them during a
//! power failure, a separate thread flushes the file to the disk within `SYNC_INTERVAL`, and always
//! before the state file is rewritten. A caller that must not continue before that waits for
//! [`Journal::flush`]: a provider that has recorded the state of an object. Such records are rare, and
//! each of them saves an object that only its provider could find again; waiting for the disk before
//! each operation would cost more than it preserves, because an intent does not identify its object.
//!
//! If the process is killed between a provider's change and its record, the state lacks the object
//! or contains outdated values. A journal cannot prevent this, since the change and the record are
//! not one atomic step; but an intent without a following change identifies the object.

mod recovery;
mod sync;

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Seek as _, Write as _};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_cache::sync_directory;

pub use recovery::Intent;
use recovery::read_with;
pub(crate) use recovery::{Header, JournalContent, read};

use crate::encryption::{EncryptionFailure, RecordCipher};
use crate::error::{StateError, StateProblem};
use crate::format::{Parts, encode_instance};
use crate::model::Instance;
use crate::sidecar::open_no_follow;
use sync::Syncing;

/// The format version in which journals are written.
const FORMAT: u64 = 2;
/// The oldest format version that can be read.
const OLDEST_FORMAT: u64 = 1;
/// The format version of encrypted journals.
const ENCRYPTED_FORMAT: u64 = 3;

/// A journal to which records are written. If it is dropped, its file remains, and the next run
/// merges it into the state.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    lineage: String,
    /// The JSON text of the first line, or of the first encrypted line. It is written with the first
    /// record.
    header: String,
    /// The JSON text of the line with the encrypted key; empty if the journal is not encrypted.
    key_line: String,
    /// The lines that are not in the file yet.
    collected: Lines,
    /// The JSON text of the current record. Its memory is reused.
    json: String,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// The length of the file.
    length: u64,
    /// The checksum of the last line in the file.
    checksum: String,
    syncing: Syncing,
}

/// Lines, each with its checksum.
#[derive(Debug, Default)]
struct Lines {
    text: String,
    /// The checksum of the last line.
    checksum: String,
    /// Encrypts the lines.
    cipher: Option<Arc<dyn RecordCipher>>,
    /// The reason why a line could not be encrypted. The lines must not be written.
    failure: Option<EncryptionFailure>,
}

impl Lines {
    fn with_cipher(cipher: Option<Arc<dyn RecordCipher>>) -> Self {
        Self { cipher, ..Self::default() }
    }

    fn push(&mut self, json: &str) {
        match &self.cipher {
            None => self.push_plain(json),
            Some(cipher) => match sealed_json(&**cipher, &self.checksum, json) {
                Ok(sealed) => self.push_plain(&sealed),
                Err(failure) => self.failure = Some(failure),
            },
        }
    }

    fn push_plain(&mut self, json: &str) {
        self.checksum = line_checksum(&self.checksum, &[json]);
        for part in [&*self.checksum, " ", json, "\n"] {
            self.text.push_str(part);
        }
    }
}

/// Returns the JSON text of an encrypted line.
fn sealed_json(
    cipher: &dyn RecordCipher,
    previous_checksum: &str,
    json: &str,
) -> Result<String, EncryptionFailure> {
    let sealed = cipher.seal(previous_checksum.as_bytes(), json.as_bytes())?;
    let mut line = "{\"sealed\":\"".to_owned();
    STANDARD.encode_string(sealed, &mut line);
    line.push_str("\"}");
    Ok(line)
}

impl Journal {
    /// Returns a journal for changes to a state. `cipher` and its encrypted key encrypt the journal.
    pub(crate) fn new(
        path: PathBuf,
        lineage: &str,
        serial: u64,
        fingerprint: &str,
        cipher: Option<(String, Arc<dyn RecordCipher>)>,
    ) -> Self {
        let mut key_line = String::new();
        if let Some((encrypted_key, _)) = &cipher {
            let mut members = Parts::object(&mut key_line);
            members.number("wardian_journal", ENCRYPTED_FORMAT);
            members.text("encryption", encrypted_key);
            members.end();
        }
        let mut header = String::new();
        let mut members = Parts::object(&mut header);
        members.number("wardian_journal", FORMAT);
        members.text("lineage", lineage);
        members.number("serial", serial);
        members.text("state", fingerprint);
        members.end();
        Self {
            path,
            lineage: lineage.to_owned(),
            header,
            key_line,
            collected: Lines::with_cipher(cipher.map(|(_, cipher)| cipher)),
            json: String::new(),
            open: None,
        }
    }

    /// Reopens an existing journal for appending after its last complete line. `cipher` is the cipher
    /// of its lines, if they are encrypted.
    pub(crate) fn reopen(path: PathBuf, cipher: Option<Arc<dyn RecordCipher>>) -> Result<Self, StateError> {
        let found = read_with(&path, cipher.as_ref())?
            .and_then(|content| Some((content.header?, content.checksum, content.length)));
        let failed = |error| StateError::new(&path, StateProblem::io("continue the journal")(error));
        let Some((header, checksum, length)) = found else {
            return Err(failed(io::Error::other("it no longer exists")));
        };
        let open = || {
            let mut file = open_no_follow(&path, OpenOptions::new().write(true))?;
            file.set_len(length)?;
            file.seek(io::SeekFrom::End(0))?;
            let syncing = Syncing::start(&file)?;
            Ok(Open { file, length, checksum: checksum.clone(), syncing })
        };
        let open = open().map_err(failed)?;
        Ok(Self {
            path,
            lineage: header.lineage,
            header: String::new(),
            key_line: String::new(),
            collected: Lines { checksum, ..Lines::with_cipher(cipher) },
            json: String::new(),
            open: Some(open),
        })
    }

    /// Returns the lineage of the state after the changes, which may be a new lineage.
    pub fn lineage(&self) -> &str {
        &self.lineage
    }

    /// Records a request for an instance. It must be committed before the provider receives the
    /// request. The next recorded change of that instance is the result of the request.
    pub fn record_intent(&mut self, address: &ResourceInstanceAddress, action: &str) {
        self.collect(|members| {
            let mut intent = Parts::object(members.member("begun"));
            intent.text("address", &address.to_string());
            intent.text("action", action);
            intent.end();
        });
    }

    /// Records the new objects of an instance, or none if the instance was removed. The record must
    /// be committed before an operation that depends on the change starts.
    pub fn record(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Option<&Instance>,
    ) {
        self.collect(|members| {
            members.text("address", &address.to_string());
            members.text("provider", &provider.to_string());
            let mut objects = Parts::array(members.member("objects"));
            if let Some(instance) = instance {
                encode_instance(&mut objects, &address.key, instance);
            }
            objects.end();
        });
    }

    /// Records the fingerprint of an unfinished state. It must be committed before the state is
    /// stored. A run that is interrupted later is then recovered from either state.
    pub(crate) fn record_stored(&mut self, fingerprint: &str) {
        self.collect(|members| members.text("stored", fingerprint));
    }

    /// Writes the collected records to the file. Once this function has returned, they are
    /// preserved even if the process is killed.
    ///
    /// # Errors
    ///
    /// Returns an error if the records cannot be written. They are then lost: the requests must not
    /// be sent, and operations that depend on the changes must not start.
    pub fn commit(&mut self) -> Result<(), StateError> {
        if self.collected.text.is_empty() && self.collected.failure.is_none() {
            return Ok(());
        }
        let failure = self.collected.failure.take();
        let written = self.open().and_then(|(open, collected)| {
            if let Some(failure) = failure {
                return Err(io::Error::other(failure));
            }
            open.syncing.check()?;
            open.write(&[&collected.text], &collected.checksum)?;
            open.syncing.request();
            Ok(())
        });
        self.collected.text.clear();
        if written.is_err() {
            let last = self.open.as_ref().map(|open| open.checksum.clone());
            self.collected.checksum = last.unwrap_or_default();
        }
        written.map_err(|error| self.failed(error))
    }

    /// Calls `done` when the committed records are on the disk, from another thread. Calls at the same
    /// time share one flush. If the journal is dropped first, `done` is not called.
    pub fn flush(&mut self, done: impl FnOnce(Result<(), StateError>) + Send + 'static) {
        let Some(open) = &self.open else { return done(Ok(())) };
        let path = self.path.clone();
        open.syncing.flush_now(Box::new(move |result| {
            done(
                result.map_err(|error| StateError::new(&path, StateProblem::io("write the journal")(error))),
            );
        }));
    }

    /// Flushes the records to the disk.
    ///
    /// # Errors
    ///
    /// Returns an error if the flush fails.
    pub fn sync(&mut self) -> Result<(), StateError> {
        match &self.open {
            None => Ok(()),
            Some(open) => open.file.sync_data().map_err(|error| self.failed(error)),
        }
    }

    /// Commits the collected records, and then records the complete new state, whose JSON text
    /// consists of these parts. The record is on disk when this function returns.
    pub(crate) fn record_final<'a>(
        &mut self,
        state: impl Iterator<Item = &'a str>,
    ) -> Result<(), StateError> {
        self.collect_header();
        self.commit()?;
        let cipher = self.collected.cipher.clone();
        let written = self.open().and_then(|(open, _)| {
            let mut json: Vec<&str> = iter::once("{\"final\":").chain(state).chain(["}"]).collect();
            let sealed;
            if let Some(cipher) = cipher {
                sealed = sealed_json(&*cipher, &open.checksum, &json.concat()).map_err(io::Error::other)?;
                json = vec![&sealed];
            }
            let checksum = line_checksum(&open.checksum, &json);
            let line: Vec<&str> = [&*checksum, " "].into_iter().chain(json).chain(["\n"]).collect();
            open.write(&line, &checksum)
        });
        written.map_err(|error| self.failed(error))?;
        self.sync()
    }

    /// Removes the journal after all its changes are in the state.
    pub(crate) fn discard(&mut self) -> Result<(), StateError> {
        self.collected = Lines::with_cipher(self.collected.cipher.take());
        if self.open.take().is_some() { remove(&self.path) } else { Ok(()) }
    }

    /// Appends a record to the collected records. `add` adds the record's members.
    fn collect(&mut self, add: impl FnOnce(&mut Parts<'_>)) {
        self.json.clear();
        let mut members = Parts::object(&mut self.json);
        add(&mut members);
        members.end();
        self.collect_header();
        self.collected.push(&self.json);
    }

    /// Adds the first line, if the journal has no lines.
    fn collect_header(&mut self) {
        if self.collected.text.is_empty() && self.open.as_ref().is_none_or(|open| open.length == 0) {
            if !self.key_line.is_empty() {
                self.collected.push_plain(&self.key_line);
            }
            self.collected.push(&self.header);
        }
    }

    /// Returns the open file, which is created with the first records.
    fn open(&mut self) -> io::Result<(&mut Open, &Lines)> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let file =
                    open_no_follow(&self.path, OpenOptions::new().write(true).create(true).truncate(true))?;
                let syncing = Syncing::start(&file)?;
                sync_directory(&self.path)?;
                Open { file, length: 0, checksum: String::new(), syncing }
            }
        };
        Ok((self.open.insert(open), &self.collected))
    }

    fn failed(&self, error: io::Error) -> StateError {
        StateError::new(&self.path, StateProblem::io("write the journal")(error))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.commit();
        let _ = self.sync();
    }
}

impl Open {
    /// Appends complete lines, the last of which has the checksum. If the write fails, the bytes
    /// that have already been written are removed.
    fn write(&mut self, parts: &[&str], checksum: &str) -> io::Result<()> {
        if let Err(error) = write_all(&mut self.file, parts) {
            // A partial line would invalidate all lines after it.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(io::SeekFrom::Start(self.length));
            return Err(error);
        }
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.length += u64::try_from(length).unwrap_or(u64::MAX);
        checksum.clone_into(&mut self.checksum);
        Ok(())
    }
}

/// Writes all parts, with one system call if possible.
fn write_all(file: &mut File, parts: &[&str]) -> io::Result<()> {
    if let [part] = parts {
        return file.write_all(part.as_bytes());
    }
    let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part.as_bytes())).collect();
    let mut left = &mut slices[..];
    while !left.is_empty() {
        match file.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the checksum of a line, whose JSON text consists of these parts.
fn line_checksum(previous: &str, json: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(previous.as_bytes());
    for part in json {
        hasher.update(part.as_bytes());
    }
    hex::encode(&hasher.finalize().as_bytes()[..CHECKSUM_LENGTH / 2])
}

const CHECKSUM_LENGTH: usize = 16;

/// Returns the fingerprint of a state file, whose bytes consist of these parts; empty if there are
/// no bytes.
pub(crate) fn fingerprint<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    if hasher.count() == 0 { String::new() } else { hasher.finalize().to_hex().to_string() }
}

pub(crate) fn remove(path: &Path) -> Result<(), StateError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StateError::new(path, StateProblem::io("remove the journal")(error)))
        }
        _ => Ok(()),
    }
}
