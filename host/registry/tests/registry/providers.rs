//! Provider registries.

use serde_json::{Value, json};
use wardian_address::Version;
use wardian_registry::providers::{
    NativeAvailability, ProviderRegistryError, RegistryRelease, ReleaseFormat, ReleaseSigner,
};
use wardian_registry::{RegistryErrorKind, ServiceHost};

use crate::release::{
    ARCHIVE_CONTENT, COMPONENT, COMPONENT_CONTENT, NATIVE, NATIVE_CONTENT, SIGNATURE, SUMS, VERSIONS,
    address, digest, document, key, linux, native_document, publish_checksums, publish_native, release_file,
    version, versions,
};
use crate::server::{Answer, Server, Setting, run};

fn example() -> ServiceHost {
    ServiceHost::parse("example.com").unwrap()
}

/// Requests the versions, and then the release.
async fn install(setting: Setting) -> Result<RegistryRelease, ProviderRegistryError> {
    let client = setting.client();
    client.provider_versions(&address()).await?;
    client.provider_release(&address(), &version(), &linux()).await
}

/// Asserts that an error has the given summary, and contains the provider and a text.
#[track_caller]
fn assert_error(error: &ProviderRegistryError, summary: &str, expected: &str) {
    let text = error.to_string();
    assert_eq!(error.summary(), summary, "{text}");
    assert!(text.contains(expected), "{text}");
}

#[test]
fn native_package_is_found_with_the_same_requests_as_terraform() {
    run(async {
        let server = Server::start().await;
        publish_native(&server);
        let setting = Setting::for_server(&server).with_token(&example(), "t0ken");
        let release = install(setting).await.unwrap();
        assert!(release.component.is_none());
        let NativeAvailability::Available(package) = release.native else { panic!("{:?}", release.native) };
        assert_eq!(package.format, ReleaseFormat::NativeArchive);
        assert_eq!(package.file_name, "terraform-provider-foo_1.0.0_linux_amd64.zip");
        assert_eq!(package.url.as_str(), server.url("/f/terraform-provider-foo_1.0.0_linux_amd64.zip"));
        assert_eq!(package.digest, digest(NATIVE_CONTENT));
        assert!(package.uses_netrc);
        let checksums = &package.checksums;
        assert_eq!(
            checksums.digests(),
            [NATIVE_CONTENT, "windows\n", "manifest\n"].map(digest).into_iter().collect()
        );
        assert_eq!(checksums.signature().signer, ReleaseSigner::SelfSigned);
        let mut expected = [NATIVE, SUMS, SIGNATURE, VERSIONS].map(|path| format!("GET {path}"));
        expected.sort();
        assert_eq!(server.lines(), expected);
        for request in server.received() {
            let is_api = request.line.starts_with("GET /p/");
            assert_eq!(request.authorization(), is_api.then_some("Bearer t0ken"), "{}", request.line);
            assert_eq!(request.headers.contains_key("x-terraform-version"), is_api, "{}", request.line);
        }
    });
}

#[test]
fn versions_are_listed_once_with_warnings() {
    run(async {
        let server = Server::start().await;
        let list = json!({
            "versions": [
                {"version": "1.2", "protocols": ["5.0", "6.0"], "platforms": [{"os": "linux", "arch": "amd64"}, {"os": "../x", "arch": "y"}]},
                {"version": "2.0.0-rc1"},
                {"version": "1.0.0-a_b"},
            ],
            "warnings": ["use another provider"],
        });
        server.answer(VERSIONS, Answer::json(&list));
        let client = Setting::for_server(&server).client();
        let address = address();
        let (one, two) = tokio::join!(client.provider_versions(&address), client.provider_versions(&address));
        let listing = one.unwrap();
        assert_eq!(listing, two.unwrap());
        assert_eq!(listing.warnings, ["use another provider"]);
        let versions: Vec<String> = listing.versions.keys().map(ToString::to_string).collect();
        assert_eq!(versions, ["1.2.0", "2.0.0-rc1"]);
        let listed = &listing.versions[&Version::new(1, 2, 0)];
        assert_eq!((listed.protocols.len(), listed.platforms.as_slice()), (2, &[linux()][..]));
        assert_eq!(server.lines().len(), 1);
    });
}

