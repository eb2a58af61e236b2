//! Remedies in the report of denied accesses: rules that the plugin declares, rules that a policy of a
//! higher level must contain, and denials in the responses to another host.

use wardian_end_to_end::{Project, assert_seen, assert_seen_text, terraform, test_guest};

const FLEET: &str = r#"terraform {
  required_providers {
    fleet = {
      source = "acme/fleet"
    }
  }
}

provider "fleet" {
  inventory = "servers.txt"
}

resource "fleet_server" "a" {
  name = "web-1"
}
"#;

/// A component declares access to the configuration's directory.
fn fleet_under_development() -> Option<Project> {
    let guest = test_guest("fleet")?;
    let project = Project::new(&[("main.tf", FLEET), ("servers.txt", "web-1 north\n")]);
    let settings = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"acme/fleet\" = \"{}\"\n  }}\n  direct {{}}\n}}\n",
        guest.display()
    );
    project.write("home/.terraformrc", settings);
    Some(project)
}

/// Returns a text without line breaks and without the frames of diagnostics.
fn words(text: &str) -> String {
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

#[test]
fn declared_access_of_a_plugin_under_development_is_granted_as_declared() {
    let Some(project) = fleet_under_development() else { return };
    let denied = project.run("apply -auto-approve -no-color").ended_with(1);
    assert!(denied.text().contains("wardian policy grant acme/fleet\n"), "{}", denied.text());
    assert!(!denied.text().contains("-directories"), "{}", denied.text());
    assert_seen!("policy_grant_override", project.run("policy grant acme/fleet -yes").success());
    let planned = project.run("apply -auto-approve -no-color").success();
    assert!(!planned.text().contains("Denied"), "{}", planned.text());
    assert_seen!("policy_grant_override_again", project.run("policy grant acme/fleet -yes").success());
}

#[test]
fn undeclared_access_of_a_plugin_under_development_needs_a_rule() {
    let Some(project) = fleet_under_development() else { return };
    project.run("policy grant acme/fleet -yes").success();
    project.write("main.tf", FLEET.replace("servers.txt", "/srv/elsewhere/servers.txt"));
    let denied = project.run("apply -auto-approve -no-color").ended_with(1);
    let errors = words(&denied.text());
    assert!(errors.contains("policy grant acme/fleet filesystem -directories=/srv/elsewhere"), "{errors}");
}

#[test]
fn rule_of_the_root_module_is_not_proposed_again() {
    let Some(project) = fleet_under_development() else { return };
    project.run("policy grant acme/fleet -yes").success();
    project.write("organisation.hcl", "plugin \"acme/other\" {\n}\n");
    let variables = [("WARDIAN_POLICY", "organisation.hcl")];
    let denied = project.run_with("apply -auto-approve -no-color", "", &variables).ended_with(1);
    assert!(!denied.text().contains("wardian policy grant"), "{}", denied.text());
    let text = words(&denied.text());
    assert!(text.contains("add a rule to") && text.contains("organisation.hcl"), "{text}");
    assert!(text.contains("plugin \"acme/fleet\" { allow filesystem {"), "{text}");
}

/// The embedded provider `local`, served to another host by the binary under its name.
#[cfg(unix)]
fn served() -> Project {
    const MAIN: &str = "data \"local_file\" \"a\" {\n  filename = \"/etc/hostname\"\n}\n";
    let project = Project::new(&[("main.tf", MAIN)]);
    project.write("plugins/.keep", "");
    let plugin = project.path("plugins/terraform-provider-local");
    assert!(std::os::unix::fs::symlink(wardian_end_to_end::binary(), plugin).is_ok());
    let settings = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"hashicorp/local\" = \"{}\"\n  }}\n  direct {{}}\n}}\n",
        project.path("plugins").display()
    );
    project.write("home/.terraformrc", settings);
    project
}

#[cfg(unix)]
#[test]
fn served_plugin_reports_the_rule_and_the_policy_file() {
    let project = served();
    let without_policy = project.run("plan -no-color").ended_with(1).text();
    project.write("wardian.policy.hcl", "otherwise = \"defer\"\n");
    let with_policy = project.run("plan -no-color").ended_with(1).text();
    assert_seen_text!("served_denial", project.filtered(&format!("{without_policy}\n{with_policy}")));
}

#[cfg(unix)]
#[test]
fn terraform_shows_the_denial_of_a_served_plugin() {
    let Some(terraform) = terraform() else { return };
    let project = served();
    let output = terraform.command(&project, "plan -no-color").output();
    let Ok(output) = output else { return assert!(output.is_ok(), "terraform does not start") };
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    for part in ["Denied by policy", "wardian.policy.hcl", "directories = [\"/etc/hostname\"]"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}
