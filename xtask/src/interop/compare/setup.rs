//! Prepares a comparison: mirrors with providers, copies of configurations, and the environment of
//! both programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::options::Options;
use super::steps::INPUTS;
use crate::interop::mirrors::{AWS, Mirrors};
use crate::interop::moto::{self, Server};
use crate::interop::program::Program;
use crate::process;
use crate::progress::{Step, say};
use crate::workspace::Workspace;

/// The maximum size of a configuration with its modules.
const MAX_COPIED_BYTES: u64 = 200 << 20;
/// Directories of a repository that no configuration reads.
const NOT_COPIED: &[&str] = &[".git", ".terraform", "node_modules"];

/// The state that the comparisons share.
pub(crate) struct Setup {
    pub(crate) terraform: Program,
    pub(crate) wardian: Program,
    /// The directory for all files, which is removed at the end.
    place: PathBuf,
    /// The program that derives and serves mock providers.
    mock: PathBuf,
    mirrors: Mirrors,
    schemas: Vec<PathBuf>,
    is_filling: bool,
    /// The directory of xtask, for the server that emulates AWS.
    target: PathBuf,
    server: Option<Server>,
}

/// A configuration with its mock providers.
pub(crate) struct Project {
    /// The directory that contains the configuration and all local modules.
    origin: PathBuf,
    /// The configuration in this directory.
    relative: PathBuf,
    /// The directory for the mirror and the variable file of this configuration.
    own: PathBuf,
    /// The result of `derive`.
    pub(crate) derived: Value,
}

impl Project {
    /// Returns the directory in which both programs run.
    pub(crate) fn copied(&self, place: &Path) -> PathBuf {
        place.join("work").join(&self.relative)
    }

    fn uses_installed(&self, address: &str) -> bool {
        self.derived["providers"][address]["source"] == "installed"
    }
}

impl Setup {
    pub(crate) fn new(
        workspace: &Workspace,
        options: &Options,
        terraform: &Path,
        binary: &Path,
    ) -> Result<Self> {
        let step = Step::start("Building the mock provider");
        process::run(workspace.cargo().args(["build", "--package=wardian-mock-provider"]))?;
        step.done("built");
        let place = std::env::temp_dir().join(format!("wardian-compare-{}", std::process::id()));
        fs::create_dir_all(&place).with_context(|| format!("could not create {}", place.display()))?;
        let program = |name, file: &Path| Program { name, file: file.to_owned(), environment: Vec::new() };
        let wardian = program("wardian", binary);
        let mut mirrors = Mirrors::new(&wardian, &place)?;
        mirrors.available.retain(|address, _| !options.is_mocked(address));
        Ok(Self {
            terraform: program("terraform", terraform),
            wardian,
            mock: workspace.host_program("wardian-mock-provider"),
            mirrors,
            schemas: options.schemas.clone(),
            is_filling: options.is_filling,
            target: workspace.own_target(),
            server: None,
            place,
        })
    }

    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Derives the mock providers of a configuration, and determines the files that must be copied.
    pub(crate) fn project(&self, directory: &Path) -> Result<Project> {
        let own = self.place.join("own");
        if own.exists() {
            fs::remove_dir_all(&own)?;
        }
        fs::create_dir_all(own.join("mirror"))?;
        let mut derive = std::process::Command::new(&self.mock);
        derive.args(["derive", "--into"]).arg(own.join("mirror"));
        derive.arg("--inputs").arg(own.join(INPUTS));
        for (address, version) in &self.mirrors.available {
            derive.arg("--available").arg(format!("{address}@{version}"));
        }
        if self.is_filling {
            derive.arg("--fill");
        }
        for file in &self.schemas {
            derive.arg("--schemas").arg(file);
        }
        let derived: Value = serde_json::from_str(&process::output(derive.arg(directory))?)?;
        let modules = derived["module_directories"].as_array().into_iter().flatten();
        let modules: Vec<PathBuf> = modules.filter_map(|path| path.as_str().map(PathBuf::from)).collect();
        let origin = common_ancestor(directory, &modules);
        let relative = directory.strip_prefix(&origin).unwrap_or(Path::new("")).to_owned();
        // Values can contain the name of the directory.
        let name = origin.file_name().context("the root directory cannot be copied")?;
        let relative = Path::new(name).join(relative);
        Ok(Project { origin, relative, own, derived })
    }

