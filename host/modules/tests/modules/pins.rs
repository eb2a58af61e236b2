//! Pinned packages.

use std::fs;

use wardian_modules::{InstallMode, ModuleTrust};

use crate::fixture::{Fixture, call};
use crate::repositories::{Repository, write_file, zip};
use crate::server::{Answer, Server};

fn content(text: &str) -> Answer {
    Answer::bytes(zip(&[("main.tf", text)]))
}

#[tokio::test]
async fn changed_package_is_an_error() {
    let mut fixture = Fixture::new();
    let server = Server::start().await;
    let source = server.url("/m.zip");
    server.answer("/m.zip", content("one"));
    let pinned = fixture.install(&source).await.unwrap().pin.unwrap();
    server.answer("/m.zip", content("two"));
    // These settings correspond to another machine, whose cache is empty.
    fixture.settings.root = "other";
    fixture.settings.cache = "other-cache";
    let (summary, detail) = Fixture::failure(fixture.install(&source).await);
    assert_eq!(summary, "Module content has changed");
    assert!(
        detail.contains(&pinned.hash.to_string()) && detail.contains("`wardian init -upgrade`"),
        "{detail}"
    );
    fixture.assert_nothing_installed();
    // The next installation reports the same error, although the cache contains the changed
    // package.
    assert_eq!(Fixture::failure(fixture.install(&source).await).0, "Module content has changed");
    fixture.settings.mode = InstallMode::Upgrade;
    let upgraded = fixture.install(&source).await.unwrap().pin.unwrap();
    assert_ne!(upgraded.hash, pinned.hash);
    assert_eq!(fixture.settings.pins.iter().count(), 1);
}

#[tokio::test]
async fn registry_version_with_changed_content_is_an_error() {
    let mut fixture = Fixture::new();
    let server = Server::start().await;
    fixture.settings.registries.insert("reg.example".into(), server.url("/v1/"));
    server.answer(
        "/v1/a/b/c/versions",
        Answer::bytes("{\"modules\":[{\"versions\":[{\"version\":\"1.0.0\"}]}]}"),
    );
    server.answer("/v1/a/b/c/1.0.0/download", Answer::location("/m.zip"));
    server.answer("/m.zip", content("one"));
    fixture.install("reg.example/a/b/c").await.unwrap();
    server.answer("/m.zip", content("two"));
    fixture.settings.root = "other";
    fixture.settings.cache = "other-cache";
    let (summary, detail) = Fixture::failure(fixture.install("reg.example/a/b/c").await);
    assert_eq!(summary, "Module content has changed");
    assert!(detail.contains("reg.example/a/b/c 1.0.0"), "{detail}");
}

#[tokio::test]
async fn edited_module_is_an_error() {
    let mut fixture = Fixture::new();
    let server = Server::start().await;
    let source = server.url("/m.zip");
    server.answer("/m.zip", content("one"));
    fixture.install(&source).await.unwrap();
    for name in ["m/main.tf", "m/added.tf"] {
        write_file(&fixture.module(name), "edited");
        let (summary, detail) = Fixture::failure(fixture.install(&source).await);
        assert_eq!(summary, "Installed module was changed");
        assert!(
            detail.contains(".terraform/modules/m") && detail.contains("Remove the directory"),
            "{detail}"
        );
        assert_eq!(fs::read_to_string(fixture.module(name)).unwrap(), "edited", "the edit stays");
        fs::remove_dir_all(fixture.module("m")).unwrap();
        assert!(fixture.install(&source).await.unwrap().is_new);
        assert_eq!(fs::read_to_string(fixture.module("m/main.tf")).unwrap(), "one");
    }
}

#[tokio::test]
async fn module_follows_a_changed_pin() {
    let mut fixture = Fixture::new();
    let repository = Repository::new(&fixture.path("r"));
    repository.write("main.tf", "one");
    repository.commit();
    let source = format!("git::file://{}?ref=main", repository.path.display());
    fixture.install(&source).await.unwrap();
    let old_pins = fixture.settings.pins.clone();
    repository.write("main.tf", "two");
    repository.commit();
    // A colleague upgrades and shares the lock file.
    fixture.settings.root = "colleague";
    fixture.settings.mode = InstallMode::Upgrade;
    fixture.install(&source).await.unwrap();
    fixture.settings.root = "root";
    fixture.settings.mode = InstallMode::Keep;
    assert!(fixture.install(&source).await.unwrap().is_new);
    assert_eq!(fs::read_to_string(fixture.module("m/main.tf")).unwrap(), "two");
    // Going back to an earlier commit of the lock file installs the earlier commit of the module.
    fixture.settings.pins = old_pins;
    assert!(fixture.install(&source).await.unwrap().is_new);
    assert_eq!(fs::read_to_string(fixture.module("m/main.tf")).unwrap(), "one");
}

