//! The provider tfcoremock in its sandbox. Its resources are files in the project, and the project
//! defines their types.

use serde_json::{Value, json};
use wardian_end_to_end::{Project, Seen};

const REQUIRED: &str =
    "terraform {\n  required_providers {\n    tfcoremock = { source = \"hashicorp/tfcoremock\" }\n  }\n}\n";

fn project(main: &str) -> Project {
    let project = Project::new(&[("versions.tf", REQUIRED), ("main.tf", main)]);
    project.run("init").success();
    project
}

/// Returns the values in a resource's file; null if they cannot be read.
fn stored(project: &Project, id: &str) -> Value {
    let text = project.read(&format!("terraform.resource/{id}.json"));
    serde_json::from_str(&text).map_or(Value::Null, |file: Value| file["values"].clone())
}

/// Returns the attributes of the first instance of a resource in the state.
fn attributes(project: &Project, name: &str) -> Value {
    instance(project, name)["attributes"].take()
}

fn instance(project: &Project, name: &str) -> Value {
    let state = project.state();
    let mut resources = state["resources"].as_array().into_iter().flatten();
    let resource = resources.find(|resource| resource["name"] == name);
    resource.map_or(Value::Null, |resource| resource["instances"][0].clone())
}

/// Sorts the elements of a set, which has no order.
fn sort(set: &mut Value) {
    if let Some(elements) = set.as_array_mut() {
        elements.sort_by_key(Value::to_string);
    }
}

/// Asserts that the output contains a text, ignoring line breaks.
#[track_caller]
fn assert_says(seen: &Seen, text: &str) {
    let words: Vec<&str> = seen.errors.split_whitespace().filter(|word| *word != "│").collect();
    assert!(words.join(" ").contains(text), "{text:?} is not in:\n{}", seen.text());
}

const DEFINITIONS: &str = r#"{
  "tfcoremock_server": {
    "attributes": {
      "name": { "type": "string", "required": true, "replace": true },
      "password": { "type": "string", "optional": true, "sensitive": true },
      "address": { "type": "string", "computed": true, "value": { "string": "192.0.2.1" } },
      "disks": {
        "type": "list", "optional": true,
        "list": { "type": "object", "object": {
          "size": { "type": "integer", "required": true },
          "serial": { "type": "string", "computed": true, "value": { "string": "made" } }
        } }
      },
      "labels": { "type": "map", "optional": true, "map": { "type": "string" } }
    },
    "blocks": {
      "rule": { "mode": "set", "attributes": { "port": { "type": "integer", "required": true } } }
    }
  }
}"#;

const SERVER: &str = r#"
variable "name" {
  default = "one"
}
resource "tfcoremock_server" "s" {
  id       = "server-${var.name}"
  name     = var.name
  password = "hidden"
  disks    = [{ size = 1 }, { size = 2 }]
  labels   = { b = "2", a = data.tfcoremock_server.other.name }
  rule {
    port = 80
  }
  rule {
    port = 443
  }
}
data "tfcoremock_server" "other" {
  id = "other"
}
"#;

