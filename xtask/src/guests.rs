//! Compiles plugins to components, which the host embeds and tests load.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::process;
use crate::progress::{Step, note, size};
use crate::toolchain::{TARGET, Toolchain};
use crate::workspace::{Guest, Purpose, Workspace};

/// Maximum size of all embedded plugins together, in bytes.
pub(crate) const BUDGET: u64 = 8_000_000;

/// A component in `target/guests`.
pub(crate) struct Artifact {
    pub(crate) name: String,
    pub(crate) purpose: Purpose,
    pub(crate) bytes: u64,
}

/// Builds the guests with one of these purposes: embedded plugins as `target/guests/NAME.wasm`, and
/// test plugins as `target/guests/test/NAME.wasm`.
pub(crate) fn build(
    workspace: &Workspace,
    toolchain: &Toolchain,
    purposes: &[Purpose],
) -> Result<Vec<Artifact>> {
    let directory = directory(workspace);
    let guests: Vec<&Guest> =
        workspace.guests.iter().filter(|guest| purposes.contains(&guest.purpose)).collect();
    let step = Step::start(&format!("Building the plugins ({})", guests.len()));
    if !guests.is_empty() {
        compile(workspace, &guests, toolchain, &directory)?;
    }
    for &purpose in purposes {
        let place = place(&directory, purpose);
        fs::create_dir_all(&place).with_context(|| format!("could not create {}", place.display()))?;
        remove_strays(&place, &workspace.guests, purpose)?;
    }
    let mut artifacts = Vec::new();
    for guest in guests {
        let from = compiled_file(&directory, guest);
        let to = place(&directory, guest.purpose).join(format!("{}.wasm", guest.name));
        let bytes = copy_if_different(&from, &to)?;
        if guest.purpose == Purpose::Embedded {
            note(&format!("{:<16} {:>8}", guest.name, size(bytes)));
        }
        artifacts.push(Artifact { name: guest.name.clone(), purpose: guest.purpose, bytes });
    }
    step.done(&format!("{} embedded in total (at most {})", size(embedded(&artifacts)), size(BUDGET)));
    Ok(artifacts)
}

/// Returns the file that cargo writes for a guest.
pub(crate) fn compiled_file(directory: &Path, guest: &Guest) -> PathBuf {
    directory.join(TARGET).join("guest").join(format!("{}.wasm", guest.library))
}

pub(crate) fn directory(workspace: &Workspace) -> PathBuf {
    workspace.own_target().join("guests")
}

pub(crate) fn place(directory: &Path, purpose: Purpose) -> PathBuf {
    match purpose {
        Purpose::Embedded => directory.to_path_buf(),
        Purpose::Test => directory.join("test"),
    }
}

pub(crate) fn embedded(artifacts: &[Artifact]) -> u64 {
    artifacts
        .iter()
        .filter(|artifact| artifact.purpose == Purpose::Embedded)
        .map(|artifact| artifact.bytes)
        .sum()
}

pub(crate) fn within_budget(artifacts: &[Artifact]) -> Result<()> {
    let sum = embedded(artifacts);
    if sum > BUDGET {
        bail!(
            "the embedded plugins have a total size of {sum} bytes, which exceeds the budget of {BUDGET}; \
             `cargo xtask guests` lists them"
        );
    }
    Ok(())
}

/// Compiles guests, with `directory` as the directory of build results.
pub(crate) fn compile(
    workspace: &Workspace,
    guests: &[&Guest],
    toolchain: &Toolchain,
    directory: &Path,
) -> Result<()> {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--profile=guest", "--lib", "--target", TARGET]);
    cargo.arg("--target-dir").arg(directory);
    for guest in guests {
        cargo.args(["--package", &guest.package]);
    }
    cargo.env_remove("RUSTFLAGS");
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(workspace, toolchain)?);
    process::run(&mut cargo).context("the plugins could not be built")
}

/// Returns the compiler flags. With `--target`, cargo passes them only to guests, not to build
/// scripts and macros. The flags remove this machine's paths from the artifacts. Therefore, the
/// same sources are compiled to the same bytes on every machine.
fn flags(workspace: &Workspace, toolchain: &Toolchain) -> Result<String> {
    let mut flags = vec![format!("--remap-path-prefix={}=/wardian", text(&workspace.root)?)];
    if let Some(home) = cargo_home() {
        flags.push(format!("--remap-path-prefix={}=/cargo", text(&home)?));
    }
    if let Some(sysroot) = &toolchain.sysroot {
        flags.push(format!("--sysroot={}", text(sysroot)?));
    }
    Ok(flags.join("\u{1f}"))
}

fn cargo_home() -> Option<PathBuf> {
    std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8, which rustc's flags need", path.display()))
}

/// Copies a file only if it has changed. This preserves the modification time of an unchanged file
/// and avoids rebuilding the host.
fn copy_if_different(from: &Path, to: &Path) -> Result<u64> {
    let built = fs::read(from).with_context(|| format!("cargo left no component at {}", from.display()))?;
    if fs::read(to).ok().as_deref() != Some(&built) {
        fs::write(to, &built).with_context(|| format!("could not write {}", to.display()))?;
    }
    Ok(built.len() as u64)
}

/// Removes the artifacts of guests that were renamed or removed. Otherwise, they would still be
/// embedded.
fn remove_strays(place: &Path, guests: &[Guest], purpose: Purpose) -> Result<()> {
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        let (Some(stem), Some("wasm")) = (
            path.file_stem().and_then(|stem| stem.to_str()),
            path.extension().and_then(|extension| extension.to_str()),
        ) else {
            continue;
        };
        let known = guests.iter().any(|guest| guest.name == stem && guest.purpose == purpose);
        if !known {
            note(&format!("removing {}, which no package builds", path.display()));
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(purpose: Purpose, bytes: u64) -> Artifact {
        Artifact { name: "random".into(), purpose, bytes }
    }

    #[test]
    fn budget_counts_only_embedded_plugins() {
        let fits = [artifact(Purpose::Embedded, BUDGET), artifact(Purpose::Test, BUDGET)];
        assert!(within_budget(&fits).is_ok());
        let over = [artifact(Purpose::Embedded, BUDGET), artifact(Purpose::Embedded, 1)];
        assert!(within_budget(&over).is_err());
    }
}
