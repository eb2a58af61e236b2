//! Tests Terraform as the host of Wardian's plugins: each embedded plugin is bundled for both
//! protocol versions into a filesystem mirror. Terraform installs it from there like any other
//! plugin.
//!
//! Wardian runs the same steps with the same plugin in its sandbox. Both start without a state;
//! after the apply, Wardian continues with Terraform's state. Therefore, all subsequent results
//! must be equal, including generated values.
//!
//! At the end, two of the plugins are served as one plugin, to both Terraform and Wardian.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::documents::{compare, plans_by_resource, states_by_resource, without_unknown};
use super::generated::Generated;
use super::program::Program;
use super::report::Report;
use crate::mirror_settings::mirror_settings;
use crate::oracle::{self, first_difference};
use crate::progress::say;
use crate::workspace::Workspace;

/// A plugin, and its resources that can be imported.
struct Plugin {
    name: &'static str,
    /// An address and an import ID, in which `{NAME}` is replaced by an attribute of the object.
    imported: &'static [(&'static str, &'static str)],
    /// Whether protocol 5 can express the plugin's schema.
    fits_protocol_5: bool,
    /// The plugins that are served as this plugin, if there are several.
    served: &'static [&'static str],
}

const PLUGINS: &[Plugin] = &[
    Plugin {
        name: "random",
        imported: &[
            ("random_bytes.it", "{base64}"),
            ("random_id.it", "{prefix},{id}"),
            ("random_integer.it", "{result},{min},{max}"),
            ("random_password.it", "{result}"),
            ("random_string.it", "{result}"),
            ("random_uuid.it", "{result}"),
        ],
        fits_protocol_5: true,
        served: &[],
    },
    Plugin { name: "null", imported: &[], fits_protocol_5: true, served: &[] },
    Plugin { name: "local", imported: &[], fits_protocol_5: true, served: &[] },
    Plugin {
        name: "time",
        imported: &[
            ("time_offset.it", "{base_rfc3339},0,0,{offset_days},0,0,0"),
            ("time_rotating.it", "{rfc3339},0,0,{rotation_days},0,0"),
            ("time_sleep.it", "{create_duration},"),
            ("time_static.it", "{rfc3339}"),
        ],
        fits_protocol_5: true,
        served: &[],
    },
    Plugin {
        name: "tfcoremock",
        imported: &[
            ("tfcoremock_simple_resource.it", "{id}"),
            ("tfcoremock_complex_resource.it", "{id}"),
            ("tfcoremock_made_here.it", "{id}"),
        ],
        fits_protocol_5: false,
        served: &[],
    },
    Plugin {
        name: "both",
        imported: &[("random_id.it", "{prefix},{id}")],
        fits_protocol_5: true,
        served: &["hashicorp/random", "hashicorp/null"],
    },
];

const STEPS: &[&str] = &["init", "validate", "plan", "apply", "re-plan", "change", "import", "destroy"];
const CHANGED: &str = "-var=revision=two";
const QUIET: &[&str] = &["-no-color", "-input=false"];

