//! Files that a policy denies within a granted directory cannot be reached by any name, link or
//! move. Also tests the audit records.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_monitor::{AuditLog, Capability, Outcome, Record};
use wardian_plugin::{CallContext, Provider};

use crate::guest::{allow, deny, granted, granted_and_recorded, load, probe, probe_for, short};

/// A project with one denied directory and one read-only directory.
struct Project {
    root: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { root: tempfile::tempdir().unwrap() };
        for directory in ["open/inner", "secret/inner", "fixed"] {
            fs::create_dir_all(project.path(directory)).unwrap();
        }
        for file in
            ["open/file", "secret/key", "secret/inner/key", "fixed/file", ".terraform.lock.hcl", "main.tf"]
        {
            fs::write(project.path(file), file).unwrap();
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn rules() -> String {
        allow("read write", &["."]) + &deny("read write", &["secret"]) + &deny("write", &["fixed"])
    }

    fn provider(&self) -> Arc<dyn Provider> {
        load(short()).provider(granted(self.root.path(), &Self::rules()))
    }

    fn recorded(&self, rules: &str, log: &Path) -> (Arc<dyn Provider>, Arc<AuditLog>) {
        let log = Arc::new(AuditLog::open(log).unwrap());
        (load(short()).provider(granted_and_recorded(self.root.path(), rules, &log)), log)
    }

    /// Asserts that no denied file was changed or moved.
    fn assert_unharmed(&self) {
        for file in ["secret/key", "secret/inner/key", "fixed/file", ".terraform.lock.hcl"] {
            assert_eq!(fs::read_to_string(self.path(file)).unwrap(), file);
        }
        assert_eq!(fs::read_dir(self.path("secret")).unwrap().count(), 2);
        assert_eq!(fs::read_dir(self.path("fixed")).unwrap().count(), 1);
    }
}

async fn assert_refused(provider: &dyn Provider, attempts: &[&str]) {
    for attempt in attempts {
        let answer = probe(provider, attempt).await;
        let refused = answer.starts_with("refused: ") || answer.starts_with("denied: ");
        assert!(refused, "{attempt}: {answer}");
    }
}

#[tokio::test]
async fn no_operation_reaches_denied_files() {
    let project = Project::new();
    let provider = project.provider();
    assert_refused(
        &*provider,
        &[
            "read:secret/key",
            "read:open/../secret/key",
            "read:secret/inner/key",
            "list:secret",
            "look:secret/key",
            "write:secret/key",
            "write:secret/new",
            "append:secret/key",
            "truncate:secret/key",
            "touch:secret/key",
            "resize:secret/key|0",
            "remove:secret/key",
            "make-directory:secret/new",
            "remove-directory:secret/inner",
            "rename:secret/key|open/key",
            "rename:open/file|secret/key",
            "hardlink:secret/key|open/key",
            "hardlink:open/file|secret/new",
            "symlink:../open/file|secret/link",
            "read-link:secret/key",
            "create:600|secret/new",
            "create:600|secret/key",
            "create-directory:700|secret/new",
            "set-mode:777|secret/key",
            "set-mode:777|secret",
        ],
    )
    .await;
    project.assert_unharmed();
    assert_eq!(probe(&*provider, "read:open/file").await, "open/file");
}

#[tokio::test]
async fn read_only_files_are_read_and_not_changed() {
    let project = Project::new();
    let provider = project.provider();
    assert_eq!(probe(&*provider, "read:fixed/file").await, "fixed/file");
    assert_eq!(probe(&*provider, "list:fixed").await, "file");
    assert_refused(
        &*provider,
        &[
            "write:fixed/file",
            "append:fixed/file",
            "truncate:fixed/file",
            "touch:fixed/file",
            "touch:fixed",
            "resize:fixed/file|0",
            "remove:fixed/file",
            "rename:fixed/file|open/moved",
            "rename:fixed|moved",
            "rename:open|fixed",
            "hardlink:fixed/file|open/linked",
            "make-directory:fixed/new",
            "remove-directory:fixed",
            "symlink:file|fixed/link",
            "create:600|fixed/file",
            "set-mode:777|fixed/file",
            "write:.terraform.lock.hcl",
            "write:.terraform/plugins",
            "make-directory:.terraform",
            "write:wardian.policy.hcl",
            "rename:main.tf|wardian.policy.hcl",
            "rename:.terraform.lock.hcl|other",
            "remove:.terraform.lock.hcl",
            "hardlink:.terraform.lock.hcl|other",
            "symlink:open/file|wardian.policy.hcl",
        ],
    )
    .await;
    project.assert_unharmed();
    assert!(!project.path("wardian.policy.hcl").exists() && !project.path(".terraform").exists());
}

#[tokio::test]
async fn denied_files_are_not_reached_through_links() {
    let project = Project::new();
    let provider = project.provider();
    for (target, link) in [
        ("secret", "way"),
        ("secret/key", "key"),
        ("fixed/file", "fixed-link"),
        (".terraform.lock.hcl", "lock"),
    ] {
        assert_eq!(probe(&*provider, &format!("symlink:{target}|{link}")).await, "linked", "{target}");
    }
    // The plugin could not have created this symbolic link.
    std::os::unix::fs::symlink("../secret/key", project.path("open/key")).unwrap();
    // The plugin creates a symbolic link to that symbolic link.
    assert_eq!(probe(&*provider, "symlink:way/inner|way-in").await, "linked");
    assert_refused(
        &*provider,
        &[
            "read:way/key",
            "read:key",
            "read:open/key",
            "read:way-in/key",
            "read:open/../way/inner/../key",
            "list:way",
            "list:way-in",
            "look:key",
            "write:way/key",
            "write:key",
            "write:fixed-link",
            "write:lock",
            "append:fixed-link",
            "truncate:fixed-link",
            "touch:fixed-link",
            "create:600|key",
            "create:600|way/new",
            "create-directory:700|way/new",
            "set-mode:777|way/key",
            "set-mode:777|fixed-link",
            "rename:way/key|taken",
            "hardlink:way/key|taken",
            "remove:way/key",
            "make-directory:way/new",
        ],
    )
    .await;
    project.assert_unharmed();
    assert_eq!(probe(&*provider, "read:fixed-link").await, "fixed/file", "it may be read");
    assert_eq!(probe(&*provider, "remove:way").await, "removed", "the link itself is no secret");
}

/// Renaming a directory would change the path of every file in it.
#[tokio::test]
async fn denied_files_are_not_moved_with_their_directory() {
    let project = Project::new();
    fs::create_dir_all(project.path("outer/middle/secret")).unwrap();
    fs::write(project.path("outer/middle/secret/key"), "key").unwrap();
    let rules = allow("read write", &["."]) + &deny("read", &["outer/middle/secret"]);
    let provider = load(short()).provider(granted(project.root.path(), &rules));
    assert_refused(
        &*provider,
        &[
            "rename:outer|other",
            "rename:outer/middle|other",
            "rename:outer/middle/secret|other",
            "rename:outer/middle/secret/key|key",
            "hardlink:outer/middle/secret/key|key",
        ],
    )
    .await;
    assert_eq!(fs::read_to_string(project.path("outer/middle/secret/key")).unwrap(), "key");
    assert_eq!(probe(&*provider, "rename:open|elsewhere").await, "renamed");
}

#[tokio::test]
async fn link_to_a_target_outside_is_not_created() {
    let project = Project::new();
    let provider = project.provider();
    assert_refused(
        &*provider,
        &[
            "symlink:/etc/passwd|link",
            "symlink:../outside|link",
            "symlink:../../outside|open/link",
            "symlink:open/../../outside|link",
            "symlink:a/../../b/../..|open/link",
        ],
    )
    .await;
    assert_refused(&*provider, &["symlink:../main.tf|open/link"]).await;
    std::os::unix::fs::symlink("../main.tf", project.path("open/link")).unwrap();
    assert_eq!(probe(&*provider, "read:open/link").await, "main.tf");
    assert_eq!(probe(&*provider, "read-link:open/link").await, "../main.tf");
}

#[tokio::test]
async fn hard_link_to_named_file_is_treated_as_that_file() {
    let project = Project::new();
    fs::hard_link(project.path(".terraform.lock.hcl"), project.path("open/lock")).unwrap();
    fs::write(project.path("state"), "state").unwrap();
    fs::hard_link(project.path("state"), project.path("open/state")).unwrap();
    fs::write(project.path("notes"), "notes").unwrap();
    fs::hard_link(project.path("notes"), project.path("open/notes")).unwrap();
    fs::hard_link(project.path("main.tf"), project.path("open/main")).unwrap();
    let rules = Project::rules() + &deny("read write", &["state"]);
    let provider = load(short()).provider(granted(project.root.path(), &rules));
    assert_eq!(probe(&*provider, "read:open/lock").await, ".terraform.lock.hcl");
    assert_eq!(probe(&*provider, "append:open/notes").await, "appended");
    assert_eq!(probe(&*provider, "read:open/main").await, "main.tf");
    assert_refused(
        &*provider,
        &[
            "write:open/lock",
            "append:open/lock",
            "truncate:open/lock",
            "create:600|open/lock",
            "set-mode:777|open/lock",
            "append:open/main",
            "read:open/state",
            "write:open/state",
        ],
    )
    .await;
    project.assert_unharmed();
    assert_eq!(fs::read_to_string(project.path("state")).unwrap(), "state");
}

/// A rule for a path that contains symbolic links applies to the target of the links.
#[tokio::test]
async fn rules_with_links_in_paths_apply_to_targets() {
    let project = Project::new();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("file"), "elsewhere").unwrap();
    fs::create_dir(elsewhere.path().join("denied")).unwrap();
    fs::write(elsewhere.path().join("denied/file"), "denied").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), project.path("alias")).unwrap();
    std::os::unix::fs::symlink("secret", project.path("another-name")).unwrap();
    let rules = allow("read write", &["alias"]) + &deny("read write", &["alias/denied"]);
    let provider = load(short()).provider(granted(project.root.path(), &rules));
    assert_eq!(probe(&*provider, "read:alias/file").await, "elsewhere");
    assert_refused(&*provider, &["read:alias/denied/file", "rename:alias/denied|alias/other"]).await;
    let rules = allow("read write", &["."]) + &deny("read write", &["another-name"]);
    let provider = load(short()).provider(granted(project.root.path(), &rules));
    assert_refused(&*provider, &["read:secret/key", "write:secret/key", "rename:secret|other"]).await;
    project.assert_unharmed();
}

