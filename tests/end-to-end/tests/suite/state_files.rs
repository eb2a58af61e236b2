//! State files: paths, backups, and the commands that read them.

use std::process::{Command, Stdio};

use wardian_end_to_end::{Project, assert_seen, binary};

const MAIN: &str =
    "variable \"a\" {\n  type    = number\n  default = 1\n}\noutput \"a\" {\n  value = var.a\n}\n";

#[test]
fn backup_option_sets_the_backup_path() {
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
fn unchanged_state_is_not_written_again() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("apply -auto-approve").success();
    let before = project.read("terraform.tfstate");
    project.run("apply -auto-approve").success();
    assert_eq!(project.read("terraform.tfstate"), before);
    assert!(!project.has("terraform.tfstate.backup"));
}

#[test]
fn state_and_state_out_use_different_files() {
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
fn local_backend_sets_the_state_path() {
    let backend = "terraform {\n  backend \"local\" {\n    path = \"states/here.tfstate\"\n  }\n}\n";
    let project = Project::new(&[("main.tf", MAIN), ("backend.tf", backend), ("states/.keep", "")]);
    assert_seen!("backend_not_initialized", project.run("plan").ended_with(1));
    project.run("init").success();
    project.run("apply -auto-approve").success();
    assert!(project.has("states/here.tfstate"));
    assert_eq!(project.run("output a").success().out, "1\n");
    project.write("backend.tf", backend.replace("here", "there"));
    let seen = project.run("plan").ended_with(1);
    assert!(seen.errors.contains("have changed since"), "{}", seen.text());
    project.write("backend.tf", "terraform {\n  backend \"oss\" {}\n}\n");
    assert_seen!("backend_refused", project.run("plan").ended_with(1));
}

#[test]
fn show_and_state_pull_print_the_state() {
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
fn closed_pipe_does_not_stop_the_run() {
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
fn state_directory_is_created() {
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
fn warnings_are_printed_to_stderr() {
    let project = Project::new(&[("main.tf", "variable \"a\" {\n  default = 1\n}\n")]);
    let seen = project.run("output").success();
    assert_eq!(seen.out, "");
    assert!(seen.errors.contains("No outputs found"), "{}", seen.text());
}

#[test]
fn state_list_of_a_resource_lists_all_instances() {
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
