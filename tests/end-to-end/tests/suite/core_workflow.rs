//! The core workflow: objects are created, changed and destroyed.

use wardian_end_to_end::{Project, assert_seen};

/// A configuration whose output contains only `keepers` and lengths, not random values.
pub(crate) const MAIN: &str = r#"
terraform {
  required_providers {
    random = {
      source  = "hashicorp/random"
      version = "~> 3.7"
    }
    local = {
      source = "hashicorp/local"
    }
    null = {
      source = "hashicorp/null"
    }
  }
}

variable "owner" {
  type        = string
  description = "Who answers for it."
}

variable "services" {
  type    = set(string)
  default = ["api", "worker"]
}

resource "null_resource" "platform" {
  triggers = {
    owner = var.owner
  }
}

resource "random_id" "database" {
  byte_length = 4
}

module "service" {
  source   = "./service"
  for_each = var.services

  name  = each.key
  owner = var.owner
}

output "files" {
  value = { for name, service in module.service : name => service.file }
}

output "key_length" {
  value = length(random_id.database.hex)
}

output "secret" {
  value     = "for ${var.owner} only"
  sensitive = true
}
"#;

const SERVICE: &str = r#"
variable "name" {
  type = string
}

variable "owner" {
  type = string
}

resource "local_file" "configuration" {
  filename = "${path.root}/build/${var.name}.conf"
  content  = "owner = ${var.owner}\n"
}

output "file" {
  value = local_file.configuration.filename
}
"#;

pub(crate) fn project() -> Project {
    Project::new(&[
        ("main.tf", MAIN),
        ("service/main.tf", SERVICE),
        ("terraform.tfvars", "owner = \"platform\"\n"),
    ])
}

/// Replaces random values in progress lines and attributes.
fn without_chance(line: &str) -> String {
    if let Some((before, _)) = line.split_once("[id=") {
        return format!("{before}[id=…]");
    }
    let drawn = ["id", "b64_std", "b64_url", "dec", "hex"];
    match line.split_once(" = \"") {
        Some((name, value)) if name.split_whitespace().last().is_some_and(|name| drawn.contains(&name)) => {
            let behind = value.split_once('"').map_or("", |(_, behind)| behind);
            format!("{name} = \"…\"{behind}")
        }
        _ => line.to_owned(),
    }
}

/// Sorts lines about objects of the same depth, which complete in any order.
fn settled(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut block: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = without_chance(line);
        let is_progress = line.contains("...") && line.contains(':') || line.contains("complete after");
        if is_progress {
            block.push(line);
            continue;
        }
        block.sort();
        lines.append(&mut block);
        lines.push(line);
    }
    block.sort();
    lines.append(&mut block);
    lines.join("\n")
}

#[test]
fn configuration_is_created_changed_and_destroyed() {
    let project = project();
    let step = |name: &str, line: &str, code: i32| {
        let mut seen = project.run(line).ended_with(code);
        seen.out = settled(&seen.out);
        assert_seen!(name, seen);
    };
    step("life_01_init", "init", 0);
    step("life_02_init_again", "init", 0);
    step("life_03_validate", "validate", 0);
    step("life_04_plan", "plan -detailed-exitcode", 2);
    assert!(!project.has("terraform.tfstate"), "a plan writes no state");
    step("life_05_apply", "apply -auto-approve", 0);
    assert_eq!(project.read("build/api.conf"), "owner = platform\n");
    step("life_06_no_changes", "plan -detailed-exitcode", 0);
    step("life_07_output", "output", 0);
    step("life_08_output_json", "output -json files", 0);
    step("life_09_output_raw", "output -raw secret", 0);
    step("life_10_state_list", "state list", 0);
    step("life_11_state_show", "state show module.service[\"api\"].local_file.configuration", 0);
    step("life_12_providers", "providers", 0);
    step("life_13_version", "version", 0);
    step("life_14_change", "plan -var owner=data", 0);
    step("life_15_apply_change", "apply -auto-approve -var owner=data", 0);
    assert_eq!(project.read("build/worker.conf"), "owner = data\n");
    assert!(project.has("terraform.tfstate.backup"));
    step("life_16_refresh", "refresh -var owner=data", 0);
    step("life_17_destroy", "destroy -auto-approve", 0);
    assert!(!project.has("build/worker.conf"));
    assert_eq!(project.state()["resources"].as_array().map(Vec::len), Some(0));
    step("life_18_no_resources_left", "state list", 0);
    step("life_19_nothing_to_destroy", "destroy -auto-approve", 0);
}

