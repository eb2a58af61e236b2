//! A component's access: no access by default, otherwise only the granted access.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use wardian_monitor::AuditLog;
use wardian_plugin::Provider;
use wardian_sandbox::DeclaredCapabilities;

use crate::guest::{
    allow, deny, granted, granted_and_recorded, load, probe, probe_or_failure, provider, short,
};

#[tokio::test]
async fn files_and_environment_are_denied_by_default() {
    let provider = provider(short());
    assert_eq!(probe(&*provider, "environment").await, "[] Args { inner: [] }");
    for attempt in ["read:/etc/passwd", "read:Cargo.toml", "list:/", "list:.", "write:/tmp/x", "write:x"] {
        let answer = probe(&*provider, attempt).await;
        assert!(answer.starts_with("refused: "), "{attempt}: {answer}");
    }
    assert!(probe(&*provider, "clock").await.parse::<u64>().unwrap() > 1_600_000_000);
}

/// The provider of the sandbox's tests tries to open a file in each instance.
#[tokio::test]
async fn component_without_declared_files_has_no_directories() {
    for (filesystem, has_records) in [(true, true), (false, false)] {
        let root = tempfile::tempdir().unwrap();
        let log = Arc::new(AuditLog::disabled());
        let declared = DeclaredCapabilities { network: false, filesystem };
        let grants = granted_and_recorded(root.path(), "", &log).with_declared(declared);
        let provider = load(short()).provider(grants);
        for attempt in ["read:/etc/passwd", "list:/", "list:.", "write:/tmp/x"] {
            let answer = probe(&*provider, attempt).await;
            assert!(answer.starts_with("refused: "), "{attempt}: {answer}");
        }
        // Without open directories, the runtime of the component asks the host for no file, so no rule is
        // proposed.
        assert_eq!(!log.denials().is_empty(), has_records, "{:?}", log.denials());
    }
    // A grant opens its directory, whatever the component declares.
    let place = Place::new();
    let declared = DeclaredCapabilities { network: false, filesystem: false };
    let grants = granted(&place.granted(), &allow("read", &["."])).with_declared(declared);
    let provider = load(short()).provider(grants);
    assert_eq!(probe(&*provider, "read:file").await, "content");
}

struct Place {
    root: tempfile::TempDir,
}

impl Place {
    /// Creates `granted` with a file in it, and `secret`, which is not granted, next to it.
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let place = Self { root };
        fs::create_dir(place.granted()).unwrap();
        fs::write(place.granted().join("file"), "content").unwrap();
        fs::write(place.root().join("secret"), "secret").unwrap();
        place
    }

    fn root(&self) -> &Path {
        self.root.path()
    }

    fn secret(&self) -> String {
        self.root().join("secret").to_str().unwrap().to_owned()
    }

    fn granted(&self) -> std::path::PathBuf {
        self.root().join("granted")
    }

    fn provider(&self, access: &str) -> Arc<dyn Provider> {
        load(short()).provider(granted(&self.granted(), &allow(access, &["."])))
    }

    fn recorded(&self, rules: &str) -> (Arc<dyn Provider>, Arc<AuditLog>) {
        let log = Arc::new(AuditLog::disabled());
        (load(short()).provider(granted_and_recorded(&self.granted(), rules, &log)), log)
    }
}

#[tokio::test]
async fn working_directory_is_accessible_by_relative_and_absolute_paths() {
    let place = Place::new();
    let provider = place.provider("read write");
    let absolute = place.granted().join("file");
    for name in ["file", "./file", absolute.to_str().unwrap()] {
        assert_eq!(probe(&*provider, &format!("read:{name}")).await, "content", "{name}");
    }
    let absolute = place.granted().join("absolute");
    for (name, path) in
        [("relative", place.granted().join("relative")), (absolute.to_str().unwrap(), absolute.clone())]
    {
        assert_eq!(probe(&*provider, &format!("write:{name}")).await, "written", "{name}");
        assert_eq!(fs::read_to_string(path).unwrap(), "written by the guest");
    }
    assert_eq!(probe(&*provider, "list:.").await, "absolute file relative");
}

/// A guest's C library passes `/etc/passwd` as `etc/passwd`. If the guest's working directory
/// contains that file, it is used. Otherwise, the guest receives no information, and the denial is
/// recorded.
#[tokio::test]
async fn absolute_path_without_grant_stays_in_sandbox() {
    let place = Place::new();
    let (provider, log) = place.recorded(&allow("read write", &["."]));
    assert!(probe(&*provider, "read:/etc/passwd").await.starts_with("refused: No such file"));
    assert!(probe(&*provider, "read:/etc/no-such-file").await.starts_with("refused: No such file"));
    assert!(probe(&*provider, "read:/no-such-directory/file").await.starts_with("refused: No such file"));
    assert_eq!(denied(&log), ["read /etc/no-such-file", "read /etc/passwd"]);
    fs::create_dir_all(place.granted().join("etc")).unwrap();
    fs::write(place.granted().join("etc/passwd"), "not the real one").unwrap();
    assert_eq!(probe(&*provider, "read:/etc/passwd").await, "not the real one");
}

