//! Reads a file or directory for an upload, as a sequence of steps. A thread reads a few chunks
//! ahead of the network.
//!
//! Symbolic links are followed. For each file and directory the authority is asked about the
//! resolved path. A directory that contains itself through a link causes an error, and so does
//! an entry that is neither a file nor a directory.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use wardian_access::ConnectionAuthority;

use crate::error::CommunicatorError;

/// Size of one read, and the number of chunks that are read ahead.
const PIECE_SIZE: usize = 128 << 10;
const PIECES_AHEAD: usize = 8;
/// Maximum nesting of directories. Operating systems do not support longer paths.
const MAX_DEPTH: usize = 512;

/// One step of an upload.
#[derive(Debug)]
pub(crate) enum Step {
    /// Start of a directory.
    Enter {
        name: String,
    },
    /// End of the directory.
    Leave,
    /// Start of a file; chunks with a total of `size` bytes follow.
    File {
        name: String,
        size: u64,
    },
    Piece(Bytes),
    Failed(CommunicatorError),
}

/// The file or directory to upload.
pub(crate) struct Source {
    path: PathBuf,
    authority: Arc<dyn ConnectionAuthority>,
    pub(crate) kind: SourceKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    File,
    /// A directory, copied under its name.
    Directory,
    /// The contents of a directory.
    Contents,
}

impl Source {
    /// Checks whether the path may be read, and determines whether it is a file or a directory.
    pub(crate) async fn open(
        path: &Path,
        ends_with_slash: bool,
        authority: &Arc<dyn ConnectionAuthority>,
    ) -> Result<Self, CommunicatorError> {
        let (path, authority) = (path.to_owned(), Arc::clone(authority));
        let opened = tokio::task::spawn_blocking(move || {
            resolve_readable(&path, &*authority)?;
            let kind = match std::fs::metadata(&path).map_err(|error| unreadable(&path, error))? {
                found if found.is_dir() && ends_with_slash => SourceKind::Contents,
                found if found.is_dir() => SourceKind::Directory,
                found if found.is_file() => SourceKind::File,
                _ => return Err(unsupported_file_type(&path)),
            };
            Ok(Self { path, authority, kind })
        });
        opened.await.unwrap_or_else(|_| Err(CommunicatorError::Unsupported("reading was canceled".into())))
    }

    /// Returns the contents of the directory, without its name.
    pub(crate) fn contents(&self) -> Self {
        Self { path: self.path.clone(), authority: Arc::clone(&self.authority), kind: SourceKind::Contents }
    }

    /// Starts reading. The steps end after the last file or after the first failure.
    pub(crate) fn steps(&self) -> mpsc::Receiver<Step> {
        let (steps, receiver) = mpsc::channel(PIECES_AHEAD);
        let (path, authority, kind) = (self.path.clone(), Arc::clone(&self.authority), self.kind);
        tokio::task::spawn_blocking(move || {
            let mut walk = Walk { steps, authority, ancestors: Vec::new() };
            let walked = match kind {
                SourceKind::File => walk.file(&path),
                SourceKind::Directory => walk.directory(&path, true),
                SourceKind::Contents => walk.directory(&path, false),
            };
            if let Err(Stopped::Failed(error)) = walked {
                let _ = walk.steps.blocking_send(Step::Failed(error));
            }
        });
        receiver
    }
}

fn unreadable(path: &Path, error: io::Error) -> CommunicatorError {
    match error.kind() {
        io::ErrorKind::NotFound => CommunicatorError::NoSource(path.to_owned()),
        _ => CommunicatorError::Source { path: path.to_owned(), problem: error.to_string() },
    }
}

fn unsupported_file_type(path: &Path) -> CommunicatorError {
    CommunicatorError::Source {
        path: path.to_owned(),
        problem: "it is neither a file nor a directory; only these can be copied".into(),
    }
}

enum Stopped {
    /// The receiver was dropped.
    ReceiverGone,
    Failed(CommunicatorError),
}

impl From<CommunicatorError> for Stopped {
    fn from(error: CommunicatorError) -> Self {
        Self::Failed(error)
    }
}

/// Resolves a path, if the authority allows reading it.
fn resolve_readable(path: &Path, authority: &dyn ConnectionAuthority) -> Result<PathBuf, CommunicatorError> {
    let real = path.canonicalize().map_err(|error| unreadable(path, error))?;
    authority.may_read(&real)?;
    Ok(real)
}

struct Walk {
    steps: mpsc::Sender<Step>,
    authority: Arc<dyn ConnectionAuthority>,
    /// The resolved paths of the enclosing directories.
    ancestors: Vec<PathBuf>,
}

impl Walk {
    fn send(&self, step: Step) -> Result<(), Stopped> {
        self.steps.blocking_send(step).map_err(|_| Stopped::ReceiverGone)
    }

    fn directory(&mut self, path: &Path, by_name: bool) -> Result<(), Stopped> {
        let real = resolve_readable(path, &*self.authority)?;
        if self.ancestors.contains(&real) || self.ancestors.len() >= MAX_DEPTH {
            let problem = "it contains itself through a symbolic link".to_owned();
            return Err(CommunicatorError::Source { path: path.to_owned(), problem }.into());
        }
        if by_name {
            // Resolves `.` to the name of the directory.
            self.send(Step::Enter {
                name: file_name(if path.file_name().is_some() { path } else { &real })?,
            })?;
        }
        let read = std::fs::read_dir(&real).map_err(|error| unreadable(path, error))?;
        let entries: Result<Vec<_>, _> = read.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut entries = entries.map_err(|error| unreadable(path, error))?;
        entries.sort();
        self.ancestors.push(real);
        for entry in entries {
            let found = std::fs::metadata(&entry).map_err(|error| unreadable(&entry, error))?;
            if found.is_dir() {
                self.directory(&entry, true)?;
            } else if found.is_file() {
                self.file(&entry)?;
            } else {
                return Err(unsupported_file_type(&entry).into());
            }
        }
        self.ancestors.pop();
        if by_name {
            self.send(Step::Leave)?;
        }
        Ok(())
    }

    fn file(&self, path: &Path) -> Result<(), Stopped> {
        let unreadable = |error| unreadable(path, error);
        let changed = || CommunicatorError::Source {
            path: path.to_owned(),
            problem: "it changed while it was being read".into(),
        };
        let mut file = File::open(path).map_err(unreadable)?;
        // The opened file must be the file that was checked, even if the path has changed since.
        let real = resolve_readable(path, &*self.authority)?;
        let (opened, asked) = (file.metadata(), real.metadata());
        let (Ok(opened), Ok(asked)) = (opened, asked) else { return Err(changed().into()) };
        if file_identity(&opened) != file_identity(&asked) {
            return Err(changed().into());
        }
        let size = opened.len();
        self.send(Step::File { name: file_name(path)?, size })?;
        let mut left = size;
        while left > 0 {
            let mut piece = Vec::with_capacity(usize::try_from(left).unwrap_or(PIECE_SIZE).min(PIECE_SIZE));
            let room = piece.capacity() as u64;
            let read = (&mut file).take(room.min(left)).read_to_end(&mut piece).map_err(unreadable)?;
            if read == 0 {
                return Err(changed().into());
            }
            left -= read as u64;
            self.send(Step::Piece(piece.into()))?;
        }
        Ok(())
    }
}

/// Returns an identifier of a file that is independent of its path.
fn file_identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn file_name(path: &Path) -> Result<String, CommunicatorError> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| CommunicatorError::Source {
        path: path.to_owned(),
        problem: "its name is not valid UTF-8".into(),
    })
}
