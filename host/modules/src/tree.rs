//! The content of a package: a tree of files, its hash, and copies of it.
//!
//! The hash is the `h1:` hash of `wardian-digest`. It covers the path and the content of each file.
//! A symbolic link is covered by an entry whose path ends with a NUL character and whose content is
//! the link's target; no file has such a path, so a link and a file never have the same entry.
//! Directories and permissions are not covered.
//!
//! The metadata of repositories (`.git` and `.hg`, at any depth) is not part of the content. It is
//! removed before a package is stored. The hash therefore covers every file of an installed module.
//! Terraform installs this metadata, so it is ignored when a directory that Terraform has installed
//! is verified.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use wardian_digest::{Sha256Digest, Sha256Hasher, tree_digest};
use wardian_files::{
    Directory, FileAccessError, FileOpening, FileType, UnreadableDirectory, stays_beneath, visit_tree,
};
use wardian_module_source::{CommitId, TreeHash};

/// Maximum size of all files of a package.
pub const MAX_PACKAGE_BYTES: u64 = 4 << 30;
/// Maximum length of a path in a package, in bytes.
pub const MAX_PATH_BYTES: usize = 1024;

const REPOSITORY_METADATA: [&str; 2] = [".git", ".hg"];

/// The digests of the files of a tree, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeContents {
    digests: BTreeMap<String, Sha256Digest>,
}

impl TreeContents {
    /// Reads a tree. The cost is proportional to the size of its files.
    ///
    /// # Errors
    /// Returns an error if the tree cannot be read, or contains anything other than files,
    /// directories and links.
    pub fn read(directory: &Path) -> Result<Self, TreeError> {
        TreeWalk::new(directory, None, HiddenFiles::Include)?.run()
    }

    /// Copies a tree to a new directory, and returns the content of the copy. Files are executable
    /// in the copy if they are executable in the tree.
    ///
    /// # Errors
    /// Returns an error if the tree cannot be read, or the copy cannot be written.
    pub fn copy(from: &Path, to: &Path) -> Result<Self, TreeError> {
        fs::create_dir(to).map_err(|error| TreeError::new(to, error.into()))?;
        TreeWalk::new(from, Some(to), HiddenFiles::Include)?.run()
    }

    /// Copies a tree like [`TreeContents::copy`], without its hidden files and directories.
    ///
    /// # Errors
    /// Returns the same errors as [`TreeContents::copy`].
    pub(crate) fn copy_visible(from: &Path, to: &Path) -> Result<Self, TreeError> {
        fs::create_dir(to).map_err(|error| TreeError::new(to, error.into()))?;
        TreeWalk::new(from, Some(to), HiddenFiles::Omit)?.run()
    }

    pub fn hash(&self) -> TreeHash {
        TreeHash::from_bytes(*tree_digest(&self.digests).as_bytes())
    }

    /// Returns whether this tree equals the other tree without its hidden files and directories.
    /// When Terraform installs a package a second time, it copies the first installation without
    /// hidden files and directories.
    pub fn is_without_hidden_files_of(&self, other: &Self) -> bool {
        self.digests.iter().eq(other.digests.iter().filter(|(path, _)| !is_hidden(path)))
    }

    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }
}

/// A tree that cannot be used as a package.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct TreeError {
    pub path: PathBuf,
    pub problem: TreeProblem,
}

impl TreeError {
    pub(crate) fn new(path: &Path, problem: TreeProblem) -> Self {
        Self { path: path.to_owned(), problem }
    }
}

/// The reason why a tree cannot be used as a package.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeProblem {
    #[error(transparent)]
    Access(#[from] FileAccessError),
    #[error("the name is not valid UTF-8, contains a control character, or is too long")]
    Name,
    #[error("it is neither a file nor a directory nor a symbolic link")]
    Kind,
    #[error("the files of the package are larger than {MAX_PACKAGE_BYTES} bytes in total")]
    TooLarge,
    #[error("the symbolic link points to \"{target}\", outside of its package")]
    LinkOutside { target: String },
}

impl From<io::Error> for TreeProblem {
    fn from(error: io::Error) -> Self {
        Self::Access(error.into())
    }
}

