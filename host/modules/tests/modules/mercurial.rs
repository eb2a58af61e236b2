//! Packages in Mercurial repositories.

use std::fs;

use wardian_modules::InstallMode;

use crate::fixture::Fixture;
use crate::repositories::{has_program, run, write_file};

#[tokio::test]
async fn revisions_are_installed() {
    if !has_program("hg") {
        return;
    }
    let mut fixture = Fixture::new();
    let repository = fixture.path("hg");
    fs::create_dir(&repository).unwrap();
    let hg = |arguments: &[&str]| run("hg", &repository, arguments);
    hg(&["init"]);
    for (content, tag) in [("one", "v1"), ("two", "v2")] {
        write_file(&repository.join("main.tf"), content);
        hg(&["commit", "--addremove", "--message", "m"]);
        hg(&["tag", tag]);
    }
    let first = hg(&["log", "--rev", "v1", "--template", "{node}"]);
    fixture.settings.mode = InstallMode::Upgrade;
    let url = format!("hg::file://{}", repository.display());
    for (query, content) in [("?rev=v1", "one"), ("", "two"), (&format!("?rev={first}"), "one")] {
        let installed = fixture.install(&format!("{url}{query}")).await.unwrap();
        assert_eq!(fs::read_to_string(fixture.module("m/main.tf")).unwrap(), content, "{query}");
        assert!(!fixture.module("m/.hg").exists());
        if content == "one" {
            assert_eq!(installed.pin.unwrap().commit.unwrap().as_str(), first);
        }
    }
    let (summary, detail) = Fixture::failure(fixture.install(&format!("{url}?rev=nope")).await);
    assert_eq!(summary, "Failed to download module");
    assert!(detail.contains("unknown revision 'nope'"), "{detail}");
    // A pinned revision in the cache needs no program.
    fixture.settings.mode = InstallMode::Keep;
    fixture.settings.root = "other";
    fixture.settings.environment.push(("PATH".into(), String::new()));
    fixture.install(&format!("{url}?rev={first}")).await.unwrap();
}
