use std::fs::File;
use std::io::Write as _;

use proptest::prelude::*;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0rest";
const MODULE: &[u8] = b"\0asm\x01\0\0\0rest";

fn address() -> ProviderAddress {
    ProviderAddress::parse("acme/dns").unwrap()
}

fn open(location: &PackageLocation, expected: ExpectedContent) -> Result<OpenedPackage, PackageError> {
    let origin = PluginOrigin::Mirror(location.clone());
    OpenedPackage::open(
        &address(),
        &Version::new(1, 2, 3),
        location,
        origin,
        expected,
        &FileDigests::default(),
    )
}

fn zip_of(path: &Path, files: &[(&str, &[u8])]) {
    let mut writer = ZipWriter::new(File::create(path).unwrap());
    for (name, content) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn component_has_same_hash_in_every_package_layout() {
    let root = tempfile::tempdir().unwrap();
    let name = "terraform-provider-dns_v1.2.3.wasm";
    let directory = root.path().join("package");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join(name), COMPONENT).unwrap();
    let bare = root.path().join("anything.wasm");
    fs::write(&bare, COMPONENT).unwrap();
    let archive = root.path().join("package.zip");
    zip_of(&archive, &[(name, COMPONENT)]);
    let embedded = OpenedPackage::embedded(&EmbeddedPlugin {
        address: address(),
        version: Version::new(1, 2, 3),
        bytes: COMPONENT,
        sha256: Sha256Digest::hash(COMPONENT),
        published_hashes: &[],
    });
    for location in [
        PackageLocation::Directory(directory),
        PackageLocation::BareComponent(bare),
        PackageLocation::Archive(archive),
    ] {
        let opened = open(&location, ExpectedContent::Component).unwrap();
        assert_eq!(opened.content_hash, embedded.content_hash, "{location:?}");
        let PluginArtifact::Component(component) = &opened.artifact else { panic!("{opened:?}") };
        assert_eq!(component.bytes(), COMPONENT);
        assert_eq!(component.sha256, Sha256Digest::hash(COMPONENT));
        let is_archive = matches!(location, PackageLocation::Archive(_));
        let file_hash = PackageHash::for_archive(Sha256Digest::hash(COMPONENT));
        assert_eq!(opened.archive_hash == Some(file_hash), !is_archive);
    }
}

#[test]
fn error_for_non_component_describes_its_file_type() {
    let root = tempfile::tempdir().unwrap();
    for (content, expected) in [
        (MODULE, "a core WebAssembly module"),
        (b"\x7fELF\x02\x01\x01\0" as &[u8], "a native executable (ELF)"),
        (b"", "empty"),
        (b"\0asm", "WebAssembly of an unknown version"),
        (b"(module)", "WebAssembly in the text format"),
        (b"hello", "not WebAssembly"),
    ] {
        let path = root.path().join("x.wasm");
        fs::write(&path, content).unwrap();
        let error =
            open(&PackageLocation::BareComponent(path.clone()), ExpectedContent::Component).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected) && text.contains(&*path.to_string_lossy()), "{text}");
        assert!(open_override(&address(), &path).is_err());
    }
}

#[test]
fn native_packages_are_accepted_if_allowed() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("terraform-provider-dns_v1.2.3_x5");
    fs::write(&path, b"\x7fELF....").unwrap();
    let location = PackageLocation::Directory(root.path().to_owned());
    let opened = open(&location, ExpectedContent::ComponentOrNative).unwrap();
    let PluginArtifact::Native(native) = opened.artifact else { panic!() };
    assert_eq!(native.executable, "terraform-provider-dns_v1.2.3_x5");
    assert!(matches!(open(&location, ExpectedContent::Component), Err(PackageError::NotAComponent { .. })));
    fs::write(&path, MODULE).unwrap();
    assert!(matches!(
        open(&location, ExpectedContent::ComponentOrNative),
        Err(PackageError::NotAComponent { .. })
    ));
}

