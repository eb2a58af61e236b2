//! What a caller gives a plugin. The default is nothing.

use std::path::{Path, PathBuf};

/// Everything that one provider configuration may reach beyond clocks and
/// randomness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Directories, each under the name that the guest knows it by. Rights belong to
    /// the opened directory, not to a path: one for reading only cannot be at or
    /// below one for writing.
    pub directories: Vec<DirectoryGrant>,
    /// The guest's name of the directory that it works in: its `initial-cwd` and
    /// its variable `PWD`. By itself this gives access to nothing.
    pub working_directory: Option<String>,
}

/// A directory with all that is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryGrant {
    /// Where it is.
    pub host: PathBuf,
    /// What the guest calls it: an absolute path, or `.` for where its relative
    /// paths lead.
    pub guest: String,
    /// What may be done there.
    pub access: Access,
}

/// What may be done in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading files and names.
    Read,
    /// Reading, and creating, changing and removing.
    ReadWrite,
}

impl Grants {
    /// Nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// A directory that relative paths of the guest lead to, and that it can name
    /// by the host's own absolute path too.
    ///
    /// The C library of a guest looks an absolute name that no grant begins with
    /// up below `.`, so that `/tmp/x` means `./tmp/x`: nothing leaves the
    /// directory, but it is not what the person wrote. A plugin that takes names
    /// from people refuses absolute ones that are not below `PWD`.
    #[must_use]
    pub fn with_working_directory(mut self, directory: &Path, access: Access) -> Self {
        let grant =
            |guest: &str| DirectoryGrant { host: directory.to_path_buf(), guest: guest.to_owned(), access };
        if let Some(absolute) = directory.to_str().filter(|_| directory.is_absolute()) {
            self.directories.push(grant(absolute));
            self.working_directory = Some(absolute.to_owned());
        }
        self.directories.push(grant("."));
        self
    }
}