    /// Copies a configuration into the directory in which both programs run.
    pub(crate) fn copy(&self, project: &Project) -> Result<()> {
        let work = self.place.join("work");
        if work.exists() {
            fs::remove_dir_all(&work)?;
        }
        let name = project.origin.file_name().unwrap_or_default();
        let mut left = MAX_COPIED_BYTES;
        copy(&project.origin, &work.join(name), &mut left)?;
        let directory = project.copied(&self.place);
        fs::copy(project.own.join(INPUTS), directory.join(INPUTS))?;
        if project.derived["has_backend"] == json!(true) {
            let backend = "terraform {\n  backend \"local\" {}\n}\n";
            fs::write(directory.join("compared_override.tf"), backend)?;
        }
        Ok(())
    }

    /// Returns the environment of both programs.
    pub(crate) fn environment(&mut self, project: &Project) -> Result<Vec<(String, String)>> {
        let settings = self.place.join("settings.tfrc");
        fs::write(&settings, self.mirrors.settings(&project.own.join("mirror")))?;
        let mut environment: BTreeMap<&str, String> = [
            ("TF_CLI_CONFIG_FILE", settings.display().to_string()),
            ("WARDIAN_CACHE_DIR", self.place.join("cache").display().to_string()),
            ("XDG_DATA_HOME", self.place.join("data").display().to_string()),
        ]
        .into();
        if project.uses_installed(AWS) {
            environment.extend([
                ("AWS_ACCESS_KEY_ID", "mock".to_owned()),
                ("AWS_SECRET_ACCESS_KEY", "mock".to_owned()),
                ("AWS_REGION", "eu-west-1".to_owned()),
                ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
                ("AWS_MAX_ATTEMPTS", "1".to_owned()),
                ("AWS_ENDPOINT_URL", self.aws_server()?),
            ]);
        }
        Ok(environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Returns the address of the server that emulates AWS, which is started on first use.
    fn aws_server(&mut self) -> Result<String> {
        if self.server.is_none() {
            let python = process::on_path("python3").context("`python3` is not on PATH")?;
            say("    starting the server that emulates AWS");
            let program = moto::installed(&self.target, &python)?;
            self.server = Some(Server::start(&program)?);
        }
        Ok(self.server.as_ref().map(Server::url).unwrap_or_default())
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        // The results are already printed, so an error is ignored. Files that remain are in the
        // directory for temporary files.
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// Returns the directory that contains the configuration and its modules.
fn common_ancestor(directory: &Path, modules: &[PathBuf]) -> PathBuf {
    let mut ancestor = directory.to_owned();
    for module in modules {
        while !module.starts_with(&ancestor) && ancestor.pop() {}
    }
    ancestor
}

fn copy(from: &Path, to: &Path, left: &mut u64) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("could not list {}", from.display()))? {
        let entry = entry?;
        let (name, source, target) = (entry.file_name(), entry.path(), to.join(entry.file_name()));
        let file_type = entry.file_type()?;
        // A lock file contains hashes of packages that are not in the mirror.
        if NOT_COPIED.iter().any(|one| name == *one) || name == ".terraform.lock.hcl" {
            continue;
        }
        if file_type.is_dir() {
            copy(&source, &target, left)?;
        } else if file_type.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if file_type.is_file() {
            let size = entry.metadata()?.len();
            ensure!(size <= *left, "{} contains more than {MAX_COPIED_BYTES} bytes", from.display());
            *left -= size;
            fs::copy(&source, &target).with_context(|| format!("could not copy {}", source.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_ancestor_contains_all_modules() {
        let path = |text: &str| PathBuf::from(text);
        for (directory, modules, ancestor) in [
            ("/r/examples/a", &["/r/examples/a"][..], "/r/examples/a"),
            ("/r/examples/a", &["/r", "/r/modules/x"], "/r"),
            ("/r/a", &["/r/a/modules/x"], "/r/a"),
            ("/r/a", &["/r/ab"], "/r"),
        ] {
            let modules: Vec<PathBuf> = modules.iter().map(|one| path(one)).collect();
            assert_eq!(common_ancestor(&path(directory), &modules), path(ancestor), "{directory}");
        }
    }

    #[test]
    fn copy_excludes_installed_files_and_limits_size() {
        let place = std::env::temp_dir().join(format!("xtask-copy-{}", std::process::id()));
        let (from, to) = (place.join("from"), place.join("to"));
        fs::create_dir_all(from.join(".terraform")).unwrap();
        fs::write(from.join("main.tf"), "x").unwrap();
        fs::write(from.join(".terraform.lock.hcl"), "x").unwrap();
        let copied = copy(&from, &to, &mut 10);
        let names: Vec<_> = fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let limited = copy(&from, &place.join("other"), &mut 0);
        fs::remove_dir_all(&place).unwrap();
        copied.unwrap();
        assert_eq!(names, ["main.tf"]);
        assert!(limited.is_err());
    }
}