#[test]
fn plugin_in_package_is_found_by_name() {
    let find = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        plugin_file_name(names, &address(), Path::new("p")).map_err(|error| error.to_string())
    };
    assert_eq!(find(&["README", "terraform-provider-dns"]).unwrap(), "terraform-provider-dns");
    assert_eq!(
        find(&["terraform-provider-dns_v1", "terraform-provider-dns_v1.wasm"]).unwrap(),
        "terraform-provider-dns_v1.wasm"
    );
    assert_eq!(find(&["a.txt", "other.wasm"]).unwrap(), "other.wasm");
    assert!(find(&["terraform-provider-dnsx"]).unwrap_err().contains("contains no plugin"));
    assert!(find(&["a.wasm", "b.wasm"]).unwrap_err().contains("several components (a.wasm, b.wasm)"));
}

#[test]
fn invalid_archives_are_rejected() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("p.zip");
    let location = PackageLocation::Archive(path.clone());
    fs::write(&path, "no zip").unwrap();
    assert!(matches!(open(&location, ExpectedContent::Component), Err(PackageError::Archive { .. })));
    zip_of(&path, &[("../terraform-provider-dns.wasm", COMPONENT)]);
    assert!(matches!(open(&location, ExpectedContent::Component), Err(PackageError::UnsafeName { .. })));
    zip_of(&path, &[("sub/terraform-provider-dns.wasm", COMPONENT)]);
    assert!(matches!(open(&location, ExpectedContent::Component), Err(PackageError::NoPlugin { .. })));
}

/// In a workspace, cargo writes the components of all packages to one directory.
#[test]
fn override_finds_the_component_of_one_of_several_packages() {
    let root = tempfile::tempdir().unwrap();
    for name in ["terraform_provider_dns.wasm", "terraform_provider_dns_zones.wasm", "other.wasm"] {
        fs::write(root.path().join(name), [COMPONENT, name.as_bytes()].concat()).unwrap();
    }
    let found = |address: &str| open_override(&ProviderAddress::parse(address).unwrap(), root.path());
    for (address, name) in
        [("acme/dns", "terraform_provider_dns.wasm"), ("acme/dns-zones", "terraform_provider_dns_zones.wasm")]
    {
        let PluginArtifact::Component(component) = found(address).unwrap() else { panic!("{address}") };
        assert!(component.bytes().ends_with(name.as_bytes()), "{address}");
    }
    let error = found("acme/nimbus").unwrap_err().to_string();
    assert!(error.contains("several components (other.wasm, terraform_provider_dns.wasm,"), "{error}");
    assert!(error.contains("must begin with \"terraform-provider-nimbus\""), "{error}");
}

#[test]
fn override_may_be_a_file_or_a_directory() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("built.wasm");
    fs::write(&file, COMPONENT).unwrap();
    for path in [file.as_path(), root.path()] {
        let artifact = open_override(&address(), path).unwrap();
        assert_eq!(artifact.version(), None);
        assert_eq!(artifact.origin().trust(), Trust::Unlocked);
    }
    assert!(matches!(open_override(&address(), &root.path().join("none")), Err(PackageError::Read { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_package_bytes_never_panic(
        bytes in prop::collection::vec(prop::num::u8::ANY, 0..64),
        damage in prop::collection::vec((0usize..400, prop::num::u8::ANY), 0..4),
        length in 0usize..400,
    ) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("p");
        zip_of(&path, &[("terraform-provider-dns_v1.wasm", COMPONENT), ("LICENSE", &bytes)]);
        let mut archive = fs::read(&path).unwrap();
        archive.truncate(length);
        for (at, byte) in damage {
            if let Some(place) = archive.get_mut(at) {
                *place = byte;
            }
        }
        for content in [archive, bytes] {
            fs::write(&path, &content).unwrap();
            let _ = FileKind::from_header(&content);
            let _ = open(&PackageLocation::Archive(path.clone()), ExpectedContent::ComponentOrNative);
            let _ = open(&PackageLocation::BareComponent(path.clone()), ExpectedContent::Component);
            let _ = open_override(&address(), &path);
        }
    }
}
