//! Workspaces: the named states of one configuration.
//!
//! The workspace is selected by `TF_WORKSPACE`, or else by the file `environment` in the data
//! directory, which `workspace select` writes. Both may come from an untrusted source, and
//! workspace names become directory names. Therefore, a name that could refer to another directory
//! is rejected before anything is read.

use std::fs;
use std::io;
use std::path::Path;

use wardian_backend::DEFAULT_WORKSPACE;
use wardian_diagnostic::system_reason;
use wardian_files::read_regular;

use crate::environment::ProcessEnvironment;
use crate::error::AppError;

/// The file in the data directory that contains the selected name.
const SELECTION: &str = "environment";
/// Maximum size of the selection file.
const MAX_SELECTION_SIZE: u64 = 64 << 10;

/// The source of the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectedBy {
    /// `TF_WORKSPACE`.
    Environment,
    /// `workspace select`, or the default.
    Directory,
}

/// The selected workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The name. It is safe as a path segment.
    pub name: String,
    pub selected_by: SelectedBy,
}

impl Default for Workspace {
    /// The default workspace, if no variable selects another one.
    fn default() -> Self {
        Self { name: DEFAULT_WORKSPACE.to_owned(), selected_by: SelectedBy::Directory }
    }
}

impl Workspace {
    /// Returns the selected workspace.
    ///
    /// # Errors
    /// Returns an error if the selection cannot be read, or is not a valid name.
    pub fn selected(environment: &ProcessEnvironment) -> Result<Self, AppError> {
        Self::selected_in(environment, &environment.data_directory())
    }

    /// Returns the workspace that is selected in a data directory.
    ///
    /// # Errors
    /// Returns an error if the selection cannot be read, or is not a valid name.
    pub fn selected_in(environment: &ProcessEnvironment, data_directory: &Path) -> Result<Self, AppError> {
        if let Some(name) = environment.workspace() {
            if !is_name(name) {
                return Err(AppError::new(
                    "Invalid workspace name",
                    format!("TF_WORKSPACE is \"{name}\", which is not a valid workspace name. {RULE}"),
                ));
            }
            return Ok(Self { name: name.to_owned(), selected_by: SelectedBy::Environment });
        }
        let path = data_directory.join(SELECTION);
        let name = match read_regular(&path, MAX_SELECTION_SIZE) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).trim().to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(AppError::new(
                    "Selected workspace cannot be read",
                    format!("{}: {}.", path.display(), system_reason(&error)),
                ));
            }
        };
        let name = if name.is_empty() { DEFAULT_WORKSPACE.to_owned() } else { name };
        if !is_name(&name) {
            return Err(AppError::new(
                "Invalid workspace name",
                format!(
                    "The file {} selects the workspace \"{name}\", which is not a valid name. {RULE} Remove \
                     the file to work in the workspace \"{DEFAULT_WORKSPACE}\".",
                    path.display()
                ),
            ));
        }
        Ok(Self { name, selected_by: SelectedBy::Directory })
    }
}

/// Selects a workspace for later commands.
///
/// # Errors
/// Returns an error if the selection cannot be written.
pub fn select(environment: &ProcessEnvironment, name: &str) -> Result<(), AppError> {
    let directory = environment.data_directory();
    let path = directory.join(SELECTION);
    fs::create_dir_all(&directory).and_then(|()| fs::write(&path, name)).map_err(|error| {
        AppError::new(
            "Workspace cannot be selected",
            format!("The selection cannot be written to {}: {}.", path.display(), system_reason(&error)),
        )
    })
}

/// The rule for workspace names, as a sentence.
pub const RULE: &str = "A name consists of ASCII letters, digits and the characters -._~$&+:=@, and is neither \".\" nor \
     \"..\".";

/// Returns whether a string is a valid workspace name. A name must not contain characters that are
/// escaped in a URL path segment.
pub fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~$&+:=@".contains(&byte);
    !text.is_empty() && text != "." && text != ".." && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_names_are_safe_path_components() {
        for name in ["dev", "a.b", "A-1_~", "$&+:=@", "..."] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "../a", "a b", "é", "a\\b", "a;b", "a?", "a%2f", "a\n", "a\0"] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
