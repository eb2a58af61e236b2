//! The plans with which reviews are tested and measured.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::process;
use crate::workspace::Workspace;

/// A plan whose JSON document is in the directory.
pub(crate) struct ReviewPlan {
    pub(crate) name: String,
    /// The address of the change that a reviewer must not miss; empty if there is none.
    pub(crate) dangerous: String,
    pub(crate) changes: u64,
}

/// Writes the plans to a new directory.
pub(crate) fn write(workspace: &Workspace, directory: &Path) -> Result<Vec<ReviewPlan>> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    fs::create_dir_all(directory)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["run", "--quiet", "--package", "wardian-review", "--features", "testing"])
        .args(["--example", "test-plans", "--target-dir"])
        .arg(workspace.host_target())
        .arg("--")
        .arg(directory);
    process::run(&mut command)?;
    let index: Value = serde_json::from_str(&fs::read_to_string(directory.join("plans.json"))?)?;
    let plans = index.as_array().context("plans.json is not a list")?;
    let text = |plan: &Value, name: &str| plan[name].as_str().unwrap_or_default().to_owned();
    Ok(plans
        .iter()
        .map(|plan| ReviewPlan {
            name: text(plan, "name"),
            dangerous: text(plan, "dangerous"),
            changes: plan["changes"].as_u64().unwrap_or_default(),
        })
        .collect())
}
