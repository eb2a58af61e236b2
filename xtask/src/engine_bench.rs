//! Measures the engine: many resources, planned and applied by Terraform and Wardian, or only by
//! Wardian if Terraform does not complete. Also checks that the cost is linear.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::bench_table::Row;
use crate::comparison::{Programs, measured, peak, repeated, run, shared, wall, write};
use crate::measure::Measurement;
use crate::progress::Step;

/// The target, as a fraction of Terraform's cost.
const PLAN_SHARE: f64 = 1.0 / 100.0;
const MEMORY_SHARE: f64 = 1.0 / 10.0;
const APPLY_SHARE: f64 = 1.0 / 25.0;

/// Numbers of resources. With ten times as many resources, the cost may be at most twelve times as
/// high.
const SIZES: [u32; 2] = [10_000, 100_000];
const SLOPE: f64 = 12.0;

/// The target for the larger number of resources.
const PLAN_MILLISECONDS: f64 = 8_000.0;
const READ_MILLISECONDS: f64 = 2_000.0;

/// Number of runs of Wardian for each command. The median is used. One run of Terraform is
/// sufficient, since its cost is a hundred times as high.
const RUNS: usize = 5;
const LARGE_RUNS: usize = 3;

const PLAN: &[&str] = &["plan", "-input=false"];
const APPLY: &[&str] = &["apply", "-input=false", "-auto-approve"];

/// Runs all measurements in subdirectories of `directory`.
pub(crate) fn rows(directory: &Path, ours: &Path, theirs: Option<&Path>) -> Result<Vec<Row>> {
    let step = Step::start("Measuring many resources");
    let programs = Programs { ours, theirs };
    let mut rows = fan(&directory.join("fan"), &programs)?;
    rows.push(chain(&directory.join("chain"), &programs)?);
    rows.push(apply(&directory.join("apply"), &programs)?);
    rows.extend(very_many(directory, &programs)?);
    step.done("measured");
    Ok(rows)
}

fn fan(directory: &Path, programs: &Programs<'_>) -> Result<Vec<Row>> {
    write(
        &directory.join("main.tf"),
        "resource \"terraform_data\" \"a\" {\n  count = 1000\n  input = count.index\n}\n\n\
         resource \"terraform_data\" \"b\" {\n  count = 1000\n  input = terraform_data.a[count.index].id\n}\n",
    )?;
    programs.initialize(directory)?;
    let ours = repeated(RUNS, || measured(programs.ours, directory, PLAN))?;
    let theirs = programs.of_terraform(1, directory, PLAN)?;
    let of_terraform = |pick: fn(&[Measurement]) -> f64| theirs.as_deref().map(pick);
    Ok(vec![
        shared("plan of 1000 + 1000", "ms", wall(&ours), of_terraform(wall), PLAN_SHARE),
        shared("plan, peak memory", "MB", peak(&ours), of_terraform(peak), MEMORY_SHARE),
    ])
}

fn chain(directory: &Path, programs: &Programs<'_>) -> Result<Row> {
    let mut text = String::from("resource \"terraform_data\" \"r0\" {\n  input = 0\n}\n");
    for index in 1..2000 {
        let _ = write!(
            text,
            "\nresource \"terraform_data\" \"r{index}\" {{\n  input = terraform_data.r{}.id\n}}\n",
            index - 1
        );
    }
    write(&directory.join("main.tf"), &text)?;
    programs.initialize(directory)?;
    let ours = repeated(RUNS, || measured(programs.ours, directory, PLAN))?;
    let theirs = programs.of_terraform(1, directory, PLAN)?;
    Ok(shared("plan of a chain of 2000", "ms", wall(&ours), theirs.as_deref().map(wall), PLAN_SHARE))
}

fn apply(directory: &Path, programs: &Programs<'_>) -> Result<Row> {
    write(&directory.join("main.tf"), &independent(1000))?;
    programs.initialize(directory)?;
    let fresh = |program: &Path| {
        without_state(directory)?;
        measured(program, directory, APPLY)
    };
    let ours = repeated(RUNS, || fresh(programs.ours))?;
    let theirs = programs.theirs.map(|program| fresh(program).map(|run| vec![run])).transpose()?;
    Ok(shared("apply of 1000", "ms", wall(&ours), theirs.as_deref().map(wall), APPLY_SHARE))
}

/// For both sizes, measures the first plan, the apply, the plan without changes, and the commands
/// that read the state.
fn very_many(directory: &Path, programs: &Programs<'_>) -> Result<Vec<Row>> {
    let mut of_sizes = Vec::new();
    for size in SIZES {
        let directory = directory.join(size.to_string());
        write(&directory.join("main.tf"), &independent(size))?;
        run(programs.ours, &directory, &["init", "-input=false"])?;
        of_sizes.push(Cost::measure(programs.ours, &directory)?);
    }
    let [small, large] = of_sizes.as_slice() else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for (name, most, pick) in COSTS {
        let (small, large) = (pick(small), pick(large));
        rows.push(alone(&format!("{name} of 100,000"), "ms", wall(large), most));
        // Commands that only read the state finish too quickly to measure how their cost grows.
        if most != Some(READ_MILLISECONDS) {
            rows.push(alone("  times that of 10,000", "x", wall(large) / wall(small), Some(SLOPE)));
            rows.push(alone("  peak memory", "MB", peak(large), None));
            rows.push(alone("  times that of 10,000", "x", peak(large) / peak(small), Some(SLOPE)));
        }
    }
    Ok(rows)
}

type Pick = fn(&Cost) -> &[Measurement];

const COSTS: [(&str, Option<f64>, Pick); 5] = [
    ("plan", Some(PLAN_MILLISECONDS), |cost| &cost.plan),
    ("apply", None, |cost| &cost.apply),
    ("plan again", Some(PLAN_MILLISECONDS), |cost| &cost.plan_again),
    ("state list", Some(READ_MILLISECONDS), |cost| &cost.list),
    ("show -json", Some(READ_MILLISECONDS), |cost| &cost.show),
];

struct Cost {
    plan: Vec<Measurement>,
    apply: Vec<Measurement>,
    plan_again: Vec<Measurement>,
    list: Vec<Measurement>,
    show: Vec<Measurement>,
}

impl Cost {
    fn measure(program: &Path, directory: &Path) -> Result<Self> {
        let runs = |arguments: &[&str]| repeated(LARGE_RUNS, || measured(program, directory, arguments));
        Ok(Self {
            plan: runs(PLAN)?,
            apply: repeated(LARGE_RUNS, || {
                without_state(directory)?;
                measured(program, directory, APPLY)
            })?,
            plan_again: runs(PLAN)?,
            list: runs(&["state", "list"])?,
            show: runs(&["show", "-json"])?,
        })
    }
}

fn alone(what: &str, unit: &str, ours: f64, target: Option<f64>) -> Row {
    Row { what: what.to_owned(), unit: unit.to_owned(), ours, target, terraform: None }
}

fn independent(count: u32) -> String {
    format!("resource \"terraform_data\" \"a\" {{\n  count = {count}\n  input = \"x-${{count.index}}\"\n}}\n")
}

fn without_state(directory: &Path) -> Result<()> {
    for name in ["terraform.tfstate", "terraform.tfstate.backup"] {
        let file = directory.join(name);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("could not remove {}", file.display()));
            }
            _ => {}
        }
    }
    Ok(())
}
