//! The description of a server's content, which a test writes in Rust or in JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::faults::FaultRule;
use crate::hostile::HostileArchive;

/// The content of a server.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerDescription {
    pub providers: Vec<RegistryProvider>,
    pub modules: Vec<RegistryModule>,
    /// Files below `/files/`, by path.
    pub files: BTreeMap<String, FileDescription>,
    pub oci: Vec<OciRepository>,
    /// The directory with bare repositories below `/git/`.
    pub git: Option<PathBuf>,
    /// If the list is not empty, the registries and the mirror require one of these bearer tokens.
    pub tokens: Vec<String>,
    /// The user and the password, `USER:PASSWORD`, that packages, files, repositories and the OCI
    /// registry require. SHA256SUMS files and their signatures require no credentials.
    pub password: Option<String>,
    /// The user and the password, `USER:PASSWORD`, that the proxy requires.
    pub proxy_password: Option<String>,
    /// The delay of every response.
    pub latency_ms: u64,
    pub faults: Vec<FaultRule>,
    /// The document of service discovery, instead of the default document.
    pub discovery: Option<serde_json::Value>,
    /// Whether the OCI registry requires a token, which it issues to all clients if there is no password.
    pub oci_requires_token: bool,
    /// The number of tags per page of the OCI registry.
    pub oci_page: Option<usize>,
    /// Whether the OCI registry has no referrers API, like older registries.
    pub oci_without_referrers: bool,
    /// Whether the OCI registry redirects requests for blobs to another origin.
    pub oci_redirects_blobs: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistryProvider {
    /// `NAMESPACE/TYPE`.
    pub address: String,
    pub versions: Vec<ProviderRelease>,
    /// Warnings of the list of versions.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// One version of a provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderRelease {
    pub version: String,
    pub protocols: Vec<String>,
    /// The platforms of native packages: `linux_amd64`.
    pub platforms: Vec<String>,
    pub package: PackageContent,
    /// Whether the package of each platform has different bytes.
    pub differs_by_platform: bool,
    /// The file of a component of the same release.
    pub component: Option<PathBuf>,
    pub component_channel: ComponentChannel,
    pub signature: SignatureKind,
    /// Whether the list of versions contains this version, but its packages are missing.
    pub is_withdrawn: bool,
    /// Replaces text in SHA256SUMS before it is signed.
    pub sums: Option<(String, String)>,
    /// The digest in the response, instead of the package's digest.
    pub shasum: Option<String>,
    /// The address of the package, instead of the default address.
    pub download_url: Option<String>,
    /// The hashes in the network mirror; `None` for the default hashes.
    pub mirror_hashes: Option<Vec<String>>,
    /// A directory with all files of the release except for the signature, in the form that a
    /// publisher uploads. It includes the component, and replaces the packages.
    pub directory: Option<PathBuf>,
    /// Additional files of the release that are listed in SHA256SUMS: names and contents.
    pub assets: BTreeMap<String, String>,
}

impl Default for ProviderRelease {
    fn default() -> Self {
        Self {
            version: String::new(),
            protocols: vec!["5.0".to_owned()],
            platforms: ["darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64"]
                .map(str::to_owned)
                .to_vec(),
            package: PackageContent::default(),
            differs_by_platform: false,
            component: None,
            component_channel: ComponentChannel::default(),
            signature: SignatureKind::default(),
            is_withdrawn: false,
            sums: None,
            shasum: None,
            download_url: None,
            mirror_hashes: None,
            directory: None,
            assets: BTreeMap::new(),
        }
    }
}

/// The content of a native package.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum PackageContent {
    /// An executable script that fails, with the name of a provider's executable.
    #[default]
    Script,
    /// The given files, by name.
    Files(BTreeMap<String, String>),
    /// A program as the executable, and an incompressible file of this many bytes.
    Program {
        path: PathBuf,
        padding: u64,
    },
    /// The script, and an incompressible file of this many bytes.
    Padded(u64),
    Hostile(HostileArchive),
}

/// The form in which a release offers its component.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ComponentChannel {
    /// As a zip file for the platform `wasip2_wasm` of the registry protocol.
    #[default]
    Platform,
    /// As a bare file of the release that is listed only in SHA256SUMS.
    Sums,
    /// As a zip file of the release that is listed only in SHA256SUMS.
    SumsZip,
}

/// The signature of SHA256SUMS, and the keys that the registry returns.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureKind {
    #[default]
    Good,
    Ed25519,
    /// The signature was made while the key was valid; the key has expired since then.
    ExpiredKey,
    /// The key has a revocation signature.
    RevokedKey,
    /// The signature itself has expired.
    ExpiredSignature,
    /// The signature was made with a key that the registry does not return.
    WrongKey,
    /// The registry returns a different key, followed by the correct key.
    SecondKey,
    /// SHA256SUMS was changed after it was signed.
    ChangedSums,
    /// Bits of the signature are flipped.
    Damaged,
    /// The signature is text instead of bytes.
    Armored,
    /// The signature file is missing.
    MissingFile,
    /// The registry returns no keys.
    NoKeys,
    /// The returned key is not a key.
    BrokenKey,
    /// The key has a trust signature that is not valid.
    BadTrust,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistryModule {
    /// `NAMESPACE/NAME/SYSTEM`.
    pub address: String,
    pub versions: Vec<ModuleRelease>,
}

/// One version of a module.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModuleRelease {
    pub version: String,
    /// The files of the archive that the registry offers.
    pub files: BTreeMap<String, String>,
    /// The location in `X-Terraform-Get`, instead of the archive.
    pub source: Option<String>,
    /// Whether the location is in the body of the response, as OpenTofu's protocol allows.
    pub has_body: bool,
    /// Whether the response contains no location.
    pub has_no_location: bool,
}

/// A file below `/files/`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FileDescription {
    pub text: Option<String>,
    /// An archive of these files; the extension of the path determines its format.
    pub archive: Option<BTreeMap<String, String>>,
    pub hostile: Option<HostileArchive>,
    /// The content of a file on disk.
    pub path: Option<PathBuf>,
    pub headers: BTreeMap<String, String>,
}

/// A repository of the OCI registry.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OciRepository {
    pub name: String,
    /// `NAMESPACE/TYPE` of a provider, whose versions become tags in the layout of OpenTofu's
    /// mirrors, with an additional entry for the component.
    pub provider: Option<String>,
    /// Module packages: files by tag.
    pub modules: BTreeMap<String, BTreeMap<String, String>>,
}
