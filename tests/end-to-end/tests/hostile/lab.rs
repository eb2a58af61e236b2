//! The directories of an attack: `project`, `outside` with files that the attacker must not access,
//! and a home directory with the hostile components under several addresses.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use wardian_end_to_end::wasm::custom_section;
use wardian_end_to_end::{Project, test_guest};

use crate::attack::ensure;
use crate::bounded::{self, Kill, MAX_TIME, Run};

/// The content of each file that plugins must not access.
pub const SECRET: &str = "S3CRET-of-the-victim";

/// Two addresses of the same component.
pub const HOSTILE: &str = "example.com/test/hostile";
pub const OTHER: &str = "example.com/other/hostile";
/// The component with network access.
pub const NETWORK: &str = "example.com/test/network";
/// The malicious provisioner.
pub const PROVISIONER: &str = "example.com/test/provisioner-hostile";

pub struct Lab {
    project: Project,
}

impl Lab {
    /// Creates the directories, without grants.
    pub fn new() -> Result<Self, String> {
        let lab = Self { project: Project::new(&[]) };
        for directory in ["project", "outside", "home"] {
            fs::create_dir(lab.project.path(directory)).map_err(|error| error.to_string())?;
        }
        lab.project.write("outside/secret", SECRET);
        let guest = |name: &str| test_guest(name).ok_or_else(|| format!("the component {name} is not built"));
        let (hostile, network, provisioner) =
            (guest("hostile")?, guest("hostile-network")?, guest("hostile-provisioner")?);
        lab.set_overrides(&[
            (HOSTILE, &hostile),
            (OTHER, &hostile),
            (NETWORK, &network),
            (PROVISIONER, &provisioner),
        ]);
        Ok(lab)
    }

    /// Writes a CLI configuration that overrides providers with components or directories.
    pub fn set_overrides(&self, overrides: &[(&str, &Path)]) {
        let lines: String = overrides
            .iter()
            .map(|(address, path)| format!("    \"{address}\" = \"{}\"\n", path.display()))
            .collect();
        self.write_at(
            "home/.terraformrc",
            format!("provider_installation {{\n  dev_overrides {{\n{lines}  }}\n  direct {{}}\n}}\n"),
        );
    }

    /// Creates a lab in which the hostile provider is this component.
    pub fn with_component(component: impl AsRef<[u8]>) -> Result<Self, String> {
        let lab = Self::new()?;
        lab.write_at("component.wasm", component);
        lab.set_overrides(&[(HOSTILE, &lab.at("component.wasm"))]);
        Ok(lab)
    }

    /// Creates the directories, and grants the hostile provider access to some of them.
    pub fn with_grant(directories: &[&str]) -> Result<Self, String> {
        let lab = Self::new()?;
        lab.policy(&grant(HOSTILE, directories));
        Ok(lab)
    }

    /// Creates a lab for the component with network access, which declares its imports.
    pub fn with_network() -> Result<Self, String> {
        let lab = Self::new()?;
        let path = test_guest("hostile-network").ok_or("the component hostile-network is not built")?;
        let component = fs::read(&path).map_err(|error| error.to_string())?;
        let declaration = "{\"version\":1,\"capabilities\":[{\"network\":{\"hosts\":[\"**\"],\"schemes\":[\"http\",\"tcp\",\"udp\"],\"ports\":[\"*\"],\"reason\":\"reaches out\"}}]}\n";
        let section = custom_section("wardian:capabilities", declaration.as_bytes());
        lab.write_at("network.wasm", [component, section].concat());
        let settings = lab.read_at("home/.terraformrc");
        let settings =
            settings.replace(&path.display().to_string(), &lab.at("network.wasm").display().to_string());
        lab.write_at("home/.terraformrc", settings);
        Ok(lab)
    }

    /// Writes the root module's policy.
    pub fn policy(&self, text: &str) {
        self.write("wardian.policy.hcl", text);
    }