#[test]
fn defined_resource_is_stored_as_a_file() {
    let project = Project::new(&[
        ("versions.tf", REQUIRED),
        ("main.tf", SERVER),
        ("dynamic_resources.json", DEFINITIONS),
        ("terraform.data/other.json", r#"{"values": {"name": {"string": "elsewhere"}}}"#),
    ]);
    project.run("init").success();
    let planned = project.run("plan").success();
    assert!(planned.out.contains("+ address  = (known after apply)"), "{}", planned.text());
    assert!(planned.out.contains("+ password = (sensitive value)"), "{}", planned.text());
    assert!(!project.has("terraform.resource"), "a plan writes nothing");

    project.run("apply -auto-approve").success();
    let disk =
        |size: &str| json!({ "object": { "size": { "number": size }, "serial": { "string": "made" } } });
    let rule = |port: &str| json!({ "object": { "port": { "number": port } } });
    let expected = json!({
        "id": { "string": "server-one" },
        "name": { "string": "one" },
        "password": { "string": "hidden" },
        "address": { "string": "192.0.2.1" },
        "disks": { "list": [disk("1"), disk("2")] },
        "labels": { "map": { "a": { "string": "elsewhere" }, "b": { "string": "2" } } },
        "rule": { "set": [rule("443"), rule("80")] },
    });
    let mut values = stored(&project, "server-one");
    sort(&mut values["rule"]["set"]);
    assert_eq!(values, expected);
    let state = attributes(&project, "s");
    assert_eq!(state["disks"], json!([{ "serial": "made", "size": 1 }, { "serial": "made", "size": 2 }]));
    assert_eq!(instance(&project, "s")["sensitive_attributes"][0][0]["value"], "password");
    project.run("plan -detailed-exitcode").success();

    project.write("main.tf", SERVER.replace("size = 2", "size = 3").replace("port = 443", "port = 8443"));
    let updated = project.run("apply -auto-approve").success();
    assert!(updated.out.contains("0 added, 1 changed, 0 destroyed"), "{}", updated.text());
    let mut values = stored(&project, "server-one");
    sort(&mut values["rule"]["set"]);
    assert_eq!(values["disks"]["list"][1], disk("3"));
    assert_eq!(values["rule"]["set"], json!([rule("80"), rule("8443")]));
    project.run("plan -detailed-exitcode").success();

    let replaced = project.run("apply -auto-approve -var name=two").success();
    assert!(replaced.out.contains("1 added, 0 changed, 1 destroyed"), "{}", replaced.text());
    assert!(project.has("terraform.resource/server-two.json"));
    assert!(!project.has("terraform.resource/server-one.json"));

    project.run("destroy -auto-approve -var name=two").success();
    assert!(!project.has("terraform.resource"), "the directory goes with its last file");
    assert!(project.has("terraform.data/other.json"));
}

#[test]
fn complex_type_preserves_all_attributes_and_blocks() {
    let project = project(
        r#"
resource "tfcoremock_complex_resource" "c" {
  id   = "c"
  bool = true
  list = [{ string = "zero" }, { map = { k = { set = [{ float = 0.5 }] } } }]
  set  = [{ string = tfcoremock_simple_resource.s.string, integer = 1 }, { object = { number = 1.25 } }]
  list_block {
    string = "outer"
    set_block {
      string = "inner"
      list_block {
        integer = 3
      }
    }
    set_block {
      list = [{ bool = false }]
    }
  }
  list_block {}
}
resource "tfcoremock_simple_resource" "s" {
  string = "a \"<quoted>\" text"
}
"#,
    );
    project.run("apply -auto-approve").success();
    let values = stored(&project, "c");
    assert_eq!(
        values["list"]["list"][1]["object"]["map"]["map"]["k"]["object"]["set"]["set"],
        json!([
            { "object": { "float": { "number": "0.5" } } }
        ])
    );
    let outer = &values["list_block"]["list"];
    assert_eq!(outer[0]["object"]["string"], json!({ "string": "outer" }));
    assert_eq!(outer[0]["object"]["set_block"]["set"].as_array().unwrap().len(), 2);
    assert_eq!(outer[1], json!({ "object": {} }));
    assert!(values.get("set_block").is_none(), "no blocks are no member: {values}");

    let simple = attributes(&project, "s");
    let id = simple["id"].as_str().unwrap();
    assert_eq!(
        project.read(&format!("terraform.resource/{id}.json")),
        format!(
            "{{\n  \"values\": {{\n    \"id\": {{\n      \"string\": \"{id}\"\n    }},\n    \"string\": {{\n      \
             \"string\": \"a \\\"\\u003cquoted\\u003e\\\" text\"\n    }}\n  }}\n}}"
        )
    );
    project.run("plan -detailed-exitcode").success();
    // Another representation of the same value is not a change.
    let text = project.read("terraform.resource/c.json").replace("\"0.5\"", "\"5e-1\"");
    project.write("terraform.resource/c.json", text);
    project.run("plan -detailed-exitcode").success();
}

#[test]
fn external_changes_are_detected_and_reverted() {
    let project = project(
        "resource \"tfcoremock_simple_resource\" \"a\" {\n  id = \"a\"\n  string = \"mine\"\n}\n\
         resource \"tfcoremock_simple_resource\" \"b\" {\n  id = \"b\"\n}\n",
    );
    project.run("apply -auto-approve").success();
    project.write(
        "terraform.resource/a.json",
        r#"{"resource_type": "tfcoremock_simple_resource",
            "values": {"id": {"string": "a"}, "string": {"string": "theirs"}, "other": {"boolean": true}}}"#,
    );
    std::fs::remove_file(project.path("terraform.resource/b.json")).unwrap();
    let planned = project.run("plan -detailed-exitcode").ended_with(2);
    assert!(planned.out.contains("\"theirs\" -> \"mine\""), "{}", planned.text());
    assert!(planned.out.contains("1 to add, 1 to change, 0 to destroy"), "{}", planned.text());
    project.run("apply -auto-approve").success();
    assert_eq!(stored(&project, "a"), json!({ "id": { "string": "a" }, "string": { "string": "mine" } }));
    assert_eq!(stored(&project, "b"), json!({ "id": { "string": "b" } }));
}