#[tokio::test]
async fn pipes_and_devices_are_not_opened() {
    let project = Project::new();
    let made = std::process::Command::new("mkfifo").arg(project.path("open/pipe")).status().unwrap();
    assert!(made.success());
    assert_refused(&*project.provider(), &["read:open/pipe", "write:open/pipe"]).await;
}

fn lines(log: &Path) -> Vec<Record> {
    let text = fs::read_to_string(log).unwrap();
    let all = text.lines().map(|line| serde_json::from_str(line).unwrap());
    // The provider also tries to open a file when it returns its schema.
    all.filter(|record: &Record| record.call == "read-data-source").collect()
}

#[tokio::test]
async fn accesses_are_recorded_with_byte_counts() {
    let project = Project::new();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("audit");
    let (provider, log) = project.recorded(&Project::rules(), &path);
    for attempt in [
        "read:open/file",
        "write:open/new",
        "create:600|open/mode",
        "look:open/new",
        "list:open",
        "remove:open/new",
    ] {
        probe(&*provider, attempt).await;
    }
    probe(&*provider, "read:secret/key").await;
    let told: Vec<_> = lines(&path)
        .into_iter()
        .map(|line| {
            assert_eq!((line.capability, &*line.call), (Capability::Filesystem, "read-data-source"));
            let name = line.target.strip_prefix(project.root.path().to_str().unwrap()).unwrap().to_owned();
            let bytes = line.bytes_received.or(line.bytes_sent);
            (line.access.unwrap(), name, line.decision == Outcome::Allowed, bytes)
        })
        .collect();
    let expected = [
        ("read", "/open/file", true, Some(9)),
        ("write", "/open/new", true, Some(20)),
        ("write", "/open/mode", true, Some(20)),
        ("read", "/open", true, None),
        ("write", "/open/new", true, None),
        ("read", "/secret/key", false, None),
    ];
    let expected =
        expected.map(|(access, name, allowed, bytes)| (access.to_owned(), name.to_owned(), allowed, bytes));
    assert_eq!(told, expected);
    assert_eq!(log.denials().len(), 1);
}

