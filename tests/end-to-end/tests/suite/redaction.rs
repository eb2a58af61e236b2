//! Redaction of sensitive values in all output of a plugin.

use std::path::Path;

use wardian_end_to_end::{Project, Seen, test_guest};

#[cfg(unix)]
use crate::native_plugins;

const MASK: &str = "(sensitive value)";
const SECRETS: [&str; 4] = ["hunter22-of-all", "from-a-literal", "made-in-a-local", "of-the-provider"];

fn assert_kept(place: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{place} shows {secret}:\n{text}");
    }
}

/// Asserts that the output contains a redacted value and no secret.
fn assert_redacted(place: &str, seen: &Seen) {
    let text = seen.text();
    assert_kept(place, &text);
    assert!(text.contains(MASK), "nothing was redacted in {place}:\n{text}");
}

fn hostile(guest: &Path, input: &str) -> Project {
    let configuration = format!(
        r#"terraform {{
  required_providers {{
    hostile = {{
      source = "example.com/test/hostile"
    }}
  }}
}}

variable "secret" {{
  default   = "hunter22-of-all"
  sensitive = true
}}

locals {{
  made = sensitive("made-in-a-local")
}}

provider "hostile" {{
  input = sensitive("of-the-provider")
}}

data "hostile_probe" "a" {{
  input = "{input}"
}}
"#
    );
    let project = Project::new(&[("main.tf", &configuration)]);
    let overrides = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"example.com/test/hostile\" = \"{}\"\n  }}\n  direct {{}}\n}}\n",
        guest.display()
    );
    project.write("home/.terraformrc", overrides);
    project
}

/// Tests every kind of output of a component with every kind of input.
#[test]
fn sensitive_values_in_component_output_are_redacted() {
    let Some(guest) = test_guest("hostile") else { return };
    for place in ["log", "log-field", "stdout", "stderr", "panic", "error"] {
        let input = format!("tell:{place}|${{var.secret}} and ${{local.made}}, of-the-provider");
        let project = hostile(&guest, &input);
        for line in ["plan", "plan -json"] {
            let seen = project.run_with(line, "", &[("TF_LOG", "trace")]);
            assert_redacted(&format!("{place} of {line}"), &seen);
        }
        let plain = project.run("plan");
        assert_kept(place, &plain.text());
        assert_eq!(plain.text().contains(MASK), ["panic", "error"].contains(&place), "{}", plain.text());
    }
}

/// The literal is marked only in the argument; no variable contains it.
#[test]
fn value_marked_in_an_argument_is_redacted() {
    let Some(guest) = test_guest("hostile") else { return };
    let project = hostile(&guest, "calls");
    let resource = "resource \"hostile_panic\" \"a\" {\n  input = sensitive(\"from-a-literal\")\n}\n";
    project.write("resource.tf", resource);
    let seen = project.run("plan").ended_with(1);
    assert!(seen.errors.contains("the guest panics: (sensitive value)"), "{}", seen.text());
    assert_kept("a panic", &seen.text());
}

/// Tests paths in the audit log, in denials, and in the suggested rule.
#[test]
fn secret_in_a_path_is_redacted() {
    let Some(guest) = test_guest("hostile") else { return };
    for (folder, decision) in [("open", "allowed"), ("closed", "denied")] {
        let input = format!("tell:file|${{abspath(path.root)}}/{folder}/${{var.secret}}");
        let project = hostile(&guest, &input);
        project.write(&format!("{folder}/x"), "");
        let policy = "plugin \"example.com/test/hostile\" {\n  allow filesystem {\n    directories = [\".\"]\n  }\n  \
                      deny filesystem {\n    directories = [\"closed\"]\n  }\n}\n";
        project.write("policy.hcl", policy);
        let variables = [("TF_LOG", "trace"), ("WARDIAN_POLICY", "policy.hcl")];
        let seen = project.run_with("plan -audit-log=audit.jsonl", "", &variables);
        assert_kept("the run", &seen.text());
        let log = project.read("audit.jsonl");
        assert_kept("the log", &log);
        let target = format!("/{folder}/(sensitive value)\"");
        let recorded = log
            .lines()
            .any(|line| line.contains(&target) && line.contains(&format!("\"decision\":\"{decision}\"")));
        assert!(recorded, "{log}\n{}", seen.text());
        let summary = project.run("audit audit.jsonl").success();
        assert_kept("the summary", &summary.text());
        let suggested = project.run("audit -suggest-policy audit.jsonl").success();
        assert_kept("the suggested policy", &suggested.text());
        assert!(!suggested.out.contains(MASK), "no rule is of a mask: {}", suggested.text());
        assert_eq!(suggested.errors.contains(MASK), decision == "allowed", "{}", suggested.text());
    }
}

#[cfg(unix)]
const NATIVE: &str = r#"terraform {
  required_providers {
    fake = {
      source = "example.com/acme/fake"
    }
  }
}

variable "secret" {
  default   = "hunter22-of-all"
  sensitive = true
}

provider "fake" {
  greeting = sensitive("of-the-provider")
}

resource "fake_thing" "a" {
  name = "plain"
}

data "fake_echo" "b" {
  input = sensitive("from-a-literal")
}

data "fake_echo" "a" {
  input = "it is ${var.secret}"
}
"#;

#[cfg(unix)]
#[test]
fn sensitive_values_in_native_plugin_output_are_redacted() {
    let Some(project) = native_plugins::project_of(NATIVE) else { return };
    project.write("words", "repeats");
    for line in ["plan", "apply -auto-approve", "plan -json", "destroy -auto-approve"] {
        let seen = project.run_with(line, "", &[("TF_LOG", "trace")]).success();
        assert_redacted(line, &seen);
        for message in ["ConfigureProvider received", "; configuration: "] {
            assert!(seen.errors.contains(message), "{line}: {}", seen.text());
        }
    }
    let seen = project.run("plan").success();
    assert!(seen.out.contains("Received (sensitive value)"), "{}", seen.text());
    assert!(
        seen.out.contains("Input: it is (sensitive value)") || seen.out.contains("Input: (sensitive value)"),
        "{}",
        seen.text()
    );
    assert_kept("warnings", &seen.text());
}

#[cfg(unix)]
#[test]
fn native_plugin_crash_output_is_redacted() {
    let Some(project) = native_plugins::project_of(NATIVE) else { return };
    for call in ["ReadDataSource", "PlanResourceChange", "ConfigureProvider"] {
        project.write("words", format!("repeats,kill@{call}"));
        let seen = project.run("plan").ended_with(1);
        assert!(seen.errors.contains(" received "), "{}", seen.text());
        assert_redacted(call, &seen);
    }
}