/// Returns the denials in the audit log, by access and path.
fn denied(log: &AuditLog) -> Vec<String> {
    let told = |denied: wardian_monitor::DeniedUse| {
        format!("{} {}", denied.record.access.unwrap_or_default(), denied.record.target)
    };
    let mut all: Vec<_> = log.denials().into_iter().map(told).collect();
    all.sort();
    all
}

#[tokio::test]
async fn guest_can_change_to_its_working_directory() {
    let place = Place::new();
    let (provider, log) = place.recorded(&allow("read", &["."]));
    assert_eq!(probe(&*provider, "enter").await, place.granted().to_str().unwrap());
    assert_eq!(probe(&*provider, "read:file").await, "content");
    assert_eq!(denied(&log), [""; 0]);
    // After this call, the guest passes absolute paths.
    fs::create_dir_all(place.granted().join("etc")).unwrap();
    fs::write(place.granted().join("etc/passwd"), "not the real one").unwrap();
    assert_eq!(probe(&*provider, "read:etc/passwd").await, "not the real one");
    for absolute in ["/etc/passwd", "/etc/no-such-file", "/no-such-directory/file", "/vmlinuz"] {
        for verb in ["read", "look", "write", "make-directory", "list", "read-link", "remove"] {
            let answer = probe(&*provider, &format!("{verb}:{absolute}")).await;
            assert!(answer.starts_with("refused: Operation not permitted"), "{verb} {absolute}: {answer}");
        }
    }
    assert!(denied(&log).contains(&"read /etc/passwd".to_owned()), "{:?}", denied(&log));
}

/// The error does not distinguish existing from missing files, or files from directories.
#[tokio::test]
async fn denied_paths_cause_the_same_error() {
    let place = Place::new();
    let root = place.root().to_str().unwrap().to_owned();
    for directory in ["denied/inner", "open"] {
        fs::create_dir_all(place.granted().join(directory)).unwrap();
    }
    fs::write(place.granted().join("denied/file"), "").unwrap();
    std::os::unix::fs::symlink("../open", place.granted().join("denied/link")).unwrap();
    let rules = allow("read write", &["."]) + &deny("read write", &["denied"]);
    let fenced = place.recorded(&rules).0;
    let alone = place.recorded(&allow("read write", &["open"])).0;
    for verb in ["read", "look", "write", "truncate", "list", "read-link", "remove", "make-directory"] {
        for (provider, names) in [
            (&fenced, ["file", "inner", "link", "absent", "absent/file", "inner/..", "absent/.."]),
            (
                &fenced,
                ["file/x", "inner/x", "link/x", "link", "inner/../../open", "absent/../../open", "link/.."],
            ),
        ] {
            for name in names {
                let answer = probe(&**provider, &format!("{verb}:denied/{name}")).await;
                assert_eq!(answer, "refused: Operation not permitted (os error 63)", "{verb} {name}");
            }
        }
        for name in
            ["file", "absent", "denied", "denied/file", "absent/file", "file/x", ".", "..", "../secret"]
        {
            let answer = probe(&*alone, &format!("{verb}:{name}")).await;
            assert_eq!(answer, "refused: Operation not permitted (os error 63)", "{verb} {name}");
        }
        for name in ["secret", "absent", "granted", "granted/file", "granted/absent"] {
            let answer = probe(&*alone, &format!("{verb}:{root}/{name}")).await;
            assert_eq!(answer, "refused: Operation not permitted (os error 63)", "{verb} {name}");
        }
    }
}

/// A grant of a parent directory includes the root module's directory.
#[tokio::test]
async fn grant_of_root_includes_working_directory() {
    let place = Place::new();
    let provider = place.recorded(&allow("read write", &["/"])).0;
    assert_eq!(probe(&*provider, "read:file").await, "content");
    assert_eq!(probe(&*provider, "write:new").await, "written");
    assert_eq!(fs::read_to_string(place.granted().join("new")).unwrap(), "written by the guest");
    assert_eq!(probe(&*provider, &format!("read:{}", place.secret())).await, "secret");
    assert_eq!(probe(&*provider, "create:600|mode").await, "done");
    assert!(place.granted().join("mode").exists());
    let above = place.root().to_str().unwrap().to_owned();
    let provider = place.recorded(&allow("read", &[&above])).0;
    assert_eq!(probe(&*provider, "read:file").await, "content");
    assert_eq!(probe(&*provider, "enter").await, place.granted().to_str().unwrap());
    assert_eq!(probe(&*provider, "read:../secret").await, "secret");
    assert!(probe(&*provider, "write:file").await.starts_with("refused: "));
}

