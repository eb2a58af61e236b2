//! Builds and tests the project of a provider with the build tool of its language.
//!
//! A file in the project's directory determines the build tool:
//!
//! | file | build tool |
//! |---|---|
//! | `Cargo.toml` | `cargo` |
//! | `go.mod` | `go`, with [`componentize`](crate::componentize) |
//! | `pyproject.toml` | `python`: `componentize-py` |
//! | `package.json` | `javascript`: `componentize-qjs` and npm |
//!
//! The first file in this order counts, because a project in any language can contain a `package.json` or
//! `pyproject.toml` for other tools. A Rust project contains its address in `Cargo.toml` and declares its
//! capabilities in its source code; other projects contain both in `wardian.json` (`settings`).

mod cargo;
mod error;
mod go;
mod javascript;
mod process_group;
mod program;
mod python;
mod settings;

use std::path::{Path, PathBuf};

use serde_json::Value;
use wardian_address::ProviderAddress;

pub use self::cargo::COMPONENT_TARGET;
pub use self::error::ProjectError;
pub use self::process_group::end_programs;
use self::settings::Settings;
use crate::declare::{declare, document_from_json};

/// The world of components that are built with the SDKs for JavaScript and Python.
const SDK_WORLD: &str = "sdk-provider-plugin";

/// The directory of build results, below the project's directory, unless the build tool has its own.
const RESULTS_DIRECTORY: &str = "build";

/// Names of files and directories that are not sources in any project.
const RESULT_NAMES: [&str; 2] = [".git", "docs"];

/// The project of a provider.
#[derive(Clone, Debug)]
pub struct Project {
    pub directory: PathBuf,
    /// The name of the package.
    pub name: String,
    pub address: ProviderAddress,
    /// The directory for build results.
    pub results_directory: PathBuf,
    tool: BuildTool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BuildTool {
    Cargo,
    Go,
    Python,
    JavaScript,
}

/// The purpose for which a component is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildProfile {
    Development,
    Release,
}

/// A function that receives the name of each package that is compiled.
pub type PackageProgress<'a> = dyn FnMut(&str) + Send + 'a;

impl BuildTool {
    /// Each build tool, with the file by which its projects are detected.
    const ALL: [(&'static str, Self); 4] = [
        ("Cargo.toml", Self::Cargo),
        ("go.mod", Self::Go),
        ("pyproject.toml", Self::Python),
        ("package.json", Self::JavaScript),
    ];

    fn for_directory(directory: &Path) -> Option<Self> {
        Self::ALL.iter().find(|(file, _)| directory.join(file).is_file()).map(|(_, tool)| *tool)
    }

    /// Whether a file or directory with this name is not a source, in addition to [`RESULT_NAMES`].
    fn is_result(self, name: &str) -> bool {
        match self {
            Self::Cargo => matches!(name, "target" | "Cargo.lock"),
            Self::Go => false,
            Self::Python => python::is_result(name),
            Self::JavaScript => matches!(name, "node_modules" | "package-lock.json"),
        }
    }
}

impl Project {
    /// Reads the project in a directory.
    ///
    /// # Errors
    /// Returns an error if the directory contains no provider, or the build tool is not installed.
    pub async fn load(directory: &Path) -> Result<Self, ProjectError> {
        let tool = BuildTool::for_directory(directory)
            .ok_or_else(|| ProjectError::NoProject(directory.to_owned()))?;
        let directory = std::fs::canonicalize(directory)
            .map_err(|source| ProjectError::Read { path: directory.to_owned(), source })?;
        if tool == BuildTool::Cargo {
            return cargo::load(&directory).await;
        }
        let address = Settings::read(&directory)?.address;
        let name = directory
            .file_name()
            .map_or_else(|| address.type_name().to_owned(), |name| name.to_string_lossy().into_owned());
        let results_directory = directory.join(RESULTS_DIRECTORY);
        Ok(Self { directory, name, address, results_directory, tool })
    }

    /// Returns whether a path in the project may be a source, whose change starts a new build.
    pub fn is_source(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        !RESULT_NAMES.contains(&name)
            && !self.tool.is_result(name)
            && !name.starts_with("terraform.tfstate")
            && !name.starts_with(".terraform")
            && path != self.results_directory
    }

    /// Builds the component, and returns its file.
    ///
    /// # Errors
    /// Returns an error with the compiler's messages if the build fails.
    pub async fn build(
        &self,
        profile: BuildProfile,
        progress: &mut PackageProgress<'_>,
    ) -> Result<PathBuf, ProjectError> {
        if self.tool == BuildTool::Cargo {
            return cargo::build(self, profile, progress).await;
        }
        // The settings may have changed since the project was loaded.
        let settings = Settings::read(&self.directory)?;
        let directory = match profile {
            BuildProfile::Development => self.results_directory.join("development"),
            BuildProfile::Release => self.results_directory.clone(),
        };
        let written = |path: &Path| {
            let path = path.to_owned();
            move |source| ProjectError::Write { path, source }
        };
        std::fs::create_dir_all(&directory).map_err(written(&directory))?;
        let file = directory.join(format!("terraform-provider-{}.wasm", self.address.type_name()));
        match self.tool {
            BuildTool::Cargo | BuildTool::Go => {
                go::build(self, &settings, profile, &file, progress).await?;
            }
            BuildTool::Python => python::build(self, &settings, &file).await?,
            BuildTool::JavaScript => javascript::build(self, &settings, &file).await?,
        }
        if !settings.capabilities.is_empty() {
            let component =
                std::fs::read(&file).map_err(|source| ProjectError::Read { path: file.clone(), source })?;
            let declared = document_from_json(&Value::Array(settings.capabilities).to_string())
                .and_then(|document| declare(&component, &document, &self.directory));
            let (declared, _) =
                declared.map_err(|source| ProjectError::Declare { file: settings.file, source })?;
            std::fs::write(&file, declared).map_err(written(&file))?;
        }
        Ok(file)
    }

    /// Runs the unit tests natively, and returns the number of tests that passed, if the test runner reports
    /// it.
    ///
    /// # Errors
    /// Returns an error with the output of the failed tests, or with the compiler's messages.
    pub async fn test(&self, progress: &mut PackageProgress<'_>) -> Result<Option<usize>, ProjectError> {
        match self.tool {
            BuildTool::Cargo => cargo::test(self, progress).await.map(Some),
            BuildTool::Go => go::test(self).await.map(Some),
            BuildTool::Python => python::test(self).await,
            BuildTool::JavaScript => javascript::test(self).await,
        }
    }
}
