use std::fs;
use std::path::PathBuf;

use wardian_address::ConstraintDialect;

use super::*;
use crate::catalog::{Catalog, EmbeddedPlugin};
use crate::hash::Sha256Digest;
use crate::installed::{ResolveError, install, resolve};
use crate::mirror::{FilesystemMirror, Platform};
use crate::network_source::NetworkMethod;
use crate::package::{PackageLocation, PluginOrigin};
use crate::sources::{
    AddressPattern, InstallationMethod, InstallationMethodKind, ProviderFilter, ProviderInstallation,
};

const EMBEDDED: &[u8] = b"\0asm\x0d\0\x01\0embedded";

fn component(content: &str) -> Vec<u8> {
    [b"\0asm\x0d\0\x01\0", content.as_bytes()].concat()
}

fn address(source: &str) -> ProviderAddress {
    ProviderAddress::parse(source).unwrap()
}

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

/// A working directory with a mirror, for `init` and `plan`.
struct Fixture {
    root: tempfile::TempDir,
    catalog: Catalog,
    installation: ProviderInstallation,
    requirements: Requirements,
    lock: LockFile,
    options: SelectionOptions,
}

impl Fixture {
    fn new(requirements: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("mirror")).unwrap();
        let catalog = Catalog::new(vec![EmbeddedPlugin {
            address: address("random"),
            version: version("3.7.2"),
            bytes: EMBEDDED,
            sha256: Sha256Digest::hash(EMBEDDED),
            published_hashes: &[],
        }]);
        let mirror = InstallationMethodKind::Filesystem(FilesystemMirror::new(root.path().join("mirror")));
        let methods = vec![InstallationMethod { kind: mirror, scope: ProviderFilter::default() }];
        let mut required = Requirements::default();
        for (index, (source, constraints)) in requirements.iter().enumerate() {
            let constraints = Constraints::parse(constraints, ConstraintDialect::Provider).unwrap();
            required.add(address(source), constraints, format!("main.tf:{}", index + 1));
        }
        Self {
            root,
            catalog,
            installation: ProviderInstallation { overrides: BTreeMap::new(), methods },
            requirements: required,
            lock: LockFile::default(),
            options: SelectionOptions::default(),
        }
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    fn write(&self, path: &str, content: &[u8]) -> PathBuf {
        let path = self.root.path().join("mirror/registry.terraform.io").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn sources(&self) -> Sources<'_> {
        let platform = Platform::named("linux_amd64");
        Sources::new(&self.catalog, Some(&self.installation), &[], platform).unwrap()
    }

    fn select(&self) -> Result<Selection, Vec<SelectionError>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (sources, data) = (self.sources(), self.data());
        runtime.block_on(select(&self.requirements, &self.lock, &sources, &data, self.options))
    }

    /// Performs the steps of `init`: select, install, save.
    fn init(&mut self) -> Selection {
        let selection = self.select().unwrap();
        for chosen in selection.plugins.values() {
            install(chosen, &self.data(), &self.sources()).unwrap();
        }
        self.lock = selection.lock.clone();
        selection
    }

    fn error(&self) -> String {
        let errors = self.select().unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    fn resolve(&self) -> Result<crate::installed::ResolvedPlugins, Vec<ResolveError>> {
        resolve(&self.requirements, &self.lock, &self.sources(), &self.data())
    }

    fn resolved_bytes(&self, source: &str) -> Vec<u8> {
        match &self.resolve().unwrap().artifacts[&address(source)] {
            PluginArtifact::Component(component) => component.bytes().to_vec(),
            PluginArtifact::Native(native) => panic!("{native:?}"),
        }
    }

    fn lock_entry(&mut self, source: &str, at: &str, hashes: &[&str]) {
        let constraints = self.requirements.constraints_on(&address(source));
        let hashes = hashes.iter().map(|hash| PackageHash::parse(hash).unwrap()).collect();
        let entry = LockEntry { version: version(at), constraints, hashes };
        self.lock.providers.insert(address(source), entry);
    }
}