/// The test of one plugin with one protocol.
struct Trial<'a> {
    plugin: &'a Plugin,
    title: String,
    generated: &'a Generated,
    terraform: &'a Program,
    wardian: &'a Program,
    /// Terraform's working directory.
    directory: PathBuf,
    /// Wardian's working directory.
    beside: PathBuf,
}

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let terraform = match oracle::terraform() {
        Ok(found) => found,
        Err(reason) => {
            say(&format!("skipped: {reason}"));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let place = workspace.own_target().join("interop/terraform");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let ours = Program { name: "wardian", file: workspace.host_program("wardian"), environment: Vec::new() };
    let generated = Generated::new()?;
    let mut report = Report::new(STEPS);
    for plugin in PLUGINS {
        for protocol in ["6", "5"] {
            say(&format!("{} as a plugin of protocol {protocol}", plugin.name));
            let mirror = place.join("mirror");
            bundle(&ours, plugin, protocol, &place, &mirror)?;
            let settings = place.join("settings.tfrc");
            fs::write(&settings, mirror_settings(&mirror))?;
            let environment = vec![("TF_CLI_CONFIG_FILE".to_owned(), settings.display().to_string())];
            // A plugin that combines several plugins is not a component, so Wardian uses it as a
            // native plugin, like Terraform.
            let own = if plugin.served.is_empty() { Vec::new() } else { environment.clone() };
            let trial = Trial {
                plugin,
                title: format!("{} by {protocol}", plugin.name),
                generated: &generated,
                terraform: &Program { name: "terraform", file: terraform.clone(), environment },
                wardian: &Program { environment: own, ..ours.clone() },
                directory: project(workspace, &place, plugin, &format!("{}-{protocol}", plugin.name))?,
                beside: project(workspace, &place, plugin, &format!("{}-{protocol}-wardian", plugin.name))?,
            };
            if protocol == "5" && !plugin.fits_protocol_5 {
                trial.refused(&mut report)?;
            } else if let Err(error) = trial.steps(&mut report) {
                // The other steps would fail for the same reason.
                report.note(&trial.title, Some(format!("{error:#}")));
            }
            // The mirror contains a complete `wardian` binary, which is large.
            fs::remove_dir_all(&mirror)?;
        }
    }
    Ok(report.print())
}

fn bundle(ours: &Program, plugin: &Plugin, protocol: &str, place: &Path, mirror: &Path) -> Result<()> {
    let schemas = ours.run(place, &["version", "-json"]).context("the program could not be run")?;
    let platform: Value = serde_json::from_str(&schemas)?;
    let platform =
        platform["platform"].as_str().context("the program does not report a platform")?.to_owned();
    let version = "1.0.0";
    let name = plugin.name;
    let directory = mirror.join(format!("registry.terraform.io/hashicorp/{name}/{version}/{platform}"));
    fs::create_dir_all(&directory)?;
    let file = directory.join(format!("terraform-provider-{name}_v{version}"));
    if !plugin.served.is_empty() {
        let served = plugin.served.join(" ");
        let program = ours.file.display();
        fs::write(&file, format!("#!/bin/sh\nexec '{program}' serve -protocol={protocol} {served}\n"))?;
        let executable = fs::Permissions::from_mode(0o755);
        return fs::set_permissions(&file, executable).context("the plugin cannot be made executable");
    }
    let out = format!("-out={}", file.display());
    let protocol = format!("-protocol={protocol}");
    ours.run(place, &["plugin", "bundle", &protocol, &out, &format!("hashicorp/{name}")])?;
    Ok(())
}

/// Copies the plugin's configuration.
fn project(workspace: &Workspace, place: &Path, plugin: &Plugin, name: &str) -> Result<PathBuf> {
    let directory = place.join(name);
    copy(&workspace.root.join("tests/interop").join(plugin.name), &directory)?;
    Ok(directory)
}

/// Copies the files that a configuration created, except the internal files of Terraform and
/// Wardian.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, target) = (entry.file_name(), to.join(entry.file_name()));
        if [".terraform", ".terraform.lock.hcl", "plan.saved"].iter().any(|own| name == *own) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

impl Trial<'_> {
    /// Checks that a plugin reports an error and does not start if protocol 5 cannot express its
    /// schema.
    fn refused(&self, report: &mut Report) -> Result<()> {
        report.step("init");
        let refusal = "nested attribute, which protocol 5 does not support";
        self.terraform.run(&self.directory, &with(&["init"]))?;
        report.note(&self.title, None);
        report.step("validate");
        let result = self.terraform.try_run(&self.directory, &["validate", "-no-color"])?;
        // Terraform includes output before the handshake only in its log.
        let cookie = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";
        let environment = vec![("TF_PLUGIN_MAGIC_COOKIE".to_owned(), cookie.to_owned())];
        let plugin = Program { environment, ..self.wardian.clone() };
        let address = format!("hashicorp/{}", self.plugin.name);
        let alone = plugin.try_run(&self.directory, &["serve", "-protocol=5", &address])?;
        let message = alone.transcript.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        let is_refused = result.code != Some(0) && message.contains(refusal);
        let problem = || format!("the error does not state the reason:\n{}", alone.transcript);
        report.note(&self.title, (!is_refused).then(problem));
        Ok(())
    }

    fn steps(&self, report: &mut Report) -> Result<()> {
        let (terraform, wardian) = (self.terraform, self.wardian);
        report.step("init");
        terraform.run(&self.directory, &with(&["init"]))?;
        wardian.run(&self.beside, &with(&["init"]))?;
        report.note(&self.title, None);

        report.step("validate");
        let valid = self.both(|program, directory| {
            let message = program.run(directory, &["validate", "-json"])?;
            serde_json::from_str(&message).context("the output is not JSON")
        })?;
        report.note(&self.title, first_difference("", &valid[0], &valid[1]));

        report.step("plan");
        let plans = self.both(|program, directory| program.plan(directory, &[]))?;
        self.compare(&plans, plans_by_resource, report);

        report.step("apply");
        let states = self.both(Program::apply)?;
        let [theirs, ours] = &states;
        let known = [without_unknown(theirs, &plans[0]), without_unknown(ours, &plans[1])];
        self.compare(&known, states_by_resource, report);

        self.hand_over()?;
        report.step("re-plan");
        self.settled(&[], report)?;

        report.step("change");
        let plans = self.both(|program, directory| program.plan(directory, &[CHANGED]))?;
        self.compare(&plans, plans_by_resource, report);
        terraform.apply(&self.directory)?;
        self.hand_over()?;
        self.settled(&[CHANGED], report)?;

        report.step("import");
        let states = self.both(|program, directory| self.import(program, directory))?;
        self.compare(&states, states_by_resource, report);

        self.hand_over()?;
        report.step("destroy");
        let plans = self.both(|program, directory| program.plan(directory, &[CHANGED, "-destroy"]))?;
        self.compare(&plans, plans_by_resource, report);
        let states = self.both(Program::apply)?;
        self.compare(&states, states_by_resource, report);
        Ok(())
    }

    /// Runs the same steps with Terraform and then with Wardian.
    fn both<T>(&self, work: impl Fn(&Program, &Path) -> Result<T>) -> Result<[T; 2]> {
        Ok([work(self.terraform, &self.directory)?, work(self.wardian, &self.beside)?])
    }

    fn compare(
        &self,
        documents: &[Value; 2],
        parts: impl Fn(&Value) -> std::collections::BTreeMap<String, Value>,
        report: &mut Report,
    ) {
        compare(documents, parts, &format!("{}: ", self.title), report, self.generated);
    }

    /// Copies the state that Terraform created to Wardian's directory.
    fn hand_over(&self) -> Result<()> {
        copy(&self.directory, &self.beside)
    }

    /// Checks that neither Terraform nor Wardian plans additional changes.
    fn settled(&self, options: &[&str], report: &mut Report) -> Result<()> {
        for changes in self.both(|program, directory| program.changes(directory, options))? {
            report.note(&self.title, changes);
        }
        Ok(())
    }

    /// Removes the importable resources from the state, and imports them again.
    fn import(&self, program: &Program, directory: &Path) -> Result<Value> {
        let state = states_by_resource(&program.state(directory)?);
        for (address, form) in self.plugin.imported {
            let attributes = state.get(*address).and_then(|object| object["attributes"].as_object());
            let attributes = attributes.with_context(|| format!("{address} is not in the state"))?;
            let mut name = (*form).to_owned();
            for (attribute, value) in attributes {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                name = name.replace(&format!("{{{attribute}}}"), &text);
            }
            program.run(directory, &["state", "rm", address])?;
            program.run(directory, &with(&["import", CHANGED, address, &name]))?;
        }
        program.state(directory)
    }
}

fn with<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let (command, rest) = arguments.split_at(1.min(arguments.len()));
    [command, QUIET, rest].concat()
}
