//! Lock file to text, byte for byte as Terraform writes it, and the atomic
//! replacement of the file.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::LockFile;
use crate::temporary::temporary_beside;

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
    let temporary = temporary_beside(path);
    let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    let written = fill(file, path, content).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error counts.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn fill(mut file: File, replaced: &Path, content: &[u8]) -> io::Result<()> {
    if let Ok(old) = fs::metadata(replaced) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(content)?;
    file.sync_all()
}
