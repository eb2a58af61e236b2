//! Learns the policy of the AWS provider from a plan and an apply, and runs under the learnt policy.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::program::Program;

const POLICY: &str = "wardian.policy.hcl";
const AUDIT_LOG: &str = "audit.log";

/// A resource of a service that the configuration already uses.
const ADDED: &str = "\nresource \"aws_sqs_queue\" \"added\" {\n  name = \"added\"\n}\n";

/// Learns a policy for the configuration in a directory, which has no policy yet, and returns each
/// difference between the policy and the accesses of later commands.
pub(super) fn learnt_policy_problems(program: &Program, directory: &Path) -> Result<Vec<String>> {
    program.run(directory, &["init", "-no-color", "-input=false"])?;
    let plan = ["plan", "-no-color", "-input=false"];
    let apply = ["apply", "-no-color", "-input=false", "-auto-approve"];
    let learn = ["policy", "learn", "-addresses=loopback"];
    program.run(directory, &[&learn[..], &["--"], &plan].concat())?;
    program.run(directory, &[&learn[..], &["-append", "-allow-changes", "--"], &apply].concat())?;

    let mut recorded = program.clone();
    recorded.environment.push(("WARDIAN_AUDIT".to_owned(), AUDIT_LOG.to_owned()));
    let mut problems = Vec::new();
    recorded.run(directory, &plan)?;
    problems.extend(differences(directory, "a plan")?);
    let main = directory.join("main.tf");
    let text = fs::read_to_string(&main)?;
    fs::write(&main, text + ADDED)?;
    recorded.run(directory, &apply)?;
    problems.extend(differences(directory, "an apply of another queue")?);
    Ok(problems)
}

/// Returns the accesses that were denied and the rules that were not used, according to the audit log,
/// and removes the log.
fn differences(directory: &Path, what: &str) -> Result<Vec<String>> {
    let (log, policy) = (directory.join(AUDIT_LOG), fs::read_to_string(directory.join(POLICY))?);
    let records: Vec<Value> = fs::read_to_string(&log)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .context("the audit log contains a line that is not JSON")?;
    fs::remove_file(&log)?;
    let denied = records.iter().filter(|record| record["decision"] != "allowed");
    let mut problems: Vec<String> = denied.map(|record| format!("{what} was denied: {record}")).collect();
    let used: BTreeSet<&str> = records.iter().filter_map(|record| record["rule"].as_str()).collect();
    let rules: Vec<String> = policy
        .lines()
        .enumerate()
        .filter(|(_, line)| line.trim_start().starts_with("allow "))
        .map(|(index, _)| format!("{POLICY}:{}", index + 1))
        .collect();
    problems.extend(rules.is_empty().then(|| format!("{what}: the learnt policy has no rule:\n{policy}")));
    let unused = rules.iter().filter(|rule| !used.contains(rule.as_str()));
    problems.extend(unused.map(|rule| format!("{what} did not use {rule}:\n{policy}")));
    Ok(problems)
}
