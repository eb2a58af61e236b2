//! The reasons why a project cannot be read, built or tested.

use std::io;
use std::path::PathBuf;

use wardian_diagnostic::system_reason;

use super::cargo::COMPONENT_TARGET;
use crate::componentize::ComponentizeError;
use crate::declare::DeclareError;

/// The reason why a project cannot be read, built or tested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    #[error(
        "the directory {} contains no Cargo.toml, go.mod, pyproject.toml or package.json; name the directory of a \
         provider, or create one with `wardian plugin new`",
        .0.display()
    )]
    NoProject(PathBuf),
    #[error("{program} was not found; {remedy}")]
    NoProgram { program: &'static str, remedy: &'static str },
    #[error("{program} cannot be run: {}", system_reason(.source))]
    Program { program: &'static str, source: io::Error },
    #[error(
        "the compiler's library for components is not installed; install it with `rustup target add {COMPONENT_TARGET}`"
    )]
    NoTarget,
    #[error("the package {package} is not installed for the project in {}; {remedy}", .directory.display())]
    NoPackageInstalled { package: &'static str, directory: PathBuf, remedy: &'static str },
    #[error("cargo cannot read the project:\n\n{0}")]
    Manifest(String),
    #[error("{} defines no package, only a workspace; name the directory of the provider's package", .0.display())]
    NoPackage(PathBuf),
    #[error(
        "the package {package} builds no component; add crate-type = [\"cdylib\", \"rlib\"] to [lib] in {}",
        .manifest.display()
    )]
    NoComponent { package: String, manifest: PathBuf },
    #[error(
        "{} does not contain the provider's address; add it:\n\n[package.metadata.wardian]\naddress = \"acme/dns\"",
        .0.display()
    )]
    NoAddress(PathBuf),
    #[error("the address \"{address}\" in {} is not valid: {problem}", .manifest.display())]
    Address { address: String, manifest: PathBuf, problem: String },
    #[error(
        "the file {} does not exist; create it with the provider's address:\n\n{{ \"address\": \"acme/dns\", \
         \"capabilities\": [] }}",
        .0.display()
    )]
    NoSettings(PathBuf),
    #[error("{}:{line}: {problem}", .file.display())]
    Settings { file: PathBuf, line: usize, problem: String },
    #[error("the capabilities in {} cannot be declared: {source}", .file.display())]
    Declare { file: PathBuf, source: DeclareError },
    #[error("the core module that go has built cannot be converted to a component: {0}")]
    Componentize(ComponentizeError),
    #[error("the build failed:\n\n{output}")]
    Build { program: &'static str, output: String },
    #[error("tests failed:\n\n{output}")]
    Tests { program: &'static str, output: String },
    #[error("{program} built no component for the package {package}")]
    NoArtifact { program: &'static str, package: String },
    #[error("{} cannot be read: {}", .path.display(), system_reason(.source))]
    Read { path: PathBuf, source: io::Error },
    #[error("{} cannot be written: {}", .path.display(), system_reason(.source))]
    Write { path: PathBuf, source: io::Error },
}
