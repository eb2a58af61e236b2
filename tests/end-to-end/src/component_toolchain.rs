//! Finds the toolchain with which tests build components, as authors of plugins do.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the environment variables with the directories of cargo and rustup, for commands that have
/// another home directory. If the compiler cannot build components, prints the reason and returns
/// [`None`].
pub fn component_toolchain() -> Option<[(&'static str, PathBuf); 2]> {
    let libraries = Command::new("rustc").args(["--print=target-libdir", "--target=wasm32-wasip2"]).output();
    let directory = libraries.ok().filter(|output| output.status.success());
    let directory = directory.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    if !directory.is_some_and(|directory| Path::new(&directory).is_dir()) {
        println!("skipped: rustc cannot compile for wasm32-wasip2");
        return None;
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let directories = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")];
    Some(directories.map(|(name, default)| {
        (name, std::env::var_os(name).map_or_else(|| home.join(default), PathBuf::from))
    }))
}
