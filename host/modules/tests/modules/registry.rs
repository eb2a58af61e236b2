//! Packages from module registries.

use std::fs;

use serde_json::json;
use wardian_modules::InstallMode;

use crate::fixture::{Fixture, call, versioned_call};
use crate::repositories::{Repository, zip};
use crate::server::{Answer, Server};

struct Registry {
    fixture: Fixture,
    server: Server,
}

impl Registry {
    async fn new() -> Self {
        let mut fixture = Fixture::new();
        let server = Server::start().await;
        fixture.settings.registries.insert("reg.example".into(), server.url("/v1/"));
        server.answer("/m.zip", Answer::bytes(zip(&[("main.tf", "zip"), ("sub/main.tf", "sub")])));
        server
            .answer("/top.zip", Answer::bytes(zip(&[("top/main.tf", "top"), ("top/sub/main.tf", "inner")])));
        let registry = Self { fixture, server };
        registry.versions("m", &["1.0.0", "1.2.0", "1.10.0", "2.0.0-beta1", "v3.0.0", "x.y"]);
        for version in ["1.0.0", "1.2.0", "1.10.0", "2.0.0-beta1", "3.0.0"] {
            registry.location("m", version, "/m.zip");
        }
        registry
    }

    fn versions(&self, name: &str, versions: &[&str]) {
        let versions: Vec<_> = versions.iter().map(|version| json!({"version": version})).collect();
        let body = json!({"modules": [{"versions": versions}]}).to_string();
        self.server.answer(&format!("/v1/a/{name}/c/versions"), Answer::bytes(body));
    }

    fn location(&self, name: &str, version: &str, location: &str) {
        self.server.answer(&format!("/v1/a/{name}/c/{version}/download"), Answer::location(location));
    }

    /// Installs a version of a module. Returns the version and the content of `main.tf`.
    async fn install(&mut self, name: &str, constraints: &str) -> (String, String) {
        let call = versioned_call("m", &format!("reg.example/a/{name}"), constraints);
        let installed = self.fixture.install_all(&[call]).await.pop().unwrap().unwrap();
        let main = self.fixture.root().join(&installed.directory).join("main.tf");
        (installed.version.unwrap().to_string(), fs::read_to_string(main).unwrap())
    }

    async fn failure(&mut self, name: &str, constraints: &str) -> (&'static str, String) {
        let call = versioned_call("m", &format!("reg.example/a/{name}"), constraints);
        Fixture::failure(self.fixture.install_all(&[call]).await.pop().unwrap())
    }
}

#[tokio::test]
async fn newest_accepted_version_is_selected() {
    let mut registry = Registry::new().await;
    registry.fixture.settings.mode = InstallMode::Upgrade;
    for (constraints, version) in [
        ("", "3.0.0"),
        ("1.2.0", "1.2.0"),
        ("~> 1.0", "1.10.0"),
        ("2.0.0-beta1", "2.0.0-beta1"),
        (">= 1.1, < 1.5", "1.2.0"),
    ] {
        assert_eq!(registry.install("m/c", constraints).await.0, version, "{constraints}");
    }
    let lines = registry.fixture.take_lines();
    assert_eq!(lines[0], "Downloading reg.example/a/m/c 3.0.0 for m...");
    assert_eq!(
        registry.fixture.manifest(),
        "{\"Modules\":[{\"Key\":\"\",\"Source\":\"\",\"Dir\":\".\"},{\"Key\":\"m\",\"Source\":\"reg.example/a/m/c\",\
         \"Version\":\"1.2.0\",\"Dir\":\".terraform/modules/m\"}]}"
    );
    let (summary, detail) = registry.failure("m/c", "9.9.9").await;
    assert_eq!(summary, "Unresolvable module version constraint");
    assert!(detail.contains("the newest available version is 3.0.0"), "{detail}");
}

#[tokio::test]
async fn invalid_versions_are_reported() {
    let mut registry = Registry::new().await;
    let installed = registry.fixture.install("reg.example/a/m/c").await.unwrap();
    let warnings: Vec<String> = installed.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "The registry at reg.example returned an invalid version string \"x.y\" for module \"m\", which is ignored."
        ]
    );
}

#[tokio::test]
async fn versions_are_requested_once() {
    let mut registry = Registry::new().await;
    let source = "reg.example/a/m/c";
    let calls = [
        call("a", source),
        call("b", source),
        versioned_call("c", source, "1.0.0"),
        call("d", &format!("{source}//sub")),
    ];
    let results = registry.fixture.install_all(&calls).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let mut lines = registry.server.take_lines();
    lines.sort();
    assert_eq!(
        lines,
        [
            "GET /m.zip",
            "GET /m.zip",
            "GET /v1/a/m/c/1.0.0/download",
            "GET /v1/a/m/c/3.0.0/download",
            "GET /v1/a/m/c/versions"
        ]
    );
    // All modules are installed.
    assert!(registry.fixture.install_all(&calls).await.iter().all(Result::is_ok));
    // A second root module takes the pinned versions from the cache.
    registry.fixture.settings.root = "other";
    assert!(registry.fixture.install_all(&calls).await.iter().all(Result::is_ok));
    assert_eq!(registry.server.take_lines(), Vec::<String>::new());
}

