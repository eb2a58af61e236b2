//! Files and directories have the requested mode from their creation, and are created only in
//! directories that are granted for writing.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_plugin::Provider;

use crate::guest::{allow, assert_well, granted, load, probe, probe_failure, provider, short};

const VERBS: [&str; 3] = ["create", "create-directory", "set-mode"];

struct Place {
    root: tempfile::TempDir,
}

impl Place {
    /// Creates the directory `granted` next to a file `secret` and a directory `around`, which are
    /// not granted.
    fn new() -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir(place.granted()).unwrap();
        fs::create_dir(place.path("around")).unwrap();
        fs::write(place.path("secret"), "secret").unwrap();
        fs::set_permissions(place.path("secret"), fs::Permissions::from_mode(0o640)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn granted(&self) -> PathBuf {
        self.path("granted")
    }

    fn provider(&self, access: &str) -> Arc<dyn Provider> {
        load(short()).provider(granted(&self.granted(), &allow(access, &["."])))
    }

    fn mode(&self, name: &str) -> u32 {
        mode(&self.granted().join(name))
    }

    /// Asserts that no file around the granted directory was created or truncated, or has a wider
    /// mode.
    fn assert_unharmed(&self) {
        assert_eq!(fs::read_to_string(self.path("secret")).unwrap(), "secret");
        assert_eq!(mode(&self.path("secret")), 0o640);
        assert_eq!(fs::read_dir(self.path("around")).unwrap().count(), 0);
        assert_eq!(fs::read_dir(self.root.path()).unwrap().count(), 3);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Returns the mode of a file that is created with mode 0777, since the process's umask cannot be
/// read without changing it.
fn least_masked() -> u32 {
    let probe = tempfile::tempdir().unwrap();
    let path = probe.path().join("directory");
    fs::create_dir(&path).unwrap();
    mode(&path)
}

#[tokio::test]
async fn umask_applies_to_the_mode_of_new_files() {
    let place = Place::new();
    let provider = place.provider("read write");
    let absolute = place.granted().join("absolute");
    for name in ["relative", "./dotted", absolute.to_str().unwrap()] {
        assert_eq!(probe(&*provider, &format!("create:600|{name}")).await, "done", "{name}");
    }
    for name in ["relative", "dotted", "absolute"] {
        assert_eq!(place.mode(name), 0o600, "{name}");
        assert_eq!(fs::read_to_string(place.granted().join(name)).unwrap(), "written by the guest");
    }
    assert_eq!(probe(&*provider, "create-directory:700|a/b/c").await, "done");
    assert_eq!(["a", "a/b", "a/b/c"].map(|name| place.mode(name)), [0o700; 3]);

    assert_eq!(probe(&*provider, "create:777|open").await, "done");
    assert_eq!(probe(&*provider, "create-directory:777|open-directory").await, "done");
    assert_eq!(["open", "open-directory"].map(|name| place.mode(name)), [least_masked(); 2]);
}

#[tokio::test]
async fn file_without_write_permission_receives_content() {
    let place = Place::new();
    let provider = place.provider("read write");
    assert_eq!(probe(&*provider, "create:400|key").await, "done");
    assert_eq!(place.mode("key"), 0o400);
    assert_eq!(fs::read_to_string(place.granted().join("key")).unwrap(), "written by the guest");
}

#[tokio::test]
async fn existing_files_keep_mode_until_set() {
    let place = Place::new();
    let provider = place.provider("read write");
    fs::write(place.granted().join("file"), "more than the guest will write").unwrap();
    fs::set_permissions(place.granted().join("file"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(place.granted().join("directory")).unwrap();
    let before = place.mode("directory");
    assert_eq!(probe(&*provider, "create:600|file").await, "done");
    assert_eq!(probe(&*provider, "create-directory:700|directory").await, "done");
    assert_eq!((place.mode("file"), place.mode("directory")), (0o640, before));
    assert_eq!(fs::read_to_string(place.granted().join("file")).unwrap(), "written by the guest");

    assert_eq!(probe(&*provider, "set-mode:777|file").await, "done");
    assert_eq!(probe(&*provider, "set-mode:750|directory").await, "done");
    assert_eq!((place.mode("file"), place.mode("directory")), (0o777, 0o750));
}

#[tokio::test]
async fn target_of_dangling_link_is_not_created() {
    let place = Place::new();
    symlink("nowhere/else", place.granted().join("link")).unwrap();
    let provider = place.provider("read write");
    for path in ["link/", "link/a", "link/a/b"] {
        assert_eq!(probe(&*provider, &format!("create-directory:700|{path}")).await, "not found", "{path}");
    }
}

#[tokio::test]
async fn link_within_the_directory_is_followed() {
    let place = Place::new();
    fs::create_dir(place.granted().join("directory")).unwrap();
    symlink("directory", place.granted().join("link")).unwrap();
    let provider = place.provider("read write");
    assert_eq!(probe(&*provider, "create:600|link/file").await, "done");
    assert_eq!(place.mode("directory/file"), 0o600);
}

#[tokio::test]
async fn no_path_escapes_its_directory() {
    let place = Place::new();
    let link = |target: &Path, name: &str| symlink(target, place.granted().join(name)).unwrap();
    link(Path::new("../secret"), "link");
    link(&place.path("secret"), "absolute-link");
    link(Path::new("../around/new"), "dangling");
    link(place.root.path(), "up");
    let provider = place.provider("read write");
    let secret = place.path("secret");
    let beyond = place.granted().join("../around/new");
    for verb in VERBS {
        for name in [
            "../secret",
            "../around/new",
            "./../granted/../secret",
            "link",
            "absolute-link",
            "dangling",
            "up/secret",
            "up/around/new",
            "/tmp",
            "/etc/passwd",
            secret.to_str().unwrap(),
            beyond.to_str().unwrap(),
        ] {
            let answer = probe(&*provider, &format!("{verb}:777|{name}")).await;
            // A symbolic link is not a directory.
            let expected = if verb == "create-directory" { "" } else { "denied: " };
            assert!(answer != "done" && answer.starts_with(expected), "{verb} {name}: {answer}");
        }
    }
    assert_eq!(fs::read_dir(place.granted()).unwrap().count(), 4);
    place.assert_unharmed();
}

#[tokio::test]
async fn read_only_directory_does_not_change() {
    let place = Place::new();
    fs::write(place.granted().join("file"), "content").unwrap();
    let before = place.mode("file");
    let provider = place.provider("read");
    let absolute = place.granted().join("file");
    for verb in VERBS {
        for name in ["file", "new", absolute.to_str().unwrap()] {
            let answer = probe(&*provider, &format!("{verb}:777|{name}")).await;
            let because = answer.starts_with("denied: ") && answer.contains("is denied access (writing to");
            assert!(because, "{verb} {name}: {answer}");
        }
    }
    assert_eq!(fs::read_to_string(place.granted().join("file")).unwrap(), "content");
    assert_eq!(place.mode("file"), before);
    assert_eq!(fs::read_dir(place.granted()).unwrap().count(), 1);
}

/// Checks that the component can be loaded without grants, as when its schema is requested.
#[tokio::test]
async fn every_path_is_denied_without_a_grant() {
    let provider = provider(short());
    for verb in VERBS {
        for name in ["file", ".", "", "/tmp/file", "../file"] {
            let answer = probe(&*provider, &format!("{verb}:600|{name}")).await;
            assert!(answer.starts_with("denied: "), "{verb} {name}: {answer}");
        }
    }
}

#[tokio::test]
async fn setuid_and_sticky_bits_are_rejected() {
    let place = Place::new();
    let provider = place.provider("read write");
    for verb in VERBS {
        for mode in ["4755", "2755", "1777", "37777777777"] {
            let answer = probe(&*provider, &format!("{verb}:{mode}|file")).await;
            assert!(answer.starts_with("denied: the mode"), "{verb} {mode}: {answer}");
        }
    }
    assert_eq!(fs::read_dir(place.granted()).unwrap().count(), 0);
}

#[tokio::test]
async fn errors_name_their_cause() {
    let place = Place::new();
    fs::write(place.granted().join("file"), "").unwrap();
    let provider = place.provider("read write");
    let long = "a/".repeat(4_000);
    for (attempt, expected) in [
        ("create:600|absent/file", "not found"),
        ("set-mode:600|absent", "not found"),
        ("create:600|.", "failed: "),
        ("create:600|new/", "failed: "),
        ("create-directory:700|file", "failed: "),
        ("create-directory:700|file/below", "failed: "),
        (&format!("create-directory:700|{long}"), "failed: the path is longer"),
        ("create:600|a\0b", "failed: "),
    ] {
        let answer = probe(&*provider, attempt).await;
        assert!(answer.starts_with(expected), "{attempt:?}: {answer}");
    }
    assert_eq!(fs::read_dir(place.granted()).unwrap().count(), 1);
}

/// The limit is the same as for files that are opened through WASI.
#[tokio::test]
async fn open_writable_files_are_limited() {
    let place = Place::new();
    let provider = place.provider("read write");
    let told = probe_failure(&*provider, "create-many:file").await;
    assert!(told.contains("crashed"), "{told}");
    assert_well(&*provider).await;
}
