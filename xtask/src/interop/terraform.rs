//! Terraform as the host of our plugins: each embedded plugin is bundled for both
//! protocols into a filesystem mirror, from which Terraform takes it as any other.
//!
//! What it plans to create is compared with what Wardian plans with the same plugin in
//! its sandbox; values that are made up are unknown then. The other steps have to
//! succeed, and to settle.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::program::Program;
use super::report::Report;
use crate::oracle::{self, first_difference};
use crate::progress::say;
use crate::workspace::Workspace;

/// A plugin, and what of it can be imported: an address and the attributes that the
/// import's name consists of.
struct Plugin {
    name: &'static str,
    imported: &'static [(&'static str, &'static [&'static str])],
    /// Whether protocol 5 can express its schema.
    fits_protocol_5: bool,
}

const PLUGINS: &[Plugin] = &[
    Plugin {
        name: "random",
        imported: &[
            ("random_bytes.it", &["base64"]),
            ("random_integer.it", &["result", "min", "max"]),
            ("random_password.it", &["result"]),
            ("random_string.it", &["result"]),
            ("random_uuid.it", &["result"]),
        ],
        fits_protocol_5: true,
    },
    Plugin { name: "null", imported: &[], fits_protocol_5: true },
    Plugin { name: "local", imported: &[], fits_protocol_5: true },
    Plugin { name: "time", imported: &[("time_static.it", &["rfc3339"])], fits_protocol_5: true },
    Plugin {
        name: "tfcoremock",
        imported: &[("tfcoremock_simple_resource.it", &["id"]), ("tfcoremock_complex_resource.it", &["id"])],
        fits_protocol_5: false,
    },
];

const STEPS: &[&str] = &["init", "validate", "plan", "apply", "re-plan", "change", "import", "destroy"];
const CHANGED: &str = "-var=revision=two";

/// Where one plugin is tried with one protocol.
struct Trial<'a> {
    plugin: &'a Plugin,
    terraform: &'a Program,
    wardian: &'a Program,
    /// Terraform works here.
    directory: PathBuf,
    /// Wardian works here.
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
    let mut report = Report::of(STEPS);
    for plugin in PLUGINS {
        for protocol in ["6", "5"] {
            say(&format!("{} as a plugin of protocol {protocol}", plugin.name));
            let mirror = place.join("mirror");
            let version = bundle(&ours, plugin, protocol, &place, &mirror)?;
            let settings = place.join("settings.tfrc");
            fs::write(
                &settings,
                format!(
                    "provider_installation {{\n  filesystem_mirror {{\n    path = \"{}\"\n  }}\n}}\n",
                    mirror.display()
                ),
            )?;
            let environment = vec![("TF_CLI_CONFIG_FILE".to_owned(), settings.display().to_string())];
            let trial = Trial {
                plugin,
                terraform: &Program { name: "terraform", file: terraform.clone(), environment },
                wardian: &ours,
                directory: project(workspace, &place, plugin, &format!("{}-{protocol}", plugin.name))?,
                beside: project(workspace, &place, plugin, &format!("{}-{protocol}-wardian", plugin.name))?,
            };
            let title = format!("{} {version}, protocol {protocol}", plugin.name);
            if protocol == "5" && !plugin.fits_protocol_5 {
                trial.refused(&title, &mut report)?;
            } else {
                trial.steps(&title, &mut report);
            }
            // It holds a whole program.
            fs::remove_dir_all(&mirror)?;
        }
    }
    Ok(report.print())
}

/// Writes the plugin into the mirror and returns its version.
fn bundle(ours: &Program, plugin: &Plugin, protocol: &str, place: &Path, mirror: &Path) -> Result<String> {
    let schemas = ours.run(place, &["version", "-json"]).context("the program does not run")?;
    let platform: Value = serde_json::from_str(&schemas)?;
    let platform = platform["platform"].as_str().context("the program names no platform")?.to_owned();
    let version = "1.0.0".to_owned();
    let name = plugin.name;
    let directory = mirror.join(format!("registry.terraform.io/hashicorp/{name}/{version}/{platform}"));
    fs::create_dir_all(&directory)?;
    let out = format!("-out={}", directory.join(format!("terraform-provider-{name}_v{version}")).display());
    let protocol = format!("-protocol={protocol}");
    ours.run(place, &["plugin", "bundle", &protocol, &out, &format!("hashicorp/{name}")])?;
    Ok(version)
}