#[tokio::test]
async fn locations_may_contain_subdirectories() {
    let mut registry = Registry::new().await;
    registry.versions("s", &["1.0.0"]);
    registry.location("s", "1.0.0", "/top.zip//top");
    assert_eq!(registry.install("s/c", "").await.1, "top");
    assert_eq!(registry.install("s/c//sub", "").await.1, "inner");
    assert!(registry.fixture.manifest().contains("\"Dir\":\".terraform/modules/m/top/sub\""));
    // The cache records the subdirectory, so no request is sent.
    registry.server.take_lines();
    registry.fixture.settings.root = "other";
    assert_eq!(registry.install("s/c//sub", "").await.1, "inner");
    assert_eq!(registry.server.take_lines(), Vec::<String>::new());
    let (summary, detail) = registry.failure("s/c//nope", "").await;
    assert_eq!(summary, "Unreadable module subdirectory");
    assert!(detail.contains("top/nope"), "{detail}");
}

#[tokio::test]
async fn locations_may_be_repositories_or_direct_archives() {
    let mut registry = Registry::new().await;
    let repository = Repository::new(&registry.fixture.path("repositories/r"));
    repository.write("main.tf", "git");
    let commit = repository.commit();
    registry.server.serve_repositories(&registry.fixture.path("repositories"));
    registry.versions("g", &["1.0.0"]);
    registry.location("g", "1.0.0", &format!("git::{}", registry.server.url("/git/r")));
    let installed = registry.fixture.install("reg.example/a/g/c").await.unwrap();
    let pin = installed.pin.unwrap();
    assert_eq!(pin.commit.unwrap().as_str(), commit);
    assert_eq!(
        (pin.package.as_str(), pin.version.unwrap().to_string().as_str()),
        ("reg.example/a/g/c", "1.0.0")
    );
    registry.versions("d", &["1.0.0"]);
    let body = json!({"location": registry.server.url("/m.zip?name-without-suffix"), "use_registry_credentials": false});
    registry.server.answer("/v1/a/d/c/1.0.0/download", Answer::bytes(body.to_string()));
    assert_eq!(registry.install("d/c", "").await.1, "zip");
}

#[tokio::test]
async fn error_summaries_match_terraform() {
    let mut registry = Registry::new().await;
    registry.versions("empty", &[]);
    registry.versions("bad", &["x.y"]);
    registry.versions("pre", &["1.0.0-rc1"]);
    for name in ["noloc", "reg", "unknown", "gone", "local", "escape", "gone2"] {
        registry.versions(name, &["1.0.0"]);
    }
    registry.server.answer("/v1/a/noloc/c/1.0.0/download", Answer::status(204));
    registry.location("reg", "1.0.0", "a/b/c");
    registry.location("unknown", "1.0.0", "foo");
    registry.location("gone", "1.0.0", "/missing.zip");
    registry.location("local", "1.0.0", "file:///etc");
    registry.location("escape", "1.0.0", &registry.server.url("/m.zip//../x"));
    registry.server.answer("/v1/a/denied/c/versions", Answer::status(403));
    registry.server.answer("/v1/a/nothing/c/versions", Answer::bytes("{\"modules\":[]}"));
    registry.server.answer("/v1/a/html/c/versions", Answer::bytes("<html>"));
    registry.server.answer("/v1/a/endless/c/versions", Answer::endless());
    for (name, summary, expected) in [
        ("missing", "Module not found", "reg.example"),
        ("empty", "Module has no versions", "reg.example"),
        ("bad", "Module has no versions", "reg.example"),
        ("pre", "Module has no versions", "not prereleases"),
        ("denied", "Error accessing remote module registry", "403"),
        ("html", "Error accessing remote module registry", "reg.example"),
        ("endless", "Error accessing remote module registry", "larger than the limit"),
        ("nothing", "Invalid response from remote module registry", "contains no module"),
        ("noloc", "Error accessing remote module registry", "no location"),
        ("gone2", "Error accessing remote module registry", "may have been withdrawn"),
        ("reg", "Invalid package location from module registry", "a/b/c"),
        ("unknown", "Invalid package location from module registry", "foo"),
        ("escape", "Invalid package location from module registry", "points outside"),
        ("gone", "Failed to download module", "404"),
        ("local", "Failed to download module", "which is on this machine"),
    ] {
        let (found, detail) = registry.failure(&format!("{name}/c"), "").await;
        assert_eq!(found, summary, "{name}: {detail}");
        assert!(detail.contains(expected) && detail.contains("main.tf:1"), "{name}: {detail}");
        registry.fixture.assert_nothing_installed();
    }
}
