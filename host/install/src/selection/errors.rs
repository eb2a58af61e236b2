//! Selection errors. Each message describes the problem, lists the searched sources and suggests a
//! solution.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use wardian_address::{ProviderAddress, Version};

use crate::mirror::MirrorError;
use crate::network_source::{NetworkErrorKind, NetworkSourceError};
use crate::package::{PackageError, PackageMismatch};
use crate::requirements::RequiredBy;

/// A source that was searched for a provider, and its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedSource {
    /// The name of the source in messages.
    pub name: String,
    /// Whether the source is a server.
    pub is_network: bool,
    /// The versions for this machine in the source.
    pub versions: Vec<Version>,
    pub remark: SourceRemark,
}

/// A remark about a searched source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceRemark {
    None,
    /// The server has these versions only for other platforms.
    OtherPlatformsOnly(Vec<Version>),
    /// The server does not have the provider.
    NotFound {
        /// The summary of the reason.
        summary: &'static str,
        reason: String,
    },
    /// The source was not searched, because the command makes no requests or another source already
    /// has the version.
    NotSearched,
}

/// The version that a configuration needs, and the versions that other sources have, if a server
/// cannot be searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownVersions {
    pub needed: NeededVersion,
    /// All sources, including sources that were not searched.
    pub searched: Vec<SearchedSource>,
    /// The embedded provider with the most similar name, if the difference could be a typo.
    pub similar: Option<ProviderAddress>,
}

/// The version that a configuration needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeededVersion {
    Locked(Version),
    Required(Vec<RequiredBy>),
}

/// A provider that cannot be selected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// No available version meets the constraints.
    #[error("{}", no_matching_version(address, required_by, searched, similar.as_ref()))]
    NoMatchingVersion {
        address: ProviderAddress,
        /// The requirements.
        required_by: Vec<RequiredBy>,
        searched: Vec<SearchedSource>,
        /// The embedded provider with the most similar name, if the difference could be a typo.
        similar: Option<ProviderAddress>,
    },
    /// The locked version no longer meets the constraints.
    #[error(
        "the lock file has {} {locked}, which does not meet the constraints of this configuration:{}\nTo \
         select a new version, run `wardian init -upgrade`.",
        address.for_display(),
        constraint_list(required_by)
    )]
    LockedVersionRejected {
        address: ProviderAddress,
        /// The version in the lock file.
        locked: Version,
        /// The requirements.
        required_by: Vec<RequiredBy>,
    },
    /// No source has the locked version.
    #[error(
        "the lock file has {} {locked}, which is not available:{}\nTo select an available version, run \
         `wardian init -upgrade`.",
        address.for_display(),
        source_list(searched)
    )]
    LockedVersionUnavailable {
        address: ProviderAddress,
        /// The version in the lock file.
        locked: Version,
        searched: Vec<SearchedSource>,
    },
    /// The lock file does not allow the package.
    #[error(
        "{0}\nThe package has changed since it was locked, or is a different build of this version. If you \
         know the reason and trust the package, remove this provider's block from .terraform.lock.hcl and \
         run `wardian init`."
    )]
    HashMismatch(Box<PackageMismatch>),
    /// The selected package cannot be used.
    #[error("failed to use {} {version}: {error}", address.for_display())]
    Package { address: ProviderAddress, version: Version, error: Box<PackageError> },
    /// A mirror cannot be searched.
    #[error("failed to search for {}: {error}", address.for_display())]
    Mirror { address: ProviderAddress, error: MirrorError },
    /// A server cannot be searched.
    #[error("{}", query_failed(address, error, known))]
    Query { address: ProviderAddress, error: NetworkSourceError, known: Box<KnownVersions> },
    /// A package cannot be found, authenticated or downloaded.
    #[error("Error while installing {} v{version}: {error}", address.for_display())]
    Download { address: ProviderAddress, version: Version, error: NetworkSourceError },
    /// The directory for downloads cannot be used.
    #[error("failed to download packages into {}: {source}", path.display())]
    DownloadDirectory { path: PathBuf, source: io::Error },
    /// The command was interrupted.
    #[error("the installation of {} v{version} was interrupted", address.for_display())]
    Interrupted { address: ProviderAddress, version: Version },
    /// An old state refers to the provider by a legacy address. Such a provider cannot be
    /// installed.
    #[error(
        "the state or configuration refers to the provider {address} by a legacy address without a \
         namespace, which cannot be installed; declare its source in required_providers, and change \
         the state with `wardian state replace-provider {address} NAMESPACE/{type_name}`", type_name = address.type_name()
    )]
    Legacy { address: ProviderAddress },
    /// The lock file would change, but must not.
    #[error(
        "the lock file would have to change, which -lockfile=readonly forbids: {}\nRun `wardian init` \
         without -lockfile=readonly and review the change.",
        changes.join("; ")
    )]
    LockFileReadOnly {
        /// The required changes.
        changes: Vec<String>,
    },
}

