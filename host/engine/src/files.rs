//! Lists files for functions of the language.

use std::path::Path;

use wardian_plugin::{CallContext, FileGate};

/// Maximum depth of directories, since symbolic links can form a cycle.
const MAX_DEPTH: usize = 64;

/// Returns all regular files below a directory, relative to it, sorted, with `/` between path
/// components. Symbolic links are followed if the gate permits it.
///
/// # Errors
/// The directory itself cannot be read.
pub fn below(directory: &Path, gate: &FileGate) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    collect(directory, gate, "", 0, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(
    directory: &Path,
    gate: &FileGate,
    prefix: &str,
    depth: usize,
    found: &mut Vec<String>,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let relative = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let Ok(metadata) = std::fs::metadata(entry.path()) else { continue };
        if metadata.is_file() {
            found.push(relative);
        } else if metadata.is_dir()
            && depth < MAX_DEPTH
            && gate.check(&CallContext::default(), &entry.path()).is_ok()
        {
            // Unreadable subdirectories are skipped.
            let _ = collect(&entry.path(), gate, &relative, depth + 1, found);
        }
    }
    Ok(())
}
