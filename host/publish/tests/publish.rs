//! Builds releases twice, compares the bytes, and pushes the releases to Debian's `docker-registry`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use tempfile::TempDir;
use wardian_address::{ProviderAddress, Version};
use wardian_digest::Sha256Digest;
use wardian_download::{Downloader, DownloaderOptions};
use wardian_oci::{
    OciClient, OciClientOptions, OciCredentials, OciPlatform, PlainHttpRegistries, RegistryHost, Repository,
};
use wardian_publish::{
    NativeSource, OciPublishOptions, PublishError, PublishEvent, PublishObserver, Release, ReleaseMetadata,
    ReleaseSources, SourceDate, publish_directory, publish_oci,
};
use wardian_registry_server::DockerRegistry;
use wasm_encoder::{
    Component, ComponentExportKind, ComponentExportSection, ComponentImportSection, ComponentInstanceSection,
    ComponentTypeRef, ComponentTypeSection, InstanceType,
};

/// Returns a component that exports an empty interface.
fn component(export: &str) -> Vec<u8> {
    let mut component = Component::new();
    let mut types = ComponentTypeSection::new();
    types.instance(&InstanceType::new());
    component.section(&types);
    let mut imports = ComponentImportSection::new();
    imports.import("wasi:io/poll@0.2.0", ComponentTypeRef::Instance(0));
    component.section(&imports);
    let mut instances = ComponentInstanceSection::new();
    let none: [(&str, ComponentExportKind, u32); 0] = [];
    instances.export_items(none);
    component.section(&instances);
    let mut exports = ComponentExportSection::new();
    exports.export(export, ComponentExportKind::Instance, 1, None);
    component.section(&exports);
    component.finish()
}

struct Project {
    directory: TempDir,
}

impl Project {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &[u8]| fs::write(directory.path().join(name), content).unwrap();
        write("plugin.wasm", &component("wardian:plugin/provider@0.1.0"));
        write("linux", b"\x7fELF program");
        write("windows", b"MZ program");
        write("LICENSE", b"license");
        Self { directory }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn sources(&self) -> ReleaseSources {
        ReleaseSources {
            address: ProviderAddress::parse("example.com/acme/dns").unwrap(),
            version: Version::parse("1.2.0").unwrap(),
            protocols: vec!["6.0".parse().unwrap(), "5.1".parse().unwrap()],
            date: SourceDate::parse("1700000000").unwrap(),
            component: self.path("plugin.wasm"),
            natives: vec![
                (OciPlatform::new("windows", "amd64"), NativeSource::Executable(self.path("windows"))),
                (OciPlatform::new("linux", "amd64"), NativeSource::Executable(self.path("linux"))),
            ],
            documents: vec![self.path("LICENSE")],
            pack_component: true,
            metadata: ReleaseMetadata { licenses: Some("MIT".to_owned()), ..ReleaseMetadata::default() },
        }
    }
}

fn build(sources: ReleaseSources) -> Result<Built, PublishError> {
    let work = tempfile::tempdir().unwrap();
    Ok(Built { release: Release::build(sources, work.path(), &())?, _work: work })
}

struct Built {
    release: Release,
    _work: TempDir,
}

fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn release_directory_is_reproducible() {
    let (one, other) = (Project::new(), Project::new());
    let outputs = [one.path("dist"), other.path("dist")];
    // The source files have different modification times, and the packages have a different order.
    let file = fs::File::options().write(true).open(other.path("linux")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let mut sources = other.sources();
    sources.natives.reverse();
    sources.protocols.reverse();
    let built = [build(one.sources()).unwrap(), build(sources).unwrap()];
    for (built, output) in built.iter().zip(&outputs) {
        publish_directory(&built.release, output, &()).unwrap();
    }
    let found = files(&outputs[0]);
    assert_eq!(found, files(&outputs[1]));
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "terraform-provider-dns_1.2.0_SHA256SUMS",
            "terraform-provider-dns_1.2.0_linux_amd64.zip",
            "terraform-provider-dns_1.2.0_manifest.json",
            "terraform-provider-dns_1.2.0_wasip2_wasm.wasm",
            "terraform-provider-dns_1.2.0_wasip2_wasm.zip",
            "terraform-provider-dns_1.2.0_windows_amd64.zip",
        ]
    );
    let line = |(name, content): &(String, Vec<u8>)| format!("{}  {name}", Sha256Digest::hash(content));
    let sums = found[1..].iter().map(line).collect::<Vec<_>>().join("\n") + "\n";
    assert_eq!(String::from_utf8(found[0].1.clone()).unwrap(), sums);
    let manifest = String::from_utf8(found[2].1.clone()).unwrap();
    assert_eq!(
        manifest.split_whitespace().collect::<String>(),
        r#"{"version":1,"metadata":{"protocol_versions":["5.1","6.0"]}}"#
    );
    assert_eq!(found[3].1, component("wardian:plugin/provider@0.1.0"));
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&found[5].1)).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert_eq!(names, ["LICENSE", "terraform-provider-dns_v1.2.0.exe"]);
    assert_eq!(archive.by_index(1).unwrap().size(), 10);
}