#[test]
fn embedded_plugin_needs_no_files() {
    let mut fixture = Fixture::new(&[("random", "~> 3.5"), ("random", ">= 3.7")]);
    let selection = fixture.init();
    assert_eq!(selection.lock_change, LockChange::Created);
    let chosen = &selection.plugins[&address("random")];
    assert_eq!((&chosen.version, chosen.reason), (&version("3.7.2"), SelectionReason::NewestMatching));
    assert_eq!(chosen.artifact.origin(), &PluginOrigin::Embedded);
    let entry = &fixture.lock.providers[&address("random")];
    assert_eq!(entry.constraints.to_string(), "~> 3.5, >= 3.7.0");
    assert_eq!(entry.hashes.len(), 1);
    // Only an empty directory is created, because other programs look for it.
    let expected = "providers/registry.terraform.io/hashicorp/random/3.7.2/linux_amd64";
    assert!(fixture.data().join(expected).is_dir());
    assert_eq!(fs::read_dir(fixture.data().join(expected)).unwrap().count(), 0);
    assert_eq!(fixture.resolved_bytes("random"), EMBEDDED);

    let again = fixture.init();
    assert_eq!(again.lock_change, LockChange::Unchanged);
    assert_eq!(again.plugins[&address("random")].reason, SelectionReason::Locked);
    assert_eq!(again.notices, []);
}

#[test]
fn embedded_plugin_hash_is_added_to_terraform_lock_file() {
    let mut fixture = Fixture::new(&[("random", "")]);
    fixture.lock_entry("random", "3.7.2", &["h1:native=", "zh:00"]);
    fixture.options.lock_file = LockFilePolicy::ReadOnly;
    let selection = fixture.select().unwrap();
    assert_eq!(selection.lock, fixture.lock);
    assert!(matches!(selection.notices.as_slice(), [Notice::HashNotRecorded { .. }]));
    assert_eq!(fixture.resolve().unwrap().not_recorded, [address("random")]);

    fixture.options.lock_file = LockFilePolicy::Update;
    let selection = fixture.init();
    assert_eq!(selection.lock_change, LockChange::DetailsChanged);
    assert_eq!(
        selection.notices,
        [Notice::EmbeddedHashAdded { address: address("random"), version: version("3.7.2") }]
    );
    assert_eq!(fixture.lock.providers[&address("random")].hashes.len(), 3);
    assert_eq!(fixture.resolve().unwrap().not_recorded, []);
}

#[test]
fn native_program_in_place_of_component_is_reported() {
    const PROGRAM: &[u8] = b"\x7fELF program";
    let mut fixture = Fixture::new(&[("random", ""), ("acme/dns", "")]);
    fixture.write("acme/dns/1.0.0/x.wasm", &component("dns"));
    let native = "99.0.0/linux_amd64/terraform-provider";
    fixture.init();
    fixture.write(&format!("hashicorp/random/{native}-random_v99.0.0"), PROGRAM);
    fixture.write(&format!("acme/dns/{native}-dns_v99.0.0"), PROGRAM);
    assert!(fixture.select().unwrap().replaced_components.is_empty(), "the locked versions are used");
    fixture.options.versions = VersionPolicy::Upgrade;
    let replaced =
        BTreeMap::from([(address("random"), version("3.7.2")), (address("acme/dns"), version("1.0.0"))]);
    assert_eq!(fixture.select().unwrap().replaced_components, replaced);
    // The locked package is no longer available.
    fixture.lock_entry("random", "3.6.0", &["h1:older="]);
    assert!(fixture.select().unwrap().replaced_components.contains_key(&address("random")));
    // The newer native plugin replaces a native plugin, not a component.
    fixture.options.versions = VersionPolicy::Upgrade;
    fixture.init();
    fixture.write("acme/dns/99.0.1/linux_amd64/terraform-provider-dns_v99.0.1", PROGRAM);
    let selection = fixture.select().unwrap();
    assert_eq!(selection.plugins[&address("acme/dns")].version, version("99.0.1"));
    assert!(selection.replaced_components.is_empty());
}

#[test]
fn every_package_layout_is_installed_and_resolved() {
    let mut fixture = Fixture::new(&[("acme/a", ""), ("acme/b", ""), ("acme/c", "")]);
    fixture.write("acme/a/1.0.0/wasm32_wasip2/terraform-provider-a_v1.0.0.wasm", &component("a"));
    fixture.write("acme/b/1.0.0/b.wasm", &component("b"));
    let zip_path = fixture.write("acme/c/terraform-provider-c_1.0.0_wasm32_wasip2.zip", b"");
    let mut writer = zip::ZipWriter::new(fs::File::create(zip_path).unwrap());
    writer.start_file("terraform-provider-c_v1.0.0.wasm", zip::write::SimpleFileOptions::default()).unwrap();
    std::io::Write::write_all(&mut writer, &component("c")).unwrap();
    writer.finish().unwrap();

    for _ in 0..2 {
        fixture.init();
        for name in ["a", "b", "c"] {
            assert_eq!(fixture.resolved_bytes(&format!("acme/{name}")), component(name));
        }
    }
    let leftovers =
        fs::read_dir(fixture.data().join("providers/registry.terraform.io/acme/c/1.0.0")).unwrap();
    assert_eq!(leftovers.count(), 1);
}

