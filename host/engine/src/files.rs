//! The files that functions of the language list.

use std::path::Path;

use wardian_plugin::FileGate;

/// The most directories one within the other that are looked into: symbolic links
/// may form a circle.
const DEPTH_LIMIT: usize = 64;

/// All regular files below a directory, relative to it, sorted, with `/` between
/// their parts. Symbolic links are followed, as far as the gate permits.
///
/// # Errors
/// Where the directory itself cannot be read.
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
        } else if metadata.is_dir() && depth < DEPTH_LIMIT && gate.check(&entry.path()).is_ok() {
            // What cannot be read further down is as if it were not there.
            let _ = collect(&entry.path(), gate, &relative, depth + 1, found);
        }
    }
    Ok(())
}
