//! Measures the configuration language: Terraform and Wardian validate, plan and format large
//! configurations, and evaluate a `for` expression over many elements.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use crate::bench_table::Row;
use crate::comparison::{Programs, measured, peak, repeated, run, shared, wall, write};
use crate::progress::Step;

/// The target, as a fraction of Terraform's cost.
const VALIDATE_SHARE: f64 = 1.0 / 15.0;
const MEMORY_SHARE: f64 = 1.0 / 4.0;
const LAYOUT_SHARE: f64 = 1.0 / 10.0;
const MODULES_SHARE: f64 = 1.0 / 20.0;

/// The target for a `for` expression over the larger number of elements, evaluated by `console`.
const FOR_MILLISECONDS: f64 = 200.0;
const FOR_ELEMENTS: [u32; 2] = [50_000, 100_000];

/// Number of runs of Wardian for each command. The median is used.
const RUNS: usize = 5;

/// Runs all measurements in subdirectories of `directory`.
pub(crate) fn rows(directory: &Path, ours: &Path, theirs: Option<&Path>) -> Result<Vec<Row>> {
    let step = Step::start("Measuring large configurations");
    let programs = Programs { ours, theirs };
    let mut rows = one_large(&directory.join("large"), &programs)?;
    rows.extend(many_modules(&directory.join("modules"), &programs)?);
    rows.extend(long_for(&directory.join("for"), ours)?);
    step.done("measured");
    Ok(rows)
}

fn one_large(directory: &Path, programs: &Programs<'_>) -> Result<Vec<Row>> {
    let file = directory.join("main.tf");
    write(&file, &large())?;
    programs.initialize(directory)?;
    let ours = repeated(RUNS, || measured(programs.ours, directory, &["validate"]))?;
    let theirs = programs.of_terraform(RUNS, directory, &["validate"])?;
    let layout = repeated(RUNS, || measured(programs.ours, directory, &["fmt", "-check"]))?;
    let their_layout = programs.of_terraform(RUNS, directory, &["fmt", "-check"])?;
    Ok(vec![
        shared("validate of 1000 variables", "ms", wall(&ours), theirs.as_deref().map(wall), VALIDATE_SHARE),
        shared("validate, peak memory", "MB", peak(&ours), theirs.as_deref().map(peak), MEMORY_SHARE),
        shared("fmt -check", "ms", wall(&layout), their_layout.as_deref().map(wall), LAYOUT_SHARE),
    ])
}

fn many_modules(directory: &Path, programs: &Programs<'_>) -> Result<Vec<Row>> {
    write(&directory.join("called/main.tf"), &called())?;
    write(&directory.join("main.tf"), &calling())?;
    programs.initialize(directory)?;
    [("validate", &["validate"][..]), ("plan", &["plan", "-input=false"][..])]
        .into_iter()
        .map(|(name, arguments)| {
            let ours = repeated(RUNS, || measured(programs.ours, directory, arguments))?;
            // Terraform takes so long that one run is sufficient.
            let theirs = programs.of_terraform(1, directory, arguments)?;
            let what = format!("{name} of 500 modules");
            Ok(shared(&what, "ms", wall(&ours), theirs.as_deref().map(wall), MODULES_SHARE))
        })
        .collect()
}

/// Plans one output with all elements, and with half of the elements. The latter should take about
/// half the time.
fn long_for(directory: &Path, ours: &Path) -> Result<Vec<Row>> {
    FOR_ELEMENTS
        .into_iter()
        .map(|elements| {
            let directory = directory.join(elements.to_string());
            write(&directory.join("main.tf"), &for_over(elements))?;
            run(ours, &directory, &["init", "-input=false"])?;
            let runs = repeated(RUNS, || measured(ours, &directory, &["plan", "-input=false"]))?;
            Ok(Row {
                what: format!("for over {elements}"),
                unit: "ms".into(),
                ours: wall(&runs),
                target: Some(FOR_MILLISECONDS * f64::from(elements) / f64::from(FOR_ELEMENTS[1])),
                terraform: None,
            })
        })
        .collect()
}

/// Returns 1000 typed variables, local values and outputs, in canonical format (`fmt`).
fn large() -> String {
    let mut text = String::new();
    for index in 0..1000 {
        let _ = write!(
            text,
            "variable \"v{index:04}\" {{\n  type    = object({{ name = string, size = number }})\n  \
             default = {{ name = \"n{index}\", size = {index} }}\n}}\n\n"
        );
    }
    for index in 0..1000 {
        let _ = write!(
            text,
            "locals {{\n  l{index:04} = \"${{var.v{index:04}.name}}-${{var.v{index:04}.size + 1}}\"\n}}\n\n\
             output \"o{index:04}\" {{\n  value = local.l{index:04}\n}}\n\n"
        );
    }
    text.truncate(text.trim_end().len() + 1);
    text
}

fn called() -> String {
    let mut text = String::new();
    for index in 0..60 {
        let _ = write!(text, "variable \"v{index}\" {{\n  type = string\n}}\n\n");
    }
    text.push_str("output \"joined\" {\n  value = \"${var.v0}-${var.v59}\"\n}\n");
    text
}

fn calling() -> String {
    let mut text = String::new();
    for module in 0..500 {
        let _ = write!(text, "module \"m{module}\" {{\n  source = \"./called\"\n");
        for index in 0..60 {
            let _ = writeln!(text, "  v{index} = \"{module}-{index}\"");
        }
        text.push_str("}\n\n");
    }
    text
}

fn for_over(elements: u32) -> String {
    // `range` returns at most 1024 numbers.
    format!(
        "output \"sum\" {{\n  value = length([\n    for pair in setproduct(range({}), range(100)) : \
         \"${{pair[0]}}-${{pair[1] + 1}}\"\n  ])\n}}\n",
        elements / 100
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_configuration_has_the_target_size() {
        let bytes = large().len();
        assert!((215_000..245_000).contains(&bytes), "{bytes} bytes");
    }
}