#[cfg(unix)]
#[test]
fn links_in_the_data_directory_are_rejected() {
    use std::os::unix::fs::symlink;

    let mut fixture = Fixture::new(&[("acme/dns", "1.0.0"), ("random", "3.7.2")]);
    fixture.write("acme/dns/1.0.0/x.wasm", &component("dns"));
    let selection = fixture.init();
    let precious = fixture.root.path().join("precious");
    for (source, base, rest) in [
        ("acme/dns", "providers/registry.terraform.io/acme/dns", "1.0.0/wasm32_wasip2"),
        ("random", "providers/registry.terraform.io/hashicorp/random", "3.7.2/wasm32_wasip2"),
    ] {
        let path = format!("{base}/{rest}");
        let parts: Vec<&str> = path.split('/').collect();
        for at in 0..parts.len() - 1 {
            fs::remove_dir_all(fixture.data()).unwrap();
            let link = fixture.data().join(parts[..=at].join("/"));
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            let file = precious.join(parts[at + 1..].join("/")).join("file");
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "precious").unwrap();
            symlink(&precious, &link).unwrap();
            let error = install(&selection.plugins[&address(source)], &fixture.data(), &fixture.sources())
                .unwrap_err();
            assert_eq!(error.path, link);
            assert!(error.to_string().contains("symbolic link"), "{error}");
            assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
        }
        // A symbolic link at the destination is replaced; its target remains.
        fs::remove_dir_all(fixture.data()).unwrap();
        let link = fixture.data().join(&path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::write(precious.join("file"), "precious").unwrap();
        symlink(&precious, &link).unwrap();
        install(&selection.plugins[&address(source)], &fixture.data(), &fixture.sources()).unwrap();
        assert!(!link.is_symlink());
        assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "precious");
    }
}

#[test]
fn changed_component_is_rejected() {
    let mut fixture = Fixture::new(&[("acme/a", "")]);
    let path = fixture.write("acme/a/1.0.0/wasm32_wasip2/terraform-provider-a.wasm", &component("a"));
    fixture.init();
    fs::write(&path, component("changed")).unwrap();
    let error = fixture.error();
    assert!(error.contains("acme/a 1.0.0 at "), "{error}");
    assert!(error.contains("is not allowed by the lock file"), "{error}");
    fixture.options.versions = VersionPolicy::Upgrade;
    assert!(matches!(fixture.select().unwrap_err()[0], SelectionError::HashMismatch(_)));
    // The symbolic link points to the changed file, so later commands also detect the change.
    let errors = fixture.resolve().unwrap_err();
    assert!(matches!(errors.as_slice(), [ResolveError::HashMismatch(_)]));

    let zip_hashes_only = &mut fixture.lock.providers.get_mut(&address("acme/a")).unwrap().hashes;
    *zip_hashes_only = BTreeSet::from([PackageHash::parse("zh:00").unwrap()]);
    assert!(matches!(fixture.select().unwrap_err()[0], SelectionError::HashMismatch(_)));
}

#[test]
fn newest_version_and_first_listed_method_are_selected() {
    let mut fixture = Fixture::new(&[("random", "")]);
    fixture.write("hashicorp/random/3.7.2/r.wasm", &component("same version"));
    assert_eq!(fixture.init().plugins[&address("random")].artifact.origin(), &PluginOrigin::Embedded);
    fixture.write("hashicorp/random/3.8.0/r.wasm", &component("newer"));
    assert_eq!(fixture.init().plugins[&address("random")].version, version("3.7.2"));
    fixture.options.versions = VersionPolicy::Upgrade;
    let selection = fixture.init();
    assert_eq!(selection.lock_change, LockChange::Changed);
    assert_eq!(selection.plugins[&address("random")].version, version("3.8.0"));
    assert_eq!(fixture.resolved_bytes("random"), component("newer"));
    assert_eq!(fixture.lock.providers[&address("random")].hashes.len(), 1);
}

