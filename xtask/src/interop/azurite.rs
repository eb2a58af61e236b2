//! Installs Azurite, Microsoft's emulator of Azure Storage, under `target/` once, where it is reused.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::progress::say;

/// Returns the path of the server's program, which is installed if necessary.
pub(crate) fn installed(target: &Path, npm: &Path) -> Result<PathBuf> {
    let directory = target.join("interop/node");
    let server = directory.join("node_modules/.bin/azurite-blob");
    if !server.is_file() {
        say("installing Azurite in target/interop");
        let arguments = ["install", "--silent", "--no-audit", "--no-fund", "azurite@3", "--prefix"];
        process::output(Command::new(npm).args(arguments).arg(&directory))?;
    }
    Ok(server)
}
