//! The content of a server, built from its description.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use crate::description::{
    ComponentChannel, FileDescription, ProviderRelease, RegistryProvider, ServerDescription,
};
use crate::hostile;
use crate::openpgp::{self, Signed};
use crate::packages::{self, Blob};
use crate::tar_archive::{gzip, tar};
use crate::zip_archive::{ZipEntry, zip};

/// The platform of components in the registry protocol.
pub(crate) const COMPONENT_PLATFORM: &str = "wasip2_wasm";

/// One version of a provider, with its files.
pub(crate) struct Release {
    pub(crate) description: ProviderRelease,
    /// The file name of the package of each platform.
    pub(crate) packages: BTreeMap<String, String>,
    pub(crate) files: BTreeMap<String, Blob>,
    pub(crate) keys: Vec<(String, String)>,
    pub(crate) trust: &'static str,
}

impl Release {
    pub(crate) fn package(&self, platform: &str) -> Option<(&str, &Blob)> {
        let name = self.packages.get(platform)?;
        Some((name, &self.files[name]))
    }
}

pub(crate) struct Site {
    pub(crate) description: ServerDescription,
    /// The versions of each provider, by `NAMESPACE/TYPE`.
    pub(crate) releases: BTreeMap<String, Vec<Release>>,
    /// Archives of modules, by `NAMESPACE/NAME/SYSTEM/VERSION.tar.gz`.
    pub(crate) module_archives: BTreeMap<String, Blob>,
    pub(crate) files: BTreeMap<String, (FileDescription, Blob)>,
}

impl Site {
    /// Builds all packages. Large packages are written to `directory`.
    pub(crate) fn new(description: ServerDescription, directory: &Path) -> Self {
        let releases = description
            .providers
            .iter()
            .map(|provider| {
                let versions = provider.versions.iter();
                (
                    provider.address.clone(),
                    versions.map(|version| release(provider, version, directory)).collect(),
                )
            })
            .collect();
        let mut module_archives = BTreeMap::new();
        for module in &description.modules {
            for version in &module.versions {
                let archive = archive(&version.files, "tar.gz");
                module_archives
                    .insert(format!("{}/{}.tar.gz", module.address, version.version), Blob::new(archive));
            }
        }
        let files = description
            .files
            .iter()
            .map(|(path, file)| (path.clone(), (file.clone(), file_content(path, file))))
            .collect();
        Self { description, releases, module_archives, files }
    }

    pub(crate) fn release(&self, address: &str, version: &str) -> Option<&Release> {
        self.releases.get(address)?.iter().find(|release| release.description.version == version)
    }
}

fn release(provider: &RegistryProvider, version: &ProviderRelease, directory: &Path) -> Release {
    let kind = provider.address.split('/').next_back().unwrap();
    let stem = format!("terraform-provider-{kind}_{}", version.version);
    if let Some(directory) = &version.directory {
        return uploaded(version, &stem, directory);
    }
    let mut files = BTreeMap::new();
    let mut names = BTreeMap::new();
    for platform in &version.platforms {
        let own = version.differs_by_platform.then_some(platform.as_str());
        let name = format!("{stem}_{platform}.zip");
        let package = packages::native(&version.package, kind, &version.version, own, directory);
        files.insert(name.clone(), package);
        names.insert(platform.clone(), name);
    }
    if let Some(component) = &version.component {
        let bare = Blob::from_file(component);
        let (name, blob) = match version.component_channel {
            ComponentChannel::Sums => (format!("{stem}_{COMPONENT_PLATFORM}.wasm"), bare),
            ComponentChannel::Platform | ComponentChannel::SumsZip => (
                format!("{stem}_{COMPONENT_PLATFORM}.zip"),
                packages::component_zip(kind, &version.version, &bare.bytes()),
            ),
        };
        if version.component_channel == ComponentChannel::Platform {
            names.insert(COMPONENT_PLATFORM.to_owned(), name.clone());
        }
        files.insert(name, blob);
    }
    for (name, text) in &version.assets {
        files.insert(name.clone(), Blob::new(text.clone()));
    }
    let manifest = json!({ "version": 1, "metadata": { "protocol_versions": version.protocols } });
    files.insert(format!("{stem}_manifest.json"), Blob::new(manifest.to_string()));

    let mut sums = String::new();
    // The checksum file cannot list its own signature.
    let listed = files.iter().filter(|(name, _)| !name.ends_with(".sigstore.json"));
    for (name, blob) in listed {
        let _ = writeln!(sums, "{}  {name}", blob.sha256);
    }
    if let Some((from, to)) = &version.sums {
        sums = sums.replace(from, to);
    }
    let Signed { signature, keys, trust } = openpgp::sign(version.signature, sums.as_bytes());
    files.insert(format!("{stem}_SHA256SUMS"), Blob::new(sums));
    if let Some(signature) = signature {
        files.insert(format!("{stem}_SHA256SUMS.sig"), Blob::new(signature));
    }
    Release { description: version.clone(), packages: names, files, keys, trust }
}

/// Returns the release that a publisher uploaded, and signs it.
fn uploaded(version: &ProviderRelease, stem: &str, directory: &Path) -> Release {
    let mut files = BTreeMap::new();
    let mut packages = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let platform = name.strip_prefix(&format!("{stem}_")).and_then(|rest| rest.strip_suffix(".zip"));
        if let Some(platform) = platform {
            packages.insert(platform.to_owned(), name.clone());
        }
        files.insert(name, Blob::from_file(&entry.path()));
    }
    let sums = format!("{stem}_SHA256SUMS");
    let Signed { signature, keys, trust } = openpgp::sign(version.signature, &files[&sums].bytes());
    if let Some(signature) = signature {
        files.insert(format!("{sums}.sig"), Blob::new(signature));
    }
    let mut description = version.clone();
    description.platforms = packages.keys().cloned().collect();
    Release { description, packages, files, keys, trust }
}

fn file_content(path: &str, file: &FileDescription) -> Blob {
    let extension =
        ["zip", "tar.gz", "tgz", "tar"].into_iter().find(|one| path.ends_with(one)).unwrap_or("zip");
    match file {
        FileDescription { hostile: Some(kind), .. } => {
            Blob::new(hostile::archive(*kind, extension, "main.tf"))
        }
        FileDescription { archive: Some(files), .. } => Blob::new(archive(files, extension)),
        FileDescription { path: Some(path), .. } => Blob::from_file(path),
        FileDescription { text, .. } => Blob::new(text.clone().unwrap_or_default()),
    }
}

/// Returns an archive in the format of a file name extension.
pub(crate) fn archive(files: &BTreeMap<String, String>, extension: &str) -> Vec<u8> {
    let pairs = || files.iter().map(|(name, text)| (name.as_str(), text.as_bytes()));
    match extension {
        "zip" => zip(&pairs().map(|(name, text)| ZipEntry::new(name, text, 0o644)).collect::<Vec<_>>()),
        "tar" => tar(pairs()),
        _ => gzip(&tar(pairs())),
    }
}
