//! Measures the components: size, first compilation, and a plan of 1,000 resource instances.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::{Component, columns, megabytes, optional_seconds, seconds};
use crate::measure::{self, Measurement};
use crate::process;

const ADDRESS: &str = "example.com/acme/inventory";
const INSTANCES: u32 = 1000;
const RUNS: usize = 3;

/// Measures the components, and returns the table.
pub(super) fn table(binary: &Path, target: &Path, components: &[Component]) -> Result<String> {
    let header =
        ["", "size", "clean build", "rebuild", "first compile", "plan of 1", "plan of 1,000", "memory"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for component in components {
        let name = component.language.name();
        let directory = target.join("measurement").join(name);
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        // A cache inside of a project would not be used.
        let project = directory.join("project");
        fs::create_dir_all(directory.join("home"))?;
        fs::create_dir_all(project.join("plugins"))?;
        fs::copy(&component.file, project.join("plugins/terraform-provider-inventory.wasm"))?;
        fs::write(
            project.join("terraform.rc"),
            format!(
                "provider_installation {{\n  dev_overrides {{\n    \"{ADDRESS}\" = \"{}\"\n  }}\n}}\n",
                project.join("plugins").display()
            ),
        )?;
        write_configuration(&project, 1)?;
        // The first plan compiles the component; the second one reads the compiled code.
        let first = plan(binary, &project)?;
        ensure!(directory.join("cache/code").is_dir(), "the compiled component is not in the cache");
        let second = fastest(binary, &project)?;
        write_configuration(&project, INSTANCES)?;
        let many = fastest(binary, &project)?;
        rows.push(vec![
            name.to_owned(),
            megabytes(fs::metadata(&component.file)?.len()),
            seconds(component.build.clean),
            optional_seconds(component.build.incremental),
            seconds(first.wall.saturating_sub(second.wall)),
            seconds(second.wall),
            seconds(many.wall),
            format!("{} MB", many.peak_bytes >> 20),
        ]);
    }
    Ok(columns(&rows))
}

fn write_configuration(project: &Path, count: u32) -> Result<()> {
    let text = format!(
        "terraform {{\n  required_providers {{\n    inventory = {{\n      source = \"{ADDRESS}\"\n    }}\n  }}\n}}\n\n\
         resource \"inventory_item\" \"a\" {{\n  count = {count}\n  name  = \"Item ${{count.index}}\"\n  tags  = {{ a = \"b\" }}\n  \
         size  = {{ width = 2, height = 1.5 }}\n}}\n"
    );
    Ok(fs::write(project.join("main.tf"), text)?)
}

fn fastest(binary: &Path, project: &Path) -> Result<Measurement> {
    let mut best = plan(binary, project)?;
    for _ in 1..RUNS {
        let next = plan(binary, project)?;
        if next.wall < best.wall {
            best = next;
        }
    }
    Ok(best)
}

fn plan(binary: &Path, project: &Path) -> Result<Measurement> {
    let mut command = Command::new(binary);
    process::without_settings(&mut command);
    command.args(["plan", "-no-color", "-input=false"]).current_dir(project);
    command.env("TF_CLI_CONFIG_FILE", project.join("terraform.rc"));
    command.env("HOME", project.with_file_name("home")).env("WARDIAN_OFFLINE", "1");
    command.env("WARDIAN_CACHE_DIR", project.with_file_name("cache"));
    measure::once(&mut command)
}
