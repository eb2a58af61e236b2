//! Workspaces: several states of one configuration, each by its name.
//!
//! Which one is worked in is said by `TF_WORKSPACE`, or else by the file
//! `environment` in the data directory, which `workspace select` writes. Both may
//! come from anybody, and names become names of directories: one that could lead
//! elsewhere is refused before anything is read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::backend::LocalBackend;
use crate::compatibility::DEFAULT_WORKSPACE;
use crate::environment::Environment;
use crate::failure::{Failure, Outcome};

/// The file in the data directory that holds the name.
const SELECTION: &str = "environment";

/// Where the name of the selected workspace comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SelectedBy {
    /// `TF_WORKSPACE`.
    Environment,
    /// `workspace select`, or nobody.
    Directory,
}

/// The workspace that commands work in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    /// Its name.
    pub(crate) name: String,
    /// Who says so.
    pub(crate) selected_by: SelectedBy,
}

impl Workspace {
    /// The selected one.
    ///
    /// # Errors
    /// Where the selection cannot be read, or is no name.
    pub(crate) fn selected(environment: &Environment) -> Outcome<Self> {
        if let Some(name) = environment.workspace() {
            if !is_name(name) {
                return Err(Failure::error(
                    "Invalid workspace name",
                    format!("TF_WORKSPACE is \"{name}\", which is no name of a workspace. {RULE}"),
                ));
            }
            return Ok(Self { name: name.to_owned(), selected_by: SelectedBy::Environment });
        }
        let path = environment.data_directory().join(SELECTION);
        let name = match fs::read_to_string(&path) {
            Ok(text) => text.trim().to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(Failure::error(
                    "Selected workspace cannot be read",
                    format!("{}: {error}.", path.display()),
                ));
            }
        };
        let name = if name.is_empty() { DEFAULT_WORKSPACE.to_owned() } else { name };
        if !is_name(&name) {
            return Err(Failure::error(
                "Invalid workspace name",
                format!(
                    "The file {} selects the workspace \"{name}\", which is no name of one. {RULE} Remove the file to \
                     work in the workspace \"{DEFAULT_WORKSPACE}\".",
                    path.display()
                ),
            ));
        }
        Ok(Self { name, selected_by: SelectedBy::Directory })
    }
}

/// Selects a workspace for the commands to come.
///
/// # Errors
/// Where that cannot be written.
pub(crate) fn select(environment: &Environment, name: &str) -> Outcome<()> {
    let directory = environment.data_directory();
    let path = directory.join(SELECTION);
    fs::create_dir_all(&directory).and_then(|()| fs::write(&path, name)).map_err(|error| {
        Failure::error(
            "Workspace cannot be selected",
            format!("The selection cannot be written to {}: {error}.", path.display()),
        )
    })
}

/// What a name must be, as a sentence.
pub(crate) const RULE: &str =
    "A name has letters and digits of ASCII and -._~$&+:=@ only, and is neither \".\" nor \"..\".";

/// Whether a text can be the name of a workspace: what needs no escape in a part of
/// a URL.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~$&+:=@".contains(&byte);
    !text.is_empty() && text != "." && text != ".." && text.bytes().all(is_plain)
}

/// The names of all workspaces that there are: the default one, then the others as
/// their directories are sorted.
///
/// # Errors
/// Where the directory cannot be read.
pub(crate) fn all(backend: &LocalBackend) -> Outcome<Vec<String>> {
    let directory = backend.workspace_directory();
    let mut names = Vec::new();
    match fs::read_dir(&directory) {
        Ok(entries) => {
            for entry in entries.flatten() {
                if entry.path().is_dir()
                    && let Ok(name) = entry.file_name().into_string()
                {
                    names.push(name);
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            return Err(Failure::error(
                "Workspaces cannot be listed",
                format!("The directory {} cannot be read: {error}.", directory.display()),
            ));
        }
    }
    names.retain(|name| name != DEFAULT_WORKSPACE);
    names.sort();
    names.insert(0, DEFAULT_WORKSPACE.to_owned());
    Ok(names)
}

/// The directory of a workspace's state, which the default one has not.
pub(crate) fn directory(backend: &LocalBackend, name: &str) -> PathBuf {
    backend.workspace_directory().join(Path::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_lead_elsewhere() {
        for name in ["dev", "a.b", "A-1_~", "$&+:=@", "..."] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "../a", "a b", "é", "a\\b", "a;b", "a?", "a%2f", "a\n", "a\0"] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