fn is_hidden(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with('.'))
}

/// Whether files and directories whose names begin with a dot are visited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HiddenFiles {
    Include,
    Omit,
}

struct TreeWalk {
    hidden: HiddenFiles,
    root: PathBuf,
    parent: Directory,
    name: std::ffi::OsString,
    /// The open directories of the copy on the path to the current directory.
    copies: Option<Vec<Directory>>,
    contents: TreeContents,
    bytes_left: u64,
    buffer: Vec<u8>,
}

impl TreeWalk {
    fn new(directory: &Path, copy: Option<&Path>, hidden: HiddenFiles) -> Result<Self, TreeError> {
        let failed = |path: &Path, error: FileAccessError| TreeError::new(path, error.into());
        let open = |path: &Path| {
            let real = path.canonicalize().map_err(|error| failed(path, error.into()))?;
            Directory::open_absolute(&real).map_err(|error| failed(path, error))
        };
        let root = open(directory)?;
        let (parent, name) = match (root.path().parent(), root.path().file_name()) {
            (Some(parent), Some(name)) => (open(parent)?, name.to_owned()),
            _ => (root.clone(), ".".into()),
        };
        let copies = copy.map(|copy| open(copy).map(|copy| vec![copy])).transpose()?;
        Ok(Self {
            hidden,
            root: root.path().to_owned(),
            parent,
            name,
            copies,
            contents: TreeContents::default(),
            bytes_left: MAX_PACKAGE_BYTES,
            buffer: vec![0; 64 << 10],
        })
    }

    fn run(mut self) -> Result<TreeContents, TreeError> {
        let (parent, name) = (self.parent.clone(), self.name.clone());
        let mut failure = None;
        let result =
            visit_tree(&parent, &name, UnreadableDirectory::Reject, &mut |directory, name, depth, kind| {
                if depth == 0 {
                    return Ok(());
                }
                self.visit(directory, name, depth, kind).map_err(|problem| {
                    failure = Some(TreeError::new(&directory.join(name), problem));
                    io::Error::from(io::ErrorKind::Other).into()
                })
            });
        match (failure, result) {
            (Some(failure), _) => Err(failure),
            (None, Err(error)) => Err(TreeError::new(&self.root, error.into())),
            (None, Ok(())) => Ok(self.contents),
        }
    }

    fn visit(
        &mut self,
        directory: &Directory,
        name: &OsStr,
        depth: usize,
        kind: FileType,
    ) -> Result<(), TreeProblem> {
        let path = relative_path(&self.root, &directory.join(name))?;
        let is_metadata = path.split('/').any(|name| REPOSITORY_METADATA.contains(&name));
        if is_metadata || (self.hidden == HiddenFiles::Omit && is_hidden(&path)) {
            return Ok(());
        }
        match kind {
            FileType::Directory => {
                if let Some(copies) = &mut self.copies {
                    copies.truncate(depth);
                    let parent = copies.last().ok_or(TreeProblem::Kind)?;
                    parent.create_directory(name, 0o777)?;
                    let copy = parent.open_directory(name)?;
                    copies.push(copy);
                }
                Ok(())
            }
            FileType::RegularFile => {
                let digest = self.read_file(directory, name, depth)?;
                self.contents.digests.insert(path, digest);
                Ok(())
            }
            FileType::Symlink => {
                let target = directory.read_link(name)?;
                let digest = Sha256Digest::hash(target.as_encoded_bytes());
                if let Some(parent) = self.copy_at(depth) {
                    parent.create_link(&target, name)?;
                }
                self.contents.digests.insert(format!("{path}\0"), digest);
                Ok(())
            }
            _ => Err(TreeProblem::Kind),
        }
    }

    /// Returns the directory of the copy that contains a name at this depth.
    fn copy_at(&self, depth: usize) -> Option<&Directory> {
        self.copies.as_ref().and_then(|copies| copies.get(depth.saturating_sub(1)))
    }

