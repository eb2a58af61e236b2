//! Lists and actions: the example `fleet` of the SDK in the sandbox, and the native test plugin.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use serde_json::Value;
use wardian_end_to_end::{Project, Seen, Tmux, assert_seen, assert_seen_text, test_guest};

use crate::native_plugins::project_of;

const COMPONENT: &str = "terraform.d/plugins/registry.terraform.io/acme/fleet/1.0.0/fleet.wasm";

const MAIN: &str = r#"terraform {
  required_providers {
    fleet = {
      source = "acme/fleet"
    }
  }
}

provider "fleet" {
  inventory = "servers.txt"
}

variable "password" {
  default   = "hunter2-hunter2"
  sensitive = true
}
"#;

const ACTIONS: &str = r#"
action "fleet_restart" "cache" {
  config {
    name = "cache"
    log  = "restarts.log"
  }
}

action "fleet_restart" "web" {
  for_each = toset(["web-1", "web-2"])
  config {
    name = each.key
  }
}

action "fleet_restart" "own" {
  config {
    name = fleet_server.a.name
    log  = "${fleet_server.a.zone}.log"
  }
}

resource "fleet_server" "a" {
  name = "web-1"

  lifecycle {
    action_trigger {
      events  = [before_create]
      actions = [action.fleet_restart.cache]
    }
    action_trigger {
      events  = [after_create, after_update]
      actions = [action.fleet_restart.own, action.fleet_restart.web["web-2"]]
    }
  }
}
"#;

const LISTS: &str = r#"
variable "zone" {
  default = "north"
}

locals {
  zones = ["north", "south"]
}

list "fleet_server" "all" {
  provider = fleet
}

list "fleet_server" "zone" {
  provider         = fleet
  count            = 2
  limit            = 1
  include_resource = true
  config {
    zone = local.zones[count.index]
  }
}

list "fleet_server" "same" {
  provider = fleet
  config {
    zone = list.fleet_server.zone[0].data[0].state.zone
  }
}
"#;

const POLICY: &str = r#"plugin "acme/fleet" {
  allow filesystem {
    directories = ["."]
    access      = ["read", "write"]
  }
}
"#;

/// Creates an initialized project with the example provider.
fn project(files: &[(&str, &str)]) -> Option<Project> {
    let component = std::fs::read(test_guest("fleet")?).unwrap();
    let project = Project::new(&[("main.tf", MAIN), ("wardian.policy.hcl", POLICY)]);
    project.write(COMPONENT, component);
    project.write("servers.txt", "web-1 north\nweb-2 south\ncache north\n");
    for (name, text) in files {
        project.write(name, text);
    }
    project.run("init").success();
    Some(project)
}

fn messages(seen: &Seen) -> Vec<Value> {
    seen.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_type<'a>(messages: &'a [Value], kind: &str) -> Vec<&'a Value> {
    messages.iter().filter(|message| message["type"] == kind).collect()
}

#[test]
fn actions_are_planned_and_invoked() {
    let Some(project) = project(&[("actions.tf", ACTIONS)]) else { return };
    assert_seen!("actions_plan", project.run("plan -out=saved").success());
    let shown: Value = serde_json::from_str(&project.run("show -json saved").success().out).unwrap();
    let invocations = shown["action_invocations"].as_array().unwrap();
    assert_eq!(invocations.len(), 3);
    assert_eq!(invocations[1]["address"], "action.fleet_restart.own");
    assert_eq!(invocations[1]["config_values"]["name"], "web-1");
    assert_eq!(invocations[1]["config_unknown"], serde_json::json!({ "log": true }));
    let trigger = &invocations[1]["lifecycle_action_trigger"];
    assert_eq!(trigger["triggering_resource_address"], "fleet_server.a");
    assert_eq!(trigger["action_trigger_event"], "AfterCreate");
    assert_eq!(
        (&trigger["action_trigger_block_index"], &trigger["actions_list_index"]),
        (&1.into(), &0.into())
    );
    let audit = [("WARDIAN_AUDIT", "audit.log")];
    assert_seen!("actions_apply", project.run_with("apply saved", "", &audit).success());
    assert_eq!(project.read("restarts.log"), "restarted cache\n");
    assert_eq!(project.read("north.log"), "restarted web-1\n");
    let audit = project.read("audit.log");
    let writes = audit.lines().filter(|line| line.contains("restarts.log") && line.contains("write"));
    assert!(writes.clone().count() > 0, "{audit}");
    assert!(writes.into_iter().all(|line| line.contains("action.fleet_restart.cache")), "{audit}");
    let again = project.run("plan -detailed-exitcode").success().out;
    assert!(again.contains("No changes"), "{again}");
}

