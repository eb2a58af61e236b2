//! What is copied: one file's content, or what lies in a directory, as steps that a thread
//! reads ahead of the network by a few pieces.
//!
//! Links are followed, as copying does; whether what they lead to may be read is asked for
//! each file and directory by the path that it really has. A directory that contains itself by way of a link
//! is an error, as is what is neither file nor directory.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::authority::Authority;
use crate::error::CommunicatorError;

/// What is read at once, and how many of those wait.
const PIECE: usize = 128 << 10;
const PIECES_AHEAD: usize = 8;
/// Directories in directories. No system has longer paths.
const DEEPEST: usize = 512;

/// One step of copying.
#[derive(Debug)]
pub(crate) enum Step {
    /// A directory begins.
    Enter {
        name: String,
    },
    /// The directory ends.
    Leave,
    /// A file begins; its pieces follow, and are of this size together.
    File {
        name: String,
        size: u64,
    },
    Piece(Bytes),
    Failed(CommunicatorError),
}

/// What is copied.
pub(crate) struct Source {
    path: PathBuf,
    authority: Arc<dyn Authority>,
    pub(crate) kind: SourceKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    File,
    /// A directory, as one of its name.
    Directory,
    /// What is in a directory.
    Contents,
}

impl Source {
    /// Looks at what there is to copy.
    pub(crate) async fn open(
        path: &Path,
        ends_with_slash: bool,
        authority: &Arc<dyn Authority>,
    ) -> Result<Self, CommunicatorError> {
        let (path, authority) = (path.to_owned(), Arc::clone(authority));
        let looked = tokio::task::spawn_blocking(move || {
            real(&path, &*authority)?;
            let kind = match std::fs::metadata(&path).map_err(|error| unreadable(&path, error))? {
                found if found.is_dir() && ends_with_slash => SourceKind::Contents,
                found if found.is_dir() => SourceKind::Directory,
                found if found.is_file() => SourceKind::File,
                _ => return Err(odd(&path)),
            };
            Ok(Self { path, authority, kind })
        });
        looked.await.unwrap_or_else(|_| Err(CommunicatorError::Unsupported("reading was given up".into())))
    }

    /// What is in it, without its name.
    pub(crate) fn contents(&self) -> Self {
        Self { path: self.path.clone(), authority: Arc::clone(&self.authority), kind: SourceKind::Contents }
    }

    /// Begins to read. The steps end where all was read, or with the one that failed.
    pub(crate) fn steps(&self) -> mpsc::Receiver<Step> {
        let (steps, receiver) = mpsc::channel(PIECES_AHEAD);
        let (path, authority, kind) = (self.path.clone(), Arc::clone(&self.authority), self.kind);
        tokio::task::spawn_blocking(move || {
            let mut walk = Walk { steps, authority, above: Vec::new() };
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

fn odd(path: &Path) -> CommunicatorError {
    CommunicatorError::Source {
        path: path.to_owned(),
        problem: "it is neither a file nor a directory, and only these are copied".into(),
    }
}

enum Stopped {
    /// Nobody listens any more.
    Unheard,
    Failed(CommunicatorError),
}

impl From<CommunicatorError> for Stopped {
    fn from(error: CommunicatorError) -> Self {
        Self::Failed(error)
    }
}

/// Where a path really leads, if that may be read.
fn real(path: &Path, authority: &dyn Authority) -> Result<PathBuf, CommunicatorError> {
    let real = path.canonicalize().map_err(|error| unreadable(path, error))?;
    authority.may_read(&real)?;
    Ok(real)
}

struct Walk {
    steps: mpsc::Sender<Step>,
    authority: Arc<dyn Authority>,
    /// The directories that this one is in, as the file system knows them.
    above: Vec<PathBuf>,
}

impl Walk {
    fn say(&self, step: Step) -> Result<(), Stopped> {
        self.steps.blocking_send(step).map_err(|_| Stopped::Unheard)
    }

    fn directory(&mut self, path: &Path, by_name: bool) -> Result<(), Stopped> {
        let real = real(path, &*self.authority)?;
        if self.above.contains(&real) || self.above.len() >= DEEPEST {
            let problem = "it contains itself, by way of a symbolic link".to_owned();
            return Err(CommunicatorError::Source { path: path.to_owned(), problem }.into());
        }
        if by_name {
            // `.` has a name as well.
            self.say(Step::Enter { name: name(if path.file_name().is_some() { path } else { &real })? })?;
        }
        let read = std::fs::read_dir(&real).map_err(|error| unreadable(path, error))?;
        let entries: Result<Vec<_>, _> = read.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut entries = entries.map_err(|error| unreadable(path, error))?;
        entries.sort();
        self.above.push(real);
        for entry in entries {
            let found = std::fs::metadata(&entry).map_err(|error| unreadable(&entry, error))?;
            if found.is_dir() {
                self.directory(&entry, true)?;
            } else if found.is_file() {
                self.file(&entry)?;
            } else {
                return Err(odd(&entry).into());
            }
        }
        self.above.pop();
        if by_name {
            self.say(Step::Leave)?;
        }
        Ok(())
    }

    fn file(&self, path: &Path) -> Result<(), Stopped> {
        let unreadable = |error| unreadable(path, error);
        let changed = || CommunicatorError::Source {
            path: path.to_owned(),
            problem: "it changed while it was read".into(),
        };
        let mut file = File::open(path).map_err(unreadable)?;
        // What was opened is what was asked for, whatever the path leads to meanwhile.
        let real = real(path, &*self.authority)?;
        let (opened, asked) = (file.metadata(), real.metadata());
        let (Ok(opened), Ok(asked)) = (opened, asked) else { return Err(changed().into()) };
        if identity(&opened) != identity(&asked) {
            return Err(changed().into());
        }
        let size = opened.len();
        self.say(Step::File { name: name(path)?, size })?;
        let mut left = size;
        while left > 0 {
            let mut piece = Vec::with_capacity(usize::try_from(left).unwrap_or(PIECE).min(PIECE));
            let room = piece.capacity() as u64;
            let read = (&mut file).take(room.min(left)).read_to_end(&mut piece).map_err(unreadable)?;
            if read == 0 {
                return Err(changed().into());
            }
            left -= read as u64;
            self.say(Step::Piece(piece.into()))?;
        }
        Ok(())
    }
}

/// What tells a file from every other.
fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn name(path: &Path) -> Result<String, CommunicatorError> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| CommunicatorError::Source {
        path: path.to_owned(),
        problem: "its name is no text (UTF-8), so that it has none on the other machine".into(),
    })
}
