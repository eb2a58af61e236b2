//! What a component reaches: nothing by default, and what was granted.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::guest::{allow, granted, load, probe, provider, short};
use wardian_plugin::Provider;

#[tokio::test]
async fn nothing_is_there_by_default() {
    let provider = provider(short());
    assert_eq!(probe(&*provider, "environment").await, "[] Args { inner: [] }");
    for attempt in ["read:/etc/passwd", "read:Cargo.toml", "list:/", "list:.", "write:/tmp/x", "write:x"] {
        let answer = probe(&*provider, attempt).await;
        assert!(answer.starts_with("refused: "), "{attempt}: {answer}");
    }
    assert!(probe(&*provider, "clock").await.parse::<u64>().unwrap() > 1_600_000_000);
}

struct Place {
    root: tempfile::TempDir,
}

impl Place {
    /// `granted` with a file in it beside `secret`, which is not granted.
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
}

#[tokio::test]
async fn a_working_directory_is_reached_by_relative_and_absolute_names() {
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

/// What a guest's C library makes of an absolute name that no grant begins with.
/// It is no way out; whoever takes names from people has to refuse it all the same.
#[tokio::test]
async fn an_absolute_name_outside_of_the_grants_stays_inside() {
    let place = Place::new();
    let provider = place.provider("read write");
    assert!(probe(&*provider, "read:/etc/passwd").await.starts_with("refused: "));
    fs::create_dir_all(place.granted().join("etc")).unwrap();
    fs::write(place.granted().join("etc/passwd"), "not the real one").unwrap();
    assert_eq!(probe(&*provider, "read:/etc/passwd").await, "not the real one");
}

#[tokio::test]
async fn a_guest_can_enter_its_working_directory() {
    let place = Place::new();
    let provider = place.provider("read");
    assert_eq!(probe(&*provider, "enter").await, place.granted().to_str().unwrap());
    assert_eq!(probe(&*provider, "read:file").await, "content");
}

#[tokio::test]
async fn nothing_leads_out_of_a_directory() {
    let place = Place::new();
    std::os::unix::fs::symlink("../secret", place.granted().join("link")).unwrap();
    std::os::unix::fs::symlink(place.root(), place.granted().join("up")).unwrap();
    let provider = place.provider("read write");
    let secret = place.root().join("secret");
    for name in ["../secret", "link", "up/secret", "./../granted/../secret", secret.to_str().unwrap()] {
        for verb in ["read", "write", "truncate", "remove"] {
            // The link itself is in the directory, and may go.
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
async fn a_directory_for_reading_does_not_change() {
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
async fn open_files_are_counted() {
    let place = Place::new();
    let provider = place.provider("read");
    let answer = probe_or_trap(&*provider).await;
    assert!(answer.contains("then") || answer.contains("crashed"), "{answer}");
    assert_eq!(probe(&*provider, "read:file").await, "content");
}

/// Where the host's table is full the guest traps: it is not the guest's to
/// decide what to do about it.
async fn probe_or_trap(provider: &dyn Provider) -> String {
    let request = wardian_plugin::ReadDataSourceRequest {
        type_name: "hostile_probe".into(),
        config: crate::guest::object("open-many:file"),
        provider_meta: None,
        capabilities: wardian_plugin::ClientCapabilities::default(),
    };
    let response = provider.read_data_source(request).await;
    match response.state {
        Some(state) => crate::guest::text(&state, "result"),
        None => format!("{} {}", response.diagnostics[0].summary, response.diagnostics[0].detail),
    }
}

/// A policy may be for many machines; nothing is there until somebody makes it.
#[tokio::test]
async fn a_directory_that_is_not_there_is_made_by_who_may_write_in_it() {
    let place = Place::new();
    let rules = allow("read", &["absent", "../secret"]) + &allow("read write", &["new/deep"]);
    let provider =
        load(short()).provider(granted(&place.granted(), &rules.replace("../secret", &place.secret())));
    for attempt in ["read:absent/file", "list:absent", "read:new/deep/file", "list:new/deep", "look:new/deep"]
    {
        let answer = probe(&*provider, attempt).await;
        assert!(answer.starts_with("refused: "), "{attempt}: {answer}");
    }
    let secret = place.secret();
    assert!(
        probe(&*provider, &format!("read:{secret}")).await.starts_with("refused: "),
        "it is no directory"
    );
    assert!(!place.granted().join("new").exists(), "looking makes nothing");
    assert_eq!(probe(&*provider, "write:new/deep/file").await, "written");
    assert_eq!(probe(&*provider, "list:new/deep").await, "file");
    assert_eq!(probe(&*provider, "look:new/deep/file").await, "20 bytes");
    fs::create_dir(place.granted().join("absent")).unwrap();
    fs::write(place.granted().join("absent/file"), "there now").unwrap();
    assert_eq!(probe(&*provider, "read:absent/file").await, "there now");
}