#[test]
fn requested_actions_are_invoked_alone() {
    let Some(project) = project(&[("actions.tf", ACTIONS)]) else { return };
    assert_seen!("actions_invoke_plan", project.run("plan -invoke=action.fleet_restart.web").success());
    let line = "apply -auto-approve '-invoke=action.fleet_restart.web[\"web-1\"]'";
    assert_seen!("actions_invoke_apply", project.run(line).success());
    assert!(project.state()["resources"].as_array().is_none_or(Vec::is_empty));
    assert_seen!(
        "actions_invoke_unknown",
        project.run("plan -invoke=action.fleet_restart.wep").ended_with(1)
    );
    assert_seen!("actions_invoke_values", project.run("plan -invoke=action.fleet_restart.own").ended_with(1));
    let mixed = project.run("plan -invoke=action.fleet_restart.web -destroy").ended_with(1);
    assert!(mixed.errors.contains("-invoke plans only the invocation of actions"), "{}", mixed.text());
}

const REPEATED: &str = r#"
action "fleet_restart" "each" {
  count = 4
  config {
    name = "web-1"
    log  = "restart-${count.index}.log"
  }
}

resource "fleet_server" "b" {
  count = 4
  name  = "server-${count.index}"

  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.fleet_restart.each[count.index]]
    }
  }
}

check "always" {
  assert {
    condition     = length(fleet_server.b) < 3
    error_message = "There are too many servers."
  }
}
"#;

#[test]
fn reviews_contain_actions() {
    let Some(project) = project(&[("actions.tf", REPEATED)]) else { return };
    let concise = project.run("plan -concise -out=saved").success().out;
    assert_eq!(concise.matches("will be created").count(), 1, "{concise}");
    let words = concise.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "# the same, but with name = \"server-2\": fleet_server.b[2] # the same, but with name = \"server-3\": \
             fleet_server.b[3] # each of these objects invokes action.fleet_restart.each after it is created"
        ),
        "{concise}"
    );
    assert_eq!(concise.matches("action \"fleet_restart\" \"each\"").count(), 1, "{concise}");
    assert!(concise.contains("Actions: 4 to invoke."), "{concise}");
    let summary = project.run("show -summary saved").success().out;
    for part in [
        "\n4 to create, 4 actions to invoke\n",
        "\n  4 x action.fleet_restart.each, after it is created: fleet_server.b[0],\n",
        "\n  Check failed: check.always: There are too many servers.\n",
        "\nPlan: 4 to add, 0 to change, 0 to destroy. Actions: 4 to invoke.\n",
    ] {
        assert!(summary.contains(part), "{part}:\n{summary}");
    }
    let comment = project.run("show -markdown saved").success().out;
    assert!(
        comment.contains("- 4 \u{d7} `action.fleet_restart.each` after it is created: `fleet_server.b[0]`, "),
        "{comment}"
    );
    assert!(comment.contains("- Check failed: `check.always` `There are too many servers.`\n"), "{comment}");
    let page = project.run("show -html saved").success().out;
    assert!(page.contains("<code dir=auto>action.fleet_restart.each[3]</code>"), "{page}");
    assert!(page.contains("<b>4</b> actions to invoke") && page.contains("Check failed: "));
}

#[test]
fn terminal_view_shows_actions_checks_and_accesses() {
    const KEPT: &str = "resource \"fleet_server\" \"kept\" {\n  name = \"web-2\"\n}\n";
    let servers =
        "web-1 north\nweb-2 south\nserver-0 north\nserver-1 north\nserver-2 north\nserver-3 north\n";
    let Some(project) = project(&[("kept.tf", KEPT), ("servers.txt", servers)]) else { return };
    project.run("apply -auto-approve").success();
    project.write("actions.tf", REPEATED);
    let Some(tmux) = Tmux::start(&project, &["bash", "--norc", "--noprofile"], (100, 30)) else { return };
    tmux.shows("$");
    tmux.enters("NO_COLOR=1 wardian apply -review; echo code=$?");
    tmux.shows("4 create, 4 actions  1 check failed");
    tmux.types("f");
    tmux.shows("only: findings");
    tmux.shows("4× action.fleet_restart.each");
    tmux.press(&["End"]);
    // The provider reads its inventory to refresh the object that exists.
    tmux.shows("allowed");
    tmux.shows("servers.txt");
    tmux.shows("rule: wardian.policy.hcl:");
    tmux.types("xayes");
    tmux.press(&["Enter"]);
    tmux.shows("code=0");
    assert_eq!(project.read("restart-3.log"), "restarted web-1\n");
}

