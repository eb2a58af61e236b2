//! Which state files are read and written, and what is kept of them.

use std::process::{Command, Stdio};

use wardian_end_to_end::{Project, assert_seen, binary};

const MAIN: &str =
    "variable \"a\" {\n  type    = number\n  default = 1\n}\noutput \"a\" {\n  value = var.a\n}\n";

#[test]
fn backups_are_kept_where_they_are_wanted() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("apply -auto-approve").success();
    assert!(!project.has("terraform.tfstate.backup"), "there was nothing to keep");
    project.run("apply -auto-approve -var a=2 -backup=-").success();
    assert!(!project.has("terraform.tfstate.backup"));
    project.run("apply -auto-approve -var a=3 -backup=kept").success();
    assert!(project.read("kept").contains("\"value\": 2"));
    project.run("apply -auto-approve -var a=4").success();
    assert!(project.read("terraform.tfstate.backup").contains("\"value\": 3"));
    assert_eq!(project.state()["serial"], 4);
}

#[test]
fn nothing_is_written_where_nothing_changed() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("apply -auto-approve").success();
    let before = project.read("terraform.tfstate");
    project.run("apply -auto-approve").success();
    assert_eq!(project.read("terraform.tfstate"), before);
    assert!(!project.has("terraform.tfstate.backup"));
}

#[test]
fn a_state_can_be_read_here_and_written_there() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("apply -auto-approve -state=one").success();
    assert!(!project.has("terraform.tfstate"));
    let one = project.read("one");
    project.run("apply -auto-approve -state=one -state-out=two -var a=2").success();
    assert_eq!(project.read("one"), one);
    assert_eq!(project.run("output -state=two a").success().out, "2\n");
    assert_eq!(project.run("output -state=one a").success().out, "1\n");
}

#[test]
fn the_local_backend_says_where_the_state_is() {
    let backend = "terraform {\n  backend \"local\" {\n    path = \"states/here.tfstate\"\n  }\n}\n";
    let project = Project::new(&[("main.tf", MAIN), ("backend.tf", backend), ("states/.keep", "")]);
    assert_seen!("backend_not_initialised", project.run("plan").ended_with(1));
    project.run("init").success();
    project.run("apply -auto-approve").success();
    assert!(project.has("states/here.tfstate"));
    assert_eq!(project.run("output a").success().out, "1\n");
    project.write("backend.tf", backend.replace("here", "there"));
    let seen = project.run("plan").ended_with(1);
    assert!(seen.errors.contains("are others than when"), "{}", seen.text());
    project.write("backend.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    assert_seen!("backend_later", project.run("plan").ended_with(1));
}

#[test]
fn a_state_is_shown_and_pulled() {
    let project = Project::new(&[
        (
            "main.tf",
            "resource \"null_resource\" \"a\" {\n  count    = 2\n  triggers = { n = count.index }\n}\n\nmodule \"m\" {\n  source = \
         \"./m\"\n}\n",
        ),
        ("m/main.tf", "resource \"null_resource\" \"b\" {}\n"),
    ]);
    project.run("init").success();
    project.run("apply -auto-approve").success();
    assert_eq!(project.run("state pull").success().out, project.filtered(&project.read("terraform.tfstate")));
    let listed = |arguments: &str| project.run(&format!("state list {arguments}")).success().out;
    assert_eq!(listed("null_resource.a"), "null_resource.a[0]\nnull_resource.a[1]\n");
    assert_eq!(listed("module.m"), "module.m.null_resource.b\n");
    assert_eq!(listed("null_resource.a[1]"), "null_resource.a[1]\n");
    assert_eq!(listed("-id=none"), "");
    assert_seen!("state_list_unknown", project.run("state list null_resource.c").ended_with(1));
    assert_seen!("state_show_unknown", project.run("state show null_resource.a").ended_with(1));
    let shown = project.run("show -json").success().out;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let root = &shown["values"]["root_module"];
    assert_eq!(root["resources"][1]["values"]["triggers"]["n"], "1");
    assert_eq!(root["child_modules"][0]["resources"][0]["address"], "module.m.null_resource.b");
    assert!(project.run("show").success().out.starts_with("# null_resource.a[0]:\n"));
}

#[test]
fn a_reader_that_went_away_ends_nothing() {
    let project = Project::new(&[("main.tf", MAIN)]);
    let mut child = Command::new(binary())
        .args(["apply", "-auto-approve"])
        .current_dir(project.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(project.state()["outputs"]["a"]["value"], 1);
}

#[test]
fn the_directory_of_a_state_is_made() {
    let backend = "terraform {\n  backend \"local\" {\n    path = \"x/y.tfstate\"\n  }\n}\n";
    let project = Project::new(&[("main.tf", MAIN), ("backend.tf", backend)]);
    project.run("init").success();
    project.run("plan -lock=false").success();
    assert!(!project.has("x"), "nothing was to be written");
    project.run("apply -auto-approve").success();
    assert!(project.has("x/y.tfstate"));
    project.run("apply -auto-approve -state=new/a/s.tfstate").success();
    assert!(project.has("new/a/s.tfstate"));
    project.run("apply -auto-approve -lock=false -state-out=out/s.tfstate -var a=2").success();
    assert!(project.has("out/s.tfstate"));
    project.write("file", "");
    let seen = project.run("apply -auto-approve -state=file/s.tfstate").ended_with(1);
    assert!(!seen.errors.is_empty(), "{}", seen.text());
}

#[test]
fn warnings_are_not_among_data() {
    let project = Project::new(&[("main.tf", "variable \"a\" {\n  default = 1\n}\n")]);
    let seen = project.run("output").success();
    assert_eq!(seen.out, "");
    assert!(seen.errors.contains("No outputs found"), "{}", seen.text());
}

#[test]
fn an_address_without_keys_lists_all_instances() {
    let project = Project::new(&[
        ("main.tf", "module \"c\" {\n  source = \"./c\"\n  count  = 2\n}\n"),
        ("c/main.tf", "resource \"null_resource\" \"a\" {\n  count = 2\n}\n"),
    ]);
    project.run("init").success();
    project.run("apply -auto-approve").success();
    let listed = |address: &str| project.run(&format!("state list {address}")).success().out.lines().count();
    assert_eq!(listed("module.c"), 4);
    assert_eq!(listed("module.c[1]"), 2);
    assert_eq!(listed("module.c.null_resource.a"), 4);
    assert_eq!(listed("module.c[0].null_resource.a"), 2);
    assert_eq!(listed("module.c[0].null_resource.a[1]"), 1);
}
