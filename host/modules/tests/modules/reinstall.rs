//! Conditions under which an installed module is kept or installed again.

use std::fs;

use wardian_modules::{InstallMode, ModuleInstaller};

use crate::fixture::{Fixture, call, files, local_record, versioned_call, within};
use crate::repositories::{Repository, write_file, zip};
use crate::server::{Answer, Server};

async fn web() -> (Fixture, Server) {
    let fixture = Fixture::new();
    let server = Server::start().await;
    server.answer("/m.zip", Answer::bytes(zip(&[("main.tf", "one"), ("sub/main.tf", "sub")])));
    (fixture, server)
}

#[tokio::test]
async fn unchanged_module_is_not_reinstalled() {
    let (mut fixture, server) = web().await;
    let source = server.url("/m.zip");
    assert!(fixture.install(&source).await.unwrap().is_new);
    fixture.take_lines();
    server.take_lines();
    let manifest = fixture.manifest();
    let again = fixture.install(&source).await.unwrap();
    assert!(!again.is_new);
    assert_eq!(again.directory.to_str(), Some(".terraform/modules/m"));
    assert_eq!((fixture.take_lines(), server.take_lines()), (Vec::new(), Vec::new()));
    assert_eq!(fixture.manifest(), manifest);
}

#[tokio::test]
async fn module_is_reinstalled_if_source_directory_or_manifest_changed() {
    let (mut fixture, server) = web().await;
    let source = server.url("/m.zip");
    let inner = format!("{source}//sub");
    fixture.install(&source).await.unwrap();
    // Another source.
    assert!(fixture.install(&inner).await.unwrap().is_new);
    assert!(!fixture.install(&inner).await.unwrap().is_new);
    // The directory is missing.
    fs::remove_dir_all(fixture.module("m")).unwrap();
    assert!(fixture.install(&inner).await.unwrap().is_new);
    // The manifest is missing, invalid, or contains another directory.
    for manifest in [
        "garbage".to_owned(),
        String::new(),
        fixture.manifest().replace(".terraform/modules/m/sub", "/"),
        fixture.manifest().replace(".terraform/modules/m/sub", ".terraform/modules/m/../../.."),
        fixture.manifest().replace(".terraform/modules/m/sub", ".terraform/modules/other"),
    ] {
        write_file(&fixture.module("modules.json"), &manifest);
        assert!(fixture.install(&inner).await.unwrap().is_new, "{manifest}");
    }
    // An upgrade.
    fixture.settings.mode = InstallMode::Upgrade;
    assert!(fixture.install(&inner).await.unwrap().is_new);
}

#[tokio::test]
async fn installed_version_must_meet_changed_constraint() {
    let (mut fixture, server) = web().await;
    fixture.settings.registries.insert("reg.example".into(), server.url("/v1/"));
    server.answer(
        "/v1/a/b/c/versions",
        Answer::bytes("{\"modules\":[{\"versions\":[{\"version\":\"1.0.0\"},{\"version\":\"1.2.0\"},{\"version\":\"3.0.0\"}]}]}"),
    );
    for version in ["1.0.0", "1.2.0", "3.0.0"] {
        server.answer(&format!("/v1/a/b/c/{version}/download"), Answer::location("/m.zip"));
    }
    let mut steps = Vec::new();
    for constraints in ["1.0.0", ">= 1.0.0", ">= 1.1.0", ">= 1.1.0, < 1.5", ""] {
        let results = fixture.install_all(&[versioned_call("m", "reg.example/a/b/c", constraints)]).await;
        let installed = results.into_iter().next().unwrap().unwrap();
        steps.push((installed.version.unwrap().to_string(), installed.is_new));
    }
    let expected = [("1.0.0", true), ("1.0.0", false), ("3.0.0", true), ("1.2.0", true), ("1.2.0", false)];
    assert_eq!(steps, expected.map(|(version, is_new)| (version.to_owned(), is_new)));
}

