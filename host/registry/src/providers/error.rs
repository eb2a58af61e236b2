//! Errors of provider registries.

use std::fmt::Write as _;
use std::sync::Arc;

use wardian_address::{ProviderAddress, Version};

use super::platform::PackagePlatform;
use super::protocol::ProtocolMismatch;
use super::signature::ReleaseSignatureError;
use super::version::VersionTextError;
use crate::error_kind::RegistryErrorKind;
use crate::request::RequestError;
use crate::service_host::{ServiceHost, ServiceHostError};
use crate::services::{DiscoveryError, ServiceError};

/// A provider whose versions or package cannot be obtained from its registry. `Display` shows the
/// problem and advice on how to proceed.
#[derive(Debug, thiserror::Error)]
#[error("{}", describe(address, version.as_ref(), problem))]
pub struct ProviderRegistryError {
    pub address: ProviderAddress,
    /// The version whose package was requested; `None` if the versions were requested.
    pub version: Option<Version>,
    pub problem: Box<ProviderProblem>,
}

/// The reason why a registry cannot be used for a provider.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderProblem {
    #[error(transparent)]
    Host(#[from] ServiceHostError),
    #[error(transparent)]
    Discovery(#[from] Arc<DiscoveryError>),
    /// The host has no usable provider registry.
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error("the URL of the provider registry {host} cannot be extended by a path")]
    BaseUrl { host: ServiceHost },
    #[error("could not query the provider registry {host}: {error}")]
    Request { host: ServiceHost, error: RequestError },
    /// The checksums or their signature cannot be requested.
    #[error("failed to retrieve the {file} of the release: {error}")]
    ReleaseFile {
        /// The file that could not be requested, as a noun for messages.
        file: &'static str,
        error: RequestError,
    },
    #[error("the provider registry {host} does not have this provider ({url} does not exist)")]
    NotFound { host: ServiceHost, url: String },
    #[error("the registry response from {url} contains the invalid version {text:?}: {error}")]
    Version { url: String, text: String, error: VersionTextError },
    /// The release has neither a component nor a package for the platform.
    #[error("the release has no package for the platform {platform}, and no component")]
    NoPackage {
        platform: PackagePlatform,
        /// The platforms of the release, according to the list of versions.
        offered: Vec<PackagePlatform>,
    },
    /// The release has no component, and its native package has no supported protocol.
    #[error("{0}")]
    Protocol(ProtocolMismatch),
    #[error("the registry response from {url} has an invalid {property}: {problem}")]
    Response { url: String, property: &'static str, problem: String },
    #[error("the registry response from {url}, to the request for {requested}, describes the target {found}")]
    OtherTarget { url: String, requested: PackagePlatform, found: String },
    /// The checksums contain no valid line for a file.
    #[error("the checksums at {url} have no valid SHA-256 hash for {file_name:?}")]
    NoChecksum { url: String, file_name: String },
    #[error(
        "the checksums at {url} have the SHA-256 hash {listed} for {file_name:?}, but the registry expects {expected}"
    )]
    OtherChecksum { url: String, file_name: String, listed: String, expected: String },
    #[error("{error} (checksums: {url})")]
    Signature { url: String, error: ReleaseSignatureError },
}

impl ProviderRegistryError {
    /// Returns the summary of the diagnostic, which is Terraform's.
    pub fn summary(&self) -> &'static str {
        match (&*self.problem, &self.version) {
            (ProviderProblem::Service(_), _) => "Invalid provider registry host",
            (ProviderProblem::NoPackage { .. } | ProviderProblem::Protocol(_), _) => {
                "Incompatible provider version"
            }
            (_, None) => "Failed to query available provider packages",
            (_, Some(_)) => "Failed to install provider",
        }
    }

    pub fn kind(&self) -> RegistryErrorKind {
        match &*self.problem {
            ProviderProblem::Discovery(error) => error.kind(),
            ProviderProblem::Service(error) => error.kind(),
            ProviderProblem::Request { error, .. } | ProviderProblem::ReleaseFile { error, .. } => {
                error.kind()
            }
            ProviderProblem::NotFound { .. } => RegistryErrorKind::NotFound,
            ProviderProblem::NoPackage { .. } | ProviderProblem::Protocol(_) => {
                RegistryErrorKind::Incompatible
            }
            _ => RegistryErrorKind::Rejected,
        }
    }
}

fn describe(address: &ProviderAddress, version: Option<&Version>, problem: &ProviderProblem) -> String {
    let name = address.for_display();
    let release = version.map_or_else(|| name.to_string(), |version| format!("{name} v{version}"));
    let mut text = match problem {
        ProviderProblem::NoPackage { platform, .. } => {
            format!(
                "provider {release} does not have a package available for your current platform, {platform}, and no \
                 component"
            )
        }
        ProviderProblem::Protocol(mismatch) => {
            format!("provider {release} is not compatible with this version of Wardian: {mismatch}")
        }
        _ => problem.to_string(),
    };
    match problem {
        ProviderProblem::Service(ServiceError::NotOffered { .. } | ServiceError::OtherVersions { .. }) => {
            let _ = write!(
                text,
                "; check the host in the source address \"{address}\", or configure the host's services with a \
                 host block in the CLI configuration"
            );
        }
        ProviderProblem::NotFound { .. } => {
            let _ = write!(
                text,
                "; check the source address \"{address}\" in required_providers. A module that does not declare it \
                 implies the namespace \"hashicorp\""
            );
        }
        ProviderProblem::NoPackage { offered, platform }
            if !offered.is_empty() && !offered.contains(platform) =>
        {
            let offered: Vec<String> = offered.iter().map(ToString::to_string).collect();
            let _ = write!(
                text,
                "; the registry lists packages for {}. Use another version, or ask the publisher for a package for \
                 this platform",
                offered.join(", ")
            );
        }
        ProviderProblem::NoPackage { .. } => {
            text.push_str("; the release may have been withdrawn. Select another version");
        }
        ProviderProblem::Signature { .. }
        | ProviderProblem::NoChecksum { .. }
        | ProviderProblem::OtherChecksum { .. } => {
            text.push_str(
                "; nothing was installed. Ask the publisher of the provider to correct the release",
            );
        }
        ProviderProblem::Service(ServiceError::Invalid { .. }) => {
            text.push_str("; ask the operator of the host to correct it");
        }
        ProviderProblem::Version { .. }
        | ProviderProblem::Response { .. }
        | ProviderProblem::OtherTarget { .. } => {
            text.push_str("; ask the operator of the registry to correct it");
        }
        _ => {}
    }
    text
}
