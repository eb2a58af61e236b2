//! Reads a file or directory for an upload, as a sequence of steps. A thread reads a few chunks in
//! advance.
//!
//! Symbolic links are followed, except for links in a directory that plugins may write to whose
//! targets are outside of that directory. The authority checks the resolved path of each file and
//! directory before it is opened, and then the opened file. Therefore, only allowed files are read.
//! A directory that contains itself through a link causes an error, and so does an entry that is
//! neither a file nor a directory.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use wardian_access::ConnectionAuthority;
use wardian_files::{
    Directory, FileAccessError, FileOpening, FileScope, LastLink, OpenedFile, ResolvedPath,
    WritableDirectories,
};

use crate::error::CommunicatorError;

/// Size of one read, and the number of chunks that are read in advance.
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
    readable: Readable,
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
            let directories = WritableDirectories::new(authority.writable_directories());
            let scope =
                FileScope::anywhere(Arc::new(directories)).map_err(|error| unreadable(&path, error))?;
            let readable = Readable { scope, authority };
            let kind = match readable.open(&path)?.1 {
                Content::Directory(_) if ends_with_slash => SourceKind::Contents,
                Content::Directory(_) => SourceKind::Directory,
                Content::File(_) => SourceKind::File,
            };
            Ok(Self { path, readable, kind })
        });
        opened.await.unwrap_or_else(|_| Err(CommunicatorError::Unsupported("the read was cancelled".into())))
    }

    /// Returns the contents of the directory, without its name.
    pub(crate) fn contents(&self) -> Self {
        Self { path: self.path.clone(), readable: self.readable.clone(), kind: SourceKind::Contents }
    }

    /// Starts reading. The sequence of steps ends after the last file or after the first failure.
    pub(crate) fn steps(&self) -> mpsc::Receiver<Step> {
        let (steps, receiver) = mpsc::channel(PIECES_AHEAD);
        let (path, readable, kind) = (self.path.clone(), self.readable.clone(), self.kind);
        tokio::task::spawn_blocking(move || {
            let mut walk = Walk { steps, readable, ancestors: Vec::new() };
            let walked = match kind {
                SourceKind::File | SourceKind::Directory => walk.entry(&path, true),
                SourceKind::Contents => walk.entry(&path, false),
            };
            if let Err(Stopped::Failed(error)) = walked {
                let _ = walk.steps.blocking_send(Step::Failed(error));
            }
        });
        receiver
    }
}

