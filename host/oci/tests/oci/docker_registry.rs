//! Tests the client against Debian's `docker-registry`.

use std::fs;

use wardian_address::Version;
use wardian_digest::Sha256Digest;
use wardian_oci::media_type::{IMAGE_INDEX, IMAGE_MANIFEST, PROVIDER, WASM_CONFIG, WASM_LAYER};
use wardian_oci::provider::{component_tag, version_tag};
use wardian_oci::{
    BlobDescriptor, ComponentSummary, CredentialsBlock, CredentialsOptions, CredentialsScope, Descriptor,
    EMPTY_CONFIG_CONTENT, ImageIndex, ImageManifest, OciClient, OciError, OciPlatform, PlainHttpRegistries,
    RegistryCredential, RegistryHost, Repository, UploadSource, WasmConfig,
};
use wardian_registry_server::DockerRegistry;

use crate::fake_registry::{new_client, within_time_limit};

/// Returns a client for the registry, and the registry's host.
fn client(registry: &DockerRegistry, credential: Option<RegistryCredential>) -> (OciClient, RegistryHost) {
    let host = RegistryHost::parse(&registry.address()).unwrap();
    let mut plain_http = PlainHttpRegistries::default();
    plain_http.add(host.clone()).unwrap();
    let scope = CredentialsScope::parse(host.as_str()).unwrap();
    let blocks = credential.map(|credential| CredentialsBlock::with_credential(scope, credential));
    let credentials =
        CredentialsOptions { blocks: blocks.into_iter().collect(), ..CredentialsOptions::default() };
    (new_client(plain_http, credentials), host)
}

fn blob(bytes: &[u8]) -> BlobDescriptor {
    BlobDescriptor { digest: Sha256Digest::hash(bytes), size: bytes.len() as u64 }
}

#[tokio::test]
async fn pushed_provider_is_pulled() {
    let Some(registry) = DockerRegistry::start(|_| String::new()) else { return };
    within_time_limit(async {
        let (client, host) = client(&registry, None);
        let repository = Repository::new(host, "acme/dns").unwrap();
        assert!(client.provider_versions(&repository).await.unwrap_err().is_not_found());

        // The component is too large for an upload with one request.
        let component: Vec<u8> =
            (0..(33_u32 << 20)).map(|index| u8::try_from(index % 253).unwrap()).collect();
        let version = Version::parse("1.0.0-rc.1+build").unwrap();
        let config = WasmConfig::for_component(
            blob(&component).digest,
            "2024-01-01T00:00:00Z".to_owned(),
            None,
            ComponentSummary::default(),
        )
        .to_bytes();
        for content in [component.clone(), config.clone(), EMPTY_CONFIG_CONTENT.to_vec()] {
            let descriptor = blob(&content);
            client
                .push_blob(&repository, descriptor, &UploadSource::Bytes(content.into()), &|_| {})
                .await
                .unwrap();
        }
        let image = ImageManifest {
            artifact_type: None,
            config: Descriptor::for_bytes(WASM_CONFIG, &config),
            layers: vec![Descriptor::for_bytes(WASM_LAYER, &component)],
            subject: None,
            annotations: [].into(),
        };
        client.push_image(&repository.with_tag(component_tag(&version).unwrap()), &image).await.unwrap();
        let index = ImageIndex {
            artifact_type: Some(PROVIDER.to_owned()),
            manifests: vec![
                Descriptor::for_bytes(IMAGE_MANIFEST, &image.to_bytes())
                    .with_artifact_type(WASM_CONFIG)
                    .with_platform(OciPlatform::for_components()),
            ],
            ..ImageIndex::default()
        };
        client.push_index(&repository.with_tag(version_tag(&version).unwrap()), &index).await.unwrap();

        let versions = client.provider_versions(&repository).await.unwrap();
        assert!(versions.len() == 1 && versions.contains(&version));
        let platform = OciPlatform::new("linux", "amd64");
        let package = client.provider_package(&repository, &version, &platform).await.unwrap();
        assert_eq!(package.index, Sha256Digest::hash(&index.to_bytes()));
        let found = package.component.unwrap();
        assert_eq!(found.blob, blob(&component));
        client.component_config(&repository, &found).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("component.wasm");
        client.download_blob(&repository, found.blob, &path, "component").await.unwrap();
        assert!(fs::read(path).unwrap() == component);

        // This registry has no list of referrers.
        let signature = ImageManifest {
            artifact_type: Some("application/vnd.dev.sigstore.bundle.v0.3+json".to_owned()),
            config: Descriptor::for_empty_config(),
            layers: vec![Descriptor::for_bytes(
                "application/vnd.dev.sigstore.bundle.v0.3+json",
                EMPTY_CONFIG_CONTENT,
            )],
            subject: Some(Descriptor::for_bytes(IMAGE_INDEX, &index.to_bytes())),
            annotations: [].into(),
        };
        client.push_referrer(&repository, &signature).await.unwrap();
        let bundles = client.sigstore_bundles(&repository, package.index).await.unwrap();
        assert_eq!(bundles.bundles.len(), 1);
        assert_eq!(bundles.bundles[0].blob, blob(EMPTY_CONFIG_CONTENT));
    })
    .await;
}

#[tokio::test]
async fn registry_accepts_only_the_correct_password() {
    // The bcrypt hash of "s3cret", at the lowest cost.
    let start = || {
        DockerRegistry::start(|directory| {
            let path = directory.join("htpasswd");
            fs::write(&path, "me:$2b$04$9UZOlrEvP7E7F90VqQhx8uh4VYNqDmzAWt74m9z0zPmfxX.owjDcG\n").unwrap();
            format!("auth:\n  htpasswd:\n    realm: test\n    path: {}\n", path.display())
        })
    };
    let Some(registry) = start() else { return };
    within_time_limit(async {
        let host = RegistryHost::parse(&registry.address()).unwrap();
        let repository = Repository::new(host, "x").unwrap();
        let source = UploadSource::Bytes("content".into());
        for credential in [None, Some(RegistryCredential::from_password("me", "wrong"))] {
            let (client, _) = client(&registry, credential);
            let error = client.push_blob(&repository, blob(b"content"), &source, &|_| {}).await.unwrap_err();
            assert!(matches!(error, OciError::Unauthorized { .. }), "{error}");
        }
        let (client, _) = client(&registry, Some(RegistryCredential::from_password("me", "s3cret")));
        client.push_blob(&repository, blob(b"content"), &source, &|_| {}).await.unwrap();
        assert_eq!(client.blob(&repository, blob(b"content"), 100).await.unwrap(), "content");
    })
    .await;
}
