//! Projects in which Wardian runs one of the providers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::accounts::Account;
use super::python::Python;
use super::servers::Servers;
use crate::interop::program::Program;
use crate::mirror_settings::mirror_settings;
use crate::process;

/// The address of every provider, so that all of them run the same configurations and policies.
pub(super) const ADDRESS: &str = "example.com/interop/peers";
/// The levels at which Wardian supervises connections.
const SUPERVISED_LEVELS: &[&str] = &["filtered", "full"];

/// A provider in a filesystem mirror.
#[derive(Clone)]
pub(super) struct Plugin {
    pub(super) name: String,
    /// The CLI configuration with the mirror.
    settings: PathBuf,
    /// The directories that its interpreter reads.
    directories: Vec<PathBuf>,
}

/// The files that all rows share.
pub(super) struct Suite<'a> {
    place: PathBuf,
    wardian: PathBuf,
    platform: String,
    python: &'a Python,
    pub(super) servers: Servers,
}

impl<'a> Suite<'a> {
    pub(super) fn new(place: &Path, wardian: &Path, python: &'a Python, servers: Servers) -> Result<Self> {
        let version = process::output(Command::new(wardian).args(["version", "-json"]))?;
        let version: Value = serde_json::from_str(&version).context("`version -json` is not JSON")?;
        let platform = version["platform"].as_str().context("Wardian does not report a platform")?.to_owned();
        let suite = Self { place: place.to_owned(), wardian: wardian.to_owned(), platform, python, servers };
        fs::create_dir_all(suite.tools())?;
        let program = suite.tools().join("peers-credential");
        suite.write_script(&program, &python.interpreter, "credential")?;
        Ok(suite)
    }

    /// Returns the directory with the exec credential program.
    fn tools(&self) -> PathBuf {
        self.place.join("tools")
    }

    /// Returns why this machine does not support the confinement.
    pub(super) fn missing_support(&self) -> Result<Option<String>> {
        let directory = self.place.join("support");
        fs::create_dir_all(&directory)?;
        let policy = Policy::default().text("confine");
        fs::write(directory.join("wardian.policy.hcl"), policy)?;
        let program = Program { name: "wardian", file: self.wardian.clone(), environment: Vec::new() };
        let level = level(&program, &directory)?;
        let is_supported = SUPERVISED_LEVELS.contains(&level.as_str());
        Ok((!is_supported).then(|| format!("the level of confinement of this machine is `{level}`")))
    }

    /// Puts an executable into a mirror of its own.
    pub(super) fn plugin(&self, name: &str, executable: &Path) -> Result<Plugin> {
        let (plugin, file) = self.mirror(name)?;
        fs::copy(executable, &file)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
        Ok(plugin)
    }

    pub(super) fn python_plugin(&self) -> Result<Plugin> {
        let (mut plugin, file) = self.mirror("python")?;
        self.write_script(&file, &self.python.interpreter, "provider")?;
        plugin.directories.clone_from(&self.python.directories);
        Ok(plugin)
    }

    fn mirror(&self, name: &str) -> Result<(Plugin, PathBuf)> {
        let mirror = self.place.join("mirrors").join(name);
        let package = mirror.join(ADDRESS).join("1.0.0").join(&self.platform);
        fs::create_dir_all(&package)?;
        let settings = self.place.join("mirrors").join(format!("{name}.tfrc"));
        fs::write(&settings, mirror_settings(&mirror))?;
        let plugin = Plugin { name: name.to_owned(), settings, directories: Vec::new() };
        Ok((plugin, package.join("terraform-provider-peers_v1.0.0")))
    }

    /// Writes a program that runs a Python module of the suite.
    fn write_script(&self, file: &Path, interpreter: &Path, module: &str) -> Result<()> {
        let directory = self.python.provider.display().to_string();
        let text = format!(
            "#!{} -I\nimport runpy, sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, {directory:?})\n\
             runpy.run_module({module:?}, run_name=\"__main__\", alter_sys=True)\n",
            interpreter.display()
        );
        fs::write(file, text)?;
        fs::set_permissions(file, fs::Permissions::from_mode(0o755))
            .context("could not make a script executable")
    }
}

