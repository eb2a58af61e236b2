//! The files of resources and data sources: `ID.json` in a directory that the host
//! has granted.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wardian_sdk::file_mode;
use wardian_sdk::granted::is_granted;

use crate::stored_value::StoredObject;

const DIRECTORY_MODE: u32 = 0o700;
/// How often a new directory is made again that somebody else removes for being empty.
const ATTEMPTS: usize = 8;

/// A directory of such files. It need not be there.
#[derive(Debug)]
pub(crate) struct Directory(pub(crate) PathBuf);

/// Why something on disk could not be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// No directory that the provider may use contains the path.
    #[error("{} lies outside of the directories that the provider may use", .0.display())]
    NotGranted(PathBuf),
    /// The identifier leads elsewhere.
    #[error(
        "the ID {0:?} cannot be the name of a file: it must not contain \"/\", \"\\\" or the null character"
    )]
    NoFileName(String),
    /// There is an object of that identifier.
    #[error("{} is there already: another resource has the ID", .0.display())]
    Exists(PathBuf),
    /// The content is no such object.
    #[error("{} is not a resource in JSON: {cause}", .path.display())]
    Malformed { path: PathBuf, cause: serde_json::Error },
    /// The system refused.
    #[error("failed to {action} {}: {cause}", .path.display())]
    Failed { action: &'static str, path: PathBuf, cause: io::Error },
}

/// The content of a file. Later versions of the format have further members.
#[derive(Deserialize)]
struct Content {
    values: StoredObject,
}

/// The same, to be written.
#[derive(Serialize)]
struct ContentRef<'a> {
    values: &'a StoredObject,
}

impl Directory {
    /// The object, or none if there is no such file.
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

    /// Makes a file for a new object, and the directory where it is missing.
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

    /// Gives the file of an object its new content, all at once.
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

    /// Removes the file of an object, and the directory after the last one.
    pub(crate) fn remove(&self, id: &str) -> Result<(), FileError> {
        let path = self.file(id)?;
        if let Err(cause) = fs::remove_file(&path) {
            return Err(FileError::Failed { action: "delete", path, cause });
        }
        // One that holds anything else stays, which is no failure.
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

/// Indented, and with the characters escaped that mean something in HTML, as other
/// writers of these files have it.
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