    /// Writes a file of the configuration.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        self.project.write(&format!("project/{path}"), content);
    }

    /// Writes a file at a path relative to the lab's directory.
    pub fn write_at(&self, path: &str, content: impl AsRef<[u8]>) {
        self.project.write(path, content);
    }

    /// Writes an executable file of the configuration.
    pub fn write_program(&self, path: &str, content: &str) -> Result<(), String> {
        self.write(path, content);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(path), mode).map_err(|error| error.to_string())
    }

    pub fn make(&self, directory: &str) -> Result<(), String> {
        fs::create_dir_all(self.path(directory)).map_err(|error| error.to_string())
    }

    pub fn link(&self, target: &str, path: &str) -> Result<(), String> {
        symlink(target, self.path(path)).map_err(|error| error.to_string())
    }

    /// Returns a file of the configuration; empty if it does not exist.
    pub fn read(&self, path: &str) -> String {
        self.project.read(&format!("project/{path}"))
    }

    pub fn read_at(&self, path: &str) -> String {
        self.project.read(path)
    }

    pub fn has(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.at("project").join(relative)
    }

    /// Returns a path in the lab's directory.
    pub fn at(&self, relative: &str) -> PathBuf {
        self.project.path(relative)
    }

    /// Returns the command with arguments, in the configuration's directory.
    pub fn command(&self, line: &str) -> Command {
        let mut command = self.project.command(line);
        command.current_dir(self.at("project")).env("TF_IN_AUTOMATION", "1");
        command
    }

    /// Runs a command within the limits.
    pub fn run(&self, line: &str) -> Result<Run, String> {
        bounded::run(self.command(line), MAX_TIME, &[])
    }

    pub fn run_with(&self, line: &str, variables: &[(&str, &str)]) -> Result<Run, String> {
        let mut command = self.command(line);
        command.envs(variables.iter().copied());
        bounded::run(command, MAX_TIME, &[])
    }

    /// Runs a command that receives signals.
    pub fn run_and_kill(&self, line: &str, limit: Duration, kills: &[Kill]) -> Result<Run, String> {
        bounded::run(self.command(line), limit, kills)
    }

    /// Plans a configuration in which the hostile provider executes a chain. Fails unless the chain
    /// was executed completely.
    pub fn probe(&self, steps: &[&str]) -> Result<Run, String> {
        self.probe_all(&[(HOSTILE, steps)], &[])
    }

    /// The same as [`Lab::probe`], with one chain for each plugin, in sequence.
    pub fn probe_all(&self, chains: &[(&str, &[&str])], variables: &[(&str, &str)]) -> Result<Run, String> {
        let run = self.try_probe(chains, variables)?;
        for (_, steps) in chains {
            let last = format!("#{} ", steps.len() - 1);
            ensure(run.says(&last), || format!("a chain did not run to its end:\n{}", run.text()))?;
        }
        Ok(run)
    }

    /// The same as [`Lab::probe_all`], for a run that the host may reject.
    pub fn try_probe(&self, chains: &[(&str, &[&str])], variables: &[(&str, &str)]) -> Result<Run, String> {
        self.write("main.tf", configuration(chains));
        self.run_with("plan -input=false", variables)
    }

    /// Applies a configuration in which the malicious provisioner executes a chain.
    pub fn provision(&self, steps: &[&str]) -> Result<Run, String> {
        self.provision_with(steps, &[])
    }

    pub fn provision_with(&self, steps: &[&str], variables: &[(&str, &str)]) -> Result<Run, String> {
        self.write(
            "main.tf",
            format!(
                "resource \"terraform_data\" \"a\" {{\n  provisioner \"example.com/test/hostile\" {{\n    \
                 steps = {}\n  }}\n}}\n",
                quoted(&chain(steps))
            ),
        );
        let run = self.run_with("apply -auto-approve -input=false", variables)?;
        let last = format!("#{} ", steps.len() - 1);
        ensure(run.says(&last), || format!("the chain did not run to its end:\n{}", run.text()))?;
        Ok(run)
    }
}

/// Returns a policy that grants a plugin read and write access to directories.
pub fn grant(address: &str, directories: &[&str]) -> String {
    grant_access(address, directories, &["read", "write"])
}

pub fn grant_access(address: &str, directories: &[&str], access: &[&str]) -> String {
    format!(
        "plugin \"{address}\" {{\n  allow filesystem {{\n    directories = {directories:?}\n    access      = \
         {access:?}\n  }}\n}}\n"
    )
}

/// Returns a policy that grants the malicious provisioner a program.
pub fn program(name: &str, arguments: &[&str]) -> String {
    format!(
        "plugin \"{PROVISIONER}\" {{\n  allow process {{\n    program   = \"{name}\"\n    arguments = \
         {arguments:?}\n  }}\n}}\n"
    )
}

/// Returns a chain of steps, whose fields are separated by `¦`.
pub fn chain(steps: &[&str]) -> String {
    steps.join("\u{1e}").replace('¦', "\u{1f}")
}

/// Returns a configuration with one data source for each chain.
pub fn configuration(chains: &[(&str, &[&str])]) -> String {
    let mut required = String::new();
    let mut blocks = String::new();
    for (index, (address, steps)) in chains.iter().enumerate() {
        required.push_str(&format!("    p{index} = {{\n      source = \"{address}\"\n    }}\n"));
        let after = match index {
            0 => String::new(),
            _ => format!("  depends_on = [data.hostile_probe.a{}]\n", index - 1),
        };
        blocks.push_str(&format!(
            "data \"hostile_probe\" \"a{index}\" {{\n  provider = p{index}\n  input = {}\n{after}}}\noutput \
             \"a{index}\" {{\n  value = data.hostile_probe.a{index}.result\n}}\n",
            quoted(&format!("steps:{}", chain(steps)))
        ));
    }
    format!("terraform {{\n  required_providers {{\n{required}  }}\n}}\n{blocks}")
}

/// Returns a string literal of the configuration language.
pub fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            '$' | '%' => literal.extend([c]),
            c if c.is_control() => literal.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal.replace("${", "$${").replace("%{", "%%{")
}
