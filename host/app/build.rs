//! Embeds plugins in the `wardian` binary: each guest in `target/guests`, with its address, its
//! version and its SHA-256. The SHA-256 is computed at build time, not in each run.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const BUILD_THEM: &str = "run `cargo xtask guests` (or `cargo xtask build`) first";

/// `[package.metadata.wardian]` of a plugin.
struct Metadata {
    guest: String,
    address: String,
    version: String,
    /// The provisioner type, if the plugin is a provisioner.
    provisioner: Option<String>,
}

fn main() -> Result<()> {
    let workspace = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let workspace = workspace.canonicalize()?;
    let mut code = String::from("vec![\n");
    for manifest in manifests(&workspace.join("plugins"))? {
        println!("cargo::rerun-if-changed={}", manifest.display());
        if let Some(metadata) = metadata(&fs::read_to_string(&manifest)?) {
            embed(&workspace, &metadata, &mut code)?;
        }
    }
    code.push_str("]\n");
    fs::write(Path::new(&std::env::var("OUT_DIR")?).join("embedded.rs"), code)?;
    Ok(())
}

fn manifests(plugins: &Path) -> Result<Vec<PathBuf>> {
    println!("cargo::rerun-if-changed={}", plugins.display());
    let mut manifests = Vec::new();
    for entry in fs::read_dir(plugins)? {
        let manifest = entry?.path().join("Cargo.toml");
        if manifest.is_file() {
            manifests.push(manifest);
        }
    }
    manifests.sort();
    Ok(manifests)
}

/// Reads only the relevant lines, to avoid compiling a TOML parser for the build.
fn metadata(manifest: &str) -> Option<Metadata> {
    let (_, section) = manifest.split_once("[package.metadata.wardian]")?;
    let section = section.split("\n[").next()?;
    let value = |key: &str| {
        section.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            (name.trim() == key).then(|| value.trim().trim_matches('"').to_owned())
        })
    };
    Some(Metadata {
        guest: value("guest")?,
        address: value("address")?,
        version: value("version")?,
        provisioner: value("provisioner"),
    })
}

fn embed(workspace: &Path, metadata: &Metadata, code: &mut String) -> Result<()> {
    let Metadata { guest, address, version, provisioner } = metadata;
    let file = workspace.join("target/guests").join(format!("{guest}.wasm"));
    println!("cargo::rerun-if-changed={}", file.display());
    let bytes = fs::read(&file).map_err(|error| {
        format!("the plugin {} cannot be embedded: {error}; {BUILD_THEM}", file.display())
    })?;
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    writeln!(
        code,
        "    Embedded {{ address: {address:?}, version: {version:?}, provisioner: {provisioner:?}, bytes: include_bytes!({:?}), sha256: {digest:?} }},",
        file.display().to_string()
    )?;
    Ok(())
}