/// The recorded digests change only if the format or the compression changes.
#[test]
fn release_matches_the_recorded_bytes() {
    let project = Project::new();
    let built = build(project.sources()).unwrap();
    let shown: Vec<String> =
        built.release.packages().iter().map(|file| format!("{} {}", file.name, file.digest)).collect();
    assert_eq!(shown, RECORDED);
}

const RECORDED: [&str; 4] = [
    "terraform-provider-dns_1.2.0_linux_amd64.zip 286313f13a8f58d7068fc51588921cd9aa5ec43572fbde0373a3a0d09e188afc",
    "terraform-provider-dns_1.2.0_wasip2_wasm.wasm 6f779ca7744fb586e462116c8df4701d11d1b8ecb0ee82cc86341c6ce9d1e3c9",
    "terraform-provider-dns_1.2.0_wasip2_wasm.zip 5faa640afc7201892f6616000f65399be7e4b15449bd8b00f76546e3ad906068",
    "terraform-provider-dns_1.2.0_windows_amd64.zip 257dac60893ad1eba251397e4c7409842cadae95f310651d571ac50a328f9b68",
];

#[test]
fn published_files_are_not_changed() {
    let project = Project::new();
    let output = project.path("dist");
    let built = build(project.sources()).unwrap();
    publish_directory(&built.release, &output, &()).unwrap();
    let recorder = Recorder::default();
    publish_directory(&built.release, &output, &recorder).unwrap();
    let events = recorder.0.lock().unwrap().clone();
    assert!(events.len() == 6 && events.iter().all(|event| event.starts_with("FileUnchanged")), "{events:?}");

    fs::write(project.path("linux"), b"\x7fELF other").unwrap();
    let built = build(project.sources()).unwrap();
    let error = publish_directory(&built.release, &output, &()).unwrap_err();
    assert!(
        matches!(&error, PublishError::Exists { path } if path.ends_with("terraform-provider-dns_1.2.0_linux_amd64.zip")),
        "{error}"
    );

    fs::write(project.path("plugin.wasm"), b"changed").unwrap();
    let error = publish_directory(&built.release, &project.path("new"), &()).unwrap_err();
    assert!(matches!(error, PublishError::Changed { .. }), "{error}");
    assert!(
        files(&project.path("new"))
            .iter()
            .all(|(name, _)| !name.contains("partial") && !name.ends_with("SUMS"))
    );
}

#[test]
fn unusable_sources_are_errors() {
    let project = Project::new();
    let fails = |change: &dyn Fn(&mut ReleaseSources)| {
        let mut sources = project.sources();
        change(&mut sources);
        build(sources).map(|_| ()).unwrap_err().to_string()
    };
    fs::write(project.path("module.wasm"), b"\0asm\x01\0\0\0").unwrap();
    fs::write(project.path("other.wasm"), component("acme:other/thing@1.0.0")).unwrap();
    fs::write(project.path("archive.zip"), b"PK").unwrap();
    let linux = || OciPlatform::new("linux", "amd64");
    for (error, expected) in [
        (fails(&|sources| sources.component = project.path("missing")), "missing"),
        (fails(&|sources| sources.component = project.path("module.wasm")), "not a WebAssembly component"),
        (
            fails(&|sources| sources.component = project.path("other.wasm")),
            "does not export wardian:plugin/provider",
        ),
        (
            fails(&|sources| sources.address = ProviderAddress::parse("a/provisioner-x").unwrap()),
            "is not a provisioner",
        ),
        (fails(&|sources| sources.protocols.clear()), "at least one protocol version"),
        (
            fails(&|sources| {
                sources.natives.push((linux(), NativeSource::Executable(project.path("linux"))));
            }),
            "two native packages for linux_amd64",
        ),
        (
            fails(&|sources| {
                sources.natives[0] =
                    (OciPlatform::new("darwin", "arm64"), NativeSource::Executable(project.path("linux")));
            }),
            "cannot be used as the native package for darwin_arm64: it is a native executable (ELF)",
        ),
        (
            fails(&|sources| {
                sources.natives[0] =
                    (OciPlatform::for_components(), NativeSource::Executable(project.path("linux")));
            }),
            "the platform of components",
        ),
        (
            fails(&|sources| sources.natives[0].1 = NativeSource::Archive(project.path("archive.zip"))),
            "cannot be used as a native package",
        ),
        (
            fails(&|sources| sources.documents.push(project.path("LICENSE"))),
            "two files of a package are named \"LICENSE\"",
        ),
    ] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl PublishObserver for Recorder {
    fn report(&self, event: PublishEvent<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
}

/// Returns a client for the registry, and the registry's host.
fn client(registry: &DockerRegistry) -> (OciClient, RegistryHost) {
    let host = RegistryHost::parse(&registry.address()).unwrap();
    let mut plain_http = PlainHttpRegistries::default();
    plain_http.add(host.clone()).unwrap();
    let client = OciClient::new(OciClientOptions {
        downloader: Downloader::new(DownloaderOptions::default()),
        credentials: OciCredentials::default(),
        plain_http,
    });
    (client, host)
}

async fn within_time_limit<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), test).await.expect("the test did not finish within a minute")
}

