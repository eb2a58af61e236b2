//! The files with values of variables that are loaded automatically.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_diagnostic::{SourceFile, system_reason};
use wardian_files::read_regular;
use wardian_lang::SourceBytes;

use crate::error::AppError;

/// Maximum size of a variable file that is loaded automatically.
const MAX_AUTOMATIC_FILE_SIZE: u64 = 1 << 30;

/// Returns the variable files of a directory that are loaded automatically.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub fn automatic(directory: &Path) -> Result<Vec<Arc<SourceFile>>, AppError> {
    let mut names = vec![OsString::from("terraform.tfvars"), OsString::from("terraform.tfvars.json")];
    let entries = fs::read_dir(directory).map_err(|error| unreadable(directory, &error))?;
    let mut further: Vec<OsString> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| {
            let name = name.to_string_lossy();
            name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json")
        })
        .collect();
    further.sort_unstable();
    names.extend(further);
    let read = |name: &OsString| {
        let path = if directory == Path::new(".") { PathBuf::from(name) } else { directory.join(name) };
        decode(&path, read_regular(&path, MAX_AUTOMATIC_FILE_SIZE)).transpose()
    };
    names.iter().filter_map(read).collect()
}

/// Returns a variable file with this content; `None` if it does not exist.
///
/// # Errors
/// Returns an error if the file cannot be read, or is not text.
pub fn decode(path: &Path, read: io::Result<Vec<u8>>) -> Result<Option<Arc<SourceFile>>, AppError> {
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    let name = path.display().to_string();
    if path.extension().is_some_and(|extension| extension == "json") {
        let text = String::from_utf8(bytes).map_err(|error| {
            let byte = error.utf8_error().valid_up_to();
            AppError::new(
                "Variables file is not text",
                format!("{name}: the byte at offset {byte} is not valid UTF-8."),
            )
        })?;
        return Ok(Some(SourceFile::new(name, text)));
    }
    Ok(Some(SourceBytes::new(&name, bytes)?.into_file()))
}

fn unreadable(path: &Path, error: &io::Error) -> AppError {
    AppError::new("Variables cannot be read", format!("{}: {}.", path.display(), system_reason(error)))
}
