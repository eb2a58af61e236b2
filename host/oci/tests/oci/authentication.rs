use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wardian_digest::Sha256Digest;
use wardian_oci::{BlobDescriptor, CredentialsOptions, OciError, RegistryCredential, UnauthorizedReason};

use crate::fake_registry::{FakeRegistry, Request, Response, client, within_time_limit};

const TAGS: &str = r#"{"tags":["1.0.0"]}"#;
/// `Basic` with me:s3cret.
const BASIC: &str = "Basic bWU6czNjcmV0";

fn password() -> RegistryCredential {
    RegistryCredential::from_password("me", "s3cret")
}

fn unauthorized(request: &Request, scope: &str) -> Response {
    let realm = format!("http://{}/token", request.header("host").unwrap());
    Response::new(401, r#"{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}"#)
        .header("WWW-Authenticate", format!(r#"Bearer realm="{realm}",service="fake",scope="{scope}""#))
}

/// Returns a registry that issues the token `token-for-SCOPE` for each scope.
fn token_registry(accepts: impl Fn(&Request) -> bool + Send + Sync + 'static) -> FakeRegistry {
    FakeRegistry::start(move |request| {
        if request.path() == "/token" {
            if !accepts(request) {
                return Response::new(401, "");
            }
            let form = String::from_utf8(request.body.clone()).unwrap();
            let parameters = if form.is_empty() { request.target.clone() } else { form };
            let scope = parameters.split(['?', '&']).find_map(|part| part.strip_prefix("scope=")).unwrap();
            return Response::new(200, format!(r#"{{"token":"token-for-{scope}","expires_in":300}}"#));
        }
        let path = request.path().trim_start_matches("/v2/").trim_end_matches("/tags/list");
        let expected = format!("Bearer token-for-repository%3A{}%3Apull", path.replace('/', "%2F"));
        if request.authorization() == Some(&expected) {
            return Response::new(200, TAGS);
        }
        unauthorized(request, &format!("repository:{path}:pull"))
    })
}

#[tokio::test]
async fn password_is_exchanged_for_a_token_for_each_repository() {
    let registry = token_registry(|request| request.authorization() == Some(BASIC));
    let client = registry.client_with(password());
    within_time_limit(async {
        for path in ["acme/one", "acme/one", "acme/two"] {
            assert_eq!(client.tags(&registry.repository(path)).await.unwrap(), ["1.0.0"]);
        }
        assert_eq!(
            registry.targets(),
            [
                "GET /v2/acme/one/tags/list?n=1000",
                "GET /token?service=fake&scope=repository%3Aacme%2Fone%3Apull",
                "GET /v2/acme/one/tags/list?n=1000",
                // The token is cached.
                "GET /v2/acme/one/tags/list?n=1000",
                // The registry's challenge is known, so the request is not sent without a token.
                "GET /token?service=fake&scope=repository%3Aacme%2Ftwo%3Apull",
                "GET /v2/acme/two/tags/list?n=1000",
            ]
        );
        let sent = registry.requests();
        assert!(
            sent.iter()
                .filter(|request| request.path() != "/token")
                .all(|request| request.authorization() != Some(BASIC))
        );
    })
    .await;
}

#[tokio::test]
async fn token_is_also_requested_without_credentials() {
    let registry = token_registry(|request| request.authorization().is_none());
    within_time_limit(async {
        assert!(registry.client().tags(&registry.repository("x")).await.is_ok());
        let rejected = registry.client_with(password()).tags(&registry.repository("x")).await.unwrap_err();
        assert!(
            matches!(rejected, OciError::Unauthorized { reason: UnauthorizedReason::Rejected, .. }),
            "{rejected}"
        );
        assert!(!rejected.to_string().contains("s3cret"));
    })
    .await;
    let closed = token_registry(|_| false);
    within_time_limit(async {
        let error = closed.client().tags(&closed.repository("x")).await.unwrap_err();
        assert!(
            matches!(error, OciError::Unauthorized { reason: UnauthorizedReason::NoCredentials, .. }),
            "{error}"
        );
    })
    .await;
}

#[tokio::test]
async fn identity_token_is_exchanged_in_the_body() {
    let registry = token_registry(|request| {
        let body = String::from_utf8(request.body.clone()).unwrap();
        request.method == "POST"
            && body.contains("grant_type=refresh_token")
            && body.contains("refresh_token=s3cret%2Fidentity")
            && body.contains("service=fake")
            && request.header("content-type") == Some("application/x-www-form-urlencoded")
            && request.authorization().is_none()
    });
    within_time_limit(async {
        let client = registry.client_with(RegistryCredential::from_identity_token("s3cret/identity"));
        client.tags(&registry.repository("x")).await.unwrap();
        assert!(registry.targets().contains(&"POST /token".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn refresh_token_replaces_a_rejected_access_token() {
    let registry = token_registry(|request| {
        String::from_utf8(request.body.clone()).unwrap().contains("refresh_token=fresh")
    });
    within_time_limit(async {
        let access =
            |refresh: Option<&str>| RegistryCredential::from_access_token("old", refresh.map(str::to_owned));
        let client = registry.client_with(access(Some("fresh")));
        assert!(client.tags(&registry.repository("x")).await.is_ok());
        let error = registry.client_with(access(None)).tags(&registry.repository("x")).await.unwrap_err();
        assert!(
            matches!(error, OciError::Unauthorized { reason: UnauthorizedReason::Rejected, .. }),
            "{error}"
        );

        let good = registry
            .client_with(RegistryCredential::from_access_token("token-for-repository%3Ax%3Apull", None));
        assert!(good.tags(&registry.repository("x")).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn expired_token_is_replaced() {
    let issued = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&issued);
    let registry = FakeRegistry::start(move |request| {
        if request.path() == "/token" {
            let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
            return Response::new(200, format!(r#"{{"access_token":"t{number}"}}"#));
        }
        let current = counter.load(Ordering::SeqCst);
        let is_current = request.authorization() == Some(&format!("Bearer t{current}"));
        // The registry forgets the token after the second request.
        if !is_current || request.path() == "/v2/forget/tags/list" && current == 1 {
            return unauthorized(request, "repository:forget:pull");
        }
        Response::new(200, TAGS)
    });
    within_time_limit(async {
        let client = registry.client();
        let error = client.tags(&registry.repository("forget")).await.unwrap_err();
        assert!(matches!(error, OciError::Unauthorized { .. }), "{error}");
        assert_eq!(client.tags(&registry.repository("forget")).await.unwrap(), ["1.0.0"]);
        assert_eq!(issued.load(Ordering::SeqCst), 2);
    })
    .await;
}

#[tokio::test]
async fn concurrent_requests_share_a_token() {
    let registry = token_registry(|_| true);
    let client = registry.client();
    within_time_limit(async {
        let repository = registry.repository("x");
        let request = || client.tags(&repository);
        let results = tokio::join!(request(), request(), request(), request());
        assert!(results.0.is_ok() && results.1.is_ok() && results.2.is_ok() && results.3.is_ok());
        let tokens = registry.targets().iter().filter(|target| target.contains("/token")).count();
        assert_eq!(tokens, 1);
    })
    .await;
}

#[tokio::test]
async fn basic_challenge_is_answered_with_the_password() {
    let registry = FakeRegistry::start(|request| match request.authorization() {
        Some(BASIC) => Response::new(200, TAGS),
        _ => Response::new(401, "").header("WWW-Authenticate", "Basic realm=\"fake\""),
    });
    within_time_limit(async {
        let client = registry.client_with(password());
        client.tags(&registry.repository("x")).await.unwrap();
        client.tags(&registry.repository("y")).await.unwrap();
        assert_eq!(registry.requests().len(), 3);
        let error = registry.client().tags(&registry.repository("x")).await.unwrap_err();
        assert!(error.to_string().contains("no credentials are configured"), "{error}");
        let wrong = registry.client_with(RegistryCredential::from_password("me", "wr0ng"));
        let error = wrong.tags(&registry.repository("x")).await.unwrap_err();
        assert!(error.to_string().contains("denied") && !error.to_string().contains("wr0ng"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn unusable_challenges_are_errors() {
    within_time_limit(async {
        for (header, expected) in [
            ("Negotiate", "neither Bearer nor Basic"),
            ("Bearer service=\"x\"", "not a valid URL"),
            ("Bearer realm=\"http://registry.example/token\"", "does not use https"),
        ] {
            let registry =
                FakeRegistry::start(move |_| Response::new(401, "").header("WWW-Authenticate", header));
            let error = registry.client_with(password()).tags(&registry.repository("x")).await.unwrap_err();
            assert!(error.to_string().contains(expected), "{header}: {error}");
        }
        let registry = FakeRegistry::start(|_| Response::new(401, ""));
        let error = registry.client().tags(&registry.repository("x")).await.unwrap_err();
        assert!(error.to_string().contains("no WWW-Authenticate"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn token_server_errors_are_reported() {
    within_time_limit(async {
        for (status, body, expected) in [
            (200, "{}".to_owned(), "contains no token"),
            (400, String::new(), "responded with 400"),
            (200, "x".repeat(300_000), "larger than the limit"),
        ] {
            let registry = FakeRegistry::start(move |request| {
                if request.path() == "/token" {
                    return Response::new(status, body.clone());
                }
                unauthorized(request, "repository:x:pull")
            });
            let error = registry.client().tags(&registry.repository("x")).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn other_servers_receive_no_credentials() {
    let content = b"content";
    let blob = BlobDescriptor { digest: Sha256Digest::hash(content), size: content.len() as u64 };
    let storage = FakeRegistry::start(|request| match request.path() {
        "/challenge" => unauthorized(request, "repository:x:pull"),
        _ => Response::new(200, "content"),
    });
    let (location, trap) = (storage.url("/blob?signature=x"), storage.url("/challenge"));
    let registry = FakeRegistry::start(move |request| {
        if request.authorization() != Some(BASIC) {
            return Response::new(401, "").header("WWW-Authenticate", "Basic realm=\"fake\"");
        }
        let target = if request.path().contains("/trap/") { &trap } else { &location };
        Response::new(307, "").header("Location", target.clone())
    });
    within_time_limit(async {
        let client = registry.client_with(password());
        let repository = registry.repository("x");
        assert_eq!(client.blob(&repository, blob, 100).await.unwrap(), "content");
        let directory = tempfile::tempdir().unwrap();
        // A new client has no token, and the first attempt is rejected.
        let client = registry.client_with(password());
        client.download_blob(&repository, blob, &directory.path().join("x"), "x").await.unwrap();
        // A challenge of another server is not answered.
        let error = client.blob(&registry.repository("trap"), blob, 100).await.unwrap_err();
        assert!(matches!(error, OciError::Response { .. }), "{error}");
        let sent = storage.requests();
        assert!(sent.len() >= 3);
        assert!(sent.iter().all(|request| request.authorization().is_none() && request.path() != "/token"));
    })
    .await;
}

#[tokio::test]
async fn token_that_expires_during_a_download_is_replaced() {
    let registry = FakeRegistry::start(|request| {
        if request.path() == "/token" {
            return Response::new(200, r#"{"token":"new"}"#);
        }
        match request.authorization() {
            Some("Bearer new") => Response::new(200, "content"),
            _ => unauthorized(request, "repository:x:pull"),
        }
    });
    let blob = BlobDescriptor { digest: Sha256Digest::hash(b"content"), size: 7 };
    within_time_limit(async {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        registry.client().download_blob(&registry.repository("x"), blob, &path, "x").await.unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"content");
    })
    .await;
}

#[tokio::test]
async fn credentials_for_one_registry_are_not_sent_to_another() {
    let other = FakeRegistry::start(|_| Response::new(401, "").header("WWW-Authenticate", "Basic"));
    let registry = FakeRegistry::start(|_| Response::new(200, TAGS));
    within_time_limit(async {
        let scope = wardian_oci::CredentialsScope::parse(registry.host().as_str()).unwrap();
        let block = wardian_oci::CredentialsBlock::with_credential(scope, password());
        let options = CredentialsOptions { blocks: vec![block], ..CredentialsOptions::default() };
        let client = client(&[&registry, &other], options);
        assert!(client.tags(&other.repository("x")).await.is_err());
        assert!(other.requests().iter().all(|request| request.authorization().is_none()));
    })
    .await;
}
