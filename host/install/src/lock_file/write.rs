//! Lock file to text, byte for byte as Terraform writes it, and the atomic
//! replacement of the file.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::LockFile;

const HEADER: &str = "# This file is maintained automatically by \"terraform init\".\n\
                      # Manual edits may be lost in future updates.\n";

pub(super) fn render(lock: &LockFile) -> String {
    let mut text = HEADER.to_owned();
    for (address, entry) in &lock.providers {
        let _ = write!(text, "\nprovider \"{address}\" {{\n");
        if entry.constraints.is_empty() {
            let _ = writeln!(text, "  version = \"{}\"", entry.version);
        } else {
            let _ = writeln!(text, "  version     = \"{}\"", entry.version);
            let _ = writeln!(text, "  constraints = \"{}\"", entry.constraints);
        }
        if !entry.hashes.is_empty() {
            text.push_str("  hashes = [\n");
            for hash in &entry.hashes {
                let _ = writeln!(text, "    \"{hash}\",");
            }
            text.push_str("  ]\n");
        }
        text.push_str("}\n");
    }
    text
}

pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = write_new(&temporary, path, content).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The temporary file may never have come to be; the first error counts.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(temporary: &Path, replaced: &Path, content: &[u8]) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create(true).truncate(true).open(temporary)?;
    if let Ok(old) = fs::metadata(replaced) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(content)?;
    file.sync_all()
}