fn failing(argument: &str, string: &str) -> String {
    format!(
        "provider \"tfcoremock\" {{\n  {argument}\n}}\n\
         resource \"tfcoremock_simple_resource\" \"a\" {{\n  id     = \"a\"\n  string = \"{string}\"\n}}\n"
    )
}

#[test]
fn operations_fail_on_request() {
    let project = project(&failing("fail_on_create = [\"a\"]", "one"));
    let failed = project.run("apply -auto-approve").ended_with(1);
    assert_says(&failed, "Error: Failed to create the resource");
    assert_says(&failed, "on main.tf line 4, in resource \"tfcoremock_simple_resource\" \"a\":");
    assert_eq!(instance(&project, "a")["status"], "tainted");
    assert!(project.has("terraform.resource/a.json"));

    project.write("main.tf", failing("", "one"));
    let replaced = project.run("apply -auto-approve").success();
    assert!(replaced.out.contains("1 added, 0 changed, 1 destroyed"), "{}", replaced.text());

    project.write("main.tf", failing("fail_on_update = [\"a\"]", "two"));
    assert_says(&project.run("apply -auto-approve").ended_with(1), "Error: Failed to update the resource");
    assert_eq!(instance(&project, "a").get("status"), None);
    assert_eq!(attributes(&project, "a")["string"], "two");
    assert_eq!(stored(&project, "a")["string"], json!({ "string": "two" }));

    project.write("main.tf", failing("fail_on_read = [\"a\"]", "two"));
    assert_says(&project.run("plan").ended_with(1), "Error: Failed to read the resource");

    project.write("main.tf", failing("fail_on_delete = [\"a\"]", "two"));
    assert_says(&project.run("destroy -auto-approve").ended_with(1), "Error: Failed to delete the resource");
    assert_eq!(attributes(&project, "a")["id"], "a");
    assert!(!project.has("terraform.resource"));
    project.run("destroy -auto-approve").success();
    assert_eq!(project.state()["resources"], json!([]));
}

