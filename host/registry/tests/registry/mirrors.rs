//! Network mirrors.

use serde_json::{Value, json};
use wardian_address::Version;
use wardian_registry::RegistryErrorKind;
use wardian_registry::mirror::{MirrorArchives, NetworkMirror, NetworkMirrorError};

use crate::release::{address, linux, version};
use crate::server::{Answer, Server, Setting, run};

const INDEX: &str = "/m/example.com/ns/foo/index.json";
const RELEASE: &str = "/m/example.com/ns/foo/1.0.0.json";

fn mirror(server: &Server) -> NetworkMirror {
    NetworkMirror::new(&server.url("/m")).unwrap()
}

async fn archives(server: &Server) -> Result<MirrorArchives, NetworkMirrorError> {
    Setting::default().client().mirror_archives(&mirror(server), &address(), &version(), &linux()).await
}

#[test]
fn packages_are_listed_with_the_mirror_token() {
    run(async {
        let server = Server::start_secure().await;
        let hash = format!("zh:{}", "ab".repeat(32));
        let release = json!({"archives": {
            "linux_amd64": {"url": "n.zip", "hashes": ["h1:x=", hash]},
            "wasip2_wasm": {"url": "/c.wasm", "hashes": []},
        }});
        server
            .answer(
                INDEX,
                Answer::json(&json!({"versions": {"1.0.0": {}, "2.0.0-a": {}, "v3.0.0": {}, "x": 1}})),
            )
            .answer(RELEASE, Answer::json(&release));
        let client = Setting::default().with_token(&server.host(), "t0ken").client();
        let versions = client.mirror_versions(&mirror(&server), &address()).await.unwrap();
        assert_eq!(versions, [Version::parse("2.0.0-a").unwrap(), version()].into_iter().collect());
        let found = client.mirror_archives(&mirror(&server), &address(), &version(), &linux()).await.unwrap();
        let native = found.native.unwrap();
        assert_eq!(native.url.as_str(), server.url("/m/example.com/ns/foo/n.zip"));
        assert_eq!((native.hashes.len(), native.digests().len()), (2, 1));
        assert_eq!(found.component.unwrap().url.as_str(), server.url("/c.wasm"));
        for request in server.received() {
            assert_eq!(request.authorization(), Some("Bearer t0ken"));
            assert_eq!(request.headers["x-terraform-version"], "1.11.4");
        }
    });
}

#[test]
fn host_in_the_path_is_in_punycode() {
    run(async {
        let server = Server::start_secure().await;
        let path = "/m/xn--bcher-kva.example/ns/foo/index.json";
        server.answer(path, Answer::json(&json!({"versions": {}})));
        let address = wardian_address::ProviderAddress::parse("bücher.example/ns/foo").unwrap();
        let versions = Setting::default().client().mirror_versions(&mirror(&server), &address).await.unwrap();
        assert!(versions.is_empty());
    });
}

#[test]
fn unusable_indexes_are_errors() {
    run(async {
        let text = Answer::bytes("text/plain", "{\"versions\":{}}");
        for (answer, expected, kind) in [
            (Answer::status(404), "does not exist", RegistryErrorKind::NotFound),
            (Answer::status(401), "requires authentication credentials", RegistryErrorKind::Rejected),
            (Answer::status(500), "500 Internal Server Error", RegistryErrorKind::Rejected),
            (text, "content type \"text/plain\"", RegistryErrorKind::Rejected),
            (Answer::bytes("application/json", "{"), "not the expected JSON", RegistryErrorKind::Rejected),
            (Answer::json(&json!({"versions": []})), "not the expected JSON", RegistryErrorKind::Rejected),
            (Answer::endless(), "larger than the limit", RegistryErrorKind::Rejected),
        ] {
            let server = Server::start_secure().await;
            server.answer(INDEX, answer);
            let client = Setting::default().client();
            let error = client.mirror_versions(&mirror(&server), &address()).await.unwrap_err();
            let text = error.to_string();
            let begin =
                format!("failed to query the provider mirror {} for example.com/ns/foo: ", server.url("/m/"));
            assert!(text.starts_with(&begin) && text.contains(expected), "{text}");
            assert!(text.contains(&server.url(INDEX)), "{text}");
            assert_eq!(
                (error.summary(), error.kind()),
                ("Failed to query available provider packages", kind)
            );
        }
    });
}

#[test]
fn unusable_releases_are_errors() {
    run(async {
        let archive = |archive: Value| Answer::json(&json!({"archives": {"linux_amd64": archive}}));
        for (answer, expected, summary) in [
            (Answer::status(404), "although the mirror lists this version", "Failed to install provider"),
            (Answer::status(403), "requires authentication credentials", "Failed to install provider"),
            (Answer::bytes("text/plain", "{}"), "content type", "Failed to install provider"),
            (Answer::json(&json!({"archives": {}})), "linux_amd64", "Incompatible provider version"),
            (archive(json!({"url": "ftp://x"})), "invalid URL", "Failed to install provider"),
            (archive(json!({"url": "x", "hashes": ["bad"]})), "invalid hash", "Failed to install provider"),
            (archive(json!({"url": "x", "hashes": ["h9:x"]})), "no hash", "Failed to install provider"),
        ] {
            let server = Server::start_secure().await;
            server.answer(RELEASE, answer);
            let error = archives(&server).await.unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.summary(), summary, "{error}");
        }
    });
}

#[test]
fn token_is_not_sent_to_another_server() {
    run(async {
        let (server, other) = (Server::start_secure().await, Server::start_secure().await);
        server.answer(INDEX, Answer::redirect(&other.url("/index")));
        other.answer("/index", Answer::json(&json!({"versions": {"1.0.0": {}}})));
        let client = Setting::default().with_token(&server.host(), "t0ken").client();
        assert_eq!(client.mirror_versions(&mirror(&server), &address()).await.unwrap().len(), 1);
        assert_eq!(other.received()[0].authorization(), None);
    });
}