/// Access through a handle from an earlier call is recorded as a new access of the current call.
#[tokio::test]
async fn file_kept_open_after_call_is_recorded_again() {
    let project = Project::new();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("audit");
    let (provider, _) = project.recorded(&Project::rules(), &path);
    let (one, two) = (CallContext::new("data.a.one"), CallContext::new("data.a.two"));
    assert_eq!(probe_for(&one, &*provider, "hold:open/file").await, "held");
    assert_eq!(probe_for(&two, &*provider, "held").await, "open/file");
    drop(provider);
    let told: Vec<_> =
        lines(&path).into_iter().map(|line| (line.resource.unwrap(), line.bytes_received)).collect();
    assert_eq!(told, [("data.a.one".to_owned(), None), ("data.a.two".to_owned(), Some(9))]);
}

#[tokio::test]
async fn written_bytes_per_call_are_limited() {
    let project = Project::new();
    let rules = Project::rules() + "limits {\n bytes_written = \"10 KiB\"\n}\n";
    let provider = load(short()).provider(granted(project.root.path(), &rules));
    for _ in 0..2 {
        assert_eq!(probe(&*provider, "fill:open/fits|10240").await, "filled", "each call may write as much");
    }
    for attempt in ["fill:open/large|10241", "resize:open/file|20000"] {
        let told = crate::guest::probe_failure(&*provider, attempt).await;
        for part in ["it wrote more than 10240 bytes", "wardian.policy.hcl:", "acme/hostile"] {
            assert!(told.contains(part), "{part:?} is missing in {told}");
        }
    }
    assert_eq!(fs::metadata(project.path("open/large")).unwrap().len(), 8192, "what was written before");
}
