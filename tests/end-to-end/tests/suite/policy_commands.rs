//! `policy check` and `policy explain` with several policy levels.

use wardian_end_to_end::{Project, assert_seen};

const ORGANISATION: &str = r#"plugin "*" {
  native = "deny"

  deny network {
    hosts  = ["**.payroll.example.com"]
    reason = "personal data, see SEC-14"
  }
  limits {
    memory    = "256 MiB"
    wall_time = "10m"
  }
}

plugin "hashicorp/http" {
  allow network {
    hosts   = ["**"]
    methods = ["GET", "HEAD"]
    reason  = "reads public pages only"
  }
  credential {
    header      = "Authorization"
    prefix      = "Bearer "
    environment = "PAGES_TOKEN"
    hosts       = ["pages.example.com"]
  }
}
"#;

const ROOT_MODULE: &str = r#"plugin "hashicorp/http" {
  allow network {
    hosts   = ["pages.example.com", "*.docs.example.com"]
    schemes = ["https", "http"]
  }
  allow environment {
    names = ["HOME"]
  }
  limits {
    memory = "1 GiB"
  }
}
"#;

const VARIABLES: [(&str, &str); 1] = [("WARDIAN_POLICY", "organisation.hcl")];

fn project() -> Project {
    Project::new(&[("organisation.hcl", ORGANISATION), ("wardian.policy.hcl", ROOT_MODULE)])
}

#[test]
fn policy_check_accepts_valid_policies() {
    let project = project();
    assert_seen!("policy_check", project.run_with("policy check", "", &VARIABLES).success());
    assert_seen!("policy_check_json", project.run_with("policy check -json", "", &VARIABLES).success());
    assert_seen!("policy_check_file", project.run("policy check organisation.hcl").success());
    assert_seen!("policy_check_missing", project.run("policy check none.hcl").ended_with(1));
    let missing = project.run_with("policy check", "", &[("WARDIAN_POLICY", "none.hcl")]).ended_with(1);
    assert!(missing.errors.contains("none.hcl cannot be read"), "{}", missing.text());
    assert_seen!("policy_check_none", Project::new(&[]).run("policy check").success());
}

#[test]
fn policy_check_reports_problems() {
    let project = project();
    project.write(
        "wardian.policy.hcl",
        "plugin \"hashicorp/http\" {\n  allow network {\n    host = [\"https://example.com/\"]\n  }\n  credential {\n  }\n}\n",
    );
    assert_seen!("policy_check_wrong", project.run("policy check").ended_with(1));
    assert_seen!("policy_check_wrong_json", project.run("policy check -json").ended_with(1));
    let explained = project.run("policy explain hashicorp/http").ended_with(1);
    assert!(explained.out.is_empty() && explained.errors.contains("line 3"), "{}", explained.text());
    // This checks the same policy, but not as the root module's policy.
    project.write("p.hcl", "plugin \"*\" {\n  credential {\n  }\n}\n");
    let seen = project.run("policy check p.hcl").ended_with(1);
    assert!(seen.errors.contains("\"header\" is missing"), "{}", seen.text());
    let seen = project.run("policy check wardian.policy.hcl").ended_with(1);
    assert!(seen.errors.contains("is part of the configuration"), "{}", seen.text());
}

#[test]
fn rules_that_cannot_be_enforced_for_native_plugins_are_reported() {
    let rule = "  allow network {\n    hosts   = [\"api.example.com\"]\n    methods = [\"GET\"]\n  }\n";
    let confined = format!("plugin \"acme/dns\" {{\n  native = \"confine\"\n{rule}}}\n");
    let project = Project::new(&[("wardian.policy.hcl", &confined)]);
    assert_seen!("policy_check_unenforceable", project.run("policy check").ended_with(1));
    assert_seen!("policy_explain_unenforceable", project.run("policy explain acme/dns").success());
    assert_seen!("policy_explain_unenforceable_json", project.run("policy explain -json acme/dns").success());
    // The plugin that this block applies to may be a component.
    let separate = format!("plugin \"*\" {{\n  native = \"confine\"\n}}\nplugin \"acme/dns\" {{\n{rule}}}\n");
    project.write("wardian.policy.hcl", separate);
    project.run("policy check").success();
    let explained = project.run("policy explain acme/dns").success();
    assert!(explained.out.contains("methods       TLS hides"), "{}", explained.text());
}

#[test]
fn policy_explain_shows_decisions() {
    let project = project();
    project.write("home/.config/wardian/wardian.policy.hcl", "otherwise = \"defer\"\n");
    let explain = |line: &str| project.run_with(&format!("policy explain {line}"), "", &VARIABLES);
    assert_seen!("policy_explain", explain("hashicorp/http").success());
    assert_seen!("policy_explain_json", explain("-json http").success());
    assert_seen!("policy_explain_other", explain("acme/dns").success());
    assert_seen!("policy_explain_none", Project::new(&[]).run("policy explain acme/dns").success());
    assert_seen!("policy_explain_no_address", explain("a/b/c/d").ended_with(1));
}
