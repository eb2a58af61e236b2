use std::fs;

use super::*;

fn block(scope: &str, user: &str) -> CredentialsBlock {
    let credential = RegistryCredential::from_password(user, "x");
    CredentialsBlock::with_credential(CredentialsScope::parse(scope).unwrap(), credential)
}

async fn user(credentials: &OciCredentials, repository: &str) -> Option<String> {
    match credentials.find(&Repository::parse(repository).unwrap()).await.unwrap()?.0 {
        CredentialKind::Password { user, .. } => Some(user),
        _ => None,
    }
}

#[tokio::test]
async fn most_specific_source_is_used_and_first_source_breaks_ties() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    // "one:x" and "two:x"
    let first = file("1.json", r#"{"auths":{"h":{"auth":"b25lOng="},"h/a/b":{"auth":"b25lOng="}}}"#);
    let second = file("2.json", r#"{"auths":{"h":{"auth":"dHdvOng="},"other":{"auth":"dHdvOng="}}}"#);
    let credentials = OciCredentials::new(CredentialsOptions {
        blocks: vec![block("h", "block"), block("h/a", "path"), block("h", "later")],
        files: vec![
            CredentialsFile::from_discovery(directory.path().join("missing.json")),
            CredentialsFile::from_discovery(file("3.json", "not JSON")),
            CredentialsFile::from_configuration(first),
            CredentialsFile::from_configuration(second),
        ],
        ..CredentialsOptions::default()
    });
    assert_eq!(user(&credentials, "h/x").await.as_deref(), Some("block"));
    assert_eq!(user(&credentials, "h/a/x").await.as_deref(), Some("path"));
    assert_eq!(user(&credentials, "h/a/b/c").await.as_deref(), Some("one"));
    assert_eq!(user(&credentials, "other/x").await.as_deref(), Some("two"));
    assert_eq!(user(&credentials, "unknown/x").await, None);
}

#[tokio::test]
async fn configured_file_must_exist() {
    let credentials = OciCredentials::new(CredentialsOptions {
        files: vec![CredentialsFile::from_configuration("/nonexistent/config.json".into())],
        ..CredentialsOptions::default()
    });
    let error = credentials.find(&Repository::parse("h/x").unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("/nonexistent/config.json"), "{error}");
}

#[tokio::test]
async fn missing_helper_is_an_error_only_if_the_user_configured_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    fs::write(&path, r#"{"credsStore":"absent"}"#).unwrap();
    let with_file =
        |file| OciCredentials::new(CredentialsOptions { files: vec![file], ..CredentialsOptions::default() });
    let repository = Repository::parse("h/x").unwrap();
    let discovered = with_file(CredentialsFile::from_discovery(path.clone()));
    assert_eq!(discovered.find(&repository).await.unwrap(), None);
    assert!(with_file(CredentialsFile::from_configuration(path)).find(&repository).await.is_err());
    let default = OciCredentials::new(CredentialsOptions {
        default_helper: Some("absent".to_owned()),
        ..CredentialsOptions::default()
    });
    assert!(default.find(&repository).await.is_err());
}

#[test]
fn credential_helper_cannot_be_limited_to_a_repository() {
    let scope = |text| CredentialsScope::parse(text).unwrap();
    assert!(CredentialsBlock::with_helper(scope("h"), "own").is_ok());
    assert!(CredentialsBlock::with_helper(scope("h/a"), "own").is_err());
    assert!(CredentialsBlock::with_helper(scope("h"), "a/b").is_err());
    for bad in ["", "h/", "h/A", "https://h", "h/a:tag"] {
        assert!(CredentialsScope::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn discovery_uses_podman_and_docker_files() {
    let shown = |directories: DiscoveryDirectories<'_>, system: &str| -> Vec<String> {
        directories.files(system).iter().map(|file| file.path.display().to_string()).collect()
    };
    let home = Path::new("/home/me");
    let directories = DiscoveryDirectories { home, runtime: Some(Path::new("/run/user/1")), config: None };
    assert_eq!(
        shown(directories, "linux"),
        [
            "/run/user/1/containers/auth.json",
            "/home/me/.config/containers/auth.json",
            "/home/me/.docker/config.json",
            "/home/me/.dockercfg",
        ]
    );
    let directories = DiscoveryDirectories { home, runtime: None, config: None };
    assert_eq!(shown(directories, "macos").len(), 3);
}

#[test]
fn debug_shows_no_secret() {
    let options = CredentialsOptions {
        blocks: vec![
            CredentialsBlock::with_credential(
                CredentialsScope::parse("h").unwrap(),
                RegistryCredential::from_password("me", "s3cret"),
            ),
            CredentialsBlock::with_credential(
                CredentialsScope::parse("h").unwrap(),
                RegistryCredential::from_access_token("s3cret", Some("s3cret".to_owned())),
            ),
        ],
        helpers: HelperPrograms::new(vec![], vec![("TOKEN".into(), "s3cret".into())]),
        ..CredentialsOptions::default()
    };
    let shown = format!("{options:?} {:?}", OciCredentials::new(options.clone()));
    assert!(!shown.contains("s3cret") && shown.contains("me"), "{shown}");
}
