//! `login` and `logout`: the stored files and their permissions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use wardian_registry_server::{Origin, RegistryServer};

use crate::install_setup::{Installation, requiring, usual_content};

const CREDENTIALS: &str = "home/.terraform.d/credentials.tfrc.json";

/// A browser that visits a page, and follows its redirects.
const BROWSER: &str = "#!/bin/sh\ncurl --silent --insecure --location --output /dev/null \"$1\" &\n";

fn installation() -> Option<Installation> {
    let has_curl = std::process::Command::new("curl").arg("--version").output().is_ok();
    if !has_curl {
        println!("skipped: there is no `curl`, which is the browser of this test");
        return None;
    }
    let mut content = usual_content();
    content.tokens = vec![RegistryServer::LOGIN_TOKEN.to_owned()];
    let installation =
        Installation::new(content, &[("main.tf", &requiring(&[("fake", "[HOST]/acme/fake", "1.0.0")]))]);
    installation.write("home/bin/xdg-open", BROWSER);
    let browser = installation.project.path("home/bin/xdg-open");
    fs::set_permissions(browser, fs::Permissions::from_mode(0o755)).unwrap();
    Some(installation)
}

fn variables(installation: &Installation) -> [(String, String); 2] {
    let path = std::env::var("PATH").unwrap_or_default();
    let bin = installation.project.path("home/bin");
    // Without a CLI configuration file, the credentials file is read.
    [
        ("TF_CLI_CONFIG_FILE".to_owned(), String::new()),
        ("PATH".to_owned(), format!("{}:{path}", bin.display())),
    ]
}

fn run(installation: &Installation, line: &str, input: &str) -> wardian_end_to_end::Seen {
    let variables = variables(installation);
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    installation.run_with(&installation.replaced(line), input, &variables)
}

#[test]
fn login_stores_a_token_that_only_the_user_can_read() {
    let Some(installation) = installation() else { return };
    let seen = run(&installation, "login [HOST]", "yes\n").success();
    assert!(!seen.text().contains(RegistryServer::LOGIN_TOKEN), "{}", seen.text());
    let file = installation.project.path(CREDENTIALS);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    assert!(installation.project.read(CREDENTIALS).contains(RegistryServer::LOGIN_TOKEN));
    run(&installation, "init", "").success();
    let requests = installation.server.requests();
    let exchange = requests.iter().find(|request| request.path == "/login/token").unwrap();
    assert_eq!((exchange.origin, exchange.status), (Origin::Tls, 200));

    run(&installation, "logout [HOST]", "").success();
    assert!(!installation.project.read(CREDENTIALS).contains(RegistryServer::LOGIN_TOKEN));
    fs::remove_dir_all(installation.project.path(".terraform")).unwrap();
    let refused = run(&installation, "init", "").ended_with(1);
    assert!(refused.errors.contains("wardian login"), "{}", refused.text());
}

#[test]
fn login_needs_consent() {
    let Some(installation) = installation() else { return };
    run(&installation, "login [HOST]", "no\n").ended_with(1);
    assert!(!installation.project.has(CREDENTIALS));
    assert!(!installation.server.requests().iter().any(|request| request.path.starts_with("/login/")));
}

#[test]
fn login_keeps_other_tokens() {
    let Some(installation) = installation() else { return };
    installation.project.write(CREDENTIALS, r#"{"credentials": {"other.test": {"token": "kept"}}}"#);
    run(&installation, "login [HOST]", "yes\n").success();
    assert!(installation.project.read(CREDENTIALS).contains("kept"));
    run(&installation, "logout [HOST]", "").success();
    assert!(installation.project.read(CREDENTIALS).contains("kept"));
}