#[test]
fn impossible_operation_has_no_effect() {
    let project = project(&failing("", "one"));
    project.write("terraform.resource/a.json", r#"{"values": {"id": {"string": "a"}}}"#);
    let failed = project.run("apply -auto-approve").ended_with(1);
    assert_says(&failed, "a.json already exists: another resource has this ID");
    assert_eq!(project.state().get("resources").cloned().unwrap_or(json!([])), json!([]));
    assert_eq!(stored(&project, "a"), json!({ "id": { "string": "a" } }));
}

#[test]
fn use_only_state_writes_no_files() {
    let project = project(&failing("use_only_state = true", "one"));
    project.run("apply -auto-approve").success();
    project.write("main.tf", failing("use_only_state = true", "two"));
    project.run("apply -auto-approve").success();
    assert_eq!(attributes(&project, "a")["string"], "two");
    assert!(!project.has("terraform.resource"));
    project.run("destroy -auto-approve").success();
}

#[test]
fn invalid_definitions_fail_every_command_with_the_provider() {
    let project = project("resource \"tfcoremock_made\" \"a\" {}\n");
    let missing = project.run("validate").ended_with(1);
    assert_says(&missing, "on main.tf line 1, in resource \"tfcoremock_made\" \"a\":");
    for (definitions, message) in [
        (
            r#"{"tfcoremock_made": {"attributes": {"a": {"type": "text", "optional": true}}}}"#,
            "In dynamic_resources.json: tfcoremock_made.a: unknown type \"text\"",
        ),
        (
            r#"{"tfcoremock_made": {"blocks": {"b": {"mode": "map"}}}}"#,
            "In dynamic_resources.json: tfcoremock_made.b: the mode must be \"list\" or \"set\"",
        ),
        (r#"{"tfcoremock_made": {"atributes": {}}}"#, "unknown field `atributes`"),
        ("{", "In dynamic_resources.json: EOF while parsing"),
    ] {
        project.write("dynamic_resources.json", definitions);
        for command in ["validate", "plan", "apply -auto-approve"] {
            let seen = project.run(command).ended_with(1);
            assert_says(&seen, "Error: Invalid type definitions");
            assert_says(&seen, message);
        }
    }
    project.write("dynamic_resources.json", r#"{"tfcoremock_made": {}}"#);
    project.run("apply -auto-approve").success();
}

#[test]
fn invalid_files_are_reported_and_unchanged() {
    let project = project(&failing("", "one"));
    project.run("apply -auto-approve").success();
    let state = project.read("terraform.tfstate");
    for (content, message) in [
        ("{\"values\":", "a.json is not a valid resource in JSON format"),
        ("{\"values\": {\"string\": {\"list\": []}}}", "string: string is required, not a list"),
    ] {
        project.write("terraform.resource/a.json", content);
        assert_says(&project.run("apply -auto-approve").ended_with(1), message);
        assert_eq!(project.read("terraform.resource/a.json"), content);
        assert_eq!(project.read("terraform.tfstate"), state);
    }
    project.write("main.tf", "data \"tfcoremock_simple_resource\" \"d\" {\n  id = \"d\"\n}\n");
    let missing = project.run("plan -refresh=false").ended_with(1);
    assert_says(&missing, "The file \"d.json\" does not exist in terraform.data.");
    project.write("terraform.data/d.json", "[]");
    assert_says(&project.run("plan -refresh=false").ended_with(1), "d.json is not a valid resource");
}

#[test]
fn files_outside_the_project_are_denied() {
    let outside = Project::new(&[("secret.json", r#"{"values": {"string": {"string": "secret"}}}"#)]);
    let directory = outside.path("").display().to_string();
    let project = project("");
    let resource = |directory: &str, id: &str| {
        format!(
            "provider \"tfcoremock\" {{\n  resource_directory = \"{directory}\"\n  data_directory = \
             \"{directory}\"\n}}\nresource \"tfcoremock_simple_resource\" \"a\" {{\n  id = \"{id}\"\n}}\n"
        )
    };
    let data = |directory: &str, id: &str| resource(directory, id).replace("resource \"tfc", "data \"tfc");
    let far = format!("../../../../../..{directory}");
    for (directory, message) in [
        (directory.as_str(), "is outside of the directories to which the provider has access"),
        (far.as_str(), "is outside of the directories to which the provider has access"),
    ] {
        project.write("main.tf", resource(directory, "new"));
        assert_says(&project.run("apply -auto-approve").ended_with(1), message);
        assert!(!outside.has("new.json"));
        project.write("main.tf", data(directory, "secret"));
        let seen = project.run("plan").ended_with(1);
        assert!(!seen.text().contains("secret\""), "{}", seen.text());
    }
    for id in ["../secret", "a/../../secret", "/etc/passwd"] {
        project.write("main.tf", resource("terraform.resource", id));
        let seen = project.run("apply -auto-approve").ended_with(1);
        assert_says(&seen, "cannot be used as a file name");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path(""), project.path("link")).unwrap();
        project.write("main.tf", resource("link", "new"));
        project.run("apply -auto-approve").ended_with(1);
        assert!(!outside.has("new.json"));
        project.write("main.tf", data("link", "secret"));
        project.run("plan").ended_with(1);
    }
    // The project directory is also accessible under its absolute path.
    let inside = format!("{}/deep/er", project.path("").canonicalize().unwrap().display());
    project.write("main.tf", resource(&inside, "new"));
    project.run("apply -auto-approve").success();
    assert!(project.has("deep/er/new.json"));
}

#[test]
fn unknown_directory_requires_no_grant_before_apply() {
    let main = "provider \"tfcoremock\" {\n  resource_directory = terraform_data.place.output\n  data_directory \
                = terraform_data.place.output\n}\nresource \"terraform_data\" \"place\" {\n  input = \"made\"\n  \
                triggers_replace = var.again\n}\nvariable \"again\" {\n  default = 0\n}\n\
                resource \"tfcoremock_simple_resource\" \"a\" {\n  id = \"a\"\n}\n";
    let project = project(main);
    project.run("apply -auto-approve").success();
    assert!(project.has("made/a.json"));
    project.run("plan -detailed-exitcode").success();
    let unknown = project.run("plan -var again=1").ended_with(1);
    assert_says(&unknown, "Error: Provider configuration not known yet");
    assert_says(&unknown, "determines the directory of resources");
    project
        .write("main.tf", format!("{main}data \"tfcoremock_simple_resource\" \"d\" {{\n  id = \"a\"\n}}\n"));
    project.run("plan -detailed-exitcode").success();
}
