use wardian_address::Version;
use wardian_digest::Sha256Digest;
use wardian_oci::media_type::{
    IMAGE_INDEX, IMAGE_MANIFEST, MODULE_PACKAGE, PROVIDER, PROVIDER_TARGET, WASM_CONFIG, WASM_LAYER,
    ZIP_LAYER,
};
use wardian_oci::{
    ArtifactReference, BlobDescriptor, ComponentSummary, Descriptor, ImageIndex, ImageManifest, OciError,
    OciPlatform, WasmConfig,
};

use crate::fake_registry::{FakeRegistry, Request, Response, client, within_time_limit};

fn blob(bytes: &[u8]) -> BlobDescriptor {
    BlobDescriptor { digest: Sha256Digest::hash(bytes), size: bytes.len() as u64 }
}

fn tags(names: impl IntoIterator<Item = String>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("{name:?}")).collect();
    format!(r#"{{"name":"x","tags":[{}]}}"#, names.join(","))
}

#[tokio::test]
async fn versions_from_all_pages_are_listed() {
    within_time_limit(async {
        let registry = FakeRegistry::start(|request: &Request| match request.target.as_str() {
            "/v2/acme/dns/tags/list?n=1000" => {
                Response::new(200, tags(["1.0.0".to_owned(), "latest".to_owned()]))
                    .header("Link", "</v2/acme/dns/tags/list?n=1000&last=latest>; rel=\"next\"")
            }
            "/v2/acme/dns/tags/list?n=1000&last=latest" => Response::new(
                200,
                tags(["1.1.0_b1".to_owned(), "v2.0.0".to_owned(), "wasm-1.0.0".to_owned()]),
            ),
            _ => Response::not_found(),
        });
        let client = registry.client();
        let versions = client.provider_versions(&registry.repository("acme/dns")).await.unwrap();
        let shown: Vec<String> = versions.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["1.0.0", "1.1.0+b1"]);
        let error = client.provider_versions(&registry.repository("acme/other")).await.unwrap_err();
        assert!(error.is_not_found(), "{error}");
        assert!(error.to_string().contains("NAME_UNKNOWN: repository name not known"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn null_tag_list_and_small_pages_are_accepted() {
    within_time_limit(async {
        let registry = FakeRegistry::start(|request| match request.target.as_str() {
            "/v2/null/tags/list?n=1000" => Response::new(200, r#"{"name":"null","tags":null}"#),
            "/v2/small/tags/list" => Response::new(200, tags(["1.0.0".to_owned()])),
            _ => Response::new(400, r#"{"errors":[{"code":"PAGINATION_NUMBER_INVALID"}]}"#),
        });
        let client = registry.client();
        assert!(client.tags(&registry.repository("null")).await.unwrap().is_empty());
        assert_eq!(client.tags(&registry.repository("small")).await.unwrap(), ["1.0.0"]);
    })
    .await;
}

#[tokio::test]
async fn endless_pages_and_pages_on_other_servers_are_errors() {
    within_time_limit(async {
        let registry = FakeRegistry::start(|request| match request.path() {
            "/v2/loop/tags/list" => {
                Response::new(200, tags([])).header("Link", "</v2/loop/tags/list?n=1000>; rel=next")
            }
            "/v2/many/tags/list" => Response::new(200, tags((0..10_001).map(|index| format!("t{index}")))),
            "/v2/foreign/tags/list" => {
                Response::new(200, tags([])).header("Link", "<https://example.com/v2/x>; rel=next")
            }
            "/v2/html/tags/list" => Response::new(200, "<html>"),
            "/v2/huge/tags/list" => Response::new(200, "").header("Content-Length", "5000000000"),
            _ => Response::not_found(),
        });
        let client = registry.client();
        for (path, expected) in [
            ("loop", "too many pages"),
            ("many", "more than 10000 tags"),
            ("foreign", "points to another server"),
            ("html", "invalid"),
            ("huge", "larger than the limit"),
        ] {
            let error = client.tags(&registry.repository(path)).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{path}: {error}");
        }
        assert_eq!(registry.targets().iter().filter(|target| target.contains("/loop/")).count(), 100);
    })
    .await;
}

#[tokio::test]
async fn manifest_must_have_the_expected_digest_and_type() {
    let index = ImageIndex::default().to_bytes();
    let digest = Sha256Digest::hash(&index);
    let served = index.clone();
    within_time_limit(async {
        let registry = FakeRegistry::start(move |request| {
            // Some registries check which types the client accepts.
            let accept = request.header("accept").unwrap_or_default();
            if !(accept.contains(IMAGE_INDEX) && accept.contains(IMAGE_MANIFEST)) {
                return Response::new(404, r#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#);
            }
            match request.path().rsplit('/').next().unwrap() {
                "good" => Response::manifest(IMAGE_INDEX, served.clone()),
                "header" => Response::manifest(IMAGE_INDEX, served.clone())
                    .header("Docker-Content-Digest", format!("sha256:{}", Sha256Digest::hash(b"other"))),
                "type" => Response::manifest(IMAGE_MANIFEST, served.clone()),
                "docker" => Response::manifest(
                    "application/vnd.docker.distribution.manifest.v2+json",
                    r#"{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{},"layers":[]}"#,
                ),
                "large" => Response::manifest(IMAGE_INDEX, vec![b' '; (4 << 20) + 1]),
                "endless" => Response::manifest(IMAGE_INDEX, "").header("Content-Length", "99999999999"),
                text if text.starts_with("sha256:") => Response::manifest(IMAGE_INDEX, served.clone()),
                _ => Response::new(404, r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"unknown"}]}"#),
            }
        });
        let client = registry.client();
        let fetch = async |selector: &str| {
            client.manifest(&ArtifactReference::parse(&format!("{}/x{selector}", registry.host())).unwrap()).await
        };
        assert_eq!(fetch(":good").await.unwrap().digest, digest);
        assert_eq!(fetch(&format!("@sha256:{digest}")).await.unwrap().size, index.len() as u64);
        for (selector, expected) in [
            (":header".to_owned(), "has the digest"),
            (format!("@sha256:{}", Sha256Digest::hash(b"x")), "expected digest"),
            (":type".to_owned(), "the registry states"),
            (":docker".to_owned(), "an OCI image manifest or an OCI image index is needed"),
            (":large".to_owned(), "larger than the limit"),
            (":endless".to_owned(), "larger than the limit"),
            (":missing".to_owned(), "MANIFEST_UNKNOWN"),
        ] {
            let error = fetch(&selector).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{selector}: {error}");
        }
        assert!(fetch(":missing").await.unwrap_err().is_not_found());
    })
    .await;
}

#[tokio::test]
async fn blobs_are_verified() {
    within_time_limit(async {
        let registry = FakeRegistry::start(|_| Response::new(200, "content"));
        let (client, repository) = (registry.client(), registry.repository("x"));
        assert_eq!(client.blob(&repository, blob(b"content"), 100).await.unwrap(), "content");
        let too_large = client.blob(&repository, blob(b"content"), 5).await.unwrap_err();
        assert!(too_large.to_string().contains("limit of 5 bytes"), "{too_large}");
        let other = client.blob(&repository, blob(b"CONTENT"), 100).await.unwrap_err();
        assert!(matches!(other, OciError::DigestMismatch { .. }), "{other}");
        let short = client.blob(&repository, blob(b"con"), 100).await.unwrap_err();
        assert!(matches!(short, OciError::SizeMismatch { .. }), "{short}");

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("blob");
        client.download_blob(&repository, blob(b"content"), &path, "x").await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"content");
        let path = directory.path().join("other");
        assert!(client.download_blob(&repository, blob(b"CONTENT"), &path, "x").await.is_err());
        assert!(!path.exists());
    })
    .await;
}

/// Returns a registry with a provider: an index with a native package and a component.
fn provider_registry() -> (FakeRegistry, Sha256Digest) {
    let config = WasmConfig::for_component(
        Sha256Digest::hash(b"component"),
        "2024-01-01T00:00:00Z".to_owned(),
        None,
        ComponentSummary { imports: vec!["wasi:io/poll@0.2.0".to_owned()], ..ComponentSummary::default() },
    )
    .to_bytes();
    let image = |artifact_type: Option<&str>, config: Descriptor, layer: Descriptor| {
        let artifact_type = artifact_type.map(str::to_owned);
        ImageManifest { artifact_type, config, layers: vec![layer], subject: None, annotations: [].into() }
            .to_bytes()
    };
    let native = image(
        Some(PROVIDER_TARGET),
        Descriptor::for_empty_config(),
        Descriptor::for_bytes(ZIP_LAYER, b"zip"),
    );
    let component = image(
        None,
        Descriptor::for_bytes(WASM_CONFIG, &config),
        Descriptor::for_bytes(WASM_LAYER, b"component"),
    );
    let module = image(
        Some(MODULE_PACKAGE),
        Descriptor::for_empty_config(),
        Descriptor::for_bytes(ZIP_LAYER, b"module"),
    );
    let index = ImageIndex {
        artifact_type: Some(PROVIDER.to_owned()),
        manifests: vec![
            Descriptor::for_bytes(IMAGE_MANIFEST, &native)
                .with_artifact_type(PROVIDER_TARGET)
                .with_platform(OciPlatform::new("linux", "amd64")),
            Descriptor::for_bytes(IMAGE_MANIFEST, &component)
                .with_artifact_type(WASM_CONFIG)
                .with_platform(OciPlatform::for_components()),
        ],
        ..ImageIndex::default()
    }
    .to_bytes();
    let digest = Sha256Digest::hash(&index);
    let at = |prefix: &str, bytes: &[u8]| format!("/v2/x/{prefix}/sha256:{}", Sha256Digest::hash(bytes));
    let contents = [
        ("/v2/x/manifests/1.0.0".to_owned(), IMAGE_INDEX, index),
        ("/v2/x/manifests/2.0.0_only".to_owned(), IMAGE_MANIFEST, component.clone()),
        ("/v2/x/manifests/latest".to_owned(), IMAGE_MANIFEST, module),
        (at("manifests", &native), IMAGE_MANIFEST, native),
        (at("manifests", &component), IMAGE_MANIFEST, component),
        (at("blobs", &config), "application/octet-stream", config),
    ];
    let registry = FakeRegistry::start(move |request| {
        let found = contents.iter().find(|(path, ..)| path == request.path());
        found.map_or_else(Response::not_found, |(_, kind, body)| Response::manifest(kind, body.clone()))
    });
    (registry, digest)
}

#[tokio::test]
async fn package_and_hashes_are_known_without_a_download() {
    let (registry, digest) = provider_registry();
    let (client, repository) = (registry.client(), registry.repository("x"));
    within_time_limit(async {
        let platform = OciPlatform::new("linux", "amd64");
        let package = client.provider_package(&repository, &Version::new(1, 0, 0), &platform).await.unwrap();
        assert_eq!(package.index, digest);
        assert_eq!(package.native.unwrap().blob, blob(b"zip"));
        let component = package.component.unwrap();
        assert_eq!(component.blob, blob(b"component"));
        assert_eq!(registry.requests().len(), 3);
        let config = client.component_config(&repository, &component).await.unwrap();
        assert_eq!(config.component.unwrap().imports, ["wasi:io/poll@0.2.0"]);

        let other = OciPlatform::new("windows", "amd64");
        let package = client.provider_package(&repository, &Version::new(1, 0, 0), &other).await.unwrap();
        assert!(package.native.is_none() && package.component.is_some());
        assert_eq!(package.platforms.iter().map(ToString::to_string).collect::<Vec<_>>(), ["linux_amd64"]);
    })
    .await;
}

#[tokio::test]
async fn component_can_be_published_without_native_packages() {
    let (registry, _) = provider_registry();
    let (client, repository) = (registry.client(), registry.repository("x"));
    within_time_limit(async {
        let version = Version::parse("2.0.0+only").unwrap();
        let platform = OciPlatform::new("linux", "amd64");
        let package = client.provider_package(&repository, &version, &platform).await.unwrap();
        assert!(package.native.is_none());
        assert_eq!(package.component.unwrap().blob, blob(b"component"));
        assert_eq!(registry.requests().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn module_package_is_found_by_its_source() {
    let (registry, digest) = provider_registry();
    let client = registry.client();
    within_time_limit(async {
        let source = format!("oci://{}/x", registry.host());
        let package =
            client.module_package(&ArtifactReference::from_module_source(&source).unwrap()).await.unwrap();
        assert_eq!(package.blob, blob(b"module"));
        let provider = ArtifactReference::from_module_source(&format!("{source}?tag=1.0.0")).unwrap();
        let error = client.module_package(&provider).await.unwrap_err().to_string();
        assert!(error.contains("is an index"), "{error}");
        let missing =
            ArtifactReference::from_module_source(&format!("{source}?digest=sha256:{digest}")).unwrap();
        assert!(client.module_package(&missing).await.unwrap_err().is_not_found());
    })
    .await;
}

#[tokio::test]
async fn only_named_registries_use_plain_http() {
    let registry = FakeRegistry::start(|_| Response::new(200, tags([])));
    within_time_limit(async {
        let strict = client(&[], wardian_oci::CredentialsOptions::default());
        assert!(strict.tags(&registry.repository("x")).await.is_err());
        assert!(registry.requests().iter().all(|request| request.method != "GET"));
        assert!(registry.client().tags(&registry.repository("x")).await.is_ok());
    })
    .await;
}