#[test]
fn excluded_catalog_is_not_used() {
    let mut fixture = Fixture::new(&[("random", "")]);
    fixture.write("hashicorp/random/3.7.2/r.wasm", &component("mirror"));
    let exclude = vec![AddressPattern::parse("hashicorp/*").unwrap()];
    let scope = ProviderFilter { include: None, exclude };
    fixture.installation.methods.push(InstallationMethod { kind: InstallationMethodKind::Embedded, scope });
    let selection = fixture.init();
    let origin = selection.plugins[&address("random")].artifact.origin().clone();
    assert!(matches!(origin, PluginOrigin::Mirror(PackageLocation::BareComponent(_))));
    assert_eq!(fixture.resolved_bytes("random"), component("mirror"));
    // If the embedded plugin is selected again, the copy in the data directory is removed.
    fixture.installation.methods.pop();
    let selection = fixture.init();
    assert_eq!(selection.lock_change, LockChange::DetailsChanged);
    assert_eq!(fixture.resolved_bytes("random"), EMBEDDED);
}

#[test]
fn unmet_constraints_are_listed_with_available_versions() {
    let mut fixture = Fixture::new(&[("random", "~> 4.0"), ("random", "< 5"), ("acme/a", "")]);
    fixture.write("acme/a/1.0.0/darwin_arm64/terraform-provider-a", b"x");
    assert_eq!(
        fixture.error(),
        format!(
            "no version of acme/a is available (required by main.tf:3)\nSearched sources:\n  - the embedded \
             plugins: none\n  - the mirror {mirror}: none (for other platforms: 1.0.0)\nno available version \
             of hashicorp/random meets all constraints:\n  - ~> 4.0 (main.tf:1)\n  - < 5.0.0 \
             (main.tf:2)\nSearched sources:\n  - the embedded plugins: 3.7.2\n  - the mirror {mirror}: none",
            mirror = fixture.root.path().join("mirror").display()
        )
    );
    fixture.installation.methods.push(InstallationMethod {
        kind: InstallationMethodKind::Network(NetworkMethod::Registry),
        scope: ProviderFilter::default(),
    });
    let errors = fixture.select().unwrap_err();
    assert_eq!(errors[0].summary(), "Failed to query available provider packages");
    assert!(errors[0].to_string().contains("the provider's registry: not searched"));
}

#[test]
fn unusable_locked_versions_are_rejected() {
    let mut fixture = Fixture::new(&[("random", ">= 3.6")]);
    fixture.lock_entry("random", "3.6.0", &[]);
    let error = fixture.error();
    assert!(error.contains("the lock file has hashicorp/random 3.6.0, which is not available"), "{error}");
    assert!(
        error.contains("the embedded plugins: 3.7.2") && error.contains("wardian init -upgrade"),
        "{error}"
    );
    fixture.lock_entry("random", "3.5.0", &[]);
    let error = fixture.error();
    assert!(error.contains("does not meet the constraints"), "{error}");
    assert!(matches!(fixture.resolve().unwrap_err().as_slice(), [ResolveError::Constraints { .. }]));
    fixture.options.versions = VersionPolicy::Upgrade;
    assert_eq!(fixture.init().plugins[&address("random")].version, version("3.7.2"));
}

#[test]
fn installed_component_is_usable_without_its_mirror() {
    let mut fixture = Fixture::new(&[("acme/a", "")]);
    let path = fixture.write("acme/a/1.0.0/a.wasm", &component("a"));
    fixture.init();
    fs::remove_file(path).unwrap();
    let selection = fixture.init();
    assert_eq!(selection.lock_change, LockChange::Unchanged);
    assert_eq!(fixture.resolved_bytes("acme/a"), component("a"));
    fs::remove_dir_all(fixture.data()).unwrap();
    assert!(fixture.error().contains("is not available"));
    let errors = fixture.resolve().unwrap_err();
    assert_eq!(errors[0].to_string(), "the provider acme/a 1.0.0 is not installed; run `wardian init`");
}

#[test]
fn readonly_lock_file_must_not_change() {
    let mut fixture = Fixture::new(&[("random", "")]);
    fixture.options.lock_file = LockFilePolicy::ReadOnly;
    assert!(fixture.error().contains("hashicorp/random 3.7.2 would be added"));
    assert!(matches!(fixture.resolve().unwrap_err().as_slice(), [ResolveError::NotLocked(_)]));

    fixture.options.lock_file = LockFilePolicy::Update;
    fixture.init();
    fixture.options.lock_file = LockFilePolicy::ReadOnly;
    fixture.requirements.add(address("random"), Constraints::exactly(version("3.7.2")), "child.tf:1");
    let selection = fixture.select().unwrap();
    assert_eq!((selection.lock_change, selection.notices.len()), (LockChange::Unchanged, 0));
    fixture.requirements = Requirements::default();
    assert!(fixture.error().contains("hashicorp/random is no longer required"));
}

