//! `plugin debug`: prints the calls of a plugin, and repeats each of them.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use wardian_end_to_end::{Project, assert_seen_text, test_guest};

use crate::plugin_authoring::embedded_guest;

const RANDOM: &str = "resource \"random_id\" \"a\" {\n  byte_length = 8\n}\n";

/// Removes the durations of calls.
fn without_milliseconds(text: &str) -> String {
    let shown = |line: &str| match line.split_once(" (") {
        Some((start, end)) if end.ends_with(" ms)") => format!("{start} ([TIME])"),
        _ => line.to_owned(),
    };
    text.lines().map(|line| shown(line) + "\n").collect()
}

/// Returns the recorded calls.
fn calls(project: &Project, recording: &str) -> Vec<Value> {
    project.read(recording).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn plugin_debug_prints_and_repeats_calls() {
    let Some(random) = embedded_guest("random") else { return };
    let project = Project::new(&[("main.tf", RANDOM)]);
    std::fs::copy(random, project.path("random.wasm")).unwrap();
    project.run("init").success();
    let recorded = project.run("plugin debug hashicorp/random -- plan -no-color").success();
    assert_seen_text!("plugin_debug_recorded", without_milliseconds(&recorded.text()));
    let is_plan = |call: &Value| call["call"] == "plan-resource-change";
    let number = calls(&project, "wardian-calls.jsonl").iter().position(is_plan).unwrap() + 1;
    let repeated = project.run(&format!("plugin debug random.wasm -replay={number}")).success();
    let mut text =
        without_milliseconds(&repeated.text()).replace(&format!("replay={number}"), "replay=[NUMBER]");
    text = text.replace(&format!("#{number} "), "#[NUMBER] ");
    project.write("damaged.jsonl", "{\"call\": 3}\n");
    for line in [
        "plugin debug random.wasm -replay=1 -recording=damaged.jsonl",
        "plugin debug random.wasm -replay=99",
        "plugin debug random.wasm -replay=1 -recording=missing.jsonl",
        "plugin debug random.wasm",
        "plugin debug 'not an address' -- version",
    ] {
        text += &project.run(line).ended_with(1).text();
    }
    assert_seen_text!("plugin_debug", text);
}

const FLEET: &str = r#"
terraform {
  required_providers {
    fleet = {
      source = "acme/fleet"
    }
    time = {
      source = "hashicorp/time"
    }
  }
}

provider "fleet" {
  inventory = "servers.txt"
}

action "fleet_restart" "web" {
  config {
    name = "web-1"
    log  = "restarts.log"
  }
}

import {
  to = fleet_server.b
  id = "web-2"
}

resource "fleet_server" "b" {
  name = "web-2"
}

resource "fleet_server" "a" {
  name = "web-1"

  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.fleet_restart.web]
    }
  }
}

ephemeral "random_password" "secret" {
  length = 16
}

data "local_sensitive_file" "token" {
  filename = "token.txt"
}

output "seconds" {
  value = provider::time::duration_parse("1h").seconds
}

output "wrong" {
  value = try(provider::time::duration_parse("one hour"), "no duration")
}
"#;

const LISTS: &str = r#"
list "fleet_server" "all" {
  provider         = fleet
  include_resource = true
  config {
    zone = "north"
  }
}
"#;

const POLICY: &str = r#"plugin "acme/fleet" {
  allow filesystem {
    directories = ["."]
    access      = ["read", "write"]
  }
}

plugin "hashicorp/local" {
  allow filesystem {
    directories = ["."]
    access      = ["read"]
  }
}
"#;

/// The calls of the configurations above.
const EXPECTED: [&str; 19] = [
    "apply-resource-change",
    "call-function",
    "close-ephemeral-resource",
    "configure-provider",
    "import-resource-state",
    "invoke-action",
    "list-resource",
    "open-ephemeral-resource",
    "plan-action",
    "plan-resource-change",
    "read-data-source",
    "read-resource",
    "upgrade-resource-state",
    "validate-action-config",
    "validate-data-resource-config",
    "validate-ephemeral-resource-config",
    "validate-list-resource-config",
    "validate-provider-config",
    "validate-resource-config",
];

