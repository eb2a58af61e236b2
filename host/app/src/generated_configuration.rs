//! The file to which a plan writes the configuration of imported objects.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use wardian_diagnostic::system_reason;
use wardian_engine::{Importing, Plan};
use wardian_value::{Value, json};

use crate::error::AppError;

const HEADER: &str =
    "# __generated__ by Wardian\n# Review these blocks, and move them to the files where they belong.\n";

/// Checks, before the plan is created, that no existing file would be overwritten.
///
/// # Errors
/// Returns an error if the file exists.
pub fn check_absent(path: &Path) -> Result<(), AppError> {
    match path.symlink_metadata() {
        Ok(_) => Err(exists(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(not_written(path, &error)),
    }
}

/// Writes the blocks that a plan generated. Returns whether the plan generated any blocks; if not,
/// no file is created.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write(path: &Path, plan: &Plan) -> Result<bool, AppError> {
    let Some(text) = text(plan) else { return Ok(false) };
    create(path, &text)?;
    Ok(true)
}

/// Writes blocks that import objects: for each object, its resource block and its import block.
/// Returns whether there are any; if not, no file is created.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write_imports<'a>(
    path: &Path,
    blocks: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<bool, AppError> {
    let mut text = String::from(HEADER);
    let mut is_any = false;
    for (resource, import) in blocks {
        is_any = true;
        // Writing to a string cannot fail.
        let _ = write!(text, "\n# __generated__ by Wardian\n{resource}\n\n{import}\n");
    }
    if is_any {
        create(path, &text)?;
    }
    Ok(is_any)
}

fn create(path: &Path, text: &str) -> Result<(), AppError> {
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    match opened.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(exists(path)),
        Err(error) => Err(not_written(path, &error)),
    }
}

fn text(plan: &Plan) -> Option<String> {
    let mut text = String::from(HEADER);
    let mut is_any = false;
    for change in &plan.changes {
        let Some(block) = &change.generated_config else { continue };
        is_any = true;
        let origin = match &change.importing {
            Some(Importing::Id(id)) => format!(" from {}", json::to_json_value(&Value::string(id.clone()))),
            Some(Importing::Identity(identity)) => format!(" from {}", json::to_json_value(identity)),
            Some(Importing::Unknown) | None => String::new(),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n# __generated__ by Wardian{origin}\n{block}\n");
    }
    is_any.then_some(text)
}

fn exists(path: &Path) -> AppError {
    AppError::new(
        "Target generated file already exists",
        format!(
            "{} already exists, and generated configuration is written only to a new file. Specify another \
            file with -generate-config-out, or move the content of this file elsewhere and delete the file.",
            path.display()
        ),
    )
}

fn not_written(path: &Path, error: &std::io::Error) -> AppError {
    AppError::new(
        "Failed to write generated config",
        format!(
            "The configuration of imported objects cannot be written to {}: {}.",
            path.display(),
            system_reason(error)
        ),
    )
}