#[test]
fn unneeded_providers_are_removed_from_lock_file() {
    let mut fixture = Fixture::new(&[("random", "")]);
    fixture.init();
    fixture.requirements = Requirements::default();
    fixture.requirements.add(ProviderAddress::built_in("terraform"), Constraints::default(), "main.tf:1");
    assert!(fixture.init().lock.providers.is_empty());
    assert!(fixture.resolve().unwrap().artifacts.is_empty());
}

#[test]
fn overrides_ignore_lock_and_constraints() {
    let mut fixture = Fixture::new(&[("acme/dev", ">= 9")]);
    let path = fixture.write("elsewhere/dev.wasm", &component("dev"));
    fixture.installation.overrides.insert(address("acme/dev"), path.clone());
    let selection = fixture.init();
    assert!(selection.lock.providers.is_empty());
    assert!(matches!(
        selection.notices.as_slice(),
        [Notice::OverrideInEffect { .. }, Notice::OverriddenNotSelected { .. }]
    ));
    assert_eq!(fixture.resolved_bytes("acme/dev"), component("dev"));
    fs::remove_file(path).unwrap();
    assert!(fixture.select().is_err());
    assert!(matches!(fixture.resolve().unwrap_err().as_slice(), [ResolveError::Override { .. }]));
}

#[test]
fn native_packages_are_selected() {
    let mut fixture = Fixture::new(&[("acme/a", "")]);
    fixture.write("acme/a/1.0.0/linux_amd64/terraform-provider-a_v1.0.0", b"\x7fELF...");
    fixture.lock_entry("acme/a", "1.0.0", &["zh:00"]);
    let selection = fixture.init();
    assert!(matches!(selection.plugins[&address("acme/a")].artifact, PluginArtifact::Native(_)));
    assert_eq!(fixture.lock.providers[&address("acme/a")].hashes.len(), 2);
    assert!(matches!(fixture.resolve().unwrap().artifacts[&address("acme/a")], PluginArtifact::Native(_)));
}

#[test]
fn error_names_package_without_component() {
    let fixture = Fixture::new(&[("acme/a", "")]);
    fixture.write("acme/a/1.0.0/a.wasm", b"\0asm\x01\0\0\0");
    let error = fixture.error();
    assert!(error.starts_with("failed to use acme/a 1.0.0: "), "{error}");
    assert!(
        error.contains("a.wasm is not a WebAssembly component: it is a core WebAssembly module"),
        "{error}"
    );
}

#[test]
fn embedded_plugin_is_locked_with_published_hashes() {
    const PUBLISHED: &[&str] = &["h1:cHVibGlzaGVkIGNvbnRlbnQgb2YgYSBuYXRpdmUgcGtnMDA=", "zh:00ff", "zh:11ee"];
    let mut fixture = Fixture::new(&[("hashicorp/random", "~> 3.7")]);
    let own = fixture.select().unwrap().lock.providers[&address("random")].hashes.clone();
    assert_eq!(own.len(), 1);
    fixture.catalog = Catalog::new(vec![EmbeddedPlugin {
        address: address("random"),
        version: version("3.7.2"),
        bytes: EMBEDDED,
        sha256: Sha256Digest::hash(EMBEDDED),
        published_hashes: PUBLISHED,
    }]);
    let hashes = |selection: &Selection| -> Vec<String> {
        let entry = &selection.lock.providers[&address("random")];
        entry.hashes.iter().map(ToString::to_string).collect()
    };
    let selection = fixture.select().unwrap();
    assert_eq!(hashes(&selection).len(), 4);
    for published in PUBLISHED {
        assert!(hashes(&selection).iter().any(|hash| hash == published), "{published}");
    }
    fixture.lock = selection.lock;
    assert_eq!(fixture.select().unwrap().lock_change, LockChange::Unchanged);

    // An entry written by Terraform already has published hashes. They are not compared if the lock
    // file must not change.
    let terraforms: BTreeSet<PackageHash> = [PackageHash::parse("zh:11ee").unwrap()].into();
    let entry = |hashes| LockEntry { version: version("3.7.2"), constraints: Constraints::default(), hashes };
    fixture.lock = LockFile { providers: [(address("random"), entry(terraforms))].into() };
    assert_eq!(hashes(&fixture.select().unwrap()).len(), 2);
    fixture.lock = LockFile { providers: [(address("random"), entry(own))].into() };
    fixture.options.lock_file = LockFilePolicy::ReadOnly;
    let selection = fixture.select().unwrap();
    assert!(!selection.notices.iter().any(|notice| matches!(notice, Notice::HashNotRecorded { .. })));
    assert_eq!(hashes(&selection).len(), 1);
}
