//! Requests that an installation sends or must not send in repeated runs, in runs without a
//! network, and in a second root module.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;

use wardian_registry_server::{Fault, FaultRule, Origin};

use crate::install_interruptions::is_package;
use crate::install_setup::{GitCommit, Installation, create_repository, requiring, usual_content};

const NET: &str = "module \"net\" {\n  source  = \"example.test/acme/net/aws\"\n  version = \"~> 1.0\"\n}\n";

/// Returns an installation with a provider, a registry module and a git module.
fn everything() -> Installation {
    let installation = Installation::new(usual_content(), &[]);
    let git = installation.project.path("git");
    fs::create_dir_all(&git).unwrap();
    create_repository(&git, "zone", &[GitCommit::new(&[("main.tf", "# zone\n")], Some("v1.0.0"))]);
    let mut description = installation.server.description();
    description.git = Some(git);
    installation.server.update(description);
    installation.write("main.tf", &configuration());
    installation
}

fn configuration() -> String {
    let providers =
        requiring(&[("fake", "example.test/acme/fake", "~> 1.0"), ("other", "example.test/acme/other", "")]);
    format!(
        "{providers}\n{NET}\nmodule \"zone\" {{\n  source = \"git::[PLAIN]/git/zone.git?ref=v1.0.0\"\n}}\n"
    )
}

#[test]
fn repeated_init_sends_no_request() {
    let installation = everything();
    installation.run("init").success();
    assert!(!installation.requests().is_empty());
    installation.run("init").success();
    assert_eq!(installation.requests(), Vec::<String>::new());
    installation.run("providers").success();
    assert_eq!(installation.requests(), Vec::<String>::new());
}

#[test]
fn init_with_lock_file_and_caches_sends_no_request() {
    let installation = everything();
    let cache = installation.project.path("plugin-cache");
    fs::create_dir_all(&cache).unwrap();
    let cache = cache.display().to_string();
    let variables = [("TF_PLUGIN_CACHE_DIR", cache.as_str())];
    installation.run_with("init", "", &variables).success();
    let lock = installation.project.read(".terraform.lock.hcl");
    installation.requests();
    fs::remove_dir_all(installation.project.path(".terraform")).unwrap();
    installation.run_with("init", "", &variables).success();
    assert_eq!(installation.requests(), Vec::<String>::new());
    assert_eq!(installation.project.read(".terraform.lock.hcl"), lock);
    fs::remove_dir_all(installation.project.path(".terraform")).unwrap();
    installation.run_with("init -offline", "", &variables).success();
    assert_eq!(installation.requests(), Vec::<String>::new());
}

#[test]
fn second_root_module_uses_module_cache() {
    let installation = everything();
    installation.run("init").success();
    installation.requests();
    for file in ["main.tf", ".terraform.lock.hcl", ".wardian.lock.hcl"] {
        installation.project.write(&format!("second/{file}"), installation.project.read(file));
    }
    installation.run("-chdir=second init").success();
    let modules: Vec<String> = installation
        .requests()
        .into_iter()
        .filter(|line| {
            line.contains("/git/") || line.contains("/module-archives/") || line.contains("/v1/modules/")
        })
        .collect();
    assert_eq!(modules, Vec::<String>::new());
    let manifest = "second/.terraform/modules/modules.json";
    assert_eq!(
        installation.project.read(manifest),
        installation.project.read(".terraform/modules/modules.json")
    );
    assert_eq!(installation.project.read("second/.terraform/modules/zone/main.tf"), "# zone\n");
}

#[test]
fn offline_init_names_missing_packages() {
    let installation = everything();
    let refused = installation.run("init -offline").ended_with(1);
    assert_eq!(installation.requests(), Vec::<String>::new());
    assert!(refused.errors.contains("offline"), "{}", refused.text());
    assert!(refused.errors.contains("net") || refused.errors.contains("acme/fake"), "{}", refused.text());
    assert!(!installation.project.has(".terraform.lock.hcl"));
}