impl SelectionError {
    /// Returns the summary of the diagnostic.
    pub fn summary(&self) -> &'static str {
        match self {
            Self::NoMatchingVersion { searched, .. } => {
                only_reason(searched).unwrap_or("Failed to query available provider packages")
            }
            Self::LockedVersionUnavailable { .. }
            | Self::LockedVersionRejected { .. }
            | Self::Mirror { .. } => "Failed to query available provider packages",
            Self::Query { error, .. } | Self::Download { error, .. } => error.summary,
            Self::HashMismatch(_) | Self::DownloadDirectory { .. } | Self::Interrupted { .. } => {
                "Failed to install provider"
            }
            Self::Package { .. } => "Unusable provider package",
            Self::Legacy { .. } => "Invalid legacy provider address",
            Self::LockFileReadOnly { .. } => "Provider dependency changes detected",
        }
    }
}

/// Returns the summary of the server's reason, if no source has any version of the provider.
fn only_reason(searched: &[SearchedSource]) -> Option<&'static str> {
    if searched.iter().any(|source| !source.versions.is_empty()) {
        return None;
    }
    searched.iter().find_map(|source| match &source.remark {
        SourceRemark::NotFound { summary, .. } => Some(*summary),
        _ => None,
    })
}

fn query_failed(address: &ProviderAddress, error: &NetworkSourceError, known: &KnownVersions) -> String {
    let name = address.for_display();
    let mut text = format!("Could not retrieve the list of available versions for provider {name}: {error}");
    if let Some(similar) = &known.similar {
        let _ = write!(text, "\nDid you mean {}?", similar.for_display());
    }
    let has_versions = |source: &&SearchedSource| !source.versions.is_empty();
    let others: Vec<&SearchedSource> = known.searched.iter().filter(has_versions).collect();
    if !others.is_empty() {
        let _ = match &known.needed {
            NeededVersion::Locked(version) => write!(text, "\nVersion in the lock file: {version}"),
            NeededVersion::Required(by) => write!(text, "\nRequired versions:{}", constraint_list(by)),
        };
        let _ = write!(text, "\nVersions in other sources:{}", source_list(others));
        if let NeededVersion::Locked(_) = known.needed {
            text.push_str("\nTo select an available version, run `wardian init -upgrade`.");
        }
    }
    if error.kind == NetworkErrorKind::Unreachable {
        let _ = write!(text, "\n{}", without_network(address));
    }
    text
}

/// Describes how to install a provider without a network connection.
fn without_network(address: &ProviderAddress) -> String {
    let (host, namespace, name) = (address.hostname(), address.namespace(), address.type_name());
    format!(
        "To continue without the registry, put the provider's package into the directory \
         terraform.d/plugins here, or ~/.terraform.d/plugins, as one of:\n  \
         {host}/{namespace}/{name}/terraform-provider-{name}_VERSION_OS_ARCH.zip\n  \
         {host}/{namespace}/{name}/VERSION/OS_ARCH/ (the content of that file)\nThe second is also the layout \
         of the .terraform/providers directory of a configuration for which Terraform has installed it."
    )
}

fn no_matching_version(
    address: &ProviderAddress,
    required_by: &[RequiredBy],
    searched: &[SearchedSource],
    similar: Option<&ProviderAddress>,
) -> String {
    let name = address.for_display();
    let constrained = required_by.iter().any(|required| !required.constraints.is_empty());
    let mut text = if constrained {
        format!("no available version of {name} meets all constraints:{}", constraint_list(required_by))
    } else {
        let origins: Vec<&str> = required_by.iter().map(|required| required.origin.as_str()).collect();
        format!("no version of {name} is available (required by {})", origins.join(", "))
    };
    if let Some(similar) = similar {
        let _ = write!(text, "\nDid you mean {}?", similar.for_display());
    }
    let _ = write!(text, "\nSearched sources:{}", source_list(searched));
    if searched.is_empty() {
        text.push_str("\nNo installation method of the CLI configuration covers this provider.");
    } else if searched.iter().all(|source| source.versions.is_empty() && source.remark == SourceRemark::None)
    {
        text.push_str("\nCheck the source address in required_providers, or ask the publisher.");
    }
    text
}

fn constraint_list(required_by: &[RequiredBy]) -> String {
    let mut text = String::new();
    for required in required_by {
        if required.constraints.is_empty() {
            let _ = write!(text, "\n  - any version ({})", required.origin);
        } else {
            let _ = write!(text, "\n  - {} ({})", required.constraints, required.origin);
        }
    }
    text
}

fn source_list<'a>(searched: impl IntoIterator<Item = &'a SearchedSource>) -> String {
    let join = |versions: &[Version]| versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut text = String::new();
    for source in searched {
        let versions = join(&source.versions);
        let has = if versions.is_empty() { "none" } else { &versions };
        let _ = match &source.remark {
            SourceRemark::None => write!(text, "\n  - {}: {has}", source.name),
            SourceRemark::OtherPlatformsOnly(others) => {
                write!(text, "\n  - {}: {has} (for other platforms: {})", source.name, join(others))
            }
            SourceRemark::NotFound { reason, .. } => write!(text, "\n  - {}: {reason}", source.name),
            SourceRemark::NotSearched => write!(text, "\n  - {}: not searched", source.name),
        };
    }
    text
}