/// Each kind of call that a component can have is recorded with real plugins, and repeated.
#[test]
fn plugin_debug_repeats_calls_of_each_kind() {
    let Some(fleet) = test_guest("fleet") else { return };
    let (Some(random), Some(time)) = (embedded_guest("random"), embedded_guest("time")) else { return };
    let Some(local) = embedded_guest("local") else { return };
    let project = Project::new(&[("main.tf", FLEET), ("wardian.policy.hcl", POLICY)]);
    let mirror = "terraform.d/plugins/registry.terraform.io/acme/fleet/1.0.0/fleet.wasm";
    project.write(mirror, std::fs::read(&fleet).unwrap());
    project.write("servers.txt", "web-1 north\nweb-2 south\ncache north\n");
    project.write("token.txt", "token-of-the-file");
    for (name, component) in [("fleet", &fleet), ("random", &random), ("time", &time), ("local", &local)] {
        std::fs::copy(component, project.path(&format!("{name}.wasm"))).unwrap();
    }
    project.run("init").success();
    let mut seen = BTreeSet::new();
    let mut failures = Vec::new();
    project.write("lists.tfquery.hcl", LISTS);
    for (recording, command) in
        [("query.jsonl", "query"), ("apply.jsonl", "apply -auto-approve"), ("plan.jsonl", "plan")]
    {
        project.run(&format!("plugin debug acme/fleet -recording={recording} -- {command}")).success();
        for (index, call) in calls(&project, recording).iter().enumerate() {
            let name = call["call"].as_str().unwrap();
            seen.insert(name.to_owned());
            let component = call["plugin"].as_str().unwrap().rsplit('/').next().unwrap();
            let line = format!("plugin debug {component}.wasm -recording={recording} -replay={}", index + 1);
            let repeated = project.run(&line);
            let is_same = repeated.out.contains("The response is the same as the recorded one.");
            if repeated.code != Some(0) || !is_same {
                failures.push(repeated.text());
            }
        }
    }
    assert!(failures.is_empty(), "{} calls differ:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), EXPECTED);
    // The list was recorded with its arguments and results, the action with its messages.
    let query = calls(&project, "query.jsonl");
    let list = query.iter().find(|call| call["call"] == "list-resource").unwrap();
    assert_eq!(list["response"]["results"], 2);
    assert_eq!(list["response"]["result"]["name"], "Server web-1");
    let apply = calls(&project, "apply.jsonl");
    let action = apply.iter().find(|call| call["call"] == "invoke-action").unwrap();
    assert!(action["response"]["message"].is_string(), "{action}");
    for recording in ["query.jsonl", "apply.jsonl", "plan.jsonl"] {
        for mut call in calls(&project, recording) {
            // An action may print anything.
            call["response"].as_object_mut().unwrap().retain(|name, _| !name.starts_with("message"));
            assert!(!has_token(&call), "{recording}: {call}");
        }
    }
}

/// Whether a recorded value contains the sensitive attribute of a server, as text or inside of MessagePack.
fn has_token(value: &Value) -> bool {
    const TOKEN: &str = "token-of-";
    match value {
        Value::String(text) => {
            let bytes = BASE64_STANDARD.decode(text).unwrap_or_default();
            text.contains(TOKEN) || bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes())
        }
        Value::Array(elements) => elements.iter().any(has_token),
        Value::Object(entries) => entries.values().any(has_token),
        _ => false,
    }
}

#[test]
fn plugin_debug_shows_how_a_response_differs() {
    let Some(fleet) = test_guest("fleet") else { return };
    let files = [("main.tf", FLEET), ("wardian.policy.hcl", POLICY), ("lists.tfquery.hcl", LISTS)];
    let project = Project::new(&files);
    // The lists need only the provider.
    let (provider, _) = FLEET.split_once("action \"fleet_restart\"").unwrap();
    project.write("main.tf", provider);
    let mirror = "terraform.d/plugins/registry.terraform.io/acme/fleet/1.0.0/fleet.wasm";
    project.write(mirror, std::fs::read(&fleet).unwrap());
    std::fs::copy(&fleet, project.path("fleet.wasm")).unwrap();
    project.write("servers.txt", "web-1 north\nweb-2 south\ncache north\n");
    project.run("init").success();
    project.run("plugin debug acme/fleet -- query").success();
    let is_list = |call: &Value| call["call"] == "list-resource";
    let number = calls(&project, "wardian-calls.jsonl").iter().position(is_list).unwrap() + 1;
    project.write("servers.txt", "web-1 north\nweb-3 north\ndisk north\n");
    let repeated = project.run(&format!("plugin debug fleet.wasm -replay={number}")).ended_with(1);
    let text = without_milliseconds(&repeated.text());
    assert_seen_text!("plugin_debug_differs", text.replace(&format!("#{number} "), "#[NUMBER] "));
}