fn unreadable(path: &Path, error: impl Into<FileAccessError>) -> CommunicatorError {
    match error.into() {
        FileAccessError::System(error) if error.kind() == io::ErrorKind::NotFound => {
            CommunicatorError::NoSource(path.to_owned())
        }
        FileAccessError::NotRegular => unsupported_file_type(path),
        error => CommunicatorError::Source { path: path.to_owned(), problem: error.to_string() },
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

/// The files that the authority allows to be read.
#[derive(Clone)]
struct Readable {
    scope: FileScope,
    authority: Arc<dyn ConnectionAuthority>,
}

enum Content {
    File(OpenedFile),
    Directory(Directory),
}

impl Readable {
    /// Opens a file or directory, and returns its path without links. The authority checks the path
    /// before the existence of the file is revealed.
    fn open(&self, path: &Path) -> Result<(PathBuf, Content), CommunicatorError> {
        let resolved = self.resolve(path)?;
        let real = resolved.path();
        self.authority.may_read(&real)?;
        let opened = resolved.open_file(FileOpening::READ).map_err(|error| unreadable(path, error))?;
        match opened.into_directory() {
            Ok(directory) => Ok((real, Content::Directory(directory))),
            Err(file) => {
                self.authority.may_read_opened(&real, file.metadata())?;
                Ok((real, Content::File(file)))
            }
        }
    }

    fn resolve(&self, path: &Path) -> Result<ResolvedPath, CommunicatorError> {
        let mut passed = Vec::new();
        let resolved = self.scope.resolve_recording(path, LastLink::Follow, &mut passed);
        passed.iter().try_for_each(|passed| self.authority.may_look(passed))?;
        resolved.map_err(|error| unreadable(path, error))
    }
}

struct Walk {
    steps: mpsc::Sender<Step>,
    readable: Readable,
    /// The resolved paths of the enclosing directories.
    ancestors: Vec<PathBuf>,
}

impl Walk {
    fn send(&self, step: Step) -> Result<(), Stopped> {
        self.steps.blocking_send(step).map_err(|_| Stopped::ReceiverGone)
    }

    fn entry(&mut self, path: &Path, by_name: bool) -> Result<(), Stopped> {
        match self.readable.open(path)? {
            (_, Content::File(file)) => self.file(path, &file),
            (real, Content::Directory(directory)) => self.directory(path, real, &directory, by_name),
        }
    }

    fn directory(
        &mut self,
        path: &Path,
        real: PathBuf,
        directory: &Directory,
        by_name: bool,
    ) -> Result<(), Stopped> {
        if self.ancestors.contains(&real) || self.ancestors.len() >= MAX_DEPTH {
            let problem = "it contains a symbolic link that forms a cycle".to_owned();
            return Err(CommunicatorError::Source { path: path.to_owned(), problem }.into());
        }
        if by_name {
            // Resolves `.` to a real name.
            self.send(Step::Enter {
                name: file_name(if path.file_name().is_some() { path } else { &real })?,
            })?;
        }
        let unreadable = |error| unreadable(path, error);
        let mut listing = directory.list().map_err(unreadable)?;
        let mut names = Vec::new();
        loop {
            let piece = listing.read_piece().map_err(|error| unreadable(error.into()))?;
            if piece.is_empty() {
                break;
            }
            names.extend(piece.into_iter().map(|entry| entry.name));
        }
        names.sort();
        for name in names {
            let entry = real.join(name);
            self.ancestors.push(real.clone());
            self.entry(&entry, true)?;
            self.ancestors.pop();
        }
        if by_name {
            self.send(Step::Leave)?;
        }
        Ok(())
    }

    fn file(&self, path: &Path, opened: &OpenedFile) -> Result<(), Stopped> {
        let changed = || CommunicatorError::Source {
            path: path.to_owned(),
            problem: "it changed while it was being read".into(),
        };
        let size = opened.metadata().len();
        self.send(Step::File { name: file_name(path)?, size })?;
        let mut left = size;
        while left > 0 {
            let mut piece = Vec::with_capacity(usize::try_from(left).unwrap_or(PIECE_SIZE).min(PIECE_SIZE));
            let room = piece.capacity() as u64;
            let read = opened.file().take(room.min(left)).read_to_end(&mut piece);
            let read = read.map_err(|error| unreadable(path, error))?;
            if read == 0 {
                return Err(changed().into());
            }
            left -= read as u64;
            self.send(Step::Piece(piece.into()))?;
        }
        Ok(())
    }
}

fn file_name(path: &Path) -> Result<String, CommunicatorError> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| CommunicatorError::Source {
        path: path.to_owned(),
        problem: "its name is not valid UTF-8".into(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Metadata};
    use std::net::IpAddr;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use wardian_access::{Denied, FinishedConnection};

    use super::*;

    /// An authority that allows all files below a directory, except for the file with one inode.
    struct Below {
        root: PathBuf,
        writable: PathBuf,
        denied: u64,
    }

    impl ConnectionAuthority for Below {
        fn may_connect(&self, _: &str, _: u16) -> Result<(), Denied> {
            Err(Denied::new("nothing is connected to"))
        }

        fn may_connect_at(&self, _: &str, _: u16, _: IpAddr) -> Result<(), Denied> {
            Err(Denied::new("nothing is connected to"))
        }

        fn may_read(&self, path: &Path) -> Result<(), Denied> {
            if path.starts_with(&self.root) { Ok(()) } else { Err(Denied::new("it is not granted")) }
        }

        fn may_look(&self, path: &Path) -> Result<(), Denied> {
            self.may_read(path)
        }

        fn may_read_opened(&self, _: &Path, metadata: &Metadata) -> Result<(), Denied> {
            if metadata.ino() == self.denied { Err(Denied::new("it is a hard link")) } else { Ok(()) }
        }

        fn writable_directories(&self) -> Vec<PathBuf> {
            vec![self.writable.clone()]
        }

        fn finished(&self, _: &FinishedConnection) {}
    }

    struct Project {
        root: tempfile::TempDir,
    }

    impl Project {
        fn new() -> Self {
            let project = Self { root: tempfile::tempdir().unwrap() };
            fs::create_dir_all(project.path("project/out/inner")).unwrap();
            fs::create_dir(project.path("elsewhere")).unwrap();
            for file in ["project/file", "project/out/file", "elsewhere/key"] {
                fs::write(project.path(file), file).unwrap();
            }
            project
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        /// Returns the names and contents of all uploaded files, or the error.
        async fn upload(&self, path: &str) -> String {
            let denied = fs::metadata(self.path("elsewhere/key")).unwrap().ino();
            let (root, writable) = (self.path("project"), self.path("project/out"));
            let authority: Arc<dyn ConnectionAuthority> = Arc::new(Below { root, writable, denied });
            let source = match Source::open(&self.path(path), false, &authority).await {
                Ok(source) => source,
                Err(error) => return error.to_string(),
            };
            let mut text = String::new();
            let mut steps = source.steps();
            while let Some(step) = steps.recv().await {
                let shown = match step {
                    Step::Enter { name } => format!("{name}/ "),
                    Step::Leave => ".. ".to_owned(),
                    Step::File { name, .. } => format!("{name}="),
                    Step::Piece(bytes) => format!("{} ", String::from_utf8_lossy(&bytes)),
                    Step::Failed(error) => error.to_string(),
                };
                text.push_str(&shown);
            }
            text
        }
    }

    #[tokio::test]
    async fn links_out_of_writable_directory_are_not_followed() {
        let project = Project::new();
        symlink("file", project.path("project/out/near")).unwrap();
        symlink("out", project.path("project/alias")).unwrap();
        let expected = "out/ file=project/out/file inner/ .. near=project/out/file .. ";
        assert_eq!(project.upload("project/out").await, expected);
        assert!(project.upload("project/alias/near").await.contains("near=project/out/file"));
        symlink("../file", project.path("project/out/far")).unwrap();
        for path in ["project/out", "project/out/far"] {
            let text = project.upload(path).await;
            assert!(text.contains("writable by plugins") && !text.contains("far=project/file"), "{text}");
        }
    }

    #[tokio::test]
    async fn denial_does_not_depend_on_existence() {
        let project = Project::new();
        symlink("../elsewhere", project.path("project/up")).unwrap();
        for (present, absent) in [
            ("elsewhere/key", "elsewhere/absent"),
            ("project/up/key", "project/up/absent"),
            ("elsewhere/../project/file", "absent/../project/file"),
        ] {
            let denied = project.upload(present).await;
            assert!(denied.contains("it is not granted"), "{present}: {denied}");
            assert_eq!(project.upload(absent).await, denied);
        }
        assert!(!project.upload("project/absent").await.contains("it is not granted"));
    }

    #[tokio::test]
    async fn hard_link_to_file_outside_is_not_uploaded() {
        let project = Project::new();
        fs::hard_link(project.path("elsewhere/key"), project.path("project/hard")).unwrap();
        let text = project.upload("project/hard").await;
        assert!(text.contains("it is a hard link") && !text.contains("elsewhere/key"), "{text}");
    }

    #[tokio::test]
    async fn pipes_and_procfs_files_are_not_read() {
        let project = Project::new();
        let made = std::process::Command::new("mkfifo").arg(project.path("project/pipe")).status().unwrap();
        assert!(made.success());
        symlink("/proc/self/environ", project.path("project/environ")).unwrap();
        for name in ["project/pipe", "project/environ"] {
            let text = project.upload(name).await;
            assert!(!text.contains('='), "{name}: {text}");
        }
    }
}
