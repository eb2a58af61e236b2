//! The backends by name.

use crate::azurerm::AzureBackendType;
use crate::backend::BackendType;
use crate::consul::ConsulBackendType;
use crate::gcs::GcsBackendType;
use crate::http::HttpBackendType;
use crate::kubernetes::KubernetesBackendType;
use crate::local::LocalBackendType;
use crate::pg::PgBackendType;
use crate::postgres::PostgresBackendType;
use crate::remote::{CloudBackendType, RemoteBackendType};
use crate::s3::S3BackendType;

/// The name of the backend that stores states in local files.
pub const LOCAL: &str = "local";

/// The block type of a `cloud` block.
pub const CLOUD: &str = "cloud";

/// The default workspace, which every backend has.
pub const DEFAULT_WORKSPACE: &str = "default";

const TYPES: &[&dyn BackendType] = &[
    &AzureBackendType,
    &CloudBackendType,
    &ConsulBackendType,
    &GcsBackendType,
    &HttpBackendType,
    &KubernetesBackendType,
    &LocalBackendType,
    &PgBackendType,
    &PostgresBackendType,
    &RemoteBackendType,
    &S3BackendType,
];

/// Terraform's backends that are not supported, each with an alternative.
const REFUSED: &[(&str, &str)] = &[
    ("cos", "use the backend \"s3\" with the S3-compatible endpoint of the service"),
    ("inmem", "it is only for Terraform's own tests; without a backend, states are stored in local files"),
    ("oci", "use the backend \"s3\" with the S3-compatible endpoint of the service"),
    ("oss", "use the backend \"s3\" with the S3-compatible endpoint of the service"),
];

/// A backend that cannot be used. The reason is a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnavailableBackend {
    /// There is no backend with this name.
    Unknown(String),
    /// Terraform has the backend, but it is not supported.
    Refused(String),
}

/// Returns the type of the backend that stores states in local files.
pub fn local_type() -> &'static dyn BackendType {
    &LocalBackendType
}

/// Returns the backend type with a name.
///
/// # Errors
/// Returns the reason if the backend cannot be used.
pub fn find(name: &str) -> Result<&'static dyn BackendType, UnavailableBackend> {
    if let Some(found) = TYPES.iter().find(|backend| backend.name() == name) {
        return Ok(*found);
    }
    if let Some((name, alternative)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err(UnavailableBackend::Refused(format!(
            "The backend \"{name}\" is not supported: {alternative}."
        )));
    }
    let known = TYPES.iter().map(|backend| backend.name());
    let suggestion =
        wardian_diagnostic::did_you_mean(name, known.chain(REFUSED.iter().map(|(name, _)| *name)));
    Err(UnavailableBackend::Unknown(format!("There is no backend type \"{name}\".{suggestion}")))
}
