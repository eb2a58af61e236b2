//! Writes the plans of the tests to a directory: the five plans, plans with hostile text, wide text, actions
//! and groups whose members differ, and `plans.json` with their names, the addresses of the dangerous changes
//! and the numbers of changes.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use wardian_review::testing::{
    TestPlan, five_plans, hostile_plan, plan_with_actions, plan_with_differing_members, wide_plan,
};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args_os().nth(1).ok_or("the directory is missing")?);
    let mut plans = five_plans();
    for (name, json) in [
        ("hostile", hostile_plan()),
        ("wide", wide_plan()),
        ("actions", plan_with_actions()),
        ("differing", plan_with_differing_members()),
    ] {
        plans.push(TestPlan { name, json, dangerous: "" });
    }
    let mut index = Vec::new();
    for plan in plans {
        let document: Value = serde_json::from_str(&plan.json)?;
        let changes = document["resource_changes"].as_array().map_or(0, Vec::len);
        index.push(json!({"name": plan.name, "dangerous": plan.dangerous, "changes": changes}));
        fs::write(directory.join(format!("{}.json", plan.name)), plan.json)?;
    }
    fs::write(directory.join("plans.json"), Value::Array(index).to_string())?;
    Ok(())
}
