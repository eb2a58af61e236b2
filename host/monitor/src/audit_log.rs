//! The log: where each use is written, as a line of JSON.
//!
//! A line is handed to the system at once and in one piece, so that what is there after
//! a crash is whole, and several runs can share a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::denials::{Denials, DeniedUse};
use crate::record::Record;

/// Where uses are recorded. What is denied is remembered in any case.
#[derive(Default)]
pub struct AuditLog {
    path: Option<PathBuf>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    file: Option<(PathBuf, File)>,
    failed: Option<AuditError>,
    denials: Denials,
    line: Vec<u8>,
}

/// The log cannot be written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the audit log {} cannot be written: {source}", path.display())]
pub struct AuditError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub source: Arc<io::Error>,
}

impl AuditLog {
    /// A log that is written nowhere.
    pub fn nowhere() -> Self {
        Self::default()
    }

    /// A log in a file, which is made where it is not there, for its owner alone;
    /// otherwise lines are put at its end.
    ///
    /// # Errors
    /// Where it cannot be opened for writing.
    pub fn to_file(path: &Path) -> Result<Self, AuditError> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let open = || {
            let mut file = options.open(path)?;
            // Who else writes is in the middle of a line as often as not. Where nothing can
            // be locked, there is no end of a line to look for either.
            if file.try_lock().is_ok() {
                if ends_within_a_line(path)? {
                    file.write_all(b"\n")?;
                }
                let _ = file.unlock();
            }
            let _ = file.lock_shared();
            Ok(file)
        };
        let file = open().map_err(|error| AuditError { path: path.to_owned(), source: Arc::new(error) })?;
        let inner = Inner { file: Some((path.to_owned(), file)), ..Inner::default() };
        Ok(Self { path: Some(path.to_owned()), inner: Mutex::new(inner) })
    }

    /// The file.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Whether lines are written at all.
    pub fn is_written(&self) -> bool {
        self.path.is_some()
    }

    /// What failed, once something did.
    pub fn failure(&self) -> Option<AuditError> {
        self.lock().failed.clone()
    }

    /// What was denied so far.
    pub fn denials(&self) -> Vec<DeniedUse> {
        self.lock().denials.all()
    }

    /// Writes a line.
    ///
    /// # Errors
    /// Where this or an earlier one could not be written.
    pub(crate) fn append(&self, record: &Record) -> Result<(), AuditError> {
        self.lock().append(record)
    }

    pub(crate) fn deny(&self, record: &Record, rule_to_add: impl FnOnce() -> Option<String>) {
        let mut inner = self.lock();
        // That it cannot be written is kept, and said at the end of the run.
        let _ = inner.append(record);
        inner.denials.add(record, rule_to_add);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a run was killed, or its disk was full, while it wrote a line.
fn ends_within_a_line(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    // A device or a pipe has no end to look at.
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