#[test]
fn unusable_version_lists_are_errors() {
    const QUERY: &str = "Failed to query available provider packages";
    run(async {
        let many = vec![json!({"version": "1.0.0"}); 20_001];
        let version =
            |text: &str| Answer::json(&json!({"versions": [{"version": "1.0.0"}, {"version": text}]}));
        for (answer, expected, kind) in [
            (Answer::status(404), "does not have this provider", RegistryErrorKind::NotFound),
            (Answer::status(401), "requires authentication credentials", RegistryErrorKind::Rejected),
            (Answer::status(403), "TF_TOKEN_example_com", RegistryErrorKind::Rejected),
            (Answer::status(500), "500 Internal Server Error; try again later", RegistryErrorKind::Rejected),
            (Answer::status(204), "204 No Content", RegistryErrorKind::Rejected),
            (Answer::bytes("application/json", "{"), "not the expected JSON", RegistryErrorKind::Rejected),
            (Answer::json(&json!({"versions": {}})), "not the expected JSON", RegistryErrorKind::Rejected),
            (
                Answer::json(&json!({"versions": "x".repeat(1 << 20)})),
                "not the expected JSON",
                RegistryErrorKind::Rejected,
            ),
            (
                Answer::json(&json!({"versions": many})),
                "more than 20000 elements",
                RegistryErrorKind::Rejected,
            ),
            (version("1.x"), "invalid version \"1.x\"", RegistryErrorKind::Rejected),
            (version("v1.0.0"), "must not begin with \"v\"", RegistryErrorKind::Rejected),
            (version("99999999999999999999.0.0"), "too large", RegistryErrorKind::Rejected),
            (version("\u{1b}[2J"), "invalid version \"\\u{1b}[2J\"", RegistryErrorKind::Rejected),
            (Answer::endless(), "larger than the limit of 16777216 bytes", RegistryErrorKind::Rejected),
            (Answer::truncated(), "failed to request", RegistryErrorKind::Unreachable),
        ] {
            let server = Server::start().await;
            server.answer(VERSIONS, answer);
            let error =
                Setting::for_server(&server).client().provider_versions(&address()).await.unwrap_err();
            assert_error(&error, QUERY, expected);
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(&server.url(VERSIONS)), "{error}");
            assert!(error.to_string().len() < 1_000, "{error}");
        }
    });
}