#[tokio::test]
async fn manifest_keeps_other_records_and_drops_descendants() {
    let (mut fixture, server) = web().await;
    let source = server.url("/m.zip");
    let installation = async {
        let installer = ModuleInstaller::open(fixture.options()).await.unwrap();
        let results = installer.install_all(vec![call("a", &source), call("b", &source)]).await;
        assert!(results.iter().all(Result::is_ok));
        let local = vec![local_record("a.x", "./x", ".terraform/modules/a/x"), local_record("l", "./l", "l")];
        let new = installer.finish(local.clone()).unwrap();
        assert_eq!(new, local);
        assert_eq!(installer.finish(local).unwrap(), []);
    };
    within(installation).await;
    let keys = |fixture: &Fixture| {
        let manifest = wardian_modules::ModuleManifest::read(&fixture.module(""));
        manifest.iter().map(|record| record.key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(keys(&fixture), ["", "a", "a.x", "b", "l"]);
    // Records of modules that are no longer called are kept, as in Terraform.
    fixture.settings.pins = wardian_module_source::ModulePins::default();
    fixture.install_all(&[call("a", &source)]).await.pop().unwrap().unwrap();
    assert_eq!(keys(&fixture), ["", "a", "a.x", "b", "l"]);
    // A module that is installed again loses the records of the modules that it called.
    fixture.install_all(&[call("a", &format!("{source}//sub"))]).await.pop().unwrap().unwrap();
    assert_eq!(keys(&fixture), ["", "a", "b", "l"]);
}

#[tokio::test]
async fn local_directories_are_linked_once() {
    let mut fixture = Fixture::new();
    let directory = fixture.path("shared");
    write_file(&directory.join("main.tf"), "one");
    write_file(&directory.join("sub/main.tf"), "sub");
    write_file(&directory.join(".hidden"), "x");
    let path = directory.display().to_string();
    let calls = [call("a", &path), call("b", &format!("{path}//sub")), call("c", &format!("{path}//s*"))];
    let results = fixture.install_all(&calls).await;
    let installed: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    assert_eq!(fs::read_link(fixture.module("a")).unwrap(), directory);
    assert!(fs::read_link(fixture.module("b")).is_err());
    assert_eq!(files(&fixture.module("b")).into_keys().collect::<Vec<_>>(), ["main.tf", "sub/main.tf"]);
    assert_eq!(installed[1].directory.to_str(), Some(".terraform/modules/b/sub"));
    assert_eq!(installed[2].directory.to_str(), Some(".terraform/modules/c/sub"));
    assert!(installed.iter().all(|module| module.pin.is_none()));
    // A change in the directory takes effect without another installation.
    write_file(&directory.join("main.tf"), "two");
    assert!(!fixture.install_all(&calls[..1]).await.pop().unwrap().unwrap().is_new);
    assert_eq!(fs::read_to_string(fixture.module("a/main.tf")).unwrap(), "two");
    // A package replaces the link; it is not written to the directory that the link points to.
    let repository = Repository::new(&fixture.path("r"));
    repository.write("main.tf", "git");
    repository.commit();
    let git = format!("git::file://{}", repository.path.display());
    fixture.install_all(&[call("a", &git)]).await.pop().unwrap().unwrap();
    assert_eq!(fs::read_to_string(directory.join("main.tf")).unwrap(), "two");
    assert_eq!(fs::read_to_string(fixture.module("a/main.tf")).unwrap(), "git");
    for (source, expected) in
        [("/nonexistent", "No such file"), (&format!("{path}/main.tf"), "must be a directory")]
    {
        let (summary, detail) = Fixture::failure(fixture.install(source).await);
        assert_eq!(summary, "Failed to download module");
        assert!(detail.contains(expected), "{detail}");
    }
}

#[tokio::test]
async fn absolute_modules_directory_is_recorded() {
    let (fixture, server) = web().await;
    let mut options = fixture.options();
    options.directory = fixture.path("data/modules");
    let installation = async {
        let installer = ModuleInstaller::open(options).await.unwrap();
        let installed =
            installer.install_all(vec![call("m", &server.url("/m.zip"))]).await.pop().unwrap().unwrap();
        installer.finish(Vec::new()).unwrap();
        installed
    };
    let installed = within(installation).await;
    assert_eq!(installed.directory, fixture.path("data/modules/m"));
    let manifest = fs::read_to_string(fixture.path("data/modules/modules.json")).unwrap();
    assert!(manifest.contains(&format!("\"Dir\":\"{}\"", installed.directory.display())), "{manifest}");
}
