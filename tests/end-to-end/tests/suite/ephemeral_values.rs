//! Ephemeral values, which are passed to providers but written to no file.

use std::fs;
use std::path::Path;

use wardian_end_to_end::Project;

/// The password consists of a single repeated letter, which lets the test find it. The provider
/// `tfcoremock` is configured with a part of the password, and its errors reveal this part.
const MAIN: &str = r#"
terraform {
  required_providers {
    random     = { source = "hashicorp/random" }
    tfcoremock = { source = "hashicorp/tfcoremock" }
  }
}

ephemeral "random_password" "secret" {
  length           = 24
  lower            = false
  upper            = false
  numeric          = false
  override_special = "%"
}

locals {
  secret = ephemeral.random_password.secret.result
}

provider "tfcoremock" {
  fail_on_create = ["${length(local.secret)}-refused", local.secret]
}

resource "tfcoremock_simple_resource" "made" {
  id = "made"
}

resource "tfcoremock_simple_resource" "refused" {
  id = "24-refused"
}

resource "terraform_data" "plain" {
  input = ephemeralasnull(local.secret) == null ? "nothing is left" : "it is kept"
}
"#;

const SECRET: &str = "%%%%%%%%%%%%%%%%%%%%%%%%";

/// Counts the files below a directory, and collects those that contain the secret.
#[allow(clippy::unwrap_used, reason = "a test ends there")]
fn looked_through(folder: &Path, holders: &mut Vec<String>) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            count += looked_through(&path, holders);
            continue;
        }
        count += 1;
        let content = fs::read(&path).unwrap();
        if content.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()) {
            holders.push(path.display().to_string());
        }
    }
    count
}

#[test]
fn no_file_contains_an_ephemeral_password() {
    let project = Project::new(&[("main.tf", MAIN)]);
    let log = [("TF_LOG", "trace"), ("TF_LOG_PATH", "trace.log")];
    project.run("init").success();
    project.run_with("plan -out=p", "", &log).success();
    for (name, line, code) in [
        ("plan.json", "show -json p", 0),
        ("plan.txt", "show p", 0),
        ("events.json", "apply -json p", 1),
        ("again.txt", "apply -auto-approve", 1),
        ("state.json", "show -json", 0),
        ("values.txt", "console", 0),
    ] {
        let seen = project.run_with(line, "terraform_data.plain.output\n", &log).ended_with(code);
        project.write(name, format!("{}{}", seen.out, seen.errors));
    }

    // The JSON of a plan omits ephemeral values, as in Terraform.
    let plan = project.read("plan.json");
    assert!(plan.contains(r#""mode":"managed""#) && !plan.contains(r#""mode":"ephemeral""#));

    // The provider received the value, since it reports the value's length, which is redacted.
    assert!(project.read("events.json").contains("(sensitive value)"));
    assert!(project.has("terraform.resource/made.json") && project.has("trace.log"));
    assert!(project.read("values.txt").contains("nothing is left"));
    assert!(project.read("terraform.tfstate").contains("24-refused"));

    let mut holders = Vec::new();
    assert!(looked_through(&project.path(""), &mut holders) > 10);
    assert_eq!(holders, [] as [String; 0]);
}
