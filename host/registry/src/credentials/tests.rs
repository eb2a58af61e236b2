use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use super::*;

fn host(text: &str) -> ServiceHost {
    ServiceHost::parse(text).unwrap()
}

fn token(text: &str) -> AccessToken {
    AccessToken::new(text).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let limited =
        async { tokio::time::timeout(Duration::from_mins(1), future).await.expect("the test hangs") };
    runtime.block_on(limited)
}

/// Creates a helper that is a shell script. The script records its arguments.
fn helper(directory: &Path, body: &str) -> CredentialsProgram {
    let path = directory.join("terraform-credentials-test");
    let log = directory.join("log").display().to_string();
    fs::write(&path, format!("#!/bin/sh\necho \"$@\" >> '{log}'\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut helper = CredentialsProgram::new("test", path, directory);
    helper.arguments = vec!["a".to_owned(), "b".to_owned()];
    helper.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    helper
}

fn log(directory: &Path) -> String {
    fs::read_to_string(directory.join("log")).unwrap_or_default()
}

#[track_caller]
fn found(credentials: &Credentials, name: &str) -> Option<(String, String)> {
    let found = block_on(credentials.credential(&host(name))).unwrap()?;
    Some((found.token.reveal().to_owned(), found.origin.to_string()))
}

fn pair(token: &str, origin: &str) -> (String, String) {
    (token.to_owned(), origin.to_owned())
}

#[test]
fn variables_precede_blocks_and_blocks_precede_the_helper() {
    let directory = tempfile::tempdir().unwrap();
    let credentials = Credentials::default()
        .with_environment([("TF_TOKEN_a_example".to_owned(), "from-variable".to_owned())])
        .with_configured([("a.example", "x"), ("b.example", "from-block")])
        .unwrap()
        .with_helper(helper(directory.path(), "echo '{\"token\":\"from-helper\"}'"));
    assert_eq!(
        found(&credentials, "a.example"),
        Some(pair("from-variable", "the environment variable TF_TOKEN_a_example"))
    );
    assert_eq!(found(&credentials, "b.example"), Some(pair("from-block", "the CLI configuration")));
    assert_eq!(
        found(&credentials, "bücher.example"),
        Some(pair("from-helper", "the credentials helper \"test\""))
    );
    assert_eq!(found(&credentials, "xn--bcher-kva.example"), found(&credentials, "bücher.example"));
    assert_eq!(log(directory.path()), "a b get xn--bcher-kva.example\n");
    assert!(Credentials::default().with_configured([("a b", "x")]).is_err());
    assert!(!format!("{credentials:?}").contains("from-"));
}

#[test]
fn invalid_token_is_an_error_for_its_host_only() {
    let credentials = Credentials::default()
        .with_configured([("a.example", "s3cret\ns3cret"), ("b.example", "x")])
        .unwrap();
    let error = block_on(credentials.credential(&host("a.example"))).unwrap_err().to_string();
    assert!(
        error.starts_with("the token for a.example from the CLI configuration cannot be used"),
        "{error}"
    );
    assert!(!error.contains("s3cret"), "{error}");
    assert!(found(&credentials, "b.example").is_some());
}

#[test]
fn missing_token_is_distinguished_from_helper_failure() {
    let directory = tempfile::tempdir().unwrap();
    for body in ["echo '{}'", "echo '{\"token\":null}'"] {
        let credentials = Credentials::default().with_helper(helper(directory.path(), body));
        assert_eq!(found(&credentials, "a.example"), None, "{body}");
    }
    for (body, expected) in [
        ("echo locked >&2; exit 3", "it exited with code 3: locked"),
        ("kill -9 $$", "it exited with signal 9"),
        ("echo s3cret", "its output is not a JSON object"),
        ("echo '{\"token\":1}'", "its output is not a JSON object"),
        ("", "its output is not a JSON object"),
        ("echo '{\"token\":\"s3cret s3cret\"}'", "the token contains a space"),
        ("exec yes s3cret", "its output is larger than"),
    ] {
        let credentials = Credentials::default().with_helper(helper(directory.path(), body));
        let error = block_on(credentials.credential(&host("a.example"))).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("terraform-credentials-test"), "{body}: {error}");
        assert!(error.contains("a.example") && !error.contains("s3cret"), "{body}: {error}");
    }
    let missing = CredentialsProgram::new("x", directory.path().join("none"), directory.path());
    let credentials = Credentials::default().with_helper(missing);
    assert!(block_on(credentials.credential(&host("a.example"))).is_err());
}

#[test]
fn helper_is_killed_after_its_time_limit() {
    let directory = tempfile::tempdir().unwrap();
    let mut slow = helper(directory.path(), "exec sleep 1000");
    slow.time_limit = Duration::from_millis(200);
    let credentials = Credentials::default().with_helper(slow);
    let error = block_on(credentials.credential(&host("a.example"))).unwrap_err().to_string();
    assert!(error.contains("did not finish"), "{error}");
}

#[test]
fn helper_runs_once_for_concurrent_callers() {
    let directory = tempfile::tempdir().unwrap();
    let credentials =
        Credentials::default().with_helper(helper(directory.path(), "echo '{\"token\":\"x\"}'"));
    let host = host("a.example");
    block_on(async {
        let one = credentials.credential(&host);
        let (one, two, three) =
            tokio::join!(one, credentials.credential(&host), credentials.credential(&host));
        assert!([one, two, three].into_iter().all(|found| found.unwrap().is_some()));
    });
    assert_eq!(log(directory.path()).lines().count(), 1);
}

#[test]
fn token_is_stored_in_the_file_and_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("credentials.tfrc.json");
    let credentials = Credentials::default().with_file(&path);
    let host = host("a.example");
    block_on(async {
        assert_eq!(credentials.forget(&host).await.unwrap(), None);
        let stored = credentials.store(&host, &token("new")).await.unwrap();
        assert_eq!(stored, CredentialStorage::File(path.clone()));
    });
    assert_eq!(found(&credentials, "a.example"), Some(pair("new", "the CLI configuration")));
    // In the next run, the tokens in the file are configured tokens.
    let tokens = TokenFile::new(&path).tokens().unwrap();
    let configured = tokens.iter().map(|(host, token)| (host.as_str(), token.as_str()));
    let next = Credentials::default().with_configured(configured).unwrap().with_file(&path);
    block_on(async {
        next.store(&host, &token("newer")).await.unwrap();
        assert_eq!(next.forget(&host).await.unwrap(), Some(CredentialStorage::File(path.clone())));
    });
    assert_eq!(found(&next, "a.example"), None);
}

