//! The audit log: one JSON line per access.
//!
//! Each line is written immediately with a single system call. Therefore, lines are complete after
//! a crash, and several runs can write to the same file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wardian_policy::Remedy;

use crate::denials::{Denials, DeniedUse};
use crate::record::Record;
use crate::summary::Summary;

/// Writes audit records to a file. Denials are also collected in memory.
#[derive(Default)]
pub struct AuditLog {
    path: Option<PathBuf>,
    /// Whether all records are also summarized in memory.
    is_summarized: bool,
    /// The number of accesses that have begun and are not recorded yet.
    unfinished: AtomicUsize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    file: Option<(PathBuf, File)>,
    failed: Option<AuditError>,
    denials: Denials,
    summary: Summary,
    line: Vec<u8>,
}

/// The audit log cannot be written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the audit log {} cannot be written: {source}", path.display())]
pub struct AuditError {
    pub path: PathBuf,
    pub source: Arc<io::Error>,
}

impl AuditLog {
    /// Creates an audit log without a file.
    pub fn disabled() -> Self {
        Self::default()
    }

    /// Opens an audit log file for appending. A new file can be read only by its owner.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened for writing.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let open = || {
            let mut file = options.open(path)?;
            // If another process holds the lock, it may be writing a line. A file that cannot be
            // locked, such as a pipe, has no last line to check.
            if file.try_lock().is_ok() {
                if ends_with_partial_line(path)? {
                    file.write_all(b"\n")?;
                }
                let _ = file.unlock();
            }
            let _ = file.lock_shared();
            Ok(file)
        };
        let file = open().map_err(|error| AuditError { path: path.to_owned(), source: Arc::new(error) })?;
        let inner = Inner { file: Some((path.to_owned(), file)), ..Inner::default() };
        Ok(Self { path: Some(path.to_owned()), inner: Mutex::new(inner), ..Self::default() })
    }

    /// Also summarizes all records in memory.
    pub fn with_summary(mut self) -> Self {
        self.is_summarized = true;
        self
    }

    /// Returns the summary of the records so far.
    pub fn summary(&self) -> Summary {
        self.lock().summary.clone()
    }

    /// Whether accesses have begun that are not recorded yet.
    pub fn has_unfinished_accesses(&self) -> bool {
        self.unfinished.load(Ordering::Acquire) > 0
    }

    pub(crate) fn begin_access(&self) {
        self.unfinished.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn end_access(&self) {
        self.unfinished.fetch_sub(1, Ordering::AcqRel);
    }

    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Whether records are written to a file or summarized.
    pub fn is_enabled(&self) -> bool {
        self.path.is_some() || self.is_summarized
    }

    /// Returns the first write error.
    pub fn failure(&self) -> Option<AuditError> {
        self.lock().failed.clone()
    }

    pub fn denials(&self) -> Vec<DeniedUse> {
        self.lock().denials.all()
    }

    /// Writes a line.
    ///
    /// # Errors
    /// Returns an error if this line or an earlier line could not be written.
    pub(crate) fn append(&self, record: &Record) -> Result<(), AuditError> {
        self.summarized_lock(record).append(record)
    }

    pub(crate) fn deny(&self, record: &Record, remedy: impl FnOnce() -> Option<Remedy>) {
        let mut inner = self.summarized_lock(record);
        // The error is stored and reported at the end of the run.
        let _ = inner.append(record);
        inner.denials.add(record, remedy);
    }

    fn summarized_lock(&self, record: &Record) -> MutexGuard<'_, Inner> {
        let mut inner = self.lock();
        if self.is_summarized {
            inner.summary.add(record.clone());
        }
        inner
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the last line is incomplete, because a run was killed or the disk was full.
fn ends_with_partial_line(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    // A device or pipe has no last byte that could be read.
    if !file.metadata()?.is_file() || file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

impl Inner {
    fn append(&mut self, record: &Record) -> Result<(), AuditError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        self.line.clear();
        let written = serde_json::to_writer(&mut self.line, record).map_err(io::Error::from).and_then(|()| {
            self.line.push(b'\n');
            file.write_all(&self.line)
        });
        written.map_err(|error| {
            let failed = AuditError { path: path.clone(), source: Arc::new(error) };
            self.failed = Some(failed.clone());
            failed
        })
    }
}
