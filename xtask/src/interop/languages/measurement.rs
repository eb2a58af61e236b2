//! Measures the components: size, first compilation, and a plan of 1,000 resource instances.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::Component;
use crate::measure::{self, Measurement};
use crate::process;

const ADDRESS: &str = "example.com/acme/inventory";
const INSTANCES: u32 = 1000;
const RUNS: usize = 3;

/// Measures the components, and returns the table.
pub(super) fn table(binary: &Path, target: &Path, components: &[Component]) -> Result<String> {
    let mut text = format!(
        "\n{:<12} {:>9} {:>8} {:>14} {:>14} {:>16} {:>8}\n",
        "", "size", "build", "first compile", "plan of 1", "plan of 1,000", "memory"
    );
    for component in components {
        let project = target.join("measurement").join(component.language);
        if project.exists() {
            fs::remove_dir_all(&project)?;
        }
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
        let second = fastest(binary, &project)?;
        write_configuration(&project, INSTANCES)?;
        let many = fastest(binary, &project)?;
        #[expect(clippy::cast_precision_loss, reason = "a size in megabytes")]
        let megabytes = |bytes: u64| format!("{:.2} MB", bytes as f64 / 1e6);
        let build = component.build.map_or("-".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()));
        let compile = first.wall.saturating_sub(second.wall);
        let _ = writeln!(
            text,
            "{:<12} {:>9} {:>8} {:>12.2} s {:>12.2} s {:>14.2} s {:>8}",
            component.language,
            megabytes(fs::metadata(&component.file)?.len()),
            build,
            compile.as_secs_f64(),
            second.wall.as_secs_f64(),
            many.wall.as_secs_f64(),
            format!("{:.0} MB", f64::from(u32::try_from(many.peak_bytes >> 10)?) / 1024.0),
        );
    }
    Ok(text)
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
    command.env("XDG_CACHE_HOME", project.join("cache")).env("HOME", project).env("WARDIAN_OFFLINE", "1");
    measure::once(&mut command)
}