#[test]
fn rejected_token_is_reported_with_its_source() {
    run(async {
        let server = Server::start().await;
        server.answer(VERSIONS, Answer::status(401));
        let setting = Setting::for_server(&server).with_token(&example(), "s3cret");
        let error = setting.client().provider_versions(&address()).await.unwrap_err().to_string();
        assert!(error.contains("rejected the token from the CLI configuration"), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    });
}

#[test]
fn token_is_not_sent_to_another_server() {
    run(async {
        let (server, other) = (Server::start().await, Server::start().await);
        server.answer(VERSIONS, Answer::redirect(&other.url("/elsewhere")));
        other.answer("/elsewhere", Answer::json(&versions(&[])));
        let setting = Setting::for_server(&server).with_token(&example(), "t0ken");
        setting.client().provider_versions(&address()).await.unwrap();
        assert_eq!(server.received()[0].authorization(), Some("Bearer t0ken"));
        assert_eq!(other.received()[0].authorization(), None);
    });
}

#[test]
fn host_without_provider_registry_is_reported() {
    run(async {
        for services in [json!({}), json!({"providers.v9": "https://a.example/"})] {
            let setting = Setting { services: vec![("example.com", services)], ..Setting::default() };
            let error = setting.client().provider_versions(&address()).await.unwrap_err();
            assert_error(&error, "Invalid provider registry host", "example.com");
            assert_eq!(error.kind(), RegistryErrorKind::NotFound);
        }
    });
}

#[test]
fn component_from_the_registry_is_preferred() {
    run(async {
        let server = Server::start().await;
        publish_native(&server);
        server
            .answer(VERSIONS, Answer::json(&versions(&["linux_amd64", "wasip2_wasm"])))
            .answer(COMPONENT, Answer::json(&document("wasip2_wasm", "zip", ARCHIVE_CONTENT)));
        publish_checksums(&server, release_file!("component.sums"), release_file!("component.sig"));
        let release = install(Setting::for_server(&server)).await.unwrap();
        let component = release.component.unwrap();
        assert_eq!(component.format, ReleaseFormat::ComponentArchive);
        assert_eq!(component.digest, digest(ARCHIVE_CONTENT));
        assert!(matches!(release.native, NativeAvailability::Available(_)));
        // The checksum file of both packages is requested once.
        assert_eq!(server.lines().iter().filter(|line| line.ends_with("SHA256SUMS")).count(), 1);
    });
}

#[test]
fn component_is_found_in_the_signed_checksums() {
    run(async {
        let server = Server::start().await;
        publish_native(&server);
        let mut native = native_document();
        native["shasums_url"] = json!(format!("{SUMS}?expires=1"));
        server
            .answer(NATIVE, Answer::json(&native))
            .answer(
                &format!("{SUMS}?expires=1"),
                Answer::bytes("text/plain", release_file!("component.sums")),
            )
            .answer(SIGNATURE, Answer::bytes("", release_file!("component.sig")));
        let release = install(Setting::for_server(&server)).await.unwrap();
        let component = release.component.unwrap();
        assert_eq!(component.format, ReleaseFormat::BareComponent);
        assert_eq!(component.url.as_str(), server.url("/f/terraform-provider-foo_1.0.0_wasip2_wasm.wasm"));
        assert_eq!(component.digest, digest(COMPONENT_CONTENT));
        assert!(!server.lines().contains(&format!("GET {COMPONENT}")));
    });
}

#[test]
fn component_is_found_without_a_native_package() {
    run(async {
        // The registry lists the component's platform only.
        let server = Server::start().await;
        server
            .answer(VERSIONS, Answer::json(&versions(&["wasip2_wasm"])))
            .answer(COMPONENT, Answer::json(&document("wasip2_wasm", "zip", ARCHIVE_CONTENT)));
        publish_checksums(&server, release_file!("archive.sums"), release_file!("archive.sig"));
        let release = install(Setting::for_server(&server)).await.unwrap();
        assert!(matches!(release.native, NativeAvailability::NotPublished));
        assert_eq!(release.component.unwrap().digest, digest(ARCHIVE_CONTENT));

        // The versions were not requested before.
        let client = Setting::for_server(&server).client();
        let release = client.provider_release(&address(), &version(), &linux()).await.unwrap();
        assert!(release.component.is_some());

        // The checksums for another platform's package list the component.
        let server = Server::start().await;
        server.answer(VERSIONS, Answer::json(&versions(&["windows_amd64"]))).answer(
            "/p/ns/foo/1.0.0/download/windows/amd64",
            Answer::json(&document("windows_amd64", "zip", "windows\n")),
        );
        publish_checksums(&server, release_file!("component.sums"), release_file!("component.sig"));
        let release = install(Setting::for_server(&server)).await.unwrap();
        assert_eq!(release.component.unwrap().format, ReleaseFormat::BareComponent);
    });
}

#[test]
fn withdrawn_release_is_incompatible() {
    run(async {
        let server = Server::start().await;
        server.answer(VERSIONS, Answer::json(&versions(&["linux_amd64"])));
        let error = install(Setting::for_server(&server)).await.unwrap_err();
        assert_error(&error, "Incompatible provider version", "does not have a package available");
        assert_eq!(error.kind(), RegistryErrorKind::Incompatible);
    });
}

#[test]
fn unsupported_protocol_names_the_closest_version() {
    run(async {
        let server = Server::start().await;
        publish_native(&server);
        let mut native = native_document();
        native["protocols"] = json!(["4.0"]);
        let entry = |version: &str, protocol: &str| json!({"version": version, "protocols": [protocol]});
        let list = json!({"versions": [
            entry("0.8.0", "5.0"), entry("0.9.0", "6.1"), entry("1.0.0", "4.0"), entry("1.1.0-rc1", "5.0"),
            entry("2.0.0", "7.0"),
        ]});
        server.answer(VERSIONS, Answer::json(&list)).answer(NATIVE, Answer::json(&native));
        let client = Setting::for_server(&server).client();
        let error = client.provider_release(&address(), &version(), &linux()).await.unwrap_err();
        assert_error(&error, "Incompatible provider version", "version = \"0.9.0\"");
        // A component does not depend on the protocol version.
        publish_checksums(&server, release_file!("component.sums"), release_file!("component.sig"));
        let release = client.provider_release(&address(), &version(), &linux()).await.unwrap();
        assert!(matches!(release.native, NativeAvailability::UnsupportedProtocol(_)));
        assert!(release.component.is_some());
    });
}

#[test]
fn unauthentic_release_is_rejected() {
    const INSTALL: &str = "Failed to install provider";
    let changed = |name: &str, value: Value| {
        let mut native = native_document();
        native[name] = value;
        native
    };
    let keys = |keys: Value| changed("signing_keys", json!({"gpg_public_keys": keys}));
    let author = || key(release_file!("author.asc"));
    let other = || key(release_file!("other.asc"));
    let mut untrusted = author();
    untrusted["trust_signature"] = json!("bogus");
    run(async {
        for (native, expected) in [
            (changed("shasum", json!("00".repeat(32))), "but the registry expects 0000"),
            (changed("shasum", json!("zz")), "invalid shasum"),
            (changed("filename", json!("other.zip")), "no valid SHA-256 hash for \"other.zip\""),
            (changed("filename", json!("../x.zip")), "invalid filename"),
            (changed("os", json!("windows")), "describes the target windows_amd64"),
            (changed("download_url", json!("ftp://x/y")), "invalid download_url"),
            (changed("shasums_url", json!("/missing")), "failed to retrieve the checksums"),
            (
                changed("shasums_signature_url", json!("/missing")),
                "failed to retrieve the cryptographic signature",
            ),
            (changed("signing_keys", json!(null)), "publishes no signing key"),
            (keys(json!([])), "publishes no signing key"),
            (keys(json!([other()])), "unknown issuer"),
            (keys(json!([{"ascii_armor": "nonsense"}])), "signing key that cannot be used"),
            (keys(json!([untrusted])), "trust signature"),
            (keys(json!(vec![other(); 17])), "more than 16 elements"),
            (keys(json!([{"ascii_armor": "x".repeat(300 << 10)}])), "larger than 256 KiB"),
        ] {
            let server = Server::start().await;
            publish_native(&server);
            server.answer(NATIVE, Answer::json(&native));
            let error = install(Setting::for_server(&server)).await.unwrap_err();
            assert_error(&error, INSTALL, expected);
            assert_eq!(error.kind(), RegistryErrorKind::Rejected, "{error}");
        }
    });
}

#[test]
fn wrong_checksums_and_signatures_are_rejected() {
    let sums = || release_file!("native.sums");
    run(async {
        for (sums, signature, expected) in [
            (sums(), release_file!("native.other.sig"), "unknown issuer"),
            (sums(), release_file!("component.sig"), "does not match the signed data"),
            (sums(), release_file!("native.armored.sig"), "armored"),
            (sums(), b"", "signature"),
            (sums(), b"nonsense", "signature"),
            (release_file!("component.sums"), release_file!("native.sig"), "does not match the signed data"),
            (release_file!("archive.sums"), release_file!("archive.sig"), "no valid SHA-256 hash for"),
        ] {
            let server = Server::start().await;
            publish_native(&server);
            publish_checksums(&server, sums, signature);
            let error = install(Setting::for_server(&server)).await.unwrap_err();
            assert_error(&error, "Failed to install provider", expected);
        }
        for path in [SUMS, SIGNATURE] {
            for (answer, expected) in [
                (Answer::endless(), "larger than the limit"),
                (Answer::status(500), "500 Internal Server Error"),
                (Answer::status(404), "404 Not Found"),
                (Answer::redirect("ftp://x/"), "redirect"),
            ] {
                let server = Server::start().await;
                publish_native(&server);
                server.answer(path, answer);
                let error = install(Setting::for_server(&server)).await.unwrap_err();
                assert_error(&error, "Failed to install provider", expected);
                assert!(error.to_string().contains(&server.url(path)), "{error}");
            }
        }
    });
}

#[test]
fn expired_key_is_accepted_and_reported() {
    run(async {
        let server = Server::start().await;
        publish_native(&server);
        let mut native = native_document();
        native["signing_keys"] = json!({"gpg_public_keys": [key(release_file!("expired.asc"))]});
        server.answer(NATIVE, Answer::json(&native));
        publish_checksums(&server, release_file!("native.sums"), release_file!("native.expired.sig"));
        let release = install(Setting::for_server(&server)).await.unwrap();
        let NativeAvailability::Available(package) = release.native else { panic!("{:?}", release.native) };
        assert_eq!(package.checksums.signature().key_expired.as_deref(), Some("2020-01-31T00:00:00Z"));
    });
}

#[test]
fn netrc_is_used_for_the_package_only() {
    run(async {
        let server = Server::start().await;
        publish_native(&server);
        let path = "/f/terraform-provider-foo_1.0.0_linux_amd64.zip";
        server.answer(path, Answer::bytes("application/zip", NATIVE_CONTENT));
        let netrc = format!("machine 127.0.0.1:{} login me password pa55\n", server.port);
        let client = Setting { netrc: netrc.clone(), ..Setting::for_server(&server) }.client();
        let release = client.provider_release(&address(), &version(), &linux()).await.unwrap();
        let NativeAvailability::Available(package) = release.native else { panic!("{:?}", release.native) };
        assert!(server.received().iter().all(|request| request.authorization().is_none()));

        let downloader = wardian_download::Downloader::new(wardian_download::DownloaderOptions {
            netrc: wardian_download::Netrc::parse(&netrc).unwrap(),
            ..wardian_download::DownloaderOptions::default()
        });
        downloader.fetch(package.fetch(), 1 << 10).await.unwrap();
        let received = server.received();
        assert_eq!(received.last().unwrap().authorization(), Some("Basic bWU6cGE1NQ=="));
    });
}

#[test]
fn operations_can_run_concurrently() {
    fn assert_send<T: Send>(future: T) -> T {
        future
    }
    run(async {
        let server = Server::start().await;
        publish_native(&server);
        let client = Setting::for_server(&server).client();
        let install = |client: wardian_registry::RegistryClient| async move {
            client.provider_versions(&address()).await?;
            client.provider_release(&address(), &version(), &linux()).await
        };
        let calls: Vec<_> = (0..8).map(|_| tokio::spawn(assert_send(install(client.clone())))).collect();
        for call in calls {
            assert!(matches!(call.await.unwrap().unwrap().native, NativeAvailability::Available(_)));
        }
        assert_eq!(server.lines().iter().filter(|line| line.contains("versions")).count(), 1);
    });
}

#[test]
fn failing_package_description_is_an_error() {
    run(async {
        for (answer, expected) in [
            (Answer::status(401), "requires authentication credentials"),
            (Answer::status(500), "500 Internal Server Error"),
            (Answer::bytes("application/json", "{"), "not the expected JSON"),
            (Answer::endless(), "larger than the limit"),
        ] {
            let server = Server::start().await;
            publish_native(&server);
            server.answer(NATIVE, answer);
            let error = install(Setting::for_server(&server)).await.unwrap_err();
            assert_error(&error, "Failed to install provider", expected);
            assert!(error.to_string().contains(&server.url(NATIVE)), "{error}");
        }
    });
}