#[test]
fn messages_report_actions() {
    let Some(project) = project(&[("actions.tf", ACTIONS)]) else { return };
    let found = messages(&project.run("apply -json -auto-approve").success());
    let planned = of_type(&found, "planned_action_invocation");
    assert_eq!(planned.len(), 3);
    assert_eq!(planned[0]["invocation"]["action_addr"]["addr"], "action.fleet_restart.cache");
    assert_eq!(planned[0]["invocation"]["lifecycle_trigger"]["triggering_event"], "BeforeCreate");
    assert_eq!(of_type(&found, "action_start").len(), 3);
    let progress = of_type(&found, "action_progress");
    assert_eq!(progress[1]["hook"]["message"], "started cache");
    assert_eq!(of_type(&found, "action_complete").len(), 3);
    let summaries = of_type(&found, "change_summary");
    assert_eq!(summaries[0]["changes"]["action_invocation"], 3);
    assert_eq!(summaries[1]["changes"]["action_invocation"], 3);
}

#[test]
fn failed_actions_are_reported() {
    let broken = ACTIONS.replace("name = \"cache\"", "name = \"none\"");
    let Some(project) = project(&[("actions.tf", &broken)]) else { return };
    assert_seen!("actions_failed_before", project.run("apply -auto-approve").ended_with(1));
    assert!(project.state()["resources"].as_array().is_none_or(Vec::is_empty));
    let broken = ACTIONS.replace("log  = \"${fleet_server.a.zone}.log\"", "log  = \"none/x.log\"");
    project.write("actions.tf", broken);
    let failed = project.run("apply -auto-approve").ended_with(1);
    assert!(failed.errors.contains("Restart was not logged"), "{}", failed.text());
    assert_eq!(project.state()["resources"].as_array().unwrap().len(), 1, "the object is kept");
}

#[test]
fn mistakes_in_actions_are_reported() {
    for (name, from, to) in [
        ("actions_bad_event", "before_create]", "before_creation]"),
        ("actions_missing", "[action.fleet_restart.cache]", "[action.fleet_restart.cash]"),
        ("actions_cycle", "[action.fleet_restart.cache]", "[action.fleet_restart.own]"),
        ("actions_bad_config", "name = \"cache\"", "nam = \"cache\""),
        ("actions_bad_type", "\"fleet_restart\" \"cache\"", "\"fleet_reboot\" \"cache\""),
    ] {
        let Some(project) = project(&[("actions.tf", ACTIONS)]) else { return };
        project.write("actions.tf", ACTIONS.replace(from, to));
        assert_seen!(name, project.run("validate").ended_with(1));
    }
}

#[test]
fn untrusted_configuration_runs_neither() {
    let Some(project) = project(&[("actions.tf", ACTIONS), ("all.tfquery.hcl", LISTS)]) else { return };
    let plan = project.run("plan -untrusted").ended_with(1);
    assert!(plan.errors.contains("Actions not allowed for untrusted configuration"), "{}", plan.text());
    let query = project.run("query -untrusted").ended_with(1);
    assert!(query.errors.contains("Queries not allowed for untrusted configuration"), "{}", query.text());
}

#[test]
fn queries_list_objects() {
    let Some(project) = project(&[("all.tfquery.hcl", LISTS)]) else { return };
    assert!(project.run("validate -query").success().out.contains("valid"));
    // Lists run concurrently, so their order differs.
    let seen = project.run("query").success();
    let mut lists: Vec<&str> = seen.out.trim().split("\n\n").collect();
    lists.sort_unstable();
    assert_seen_text!("query", lists.join("\n\n"));
    let found = messages(&project.run("query -json").success());
    assert_eq!(of_type(&found, "list_start").len(), 4);
    let results = of_type(&found, "list_resource_found");
    let zone =
        results.iter().find(|one| one["list_resource_found"]["address"] == "list.fleet_server.zone[1]");
    assert_eq!(
        zone.unwrap()["list_resource_found"],
        serde_json::json!({
            "address": "list.fleet_server.zone[1]",
            "display_name": "Server web-2",
            "identity": { "name": "web-2" },
            "resource_type": "fleet_server",
            "resource_object": { "name": "web-2", "zone": "south", "token": null },
        })
    );
    let totals: u64 = of_type(&found, "list_complete")
        .iter()
        .map(|one| one["list_complete"]["total"].as_u64().unwrap())
        .sum();
    assert_eq!(totals, 3 + 1 + 1 + 2);
}

