//! The regular expressions that tools use to search the output of `terraform`, each with the values
//! that the tool extracts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::time::Duration;

use regex::Regex;
use wardian_end_to_end::Project;

/// A tool, its regular expression, and the groups that it uses.
type Row<'a> = (&'a str, &'a str, &'a [&'a str]);

const AS_TERRAFORM: &[(&str, &str)] = &[("WARDIAN_OUTPUT", "terraform")];

const MAIN: &str = r#"
variable "revision" {
  default = "one"
}
resource "terraform_data" "updated" {
  input = var.revision
}
resource "terraform_data" "replaced" {
  triggers_replace = var.revision
}
resource "terraform_data" "tainted" {}
resource "terraform_data" "requested" {}
resource "terraform_data" "old" {}
resource "terraform_data" "removed" {}
output "revision" {
  value = terraform_data.updated.output
}
"#;

/// Adds, moves, imports and removes a resource of [`MAIN`].
const CHANGE: &str = r#"
moved {
  from = terraform_data.old
  to   = terraform_data.new
}
import {
  to = terraform_data.imported
  id = "abc"
}
resource "terraform_data" "new" {}
resource "terraform_data" "imported" {}
resource "terraform_data" "created" {}
"#;

fn run(project: &Project, line: &str) -> String {
    project.run_with(line, "", AS_TERRAFORM).success().out
}

/// Checks that each pattern matches, and that its non-empty groups equal the groups in the row.
fn check(output: &str, rows: &[Row<'_>]) {
    for (tool, pattern, expected) in rows {
        let regex = Regex::new(pattern).unwrap();
        let found = regex.captures(output);
        let found = found.unwrap_or_else(|| panic!("{tool}: {pattern} does not match:\n{output}"));
        let groups: Vec<&str> = found.iter().skip(1).flatten().map(|group| group.as_str()).collect();
        assert_eq!(&groups, expected, "{tool}: {pattern}:\n{output}");
    }
}

#[test]
fn version_matches_patterns() {
    let project = Project::new(&[]);
    check(
        &run(&project, "-version"),
        &[
            ("Terragrunt", r"^(\S+)\s(v?\d+\.\d+\.\d+)", &["Terraform", "v1.11.4"]),
            ("Atlantis", r"(?:Terraform|OpenTofu) v([^\n]*?)(?:\s[^\n]*)?\n", &["1.11.4"]),
        ],
    );
}

#[test]
fn plan_with_each_kind_of_change_matches_patterns() {
    let project = Project::new(&[("main.tf", MAIN)]);
    run(&project, "init");
    run(&project, "apply -auto-approve");
    run(&project, "taint terraform_data.tainted");
    let left = [r#"resource "terraform_data" "old" {}"#, r#"resource "terraform_data" "removed" {}"#];
    project.write("main.tf", MAIN.replace(left[0], "").replace(left[1], "") + CHANGE);
    let plan = run(&project, "plan -no-color -var revision=two -replace=terraform_data.requested -out=p");
    check(
        &plan,
        &[
            ("tfcmt", r"(?m)^(Plan: \d|No changes.)", &["Plan: 1"]),
            (
                "tfcmt",
                r"(?m)^(Terraform will perform the following actions:)$",
                &["Terraform will perform the following actions:"],
            ),
            ("tfcmt", r"(?m)([1-9][0-9]* to destroy.)", &["4 to destroy."]),
            ("tfcmt", r"(?m)^ *# (.*) will be created$", &["terraform_data.created"]),
            ("tfcmt", r"(?m)^ *# (.*) will be updated in-place$", &["terraform_data.updated"]),
            ("tfcmt", r"(?m)^ *# (.*) will be destroyed$", &["terraform_data.removed"]),
            (
                "tfcmt",
                r"(?m)^ *# ([^ ]*?)(?: is tainted, so)? must be replaced$",
                &["terraform_data.replaced"],
            ),
            ("tfcmt", r"(?m)^ *# ([^ ]*?) is tainted, so must be replaced$", &["terraform_data.tainted"]),
            ("tfcmt", r"(?m)^ *# (.*?) will be replaced, as requested$", &["terraform_data.requested"]),
            ("tfcmt", r"(?m)^ *# (.*?) has moved to (.*?)$", &["terraform_data.old", "terraform_data.new"]),
            ("tfcmt", r"(?m)^ *# (.*?) will be imported$", &["terraform_data.imported"]),
            ("tfcmt, end of the changes", r"(?m)^(─────)", &["─────"]),
            (
                "Atlantis",
                r"Plan: (?:(\d+) to import, )?(\d+) to add, (\d+) to change, (\d+) to destroy(?:, (\d+) to forget)?\.",
                &["1", "4", "1", "4"],
            ),
            ("Atlantis", r"(?m)^( {2}\+) resource", &["  +"]),
            ("Atlantis", r"(?m)^( {2}~) resource", &["  ~"]),
            ("Atlantis", r"(?m)^( {2}-) resource", &["  -"]),
            (
                "digger",
                r"(Terraform will perform the following actions:)",
                &["Terraform will perform the following actions:"],
            ),
            (
                "digger",
                "(Terraform used the selected providers to generate the following execution)",
                &["Terraform used the selected providers to generate the following execution"],
            ),
            ("digger, end of the plan", "(───────────).+", &["───────────"]),
        ],
    );
    let shown = run(&project, "show -no-color p");
    check(
        &shown,
        &[("tftui", r"(?m)^\s{2}# (.+?) (will be created)$", &["terraform_data.created", "will be created"])],
    );
}

#[test]
fn plan_without_imports_matches_patterns() {
    let project = Project::new(&[("main.tf", MAIN)]);
    run(&project, "init");
    check(
        &run(&project, "plan"),
        &[
            (
                "terratest",
                r"(?:\x1b\[1m)?Plan:(?:\x1b\[0m)? (\d+) to add, (\d+) to change, (\d+) to destroy",
                &["6", "0", "0"],
            ),
            (
                "tftui",
                r"(?m)^(Plan: \d+ to add, \d+ to change, \d+ to destroy)\.$",
                &["Plan: 6 to add, 0 to change, 0 to destroy"],
            ),
        ],
    );
}

#[test]
fn apply_and_destroy_match_patterns() {
    let project = Project::new(&[("main.tf", MAIN)]);
    run(&project, "init");
    check(
        &run(&project, "apply -auto-approve"),
        &[
            (
                "terratest",
                r"Apply complete! Resources: (\d+) added, (\d+) changed, (\d+) destroyed\.",
                &["6", "0", "0"],
            ),
            ("tfcmt", "(?m)^(Apply complete!)", &["Apply complete!"]),
            ("digger", r"(\d+) added, (\d+) changed, (\d+) destroyed", &["6", "0", "0"]),
        ],
    );
    check(
        &run(&project, "plan -no-color"),
        &[
            (
                "terratest",
                r"(?:No changes\. (?:Infrastructure is up-to-date)|(Your infrastructure matches the configuration))\.",
                &["Your infrastructure matches the configuration"],
            ),
            (
                "Atlantis",
                "No changes. (Infrastructure is up-to-date|Your infrastructure matches the configuration).",
                &["Your infrastructure matches the configuration"],
            ),
            (
                "tfcmt",
                r"(?m)^(No changes\.|Plan: (?:\d+ to import, )?0 to add, 0 to change, 0 to destroy\.)",
                &["No changes."],
            ),
        ],
    );
    check(
        &run(&project, "destroy -auto-approve"),
        &[("terratest", r"Destroy complete! Resources: (\d+) destroyed\.", &["6"])],
    );
}

#[test]
fn plan_that_changes_only_outputs_matches_patterns() {
    let project = Project::new(&[("main.tf", "output \"a\" {\n  value = 1\n}\n")]);
    check(
        &run(&project, "plan -no-color"),
        &[
            ("tfcmt", "(?m)^(Changes to Outputs:)", &["Changes to Outputs:"]),
            (
                "terratest",
                "(?s)(You can apply this plan).+without changing any real infrastructure",
                &["You can apply this plan"],
            ),
        ],
    );
}

#[test]
fn drift_note_has_expected_first_and_last_lines() {
    let main = "resource \"local_file\" \"f\" {\n  filename = \"f.txt\"\n  content  = \"x\"\n}\n\
                resource \"terraform_data\" \"a\" {\n  input = local_file.f.id\n}\n";
    let project = Project::new(&[("main.tf", main)]);
    run(&project, "init");
    run(&project, "apply -auto-approve");
    fs::remove_file(project.path("f.txt")).unwrap();
    let note = "Note: Objects have changed outside of Terraform";
    let last = "Unless you have made equivalent changes to your configuration";
    check(
        &run(&project, "plan -no-color"),
        &[
            ("Atlantis", "(Note: Objects have changed outside of Terraform)", &[note]),
            ("tfcmt", "(?m)^(Note: Objects have changed outside of Terraform)$", &[note]),
            ("tfcmt", "(?m)^(Unless you have made equivalent changes to your configuration)", &[last]),
        ],
    );
}

#[test]
fn plan_errors_and_warnings_match_patterns() {
    let main = "output \"a\" {\n  value = var.missing\n}\n";
    let project = Project::new(&[("main.tf", main)]);
    let failed = project.run_with("plan -no-color", "", AS_TERRAFORM).ended_with(1);
    check(&failed.errors, &[("tfcmt", "(?m)^(?:[│|] )?(Error: )", &["Error: "])]);
    project.write("main.tf", "output \"a\" {\n  value = 1\n}\n");
    let warned = run(&project, "plan -no-color -target=terraform_data.a");
    check(&warned, &[("tfcmt", "(?m)^(?:[│|] )?(Warning: )", &["Warning: "])]);
}

#[test]
fn state_lock_error_matches_patterns() {
    check(
        &errors_of_locked_state(),
        &[("tofu-controller", "(Error acquiring the state lock)", &["Error acquiring the state lock"])],
    );
}

/// These tools run `terraform` with `-no-color`, which removes the frames from Terraform's errors.
#[test]
fn errors_without_frames_match_patterns() {
    let lock = r"Lock Info:\n\s*ID:\s*([^\n]+)\n\s*Path:\s*([^\n]+)\n\s*Operation:\s*([^\n]+)\n\s*Who:\s*(?:[^\n]+)\n\s*Version:\s*([^\n]+)\n\s*Created:\s*(?:[^\n]+)(?:\n|$)";
    check(
        &errors_of_locked_state(),
        &[("tofu-controller", lock, &["[UUID]", "terraform.tfstate", "OperationTypeApply", "1.11.4"])],
    );
    let project = Project::new(&[("main.tf", "output \"a\" {\n  value = var.missing\n}\n")]);
    let failed = project.run_with("apply -auto-approve -no-color", "", AS_TERRAFORM).ended_with(1);
    check(&failed.errors, &[("tfcmt apply", "(?m)^(Error: )", &["Error: "])]);
}

/// Returns the errors of a plan while an apply locks the state.
fn errors_of_locked_state() -> String {
    let slow = "resource \"time_sleep\" \"a\" {\n  create_duration = \"60s\"\n}\n";
    let project = Project::new(&[("main.tf", slow)]);
    run(&project, "init");
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("Creating...");
    let failed = project.run_with("plan -no-color -input=false", "", AS_TERRAFORM).ended_with(1);
    apply.interrupt();
    apply.wait_for("Interrupt received.");
    apply.interrupt();
    apply.finish(Duration::from_mins(1));
    failed.errors
}
