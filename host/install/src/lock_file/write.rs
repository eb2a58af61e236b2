//! Encodes lock files byte for byte like Terraform, and replaces the file.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use wardian_cache::AtomicWrite;

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
    let write = match fs::metadata(path) {
        Ok(old) => AtomicWrite::new().with_permissions(old.permissions()),
        Err(_) => AtomicWrite::new(),
    };
    write.write(path, &[content])
}
