use std::collections::BTreeMap;

use super::*;

fn reference() -> ArtifactReference {
    ArtifactReference::parse("h/x:1.0.0").unwrap()
}

fn entry(name: &str, artifact_type: &str, os: &str, architecture: &str) -> Descriptor {
    Descriptor::for_bytes(IMAGE_MANIFEST, name.as_bytes())
        .with_artifact_type(artifact_type)
        .with_platform(OciPlatform::new(os, architecture))
}

fn release(manifests: Vec<Descriptor>) -> ProviderRelease {
    let index = ImageIndex { artifact_type: Some(PROVIDER.to_owned()), manifests, ..ImageIndex::default() };
    let digest = Sha256Digest::hash(&index.to_bytes());
    let fetched = FetchedManifest { digest, size: 0, manifest: Manifest::Index(index) };
    ProviderRelease::new(reference(), fetched).unwrap()
}

fn image(artifact_type: Option<&str>, config: Descriptor, layers: Vec<Descriptor>) -> ImageManifest {
    let artifact_type = artifact_type.map(str::to_owned);
    ImageManifest { artifact_type, config, layers, subject: None, annotations: BTreeMap::new() }
}

fn wasm_image(layers: Vec<Descriptor>) -> ImageManifest {
    image(None, Descriptor::for_bytes(WASM_CONFIG, b"{}"), layers)
}

fn digest_of(entry: Option<PackageEntry>) -> Option<Sha256Digest> {
    match entry?.content {
        EntryContent::Native(descriptor) | EntryContent::Component(descriptor) => Some(descriptor.digest),
        EntryContent::Resolved(blob) => Some(blob.blob.digest),
    }
}

#[test]
fn versions_are_tags_with_underscores_for_plus_signs() {
    let version = Version::parse("1.2.3-beta.1+build.5").unwrap();
    assert_eq!(version_tag(&version).unwrap().as_str(), "1.2.3-beta.1_build.5");
    assert_eq!(component_tag(&version).unwrap().as_str(), "wasm-1.2.3-beta.1_build.5");
    assert_eq!(tag_version("1.2.3-beta.1_build.5"), Some(version));
    for other in ["latest", "v1.0.0", "1.0", "wasm-1.0.0", "sha256-00", "1.0.0_a_b"] {
        assert_eq!(tag_version(other), None, "{other}");
    }
    let long = Version::parse(&format!("1.0.0-{}", "a".repeat(200))).unwrap();
    assert!(version_tag(&long).is_err());
}

#[test]
fn entries_are_selected_by_artifact_type_and_platform() {
    let mut versioned = entry("versioned", PROVIDER_TARGET, "linux", "amd64");
    versioned.platform.as_mut().unwrap().os_version = Some("5".to_owned());
    let release = release(vec![
        versioned,
        entry("image", "application/vnd.example", "linux", "amd64"),
        entry("native", PROVIDER_TARGET, "linux", "amd64"),
        entry("other", PROVIDER_TARGET, "darwin", "arm64"),
        entry("component", WASM_CONFIG, "wasip2", "wasm"),
        entry("module", WASM_CONFIG, "wasip1", "wasm"),
        Descriptor::for_bytes("text/plain", b"untyped"),
    ]);
    let native = release.native(&OciPlatform::new("linux", "amd64")).unwrap();
    assert_eq!(digest_of(native), Some(Sha256Digest::hash(b"native")));
    assert_eq!(digest_of(release.component().unwrap()), Some(Sha256Digest::hash(b"component")));
    assert_eq!(release.native(&OciPlatform::new("windows", "amd64")).unwrap(), None);
    let shown: Vec<String> = release.platforms().iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["linux_amd64", "darwin_arm64"]);
}