#[test]
fn external_change_is_detected_and_reverted() {
    let project = project();
    project.run("init").success();
    project.run("apply -auto-approve").success();
    project.write("build/api.conf", "owner = nobody\n");
    let seen = project.run("plan -detailed-exitcode").ended_with(2);
    assert!(seen.out.contains("1 to add, 0 to change, 0 to destroy"), "{}", seen.out);
    project.run("apply -auto-approve").success();
    assert_eq!(project.read("build/api.conf"), "owner = platform\n");
}

#[test]
fn apply_asks_for_approval() {
    let project = project();
    project.run("init").success();
    let refused = project.run_with("apply", "no\n", &[]).ended_with(1);
    assert!(refused.out.ends_with("Apply cancelled.\n"), "{}", refused.out);
    assert!(!project.has("terraform.tfstate"));
    let unanswered = project.run("apply").ended_with(1);
    assert_seen!("approval_without_answer", wardian_end_to_end::Seen { out: String::new(), ..unanswered });
    project.run_with("apply", "yes\n", &[]).success();
    assert!(project.has("terraform.tfstate"));
}

#[test]
fn console_shows_values() {
    let project = project();
    project.run("init").success();
    project.run("apply -auto-approve").success();
    let input = "1 + 1\n{\n  a = [true, null, var.owner]\n  b = module.service[\"api\"].file\n}\n";
    assert_seen!("console", project.run_with("console", input, &[]));
    assert_seen!("console_error", project.run_with("console", "1\nvar.ownr\n2\n", &[]));
}

#[test]
fn console_calls_yaml_crypto_and_gzip_functions() {
    let project = Project::new(&[("main.tf", "")]);
    for (expression, expected) in [
        ("yamldecode(\"a: [1]\").a[0]", "1\n"),
        ("startswith(bcrypt(\"x\", 4), \"$2a$04$\")", "true\n"),
        ("base64gunzip(base64gzip(\"x\"))", "\"x\"\n"),
    ] {
        assert_eq!(project.run_with("console", &format!("{expression}\n"), &[]).success().out, expected);
    }
    let seen = project.run_with("console", "rsadecrypt(\"eA==\", \"x\")\n", &[]).ended_with(1);
    assert!(seen.errors.contains("rsadecrypt"), "{}", seen.text());
}

#[test]
fn last_variable_source_takes_precedence() {
    let project = Project::new(&[(
        "main.tf",
        "variable \"a\" {\n  type    = number\n  default = 0\n}\noutput \"a\" {\n  value = var.a\n}\n",
    )]);
    let value = |line: &str, variables: &[(&str, &str)]| {
        project.run_with(line, "", variables).success();
        project.run("output -json a").success().out.trim().to_owned()
    };
    assert_eq!(value("apply -auto-approve", &[]), "0");
    assert_eq!(value("apply -auto-approve", &[("TF_VAR_a", "1")]), "1");
    project.write("terraform.tfvars", "a = 2\n");
    assert_eq!(value("apply -auto-approve", &[("TF_VAR_a", "1")]), "2");
    project.write("x.auto.tfvars.json", "{\"a\": 3}");
    assert_eq!(value("apply -auto-approve", &[]), "3");
    project.write("given.tfvars", "a = 5\n");
    assert_eq!(value("apply -auto-approve -var a=4 -var-file=given.tfvars", &[]), "5");
    assert_eq!(value("apply -auto-approve -var-file=given.tfvars -var a=4", &[]), "4");
    assert_eq!(value("apply -auto-approve", &[("TF_CLI_ARGS_apply", "-var a=6")]), "6");
}
