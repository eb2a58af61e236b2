//! Reads and writes the files of resources and data sources: `ID.json` in a granted directory.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wardian_sdk::file_access::is_granted;
use wardian_sdk::file_mode;

use crate::stored_value::StoredObject;

const DIRECTORY_MODE: u32 = 0o700;
/// Maximum number of attempts to create a directory, since another process may remove the directory
/// while it is empty.
const ATTEMPTS: usize = 8;

/// A directory of resource or data source files. It may not exist.
#[derive(Debug)]
pub(crate) struct Directory(pub(crate) PathBuf);

#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// No granted directory contains the path.
    #[error("{} is outside of the directories to which the provider has access", .0.display())]
    NotGranted(PathBuf),
    /// The identifier is not a file name.
    #[error(
        "the ID {0:?} cannot be used as a file name: it must not contain \"/\", \"\\\" or the null character"
    )]
    NoFileName(String),
    /// An object with this identifier already exists.
    #[error("{} already exists: another resource has this ID", .0.display())]
    Exists(PathBuf),
    /// The content is not a JSON object.
    #[error("{} is not a valid resource in JSON format: {cause}", .path.display())]
    Malformed { path: PathBuf, cause: serde_json::Error },
    /// The operating system reported an error.
    #[error("failed to {action} {}: {cause}", .path.display())]
    Failed { action: &'static str, path: PathBuf, cause: io::Error },
}

/// The content of a file. Later versions of the format have additional members.
#[derive(Deserialize)]
struct Content {
    values: StoredObject,
}

/// A borrowed [`Content`], for writing.
#[derive(Serialize)]
struct ContentRef<'a> {
    values: &'a StoredObject,
}

impl Directory {
    /// Returns the object; `None` if the file does not exist.
    pub(crate) fn read(&self, id: &str) -> Result<Option<StoredObject>, FileError> {
        let path = self.file(id)?;
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(FileError::Failed { action: "read", path, cause }),
        };
        match serde_json::from_slice::<Content>(&content) {
            Ok(content) => Ok(Some(content.values)),
            Err(cause) => Err(FileError::Malformed { path, cause }),
        }
    }

    /// Creates the file of a new object, and the directory if it is missing.
    pub(crate) fn create(&self, id: &str, object: &StoredObject) -> Result<(), FileError> {
        let path = self.file(id)?;
        let text = text(object, &path)?;
        let mut created = self.created(&path);
        for _ in 1..ATTEMPTS {
            if !created.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                break;
            }
            created = self.created(&path);
        }
        match created.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(FileError::Exists(path)),
            Err(cause) => Err(FileError::Failed { action: "create", path, cause }),
        }
    }

    fn created(&self, path: &PathBuf) -> io::Result<fs::File> {
        if !self.0.as_os_str().is_empty() && fs::metadata(&self.0).is_err() {
            file_mode::create_directory(&self.0, DIRECTORY_MODE)?;
        }
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    /// Replaces the content of an object's file atomically.
    pub(crate) fn replace(&self, id: &str, object: &StoredObject) -> Result<(), FileError> {
        let path = self.file(id)?;
        let text = text(object, &path)?;
        let replaced = fs::metadata(&path).and_then(|_| {
            let new = self.0.join(format!("{id}.json.new"));
            fs::write(&new, text)?;
            fs::rename(&new, &path)
        });
        replaced.map_err(|cause| FileError::Failed { action: "update", path, cause })
    }

    /// Removes the file of an object, and the directory if it is then empty.
    pub(crate) fn remove(&self, id: &str) -> Result<(), FileError> {
        let path = self.file(id)?;
        if let Err(cause) = fs::remove_file(&path) {
            return Err(FileError::Failed { action: "delete", path, cause });
        }
        // The removal fails if the directory contains other files, which must be kept.
        let _ = fs::remove_dir(&self.0);
        Ok(())
    }

    fn file(&self, id: &str) -> Result<PathBuf, FileError> {
        if id.contains(['/', '\\', '\0']) {
            return Err(FileError::NoFileName(id.to_owned()));
        }
        let path = self.0.join(format!("{id}.json"));
        if is_granted(&path) { Ok(path) } else { Err(FileError::NotGranted(path)) }
    }
}

/// Formats an object with indentation, and with escapes for HTML's special characters, as other
/// programs write these files.
fn text(object: &StoredObject, path: &std::path::Path) -> Result<String, FileError> {
    let text = serde_json::to_string_pretty(&ContentRef { values: object })
        .map_err(|cause| FileError::Malformed { path: path.to_path_buf(), cause })?;
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            other => escaped.push(other),
        }
    }
    Ok(escaped)
}