/// A copy of the plugin's configuration.
fn project(workspace: &Workspace, place: &Path, plugin: &Plugin, name: &str) -> Result<PathBuf> {
    let directory = place.join(name);
    fs::create_dir(&directory)?;
    for entry in fs::read_dir(workspace.root.join("tests/interop").join(plugin.name))? {
        let entry = entry?;
        fs::copy(entry.path(), directory.join(entry.file_name()))?;
    }
    Ok(directory)
}

impl Trial<'_> {
    /// A plugin that protocol 5 cannot express says so, and is not started.
    fn refused(&self, title: &str, report: &mut Report) -> Result<()> {
        report.step("init");
        let refusal = "nested attribute, which protocol 5 cannot express";
        self.terraform.run(&self.directory, &["init", "-no-color", "-input=false"])?;
        report.note(title, None);
        report.step("validate");
        let ended = self.terraform.try_run(&self.directory, &["validate", "-no-color"])?;
        // What a plugin says before it serves, Terraform has in its log alone.
        let cookie = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";
        let environment = vec![("TF_PLUGIN_MAGIC_COOKIE".to_owned(), cookie.to_owned())];
        let plugin = Program { environment, ..self.wardian.clone() };
        let address = format!("hashicorp/{}", self.plugin.name);
        let alone = plugin.try_run(&self.directory, &["serve", "-protocol=5", &address])?;
        let told = alone.said.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        let is_refused = ended.code != Some(0) && told.contains(refusal);
        let problem = || format!("it is not refused with the reason:\n{}", alone.said);
        report.note(title, (!is_refused).then(problem));
        Ok(())
    }

    fn steps(&self, title: &str, report: &mut Report) {
        let (terraform, directory) = (self.terraform, &self.directory);
        let mut step = |name: &'static str, work: &dyn Fn() -> Result<Option<String>>| -> bool {
            report.step(name);
            let problem = work().unwrap_or_else(|error| Some(format!("{error:#}")));
            let went_well = problem.is_none();
            report.note(title, problem);
            went_well
        };
        let done = |arguments: &[&str]| terraform.run(directory, arguments).map(|_| None);
        // What follows a step that failed would fail for the same reason.
        let _all_went_well = step("init", &|| done(&["init", "-no-color", "-input=false"]))
            && step("validate", &|| done(&["validate", "-no-color"]))
            && step("plan", &|| self.same_plan())
            && step("apply", &|| done(&["apply", "-no-color", "-input=false", "plan.saved"]))
            && step("re-plan", &|| terraform.changes(directory, &[]))
            && step("change", &|| {
                done(&["apply", "-no-color", "-input=false", "-auto-approve", CHANGED])?;
                terraform.changes(directory, &[CHANGED])
            })
            && step("import", &|| self.import().map(|()| None))
            && step("destroy", &|| {
                done(&["destroy", "-no-color", "-input=false", "-auto-approve", CHANGED])?;
                let state = terraform.state(directory)?;
                let left = state["resources"].as_array().map_or(0, Vec::len);
                Ok((left > 0).then(|| format!("{left} objects are left in the state")))
            });
    }

    /// How what Terraform plans differs from what Wardian plans.
    fn same_plan(&self) -> Result<Option<String>> {
        let theirs = self.terraform.plan(&self.directory, &[])?;
        self.wardian.run(&self.beside, &["init", "-no-color", "-input=false"])?;
        let ours = self.wardian.plan(&self.beside, &[])?;
        let parts = ["resource_changes", "output_changes", "planned_values"];
        Ok(parts.iter().find_map(|part| first_difference(&format!(".{part}"), &theirs[part], &ours[part])))
    }

    fn import(&self) -> Result<()> {
        let state = self.terraform.state(&self.directory)?;
        let mut seen = BTreeSet::new();
        for (address, attributes) in self.plugin.imported {
            let resources = state["resources"].as_array().into_iter().flatten();
            let named = |resource: &&Value| {
                resource["mode"] == "managed"
                    && format!("{}.{}", resource["type"].as_str().unwrap_or_default(), "it") == *address
            };
            let object = resources.clone().find(named).context("an object is not in the state")?;
            let object = &object["instances"][0]["attributes"];
            let text = |name: &&str| match &object[*name] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let id = attributes.iter().map(text).collect::<Vec<_>>().join(",");
            self.terraform.run(&self.directory, &["state", "rm", address])?;
            self.terraform
                .run(&self.directory, &["import", "-no-color", "-input=false", CHANGED, address, &id])?;
            seen.insert(*address);
        }
        let state = self.terraform.state(&self.directory)?;
        let there = state["resources"].as_array().map_or(0, Vec::len);
        anyhow::ensure!(there >= seen.len(), "{there} objects are in the state after the imports");
        Ok(())
    }
}