#[test]
fn ambiguous_and_unusable_entries_are_errors() {
    let twice = release(vec![
        entry("a", PROVIDER_TARGET, "linux", "amd64"),
        entry("b", PROVIDER_TARGET, "linux", "amd64"),
        entry("c", WASM_CONFIG, "wasip2", "wasm"),
        entry("d", WASM_CONFIG, "wasip2", "wasm"),
    ]);
    let error = twice.native(&OciPlatform::new("linux", "amd64")).unwrap_err().to_string();
    assert_eq!(
        error,
        "h/x:1.0.0 has 2 entries for linux_amd64, so the package is ambiguous; ask the publisher to correct it, or use another version"
    );
    assert!(twice.component().is_err());
    let mut nested = entry("a", WASM_CONFIG, "wasip2", "wasm");
    nested.media_type = "application/vnd.oci.image.index.v1+json".to_owned();
    assert!(release(vec![nested]).component().unwrap_err().to_string().contains("not an image manifest"));
    let mut sha512 = entry("a", WASM_CONFIG, "wasip2", "wasm");
    sha512.digest = serde_json::from_str("\"sha512:00\"").unwrap();
    assert!(release(vec![sha512]).component().unwrap_err().to_string().contains("sha512"));
}

#[test]
fn version_tag_can_refer_to_the_component_itself() {
    let layer = Descriptor::for_bytes(WASM_LAYER, b"component");
    let manifest = Manifest::Image(wasm_image(vec![layer]));
    let fetched = FetchedManifest { digest: Sha256Digest::hash(b"m"), size: 0, manifest };
    let release = ProviderRelease::new(reference(), fetched).unwrap();
    assert_eq!(digest_of(release.component().unwrap()), Some(Sha256Digest::hash(b"component")));
    assert_eq!(release.native(&OciPlatform::new("linux", "amd64")).unwrap(), None);
}

#[test]
fn artifacts_of_other_types_are_not_providers() {
    let zip = || vec![Descriptor::for_bytes(ZIP_LAYER, b"zip")];
    let empty = Descriptor::for_empty_config;
    for (manifest, expected) in [
        (Manifest::Index(ImageIndex::default()), "container image"),
        (Manifest::Image(image(None, empty(), zip())), "container image"),
        (Manifest::Image(image(Some(PROVIDER_TARGET), empty(), zip())), "without an index"),
        (
            Manifest::Image(image(Some("application/vnd.opentofu.modulepkg"), empty(), zip())),
            "module package",
        ),
    ] {
        let fetched = FetchedManifest { digest: Sha256Digest::hash(b"m"), size: 0, manifest };
        let error = ProviderRelease::new(reference(), fetched).unwrap_err().to_string();
        assert!(error.starts_with("h/x:1.0.0 is not a provider") && error.contains(expected), "{error}");
    }
}

#[test]
fn package_has_exactly_one_layer_of_its_type() {
    let digest = Sha256Digest::hash(b"m");
    let zip = || Descriptor::for_bytes(ZIP_LAYER, b"zip");
    let wasm = || Descriptor::for_bytes(WASM_LAYER, b"wasm");
    let other = || Descriptor::for_bytes("text/plain", b"text");
    let native = |artifact_type, layers| {
        let image = image(Some(artifact_type), Descriptor::for_empty_config(), layers);
        zip_blob(&reference(), digest, &image, PROVIDER_TARGET, 100)
    };
    assert_eq!(
        native(PROVIDER_TARGET, vec![other(), zip()]).unwrap().blob.digest,
        Sha256Digest::hash(b"zip")
    );
    assert!(native(PROVIDER_TARGET, vec![other()]).is_err());
    assert!(native(PROVIDER_TARGET, vec![zip(), zip()]).is_err());
    assert!(native("application/vnd.other", vec![zip()]).is_err());
    assert!(native(PROVIDER_TARGET, vec![Descriptor { size: 101, ..zip() }]).is_err());

    let component = |layers| component_blob(&reference(), digest, &wasm_image(layers));
    assert!(component(vec![wasm()]).is_ok());
    for bad in [vec![], vec![wasm(), other()], vec![other()], vec![Descriptor { size: u64::MAX, ..wasm() }]] {
        assert!(component(bad).is_err());
    }
}