#[test]
fn generated_configuration_imports_objects() {
    let one = "list \"fleet_server\" \"all\" {\n  provider = fleet\n}\n";
    let Some(project) = project(&[("all.tfquery.hcl", one)]) else { return };
    assert_seen!("query_generate", project.run("query -generate-config-out=found.tf").success());
    insta::assert_snapshot!("query_generated", project.read("found.tf"));
    let plan = project.run("plan").success().out;
    assert!(plan.contains("Plan: 3 to import, 0 to add, 0 to change, 0 to destroy."), "{plan}");
    project.run("apply -auto-approve").success();
    assert_eq!(project.state()["resources"].as_array().unwrap().len(), 3);
    assert_seen!("query_generate_existing", project.run("query -generate-config-out=found.tf").ended_with(1));
    let found = messages(&project.run("query -json -generate-config-out=other.tf").success());
    let result = &of_type(&found, "list_resource_found")[0]["list_resource_found"];
    assert!(result["config"].as_str().unwrap().starts_with("resource \"fleet_server\" \"all_"), "{result}");
    assert!(result["import_config"].as_str().unwrap().starts_with("import {"), "{result}");
    assert!(!project.has("other.tf"));
}

#[test]
fn mistakes_in_queries_are_reported() {
    let list = |provider: &str, more: &str| format!("list \"fleet_server\" \"x\" {{\n{provider}{more}}}\n");
    let provider = "  provider = fleet\n";
    for (name, command, text) in [
        ("query_no_provider", "query", list("", "")),
        ("query_bad_config", "query", list(provider, "  config {\n    zon = 1\n  }\n")),
        ("query_bad_limit", "query", list(provider, "  limit = 0\n")),
        ("query_bad_block", "validate -query", "resource \"a\" \"b\" {}\n".to_owned()),
        (
            "query_self",
            "query",
            list(provider, "  config {\n    zone = list.fleet_server.x.data[0].display_name\n  }\n"),
        ),
        ("query_unknown", "query", list(provider, "  config {\n    zone = terraform_data.zone.id\n  }\n")),
        ("query_bad_type", "query", list(provider, "").replace("fleet_server", "fleet_servers")),
    ] {
        let Some(project) = project(&[]) else { return };
        project.write("zone.tf", "resource \"terraform_data\" \"zone\" {}\n");
        project.write("x.tfquery.hcl", text);
        assert_seen!(name, project.run(command).ended_with(1));
    }
    let Some(project) = project(&[]) else { return };
    let none = project.run("query").ended_with(1);
    assert!(none.errors.contains("No lists in query files"), "{}", none.text());
}

#[test]
fn tests_accept_actions() {
    let Some(project) = project(&[("actions.tf", ACTIONS)]) else { return };
    project.write("real.tftest.hcl", "run \"real\" {\n  assert {\n    condition     = fleet_server.a.zone == \"north\"\n    error_message = \"zone\"\n  }\n}\n");
    project.write(
        "mocked.tftest.hcl",
        "mock_provider \"fleet\" {}\n\nrun \"mocked\" {\n  assert {\n    condition     = fleet_server.a.name == \"web-1\"\n    error_message = \"name\"\n  }\n}\n",
    );
    let seen = project.run("test").success();
    assert!(seen.out.contains("2 passed, 0 failed"), "{}", seen.text());
    assert_eq!(project.read("restarts.log"), "restarted cache\n", "only the real run invokes the action");
}

const NATIVE: &str = r#"terraform {
  required_providers {
    fake = {
      source = "example.com/acme/fake"
    }
  }
}

action "fake_bell" "ring" {}

resource "fake_thing" "a" {
  name = "one"

  lifecycle {
    action_trigger {
      events  = [before_create, after_create]
      actions = [action.fake_bell.ring]
    }
  }
}
"#;

#[test]
fn native_plugin_lists_objects_and_runs_actions() {
    let Some(project) = project_of(NATIVE) else { return };
    assert_seen!("native_actions_apply", project.run("apply -auto-approve").success());
    project.write("all.tfquery.hcl", "list \"fake_thing\" \"all\" {\n  provider = fake\n}\n");
    assert_seen!("native_query", project.run("query").success());
}

const OVERRIDE: &str = r#"
action "fleet_restart" "cache" {
  config {
    log = "overridden.log"
  }
}

action "fleet_restart" "web" {
  for_each = toset(["web-2"])
}
"#;

#[test]
fn override_files_merge_actions() {
    let Some(project) = project(&[("actions.tf", ACTIONS), ("fleet_override.tf", OVERRIDE)]) else { return };
    let planned = project.run("plan -json").success();
    let invocations = of_type(&messages(&planned), "planned_action_invocation").len();
    assert_eq!(invocations, 3, "{}", planned.out);
    project.run("apply -auto-approve").success();
    // The name is that of the original block, and the file that of the override.
    assert!(project.read("overridden.log").contains("cache"));
    assert!(!project.has("restarts.log"));
    project.write("fleet_override.tf", "action \"fleet_restart\" \"missing\" {\n}\n");
    assert_seen!("actions_override_missing", project.run("validate").ended_with(1));
}