#[test]
fn upgrade_sends_requests_again() {
    let installation = everything();
    installation.run("init").success();
    installation.requests();
    installation.run("init -upgrade").success();
    let requests = installation.requests();
    assert!(requests.iter().any(|line| line.contains("/v1/providers/acme/fake/versions")), "{requests:?}");
    assert!(requests.iter().any(|line| line.contains("/v1/modules/acme/net/aws/versions")), "{requests:?}");
}

#[test]
fn packages_are_requested_concurrently() {
    // Each response is delayed, so the delays of sequential requests would add up.
    let mut content = usual_content();
    content.providers =
        (0..6).map(|number| crate::install_setup::provider(&format!("acme/p{number}"), &["1.0.0"])).collect();
    let names: Vec<(String, String)> =
        (0..6).map(|number| (format!("p{number}"), format!("example.test/acme/p{number}"))).collect();
    let providers: Vec<(&str, &str, &str)> =
        names.iter().map(|(name, source)| (name.as_str(), source.as_str(), "")).collect();
    let installation = Installation::new(content, &[("main.tf", &requiring(&providers))]);
    // Each list of versions is delayed.
    for number in 0..6 {
        let path = format!("/v1/providers/acme/p{number}/versions");
        installation.server.add_fault(FaultRule::new(&path, Fault::DelayMs(300)));
    }
    installation.run("init").success();
    let requests = installation.server.requests();
    let versions = requests.iter().filter(|request| request.path.ends_with("/versions")).count();
    assert_eq!(versions, 6);
    // The lists of versions are answered together, before the first package is requested.
    let first_package = requests.iter().position(|request| request.path.contains(".zip")).unwrap();
    let last_list = requests.iter().rposition(|request| request.path.ends_with("/versions")).unwrap();
    assert!(last_list < first_package, "{:?}", requests.iter().map(|one| one.line()).collect::<Vec<_>>());
}

#[test]
fn tokens_are_sent_to_their_host_only() {
    let mut content = usual_content();
    content.tokens = vec!["secret-1".to_owned()];
    let installation =
        Installation::new(content, &[("main.tf", &requiring(&[("fake", "[HOST]/acme/fake", "1.0.0")]))]);
    let rule = |path: &str| FaultRule::new(path, Fault::RedirectToOther).with_origin(Origin::Tls);
    installation.server.add_fault(rule("/releases/*"));
    let name = installation.replaced("TF_TOKEN_localhost");
    let settings = "credentials \"[HOST]\" {\n  token = \"secret-1\"\n}\n";
    installation.write("home/cli.tfrc", settings);
    let seen = installation.run_with("init", "", &[("TF_LOG", "trace"), (&name, "unrelated")]).success();
    assert!(!seen.text().contains("secret-1"), "the token is in the log");
    for request in installation.server.requests() {
        let is_api = request.path.starts_with("/v1/") || request.path.starts_with("/.well-known/");
        let authorization = request.header("authorization");
        if is_api && request.origin == Origin::Tls {
            assert_eq!(authorization, "Bearer secret-1", "{}", request.line());
        } else {
            assert_eq!(authorization, "", "{}", request.line());
        }
    }
}

#[test]
fn interrupted_download_is_resumed() {
    let mut content = usual_content();
    content.providers[0].versions[0].package = wardian_registry_server::PackageContent::Padded(3_000_000);
    let installation = Installation::new(
        content,
        &[("main.tf", &requiring(&[("fake", "example.test/acme/fake", "1.0.0")]))],
    );
    installation.server.add_fault(
        FaultRule::new("/releases/*.zip", Fault::CutAfter(1_000_000)).with_times(1).with_method("GET"),
    );
    installation.run("init").success();
    let ranges: Vec<String> = installation
        .server
        .requests()
        .iter()
        .filter(|request| is_package(&request.path) && request.method == "GET")
        .map(|request| request.header("range").to_owned())
        .collect();
    assert_eq!(ranges.len(), 2, "{ranges:?}");
    assert!(ranges[1].starts_with("bytes=") && ranges[1] != "bytes=0-", "{ranges:?}");
}
