//! The command line: help, options, exit codes.

use wardian_end_to_end::{Project, assert_seen};

#[test]
fn help_lists_commands() {
    let project = Project::new(&[]);
    assert_seen!("help_bare", project.run("").ended_with(127));
    assert_seen!("help_plan", project.run("plan -help").success());
    assert_seen!("help_state", project.run("state").ended_with(1));
}

#[test]
fn invalid_command_lines_are_rejected() {
    let project = Project::new(&[]);
    assert_seen!("unknown_command", project.run("aply").ended_with(1));
    assert_seen!("unknown_option", project.run("plan -tarket=x").ended_with(1));
    assert_seen!("later_option", project.run("plan -allow-deferral").ended_with(1));
    assert_seen!("bad_target", project.run("plan -target=a..b").ended_with(1));
    assert_seen!("extra_argument", project.run("plan here").ended_with(1));
    assert_seen!("bad_directory", project.run("-chdir=none plan").ended_with(1));
    assert_seen!("other_workspace", project.run_with("plan", "", &[("TF_WORKSPACE", "a/b")]).ended_with(1));
}

#[test]
fn version_prints_versions() {
    let project = Project::new(&[]);
    assert_seen!("version", project.run("-version").success());
    assert_seen!("version_json", project.run("version -json").success());
}

#[test]
fn chdir_changes_the_working_directory() {
    let project = Project::new(&[("below/main.tf", "output \"a\" {\n  value = path.cwd == path.root\n}\n")]);
    project.run("-chdir=below apply -auto-approve").success();
    assert!(project.has("below/terraform.tfstate"));
    assert!(!project.has("terraform.tfstate"));
}

#[test]
fn output_to_a_pipe_has_no_color() {
    let project = Project::new(&[("main.tf", "output \"a\" {\n  value = 1\n}\n")]);
    let seen = project.run("plan").success();
    assert!(!seen.out.contains('\u{1b}'), "{}", seen.out);
}
