//! The file that a plan writes the configuration of imported objects to.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use wardian_engine::{Importing, Plan};
use wardian_value::{Value, json};

use crate::failure::{Failure, Outcome};

const HEADER: &str =
    "# __generated__ by Wardian\n# Look through these blocks, and move them to where they belong.\n";

/// That the file can be made: nothing is written over, and a plan need not be made in
/// vain.
///
/// # Errors
/// Where something is there.
pub(crate) fn check_absent(path: &Path) -> Outcome<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(exists(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(not_written(path, &error)),
    }
}

/// Writes the blocks that a plan has made. Returns whether there are any; without any
/// no file is made.
///
/// # Errors
/// Where the file cannot be written.
pub(crate) fn write(path: &Path, plan: &Plan) -> Outcome<bool> {
    let Some(text) = text(plan) else { return Ok(false) };
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => Ok(true),
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
        // A string that cannot be written to is no string of ours.
        let _ = write!(text, "\n# __generated__ by Wardian{origin}\n{block}\n");
    }
    is_any.then_some(text)
}

fn exists(path: &Path) -> Failure {
    Failure::error(
        "Target generated file already exists",
        format!(
            "{} is there already, and configurations are only ever written to a new file. Name another one with \
             -generate-config-out, or move what is in it elsewhere and delete it.",
            path.display()
        ),
    )
}

fn not_written(path: &Path, error: &std::io::Error) -> Failure {
    Failure::error(
        "Failed to write generated config",
        format!("The configuration of imported objects cannot be written to {}: {error}.", path.display()),
    )
}
