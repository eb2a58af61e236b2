//! Service discovery.

use serde_json::json;
use wardian_registry::services::ServiceError;
use wardian_registry::{RegistryErrorKind, ServiceHost};

use crate::server::{Answer, Server, Setting, run};

const DOCUMENT: &str = "/.well-known/terraform.json";
const PROVIDERS: &str = "providers.v1";

/// Returns the error of the discovery for a server with this response.
async fn error_for(answer: Answer) -> (String, RegistryErrorKind) {
    let server = Server::start_secure().await;
    server.answer(DOCUMENT, answer);
    let error = Setting::default().client().services(&server.host()).await.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(&format!("could not connect to {}: ", server.host())), "{text}");
    assert!(text.contains(&server.url(DOCUMENT)), "{text}");
    (text, error.kind())
}

#[test]
fn host_lists_its_services() {
    run(async {
        let server = Server::start_secure().await;
        server.answer(DOCUMENT, Answer::json(&json!({ PROVIDERS: "/v1/", "login.v1": {"client": "x"} })));
        let client = Setting::default().with_token(&server.host(), "t0ken").client();
        let services = client.services(&server.host()).await.unwrap();
        assert_eq!(services.url(PROVIDERS).unwrap().as_str(), server.url("/v1/"));
        let request = &server.received()[0];
        assert_eq!(request.line, format!("GET {DOCUMENT}"));
        assert_eq!(request.authorization(), Some("Bearer t0ken"));
        assert_eq!(request.headers["accept"], "application/json");
        assert!(!request.headers.contains_key("x-terraform-version"));
    });
}

#[test]
fn document_is_requested_once() {
    run(async {
        let server = Server::start_secure().await;
        server.answer(DOCUMENT, Answer::json(&json!({ PROVIDERS: "/v1/" })));
        let client = Setting::default().client();
        let host = server.host();
        let calls = (0..20).map(|_| {
            let (client, host) = (client.clone(), host.clone());
            tokio::spawn(async move { client.services(&host).await.map(drop) })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap().unwrap();
        }
        assert_eq!(server.lines().len(), 1);
        // A failed request is not retried either.
        let broken = Server::start_secure().await;
        broken.answer(DOCUMENT, Answer::status(400));
        let host = broken.host();
        let (one, two) = tokio::join!(client.services(&host), client.services(&host));
        assert!(one.is_err() && two.is_err());
        assert_eq!(broken.lines().len(), 1);
    });
}

#[test]
fn relative_urls_are_resolved_against_the_final_url() {
    run(async {
        let (first, second) = (Server::start_secure().await, Server::start_secure().await);
        first.answer(DOCUMENT, Answer::redirect("/a/b"));
        first.answer("/a/b", Answer::redirect(&second.url("/x/services.json")));
        second.answer("/x/services.json", Answer::json(&json!({ PROVIDERS: "p/" })));
        let client = Setting::default().with_token(&first.host(), "t0ken").client();
        let services = client.services(&first.host()).await.unwrap();
        assert_eq!(services.url(PROVIDERS).unwrap().as_str(), second.url("/x/p/"));
        assert!(first.received().iter().all(|request| request.authorization() == Some("Bearer t0ken")));
        assert_eq!(second.received()[0].authorization(), None);
    });
}

#[test]
fn host_without_document_has_no_services() {
    run(async {
        let server = Server::start_secure().await;
        let services = Setting::default().client().services(&server.host()).await.unwrap();
        assert!(matches!(services.url(PROVIDERS), Err(ServiceError::NotOffered { .. })));
    });
}

#[test]
fn discovered_service_must_be_encrypted() {
    run(async {
        let server = Server::start_secure().await;
        server.answer(DOCUMENT, Answer::json(&json!({ PROVIDERS: "http://127.0.0.1:1/" })));
        let services = Setting::default().client().services(&server.host()).await.unwrap();
        let error = services.url(PROVIDERS).unwrap_err().to_string();
        assert!(error.contains("not encrypted") && error.contains("host block"), "{error}");
    });
}

#[test]
fn unusable_responses_are_errors() {
    run(async {
        for (answer, expected) in [
            (Answer::bytes("text/html", "<html>"), "content type \"text/html\""),
            (Answer::bytes("", "{}"), "content type"),
            (Answer::json(&json!([])), "not the expected JSON"),
            (Answer::bytes("application/json", "{"), "not the expected JSON"),
            (Answer::bytes("application/json", "[".repeat(100_000)), "not the expected JSON"),
            (Answer::bytes("application/json", " ".repeat(2 << 20)), "larger than the limit"),
            (Answer::endless(), "larger than the limit"),
            (Answer::status(500), "500 Internal Server Error"),
            (Answer::status(204), "204 No Content"),
            (Answer::status(401), "requires authentication credentials"),
            (Answer::redirect(DOCUMENT), "redirect"),
            (Answer::redirect("http://127.0.0.1:1/"), "not encrypted"),
        ] {
            let (error, kind) = error_for(answer).await;
            assert!(error.contains(expected), "{error}");
            assert_eq!(kind, RegistryErrorKind::Rejected, "{error}");
        }
        let (_, kind) = error_for(Answer::truncated()).await;
        assert_eq!(kind, RegistryErrorKind::Unreachable);
    });
}

#[test]
fn unreachable_host_is_reported() {
    run(async {
        // The port is free, because the server that had it is not started.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let host = ServiceHost::parse(&format!("127.0.0.1:{port}")).unwrap();
        let error = Setting::default().client().services(&host).await.unwrap_err();
        assert_eq!(error.kind(), RegistryErrorKind::Unreachable, "{error}");
    });
}

#[test]
fn overridden_host_is_not_requested() {
    run(async {
        let server = Server::start().await;
        let host = ServiceHost::parse("example.com").unwrap();
        let services = Setting::for_server(&server).client().services(&host).await.unwrap();
        assert_eq!(services.url(PROVIDERS).unwrap().as_str(), server.url("/p/"));
        assert!(server.lines().is_empty());
    });
}
