//! Whether every block imports to something that there is, or that can be made.

use wardian_address::{ResourceAddress, ResourceInstanceAddress};
use wardian_config::{Configuration, Import};
use wardian_diagnostic::{Diagnostic, Diagnostics};

/// The summary where it does not.
pub const NO_CONFIGURATION: &str = "Configuration for import target does not exist";

/// What becomes of imported objects whose resource is not in the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingConfiguration {
    /// The plan is refused.
    #[default]
    Refused,
    /// A configuration is made for them.
    Generated,
}

/// The blocks whose resource has no configuration.
///
/// # Errors
/// Where none can be made for one of them.
pub fn without_configuration(
    configuration: &Configuration,
    missing: MissingConfiguration,
) -> Result<Vec<&Import>, Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut found = Vec::new();
    for import in &configuration.root().module.imports {
        let Some(address) = import.resource() else { continue };
        if configuration.resource(&address).is_some() {
            continue;
        }
        match refusal(import, &address, missing) {
            None => found.push(import),
            Some(detail) => {
                let problem = Diagnostic::error(NO_CONFIGURATION, detail).at(import.to.span().clone());
                problems.push(problem.in_block("import"));
            }
        }
    }
    problems.into_result(found)
}

/// An error for an instance that the configuration does not have.
pub fn no_instance(address: &ResourceInstanceAddress) -> Diagnostic {
    let detail = format!(
        "The configuration has no instance {address} that an object could become. Let the count or for_each of the \
         resource, and of the modules around it, include it."
    );
    Diagnostic::error(NO_CONFIGURATION, detail)
}

fn refusal(import: &Import, address: &ResourceAddress, missing: MissingConfiguration) -> Option<String> {
    let has_key = import.to.address_keys().iter().any(Option::is_some)
        || import.target.resource.as_ref().is_some_and(|resource| resource.key.is_some());
    if !address.module.is_root() {
        Some(format!(
            "There is no {address} that an object could become. Write its block; one can be made only for \
             resources of the root module."
        ))
    } else if missing == MissingConfiguration::Refused {
        Some(format!(
            "There is no {address} that an object could become. Write its block, or have one made by\n    \
             wardian plan -generate-config-out=generated.tf"
        ))
    } else if import.for_each.is_some() || has_key {
        Some(format!(
            "No configuration can be made for {address}: that is possible for single objects only, not where the \
             import block has for_each or the address a key. Write the resource's block."
        ))
    } else {
        None
    }
}