    fn read_file(
        &mut self,
        directory: &Directory,
        name: &OsStr,
        depth: usize,
    ) -> Result<Sha256Digest, TreeProblem> {
        let opened = directory.open_file(name, FileOpening::READ)?;
        if opened.is_directory() {
            return Err(TreeProblem::Kind);
        }
        let is_executable = opened.metadata().mode() & 0o111 != 0;
        let mut copy = match self.copy_at(depth) {
            Some(parent) => {
                let mode = if is_executable { 0o777 } else { 0o666 };
                let create = FileOpening {
                    write: true,
                    create: true,
                    exclusive: true,
                    mode,
                    ..FileOpening::default()
                };
                Some(parent.open_file(name, create)?.into_file())
            }
            None => None,
        };
        let mut file = opened.into_file();
        let mut hasher = Sha256Hasher::default();
        loop {
            let count = file.read(&mut self.buffer)?;
            let bytes = self.buffer.get(..count).unwrap_or_default();
            if bytes.is_empty() {
                return Ok(hasher.finish());
            }
            self.bytes_left = self.bytes_left.checked_sub(count as u64).ok_or(TreeProblem::TooLarge)?;
            hasher.update(bytes);
            if let Some(copy) = &mut copy {
                copy.write_all(bytes)?;
            }
        }
    }
}

fn relative_path(root: &Path, path: &Path) -> Result<String, TreeProblem> {
    let relative = path.strip_prefix(root).ok().and_then(Path::to_str).ok_or(TreeProblem::Name)?;
    if relative.len() > MAX_PATH_BYTES || relative.chars().any(char::is_control) {
        return Err(TreeProblem::Name);
    }
    Ok(relative.to_owned())
}

/// Prepares a fetched tree for the cache: removes the metadata of repositories, and checks that no
/// symbolic link points outside of the tree.
pub(crate) fn prepare(directory: &Path) -> Result<(), TreeError> {
    let failed = |error: FileAccessError| TreeError::new(directory, error.into());
    let real = directory.canonicalize().map_err(|error| failed(error.into()))?;
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(TreeError::new(directory, TreeProblem::Kind));
    };
    let parent = Directory::open_absolute(parent).map_err(failed)?;
    let mut metadata = Vec::new();
    let mut outside = None;
    let visited =
        visit_tree(&parent, name, UnreadableDirectory::Reject, &mut |directory, name, depth, kind| {
            if name.to_str().is_some_and(|name| REPOSITORY_METADATA.contains(&name)) && depth > 0 {
                metadata.push((directory.join(name), kind));
            }
            if kind == FileType::Symlink {
                let target = directory.read_link(name)?;
                if !stays_beneath(&target, depth.saturating_sub(1)) {
                    let target = target.to_string_lossy().into_owned();
                    outside =
                        Some(TreeError::new(&directory.join(name), TreeProblem::LinkOutside { target }));
                }
            }
            Ok(())
        });
    visited.map_err(failed)?;
    // A directory is listed before its content, so the names in it are already removed.
    for (path, kind) in metadata {
        let removed =
            if kind == FileType::Directory { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(TreeError::new(&path, error.into()));
            }
            _ => {}
        }
    }
    match outside {
        // The link may have been in the metadata that was removed.
        Some(error) if fs::symlink_metadata(&error.path).is_ok() => Err(error),
        _ => Ok(()),
    }
}

/// Returns the commit that is checked out in a directory that Terraform has installed with git.
pub(crate) fn commit_of_checkout(directory: &Path) -> Option<CommitId> {
    const MAX_FILE_BYTES: u64 = 1 << 20;
    let read = |path: &Path| -> Option<String> {
        let mut text = String::new();
        File::open(path).ok()?.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    };
    let repository = directory.join(".git");
    let head = read(&repository.join("HEAD"))?;
    let head = head.trim();
    let commit = match head.strip_prefix("ref: ") {
        Some(name) if !name.split('/').any(|part| part == "..") && !name.starts_with('/') => {
            read(&repository.join(name)).or_else(|| {
                let packed = read(&repository.join("packed-refs"))?;
                let line = packed.lines().find(|line| line.split(' ').nth(1) == Some(name))?;
                line.split(' ').next().map(str::to_owned)
            })?
        }
        Some(_) => return None,
        None => head.to_owned(),
    };
    CommitId::parse(commit.trim())
}

#[cfg(test)]
mod tests;
