//! Checks that the target resource of every `import` block exists or can be generated.

use wardian_address::{ResourceAddress, ResourceInstanceAddress};
use wardian_config::{Configuration, Import};
use wardian_diagnostic::{Diagnostic, Diagnostics};

use crate::plan::MissingConfiguration;

/// The summary of the error for a target without configuration.
pub const NO_CONFIGURATION: &str = "Configuration for import target does not exist";

/// Returns the blocks whose resource has no configuration.
///
/// # Errors
/// Returns an error if no configuration can be generated for one of the blocks.
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

/// Returns the error for a resource instance that does not exist in the configuration.
pub fn no_instance(address: &ResourceInstanceAddress) -> Diagnostic {
    let detail = format!(
        "The configuration has no instance {address} to which an object could be imported. Change the count \
         or for_each of the resource, or of a module that contains it, so that this instance exists."
    );
    Diagnostic::error(NO_CONFIGURATION, detail)
}

fn refusal(import: &Import, address: &ResourceAddress, missing: MissingConfiguration) -> Option<String> {
    let has_key = import.to.address_keys().iter().any(Option::is_some)
        || import.target.resource.as_ref().is_some_and(|resource| resource.key.is_some());
    if !address.module.is_root() {
        Some(format!(
            "The configuration has no resource {address} to which an object could be imported. Add its \
             block; configuration can be generated only for resources of the root module."
        ))
    } else if missing == MissingConfiguration::Refused {
        Some(format!(
            "The configuration has no resource {address} to which an object could be imported. Add its \
             block, or generate it with\n    wardian plan -generate-config-out=generated.tf"
        ))
    } else if import.for_each.is_some() || has_key {
        Some(format!(
            "No configuration can be generated for {address}: that is possible only for single objects, not \
             if the import block has for_each or the address has a key. Add the resource's block."
        ))
    } else {
        None
    }
}