/// The rules of a policy.
#[derive(Clone, Default)]
pub(super) struct Policy {
    pub(super) files: Vec<PathBuf>,
    /// The scheme, host and port of each rule.
    pub(super) hosts: Vec<(&'static str, String, u16)>,
    /// The arguments of the exec credential program, if it may run.
    pub(super) credential_arguments: Option<Vec<String>>,
}

impl Policy {
    fn text(&self, native: &str) -> String {
        let mut text = format!("plugin \"{ADDRESS}\" {{\n  native = \"{native}\"\n");
        if native != "allow" {
            let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
            if !files.is_empty() {
                let _ = write!(text, "  allow filesystem {{\n    directories = {files:?}\n  }}\n");
            }
            for (scheme, host, port) in &self.hosts {
                let _ = write!(
                    text,
                    "  allow network {{\n    schemes   = [{scheme:?}]\n    hosts     = [{host:?}]\n    ports     = \
                     [{port}]\n    addresses = [\"loopback\"]\n  }}\n"
                );
            }
            if let Some(arguments) = &self.credential_arguments {
                let _ = write!(
                    text,
                    "  allow process {{\n    program     = \"peers-credential\"\n    arguments   = {arguments:?}\n    \
                     environment = [\"KUBERNETES_EXEC_INFO\"]\n  }}\n"
                );
            }
        }
        text.push_str("}\n");
        text
    }
}

/// A directory with a configuration and a policy.
pub(super) struct Project {
    pub(super) directory: PathBuf,
    pub(super) program: Program,
}

impl Project {
    /// Creates a project with a configuration without resources, which is initialized.
    pub(super) fn create(
        suite: &Suite<'_>,
        account: &Account,
        plugin: &Plugin,
        title: &str,
        native: &str,
        policy: &Policy,
    ) -> Result<Self> {
        let directory = account.directory.join(format!("{}-{title}-{native}", plugin.name));
        fs::create_dir_all(&directory)?;
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let search_path =
            std::env::join_paths(std::iter::once(suite.tools()).chain(std::env::split_paths(&inherited)))?;
        let home = account.directory.join("home");
        let environment = [
            ("TF_CLI_CONFIG_FILE", plugin.settings.display().to_string()),
            ("WARDIAN_CACHE_DIR", account.directory.join("cache").display().to_string()),
            ("XDG_DATA_HOME", account.directory.join("data").display().to_string()),
            ("XDG_CONFIG_HOME", home.display().to_string()),
            ("HOME", home.display().to_string()),
            ("WARDIAN_AUDIT", "audit.log".to_owned()),
            ("PATH", search_path.to_string_lossy().into_owned()),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value)).into();
        let program = Program { name: "wardian", file: account.program.clone(), environment };
        let project = Self { directory, program };
        let mut policy = policy.clone();
        policy.files.extend(plugin.directories.iter().cloned());
        project.write("wardian.policy.hcl", &policy.text(native))?;
        project.configure("")?;
        account.give(&project.directory)?;
        project.run(&["init", "-no-color", "-input=false"])?;
        Ok(project)
    }

    pub(super) fn write(&self, file: &str, text: &str) -> Result<()> {
        fs::write(self.directory.join(file), text).with_context(|| format!("could not write {file}"))
    }

    /// Replaces the resources of the configuration.
    pub(super) fn configure(&self, resources: &str) -> Result<()> {
        let text = format!(
            "terraform {{\n  required_providers {{\n    peers = {{ source = \"{ADDRESS}\" }}\n  }}\n}}\n\n{resources}"
        );
        self.write("main.tf", &text)
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Result<String> {
        self.program.run(&self.directory, arguments)
    }

    /// Runs an apply that must fail, and returns its output.
    pub(super) fn fail_to_apply(&self) -> Result<String> {
        let arguments = ["apply", "-no-color", "-input=false", "-auto-approve"];
        let result = self.program.try_run(&self.directory, &arguments)?;
        anyhow::ensure!(result.code == Some(1), "`wardian apply` did not fail:\n{}", result.transcript);
        Ok(result.transcript)
    }

    /// Returns the level at which this project's plugin is confined.
    pub(super) fn level(&self) -> Result<String> {
        level(&self.program, &self.directory)
    }

    /// Returns the records of a capability and removes the audit log.
    pub(super) fn take_records(&self) -> Result<AuditRecords> {
        let file = self.directory.join("audit.log");
        let text = fs::read_to_string(&file).context("could not read the audit log")?;
        fs::remove_file(&file)?;
        let records = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        Ok(AuditRecords(records.context("a line of the audit log is not JSON")?))
    }
}

fn level(program: &Program, directory: &Path) -> Result<String> {
    let explained = program.run(directory, &["policy", "explain", ADDRESS, "-json"])?;
    let explained: Value = serde_json::from_str(&explained).context("`policy explain -json` is not JSON")?;
    // Without confinement, there is no level.
    Ok(explained["confinement"].as_str().unwrap_or("none").to_owned())
}

/// The records of a run.
pub(super) struct AuditRecords(Vec<Value>);

impl AuditRecords {
    pub(super) fn find(&self, capability: &str, decision: &str) -> Vec<&Value> {
        let matches = |record: &&Value| record["capability"] == capability && record["decision"] == decision;
        self.0.iter().filter(matches).collect()
    }

    /// Returns the targets of the records of a capability.
    pub(super) fn targets(&self, capability: &str, decision: &str) -> BTreeSet<String> {
        let records = self.find(capability, decision).into_iter();
        records.filter_map(|record| record["target"].as_str()).map(str::to_owned).collect()
    }
}