#[test]
fn helper_stores_and_deletes_tokens() {
    let directory = tempfile::tempdir().unwrap();
    let body = "case $3 in get) cat token;; store) cat > token;; forget) echo '{}' > token;; esac";
    let path = directory.path().join("credentials.tfrc.json");
    let credentials = Credentials::default().with_helper(helper(directory.path(), body)).with_file(&path);
    let host = host("a.example");
    let storage = CredentialStorage::Helper { name: "test".to_owned() };
    block_on(async {
        assert_eq!(credentials.store(&host, &token("new")).await.unwrap(), storage);
    });
    assert_eq!(found(&credentials, "a.example"), Some(pair("new", "the credentials helper \"test\"")));
    assert_eq!(block_on(credentials.forget(&host)).unwrap(), Some(storage));
    assert_eq!(found(&credentials, "a.example"), None);
    assert!(!path.exists());
    let text = log(directory.path());
    assert!(text.contains("a b store a.example") && !text.contains("new"), "{text}");
}

#[test]
fn manually_configured_token_is_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let credentials = Credentials::default()
        .with_environment([("TF_TOKEN_a_example".to_owned(), "x".to_owned())])
        .with_configured([("b.example", "x")])
        .unwrap()
        .with_file(directory.path().join("credentials.tfrc.json"));
    let error = block_on(credentials.store(&host("b.example"), &token("y"))).unwrap_err();
    assert_eq!(error.summary(), "Credentials for b.example are manually configured");
    assert!(block_on(credentials.forget(&host("b.example"))).is_err());
    // As in Terraform, a token can be stored although an environment variable takes precedence.
    assert_eq!(credentials.variable(&host("a.example")), Some("TF_TOKEN_a_example"));
    block_on(credentials.store(&host("a.example"), &token("y"))).unwrap();
    assert_eq!(found(&credentials, "a.example").unwrap().0, "x");
    assert!(block_on(credentials.forget(&host("a.example"))).unwrap().is_some());
    let none = Credentials::default();
    assert!(matches!(
        block_on(none.store(&host("a.example"), &token("y"))),
        Err(CredentialsError::NoStorage)
    ));
    assert_eq!(block_on(none.forget(&host("a.example"))).unwrap(), None);
}