#[tokio::test]
async fn no_path_escapes_its_directory() {
    let place = Place::new();
    std::os::unix::fs::symlink("../secret", place.granted().join("link")).unwrap();
    std::os::unix::fs::symlink(place.root(), place.granted().join("up")).unwrap();
    let provider = place.provider("read write");
    let secret = place.root().join("secret");
    for name in ["../secret", "link", "up/secret", "./../granted/../secret", secret.to_str().unwrap()] {
        for verb in ["read", "write", "truncate", "remove"] {
            // The symbolic link itself is in the directory, and may be removed.
            if (verb, name) == ("remove", "link") {
                continue;
            }
            let answer = probe(&*provider, &format!("{verb}:{name}")).await;
            assert!(answer.starts_with("refused: "), "{verb} {name}: {answer}");
        }
    }
    for attempt in ["rename:../secret|mine", "hardlink:../secret|mine", "rename:file|../mine"] {
        let answer = probe(&*provider, attempt).await;
        assert!(answer.starts_with("refused: "), "{attempt}: {answer}");
    }
    assert_eq!(fs::read_to_string(secret).unwrap(), "secret");
}

#[tokio::test]
async fn read_only_directory_does_not_change() {
    let place = Place::new();
    let provider = place.provider("read");
    assert_eq!(probe(&*provider, "read:file").await, "content");
    for attempt in [
        "write:file",
        "write:new",
        "truncate:file",
        "remove:file",
        "rename:file|other",
        "hardlink:file|other",
    ] {
        let answer = probe(&*provider, attempt).await;
        assert!(answer.starts_with("refused: "), "{attempt}: {answer}");
    }
    assert_eq!(fs::read_to_string(place.granted().join("file")).unwrap(), "content");
    assert_eq!(fs::read_dir(place.granted()).unwrap().count(), 1);
}

#[tokio::test]
async fn open_files_are_limited() {
    let place = Place::new();
    let provider = place.provider("read");
    // The guest traps when the host's table is full, since it cannot handle the error itself.
    let answer = probe_or_failure(&*provider, "open-many:file").await;
    assert!(answer.contains("then") || answer.contains("crashed"), "{answer}");
    assert_eq!(probe(&*provider, "read:file").await, "content");
}

#[tokio::test]
async fn rule_for_a_file_grants_only_this_file() {
    let place = Place::new();
    let secret = place.secret();
    let other = std::path::Path::new(&secret).with_file_name("other");
    fs::write(&other, "another secret").unwrap();
    let other = other.display();
    let directory = std::path::Path::new(&secret).parent().unwrap().display();
    let rules = allow("read", &[&*secret]);
    let provider = load(short()).provider(granted(&place.granted(), &rules));
    assert_eq!(probe(&*provider, &format!("read:{secret}")).await, "secret");
    for attempt in [
        format!("write:{secret}"),
        format!("remove:{secret}"),
        format!("read:{other}"),
        format!("write:{other}"),
        format!("list:{directory}"),
        format!("rename:{secret}|{other}"),
        format!("hardlink:{secret}|{directory}/new"),
    ] {
        let answer = probe(&*provider, &attempt).await;
        assert!(answer.starts_with("refused: "), "{attempt}: {answer}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
}

/// A policy may apply to many machines, so a granted directory need not exist until it is created.
#[tokio::test]
async fn missing_directory_is_created_with_write_access() {
    let place = Place::new();
    let rules = allow("read", &["absent"]) + &allow("read write", &["new/deep"]);
    let provider = load(short()).provider(granted(&place.granted(), &rules));
    for attempt in ["read:absent/file", "list:absent", "read:new/deep/file", "list:new/deep", "look:new/deep"]
    {
        let answer = probe(&*provider, attempt).await;
        assert!(answer.starts_with("refused: "), "{attempt}: {answer}");
    }
    assert!(!place.granted().join("new").exists(), "looking makes nothing");
    assert_eq!(probe(&*provider, "write:new/deep/file").await, "written");
    assert_eq!(probe(&*provider, "list:new/deep").await, "file");
    assert_eq!(probe(&*provider, "look:new/deep/file").await, "20 bytes");
    fs::create_dir(place.granted().join("absent")).unwrap();
    fs::write(place.granted().join("absent/file"), "there now").unwrap();
    assert_eq!(probe(&*provider, "read:absent/file").await, "there now");
}
