//! Errors of module registries.

use std::sync::Arc;

use http::StatusCode;
use wardian_address::Version;

use super::RegistryModule;
use crate::error_kind::RegistryErrorKind;
use crate::request::RequestError;
use crate::services::{DiscoveryError, ServiceError};

/// A module whose versions or package cannot be obtained from its registry. `Display` shows the
/// problem and advice on how to proceed.
#[derive(Debug, thiserror::Error)]
#[error("{}", describe(module, version.as_ref(), problem))]
pub struct ModuleRegistryError {
    pub module: RegistryModule,
    /// The version whose location was requested; `None` if the versions were requested.
    pub version: Option<Version>,
    pub problem: Box<ModuleProblem>,
}

/// The reason why a registry cannot be used for a module.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleProblem {
    #[error(transparent)]
    Discovery(#[from] Arc<DiscoveryError>),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error("the URL of the module registry cannot be extended by a path")]
    BaseUrl,
    #[error("{0}")]
    Request(RequestError),
    /// The registry does not have the module or the version.
    #[error("{url} does not exist")]
    NotFound { url: String },
    #[error("the response from {url} contains no module")]
    NoModule { url: String },
    #[error("the response from {url} contains no valid version")]
    NoVersions { url: String },
    #[error(
        "the response from {url} ({status}) contains no location of the package, neither in the header \
         X-Terraform-Get nor in the property \"location\" of its body"
    )]
    NoLocation { url: String, status: StatusCode },
    #[error("the response from {url} contains a location of the package that has the wrong type")]
    LocationType { url: String },
    #[error("the response from {url} contains the invalid location {location:?} of the package: {problem}")]
    Location { url: String, location: String, problem: &'static str },
}

impl ModuleRegistryError {
    pub(super) fn new(module: &RegistryModule, version: Option<&Version>, problem: ModuleProblem) -> Self {
        Self { module: module.clone(), version: version.cloned(), problem: Box::new(problem) }
    }

    /// Returns the summary of the diagnostic, which is Terraform's.
    pub fn summary(&self) -> &'static str {
        match (&*self.problem, &self.version) {
            (ModuleProblem::NotFound { .. }, None) => "Module not found",
            (ModuleProblem::NoModule { .. }, _) => "Invalid response from remote module registry",
            (ModuleProblem::NoVersions { .. }, _) => "Module has no versions",
            (ModuleProblem::Location { .. } | ModuleProblem::LocationType { .. }, _) => {
                "Invalid package location from module registry"
            }
            _ => "Error accessing remote module registry",
        }
    }

    pub fn kind(&self) -> RegistryErrorKind {
        match &*self.problem {
            ModuleProblem::Discovery(error) => error.kind(),
            ModuleProblem::Service(error) => error.kind(),
            ModuleProblem::Request(error) => error.kind(),
            ModuleProblem::NotFound { .. } | ModuleProblem::NoVersions { .. } => RegistryErrorKind::NotFound,
            _ => RegistryErrorKind::Rejected,
        }
    }
}

fn describe(module: &RegistryModule, version: Option<&Version>, problem: &ModuleProblem) -> String {
    let host = module.host();
    match (problem, version) {
        (ModuleProblem::NotFound { .. }, None) => format!(
            "the module \"{module}\" cannot be found in the module registry at {host}: {problem}; check the source \
             address"
        ),
        (ModuleProblem::NotFound { .. }, Some(version)) => format!(
            "failed to retrieve a download URL for {module} {version} from {host}: {problem}; the version may have \
             been withdrawn. Select another version"
        ),
        (ModuleProblem::NoModule { .. }, _) => format!(
            "the registry at {host} returned an invalid response to the request for the versions of {module}: \
             {problem}"
        ),
        (ModuleProblem::NoVersions { .. }, _) => {
            format!("module \"{module}\" has no versions available on {host}: {problem}")
        }
        (_, None) => format!("failed to retrieve available versions for {module} from {host}: {problem}"),
        (_, Some(version)) => {
            format!("failed to retrieve a download URL for {module} {version} from {host}: {problem}")
        }
    }
}
