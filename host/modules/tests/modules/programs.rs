//! Checks that programs and the network are not used if they are not allowed.

use wardian_download::NetworkAccess;
use wardian_modules::ModuleTrust;

use crate::fixture::Fixture;
use crate::repositories::{Repository, zip};
use crate::server::{Answer, Server};

#[tokio::test]
async fn untrusted_configuration_uses_only_pinned_packages() {
    let mut fixture = Fixture::new();
    let server = Server::start().await;
    server.answer("/m.zip", Answer::bytes(zip(&[("main.tf", "x")])));
    let repository = Repository::new(&fixture.path("r"));
    repository.write("main.tf", "git");
    repository.commit();
    let archive = server.url("/m.zip");
    let git = format!("git::file://{}", repository.path.display());
    let local = repository.path.display().to_string();

    fixture.settings.trust = ModuleTrust::OnlyPinned;
    for source in [&archive, &git, &local] {
        let (summary, detail) = Fixture::failure(fixture.install(source).await);
        assert_eq!(summary, "Module is not pinned", "{source}");
        assert!(detail.contains(".wardian.lock.hcl"), "{detail}");
        fixture.assert_nothing_installed();
    }
    assert_eq!(server.take_lines(), Vec::<String>::new());

    // The modules are pinned in a trusted copy. An archive can be fetched again.
    for source in [&archive, &git] {
        fixture.settings.trust = ModuleTrust::Trusted;
        fixture.settings.root = "trusted";
        fixture.settings.cache = "cache";
        fixture.install(source).await.unwrap();
        fixture.settings.trust = ModuleTrust::OnlyPinned;
        fixture.settings.root = "untrusted";
        fixture.install(source).await.unwrap();
        let path = fixture.module("m");
        std::fs::remove_dir_all(path).unwrap();
        fixture.settings.cache = "empty";
        let result = fixture.install(source).await;
        if source == &archive {
            result.unwrap();
        } else {
            let (summary, detail) = Fixture::failure(result);
            assert_eq!(summary, "Failed to download module");
            assert!(
                detail.contains("programs such as git are not run for untrusted configurations"),
                "{detail}"
            );
        }
    }
    // An installed module that is not pinned is not used either.
    fixture.settings.trust = ModuleTrust::Trusted;
    fixture.settings.root = "unpinned";
    fixture.install(&archive).await.unwrap();
    fixture.settings.pins = wardian_module_source::ModulePins::default();
    fixture.settings.trust = ModuleTrust::OnlyPinned;
    assert_eq!(Fixture::failure(fixture.install(&archive).await).0, "Module is not pinned");
}

#[tokio::test]
async fn offline_installation_needs_the_cache() {
    let mut fixture = Fixture::new();
    let server = Server::start().await;
    server.answer("/m.zip", Answer::bytes(zip(&[("main.tf", "x")])));
    let repository = Repository::new(&fixture.path("r"));
    repository.write("main.tf", "git");
    repository.commit();
    let archive = server.url("/m.zip");
    server.serve_repositories(&fixture.path(""));
    let git = format!("git::{}", server.url("/git/r"));
    fixture.settings.network = NetworkAccess::Offline;
    for source in [&archive, &git] {
        let (summary, detail) = Fixture::failure(fixture.install(source).await);
        assert_eq!(summary, "Failed to download module");
        assert!(detail.contains("offline"), "{detail}");
    }
    for source in [&archive, &git] {
        fixture.settings.network = NetworkAccess::Online;
        fixture.settings.root = "online";
        fixture.install(source).await.unwrap();
        fixture.settings.network = NetworkAccess::Offline;
        fixture.settings.root = "offline";
        fixture.install(source).await.unwrap();
    }
}
