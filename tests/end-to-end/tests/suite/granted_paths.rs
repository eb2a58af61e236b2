//! The record of the directories to which granted paths resolve.

#![allow(clippy::unwrap_used, reason = "a test fails at the first unexpected result")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use wardian_end_to_end::Project;

/// Creates a project whose provider reads a file through `home/granted`, a link to `home/one`.
fn project() -> Project {
    let project = Project::new(&[("home/one/file", "one"), ("home/two/file", "two")]);
    let granted = project.path("home/granted");
    project.write(
        "root/main.tf",
        format!(
            "data \"local_file\" \"a\" {{\n  filename = \"{}/file\"\n}}\n\noutput \"content\" {{\n  value = \
             data.local_file.a.content\n}}\n",
            granted.display()
        ),
    );
    project.write(
        "root/wardian.policy.hcl",
        format!(
            "plugin \"hashicorp/local\" {{\n  allow filesystem {{\n    directories = [\"{}\"]\n  }}\n}}\n",
            granted.display()
        ),
    );
    symlink("one", &granted).unwrap();
    project
}

fn relink(project: &Project, target: &str) {
    let granted = project.path("home/granted");
    fs::remove_file(&granted).unwrap();
    symlink(target, granted).unwrap();
}

#[test]
fn changed_directory_stops_a_run_until_init() {
    let project = project();
    project.run("-chdir=root init").success();
    assert!(project.run("-chdir=root plan").success().out.contains("one"));
    relink(&project, "two");
    let refused = project.run("-chdir=root plan").ended_with(1);
    for word in ["Granted directory has changed", "home/one", "home/two", "hashicorp/local", "wardian init"] {
        assert!(refused.errors.contains(word), "{word}: {}", refused.text());
    }
    assert!(!refused.text().contains("\"two\""), "{}", refused.text());
    // Commands that do not run plugins still succeed.
    project.run("-chdir=root policy explain hashicorp/local").success();
    let init = project.run("-chdir=root init").success();
    assert!(init.text().contains("Granted directory has changed"), "{}", init.text());
    assert!(project.run("-chdir=root plan").success().out.contains("two"));
}

#[test]
fn first_use_records_a_directory() {
    let project = project();
    let variables = [("XDG_DATA_HOME", project.path("private"))];
    let variables = variables.each_ref().map(|(name, path)| (*name, path.to_str().unwrap()));
    project.run_with("-chdir=root init", "", &variables).success();
    let records = project.path("private/wardian/granted-paths");
    fs::remove_dir_all(&records).unwrap();
    project.run_with("-chdir=root plan", "", &variables).success();
    assert_eq!(fs::read_dir(&records).unwrap().count(), 1);
    relink(&project, "two");
    project.run_with("-chdir=root plan", "", &variables).ended_with(1);
    // If the record cannot be stored in any directory, nothing is compared.
    let unusable = [("XDG_DATA_HOME", "/proc/nothing")];
    assert!(project.run_with("-chdir=root plan", "", &unusable).success().out.contains("two"));
}

#[test]
fn link_in_writable_directory_grants_nothing() {
    let project = project();
    let granted = project.path("home/granted");
    let home = granted.parent().map(Path::to_owned).unwrap();
    let rule = format!(
        "plugin \"acme/files\" {{\n  allow filesystem {{\n    directories = [\"{}\"]\n    access = \
         [\"write\"]\n  }}\n}}\n",
        home.display()
    );
    project.write("root/wardian.policy.hcl", project.read("root/wardian.policy.hcl") + &rule);
    for command in ["init", "plan"] {
        let refused = project.run(&format!("-chdir=root {command}")).ended_with(1);
        assert!(refused.text().contains("contains a link"), "{}", refused.text());
    }
}

#[test]
fn policy_grant_records_the_directory() {
    let project = project();
    project.run("-chdir=root init").success();
    relink(&project, "two");
    project.run("-chdir=root plan").ended_with(1);
    fs::remove_file(project.path("root/wardian.policy.hcl")).unwrap();
    let granted = project.path("home/granted");
    project
        .run(&format!(
            "-chdir=root policy grant hashicorp/local filesystem -directories={}",
            granted.display()
        ))
        .success();
    assert!(project.run("-chdir=root plan").success().out.contains("two"));
}
