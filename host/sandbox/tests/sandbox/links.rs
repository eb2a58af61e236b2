//! Symbolic links that a plugin leaves for a later run, another plugin or a program outside of the
//! sandbox: links that refer to another file after a move, and links that replace granted paths.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_plugin::Provider;

use crate::guest::{allow, deny, granted, load, probe, short};

/// A directory that is granted, next to a directory that is not granted.
struct Project {
    root: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { root: tempfile::tempdir().unwrap() };
        for directory in ["project/out/cache/1/2", "project/shared/b", "elsewhere"] {
            fs::create_dir_all(project.path(directory)).unwrap();
        }
        for file in ["project/out/file", "project/out/cache/1/file", "elsewhere/key"] {
            fs::write(project.path(file), file).unwrap();
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn provider(&self, rules: &str) -> Arc<dyn Provider> {
        load(short()).provider(granted(&self.path("project"), rules))
    }
}

async fn assert_refused(provider: &dyn Provider, attempts: &[&str]) {
    for attempt in attempts {
        let answer = probe(provider, attempt).await;
        assert!(answer.starts_with("refused: ") || answer.starts_with("denied: "), "{attempt}: {answer}");
    }
}

#[tokio::test]
async fn links_must_point_below_their_directory() {
    let project = Project::new();
    let provider = project.provider(&allow("read write", &["out"]));
    assert_refused(
        &*provider,
        &[
            "symlink:..|out/link",
            "symlink:../file|out/cache/link",
            "symlink:cache/../file|out/link",
            "symlink:./../file|out/link",
            "symlink:/etc|out/link",
            "symlink:../../..|out/cache/1/2/link",
        ],
    )
    .await;
    assert_eq!(probe(&*provider, "symlink:cache/1|out/link").await, "linked");
    assert_eq!(probe(&*provider, "read:out/link/file").await, "project/out/cache/1/file");
    assert_eq!(probe(&*provider, "rename:out/link|out/cache/link").await, "renamed");
}

/// If a symbolic link that another program created is moved to another directory, it refers to a
/// different file.
#[tokio::test]
async fn links_cannot_be_moved_if_their_targets_change() {
    let project = Project::new();
    symlink("../../../file", project.path("project/out/cache/1/2/up")).unwrap();
    symlink(project.path("project/out/file"), project.path("project/out/cache/absolute")).unwrap();
    symlink("2/up", project.path("project/out/cache/1/down")).unwrap();
    let provider = project.provider(&allow("read write", &["out"]));
    assert_eq!(probe(&*provider, "read:out/cache/1/2/up").await, "project/out/file");
    assert_refused(
        &*provider,
        &[
            "rename:out/cache/1/2/up|out/up",
            "hardlink:out/cache/1/2/up|out/up",
            "rename:out/cache/1/2|out/2",
            "rename:out/cache/1|out/1",
            "rename:out/cache/absolute|out/absolute",
            "hardlink:out/cache/absolute|out/cache/1/absolute",
        ],
    )
    .await;
    for attempt in ["rename:out/cache/1/2|out/cache/1/3", "rename:out/cache/1/3/up|out/cache/1/3/same"] {
        assert_eq!(probe(&*provider, attempt).await, "renamed", "{attempt}");
    }
    assert_eq!(probe(&*provider, "read:out/cache/1/3/same").await, "project/out/file");
}

#[tokio::test]
async fn directory_moves_with_links_that_stay_in_it() {
    let project = Project::new();
    symlink("../1/file", project.path("project/out/cache/1/inside")).unwrap();
    symlink("1/2", project.path("project/out/cache/down")).unwrap();
    fs::create_dir(project.path("project/out/new")).unwrap();
    let provider = project.provider(&allow("read write", &["out"]));
    assert_eq!(probe(&*provider, "rename:out/cache|out/new/cache").await, "renamed");
    assert_eq!(probe(&*provider, "read:out/new/cache/1/inside").await, "project/out/cache/1/file");
}

/// `out/cache` is granted separately, or to another plugin, so it must not be replaced.
#[tokio::test]
async fn granted_paths_are_not_replaced() {
    let project = Project::new();
    fs::remove_dir_all(project.path("project/out/cache/1")).unwrap();
    let other = "}\nplugin \"acme/other\" {\n".to_owned() + &allow("read", &["shared/b/deep"]);
    let rules = allow("read write", &["out", "out/cache", "shared"]) + &deny("read", &["out/named"]) + &other;
    let provider = project.provider(&rules);
    fs::create_dir_all(project.path("project/out/d")).unwrap();
    assert_refused(
        &*provider,
        &[
            "remove-directory:out/cache",
            "rename:out/cache|out/old",
            "rename:shared/b|shared/c",
            "remove-directory:shared/b",
            "rename:out/d|out/cache",
            "symlink:d|out/named",
            "symlink:file|shared/b/deep",
        ],
    )
    .await;
    assert_eq!(probe(&*provider, "make-directory:shared/b/deep").await, "made", "a directory may");
    assert_refused(&*provider, &["remove-directory:shared/b/deep", "rename:shared/b/deep|shared/b/x"]).await;
    assert_eq!(probe(&*provider, "rename:out/d|out/e").await, "renamed");
    assert_eq!(probe(&*provider, "remove-directory:out/e").await, "removed");
}

/// An earlier run, or a program outside of the sandbox, may have left such a symbolic link.
#[tokio::test]
async fn granted_path_has_no_link_in_writable_directory() {
    for (link, target) in [("out/cache", "../../elsewhere"), ("out/cache", "../../.."), ("out/cache", "d")] {
        let project = Project::new();
        fs::remove_dir_all(project.path("project/out/cache")).unwrap();
        fs::create_dir(project.path("project/out/d")).unwrap();
        symlink(target, project.path("project").join(link)).unwrap();
        let provider = project.provider(&allow("read write", &["out", "out/cache"]));
        assert_refused(
            &*provider,
            &["read:out/cache/key", "list:out/cache", "write:out/cache/new", "read:out/cache/elsewhere/key"],
        )
        .await;
        assert!(!project.path("elsewhere/new").exists() && !project.path("project/out/d/new").exists());
        // The path is also denied if only another plugin may write to the outer directory.
        let other = "}\nplugin \"acme/other\" {\n".to_owned() + &allow("write", &["out"]);
        let provider = project.provider(&(allow("read write", &["out/cache"]) + &other));
        assert_refused(&*provider, &["read:out/cache/key", "list:out/cache", "write:out/cache/new"]).await;
        // A symbolic link that no plugin could have created was created by the operator.
        let provider = project.provider(&allow("read", &["out/cache"]));
        assert!(!probe(&*provider, "list:out/cache").await.starts_with("refused"), "{target}");
    }
}

/// The directory is checked by its path without symbolic links.
#[tokio::test]
async fn missing_directory_is_not_created_through_link() {
    let project = Project::new();
    symlink("../elsewhere", project.path("project/a")).unwrap();
    let rules = allow("read write", &["a/b"]) + &deny("read write", &["../elsewhere"]);
    let rules = rules.replace("../elsewhere", &project.path("elsewhere").display().to_string());
    let provider = project.provider(&rules);
    assert_refused(&*provider, &["write:a/b/new", "make-directory:a/b", "create-directory:700|a/b/c"]).await;
    assert_eq!(fs::read_dir(project.path("elsewhere")).unwrap().count(), 1);
    let provider = project.provider(&allow("read write", &["a/b"]));
    assert_eq!(probe(&*provider, "write:a/b/new").await, "written", "the operator's link is followed");
    assert!(project.path("elsewhere/b/new").exists());
    let provider = project.provider(&allow("read write", &[".", "a/c"]));
    assert_refused(&*provider, &["write:a/c/new"]).await;
    assert!(!project.path("elsewhere/c").exists());
}

/// A granted path resolves to the same directory during the whole run.
#[tokio::test]
async fn missing_directory_is_not_redirected_later() {
    let project = Project::new();
    let provider = project.provider(&allow("read write", &["later/b"]));
    symlink("../elsewhere", project.path("project/later")).unwrap();
    assert_refused(&*provider, &["write:later/b/new", "list:later/b"]).await;
    assert!(!project.path("elsewhere/b").exists());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn procfs_process_files_are_not_accessible() {
    let project = Project::new();
    symlink("/proc/self", project.path("alias")).unwrap();
    let provider = project.provider(&allow("read write", &["/"]));
    let pid = std::process::id();
    let mut attempts: Vec<String> = Vec::new();
    for process in
        [pid.to_string(), format!("{pid}/task/{pid}"), std::os::unix::process::parent_id().to_string()]
    {
        for file in ["environ", "mem", "maps", "cmdline", "status"] {
            attempts.push(format!("read:/proc/{process}/{file}"));
            attempts.push(format!("look:/proc/{process}/{file}"));
        }
        attempts.push(format!("list:/proc/{process}"));
        attempts.push(format!("write:/proc/{process}/comm"));
        attempts.push(format!("set-mode:777|/proc/{process}/comm"));
    }
    attempts.extend(
        ["self/environ", "thread-self/mem", "mounts", "kcore"].map(|name| format!("read:/proc/{name}")),
    );
    attempts.push("read-link:/proc/self".into());
    let attempts: Vec<&str> = attempts.iter().map(String::as_str).collect();
    assert_refused(&*provider, &attempts).await;
    assert!(probe(&*provider, "read:/proc/sys/kernel/ostype").await.starts_with("Linux"));
    // The path is denied under another name, too.
    let alias = project.path("alias").display().to_string();
    let provider = project.provider(&allow("read", &[&alias, &format!("{alias}/task")]));
    assert_refused(&*provider, &[&format!("read:{alias}/environ"), &format!("list:{alias}/task")]).await;
}

#[tokio::test]
async fn large_directories_are_listed_completely() {
    let project = Project::new();
    for index in 0..3_000 {
        fs::write(project.path("project/out").join(format!("{index:0>100}")), "").unwrap();
    }
    let provider = project.provider(&allow("read", &["out"]));
    let listed = probe(&*provider, "list:out").await;
    assert!(listed.len() > 300_000, "{} bytes", listed.len());
    for name in ["cache", "file", &format!("{:0>100}", 2_999)] {
        assert!(listed.contains(name), "{name}");
    }
}