#[tokio::test]
async fn missing_pinned_commit_is_an_error() {
    let mut fixture = Fixture::new();
    let repository = Repository::new(&fixture.path("r"));
    repository.write("main.tf", "one");
    repository.commit();
    let source = format!("git::file://{}?ref=main", repository.path.display());
    fixture.install(&source).await.unwrap();
    repository.write("main.tf", "rewritten");
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "--amend", "--message=other"]);
    repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    repository.git(&["gc", "--quiet", "--prune=now"]);
    fixture.settings.root = "other";
    fixture.settings.cache = "other-cache";
    let (summary, detail) = Fixture::failure(fixture.install(&source).await);
    assert_eq!(summary, "Failed to download module");
    assert!(detail.contains("which is pinned") && detail.contains("-upgrade"), "{detail}");
    // With the cache, the pinned commit stays available.
    fixture.settings.cache = "cache";
    fixture.install(&source).await.unwrap();
    assert_eq!(fs::read_to_string(fixture.module("m/main.tf")).unwrap(), "one");
}

#[tokio::test]
async fn pin_with_the_same_commit_but_another_hash_is_an_error() {
    let mut fixture = Fixture::new();
    let repository = Repository::new(&fixture.path("r"));
    repository.write("main.tf", "one");
    repository.commit();
    let source = format!("git::file://{}", repository.path.display());
    let mut pin = fixture.install(&source).await.unwrap().pin.unwrap();
    pin.hash = wardian_module_source::TreeHash::from_bytes([7; 32]);
    fixture.settings.pins = std::iter::once(pin).collect();
    fixture.settings.root = "other";
    assert_eq!(Fixture::failure(fixture.install(&source).await).0, "Module content has changed");
}

#[tokio::test]
async fn damaged_cache_is_repaired() {
    let mut fixture = Fixture::new();
    let server = Server::start().await;
    let source = server.url("/m.zip");
    server.answer("/m.zip", content("one"));
    fixture.install(&source).await.unwrap();
    let tree = fs::read_dir(fixture.path("cache/trees")).unwrap().next().unwrap().unwrap().path();
    write_file(&tree.join("main.tf"), "planted");
    fixture.settings.root = "other";
    fixture.install(&source).await.unwrap();
    assert_eq!(fs::read_to_string(fixture.module("m/main.tf")).unwrap(), "one");
    // Without the server, the damage is an error, and nothing is installed.
    write_file(&tree.join("main.tf"), "planted");
    server.answer("/m.zip", Answer::status(404));
    fixture.settings.root = "third";
    assert_eq!(Fixture::failure(fixture.install(&source).await).0, "Failed to download module");
    fixture.assert_nothing_installed();
}

#[tokio::test]
async fn two_calls_to_one_package_share_a_pin() {
    let mut fixture = Fixture::new();
    let repository = Repository::new(&fixture.path("r"));
    repository.write("main.tf", "one");
    repository.commit();
    let source = format!("git::file://{}", repository.path.display());
    fixture.install_all(&[call("a", &source)]).await.pop().unwrap().unwrap();
    // The branch moves before a second call is added: it receives the pinned commit.
    repository.write("main.tf", "two");
    repository.commit();
    let results = fixture.install_all(&[call("a", &source), call("b", &source)]).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(fs::read_to_string(fixture.module("b/main.tf")).unwrap(), "one");
    // The same applies if the lock file is missing.
    fixture.settings.pins = wardian_module_source::ModulePins::default();
    fs::remove_dir_all(fixture.module("b")).unwrap();
    let results = fixture.install_all(&[call("a", &source), call("b", &source)]).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(fs::read_to_string(fixture.module("b/main.tf")).unwrap(), "one");
    assert_eq!(fixture.settings.pins.iter().count(), 1);
}

#[tokio::test]
async fn verified_modules_may_be_used_in_untrusted_configurations() {
    let mut fixture = Fixture::new();
    let server = Server::start().await;
    let source = server.url("/m.zip");
    server.answer("/m.zip", content("one"));
    fixture.install(&source).await.unwrap();
    fixture.settings.trust = ModuleTrust::OnlyPinned;
    assert!(!fixture.install(&source).await.unwrap().is_new);
    write_file(&fixture.module("m/main.tf"), "edited");
    assert_eq!(Fixture::failure(fixture.install(&source).await).0, "Installed module was changed");
}