#[tokio::test]
async fn pushed_release_is_found_by_its_version() {
    let Some(registry) = DockerRegistry::start(|_| String::new()) else { return };
    let project = Project::new();
    let built = build(project.sources()).unwrap();
    within_time_limit(async {
        let (client, host) = client(&registry);
        let repository = Repository::new(host, "acme/dns").unwrap();
        let options = OciPublishOptions::default();
        let recorder = Recorder::default();
        let published = publish_oci(&built.release, &client, &repository, options, &recorder).await.unwrap();
        assert_eq!(published.reference.to_string(), format!("{repository}:1.2.0"));
        assert_eq!(published.component.to_string(), format!("{repository}:wasm-1.2.0"));
        assert!(!published.is_unchanged);
        let events = recorder.0.lock().unwrap().clone();
        assert!(events.last().unwrap().starts_with("TagPushed"), "{events:?}");

        let versions = client.provider_versions(&repository).await.unwrap();
        assert_eq!(versions.iter().map(ToString::to_string).collect::<Vec<_>>(), ["1.2.0"]);
        let platform = OciPlatform::new("linux", "amd64");
        let package = client.provider_package(&repository, built.release.version(), &platform).await.unwrap();
        assert_eq!(package.index, published.digest);
        let component = package.component.unwrap();
        assert_eq!(component.manifest, published.component_digest);
        assert_eq!(component.blob.digest, built.release.component().digest);
        let native = built.release.packages()[0];
        assert_eq!(native.name, "terraform-provider-dns_1.2.0_linux_amd64.zip");
        assert_eq!(package.native.unwrap().blob.digest, native.digest);
        let config = client.component_config(&repository, &component).await.unwrap();
        let summary = config.component.unwrap();
        assert_eq!(summary.exports, ["wardian:plugin/provider@0.1.0"]);
        assert_eq!(summary.imports, ["wasi:io/poll@0.2.0"]);
        assert_eq!(config.created, "2023-11-14T22:13:20Z");

        // Publishing the same release again changes nothing. A different release with the same
        // version is rejected.
        let again = publish_oci(&built.release, &client, &repository, options, &()).await.unwrap();
        assert!(again.is_unchanged);
        fs::write(project.path("linux"), b"\x7fELF other").unwrap();
        let other = build(project.sources()).unwrap();
        let error = publish_oci(&other.release, &client, &repository, options, &()).await.unwrap_err();
        assert!(matches!(error, PublishError::Published { .. }), "{error}");
        let replace = OciPublishOptions { replace: true };
        let replaced = publish_oci(&other.release, &client, &repository, replace, &()).await.unwrap();
        assert_ne!(replaced.digest, published.digest);
    })
    .await;
}

#[tokio::test]
async fn component_can_be_published_without_native_packages() {
    let Some(registry) = DockerRegistry::start(|_| String::new()) else { return };
    let project = Project::new();
    let mut sources = project.sources();
    sources.natives.clear();
    let built = build(sources).unwrap();
    within_time_limit(async {
        let (client, host) = client(&registry);
        let repository = Repository::new(host, "acme/dns").unwrap();
        let options = OciPublishOptions::default();
        let published = publish_oci(&built.release, &client, &repository, options, &()).await.unwrap();
        assert_eq!(published.digest, published.component_digest);
        let platform = OciPlatform::new("linux", "amd64");
        let package = client.provider_package(&repository, built.release.version(), &platform).await.unwrap();
        assert!(package.native.is_none());
        assert_eq!(package.component.unwrap().blob.digest, built.release.component().digest);
    })
    .await;
}
