//! Requirements of a configuration: providers, and the Terraform version.

use std::collections::BTreeSet;

use wardian_address::{Constraints, ProviderAddress, Version};
use wardian_config::Configuration;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_install::selection::Requirements;
use wardian_state::State;

use crate::compatibility::TERRAFORM_VERSION;
use crate::test_suite::ConfigurationTests;

/// Returns the providers that the configuration requires, and the providers of objects in the state
/// that are no longer in the configuration.
pub fn requirements(configuration: &Configuration, state: Option<&State>) -> Requirements {
    requirements_with_tests(configuration, state, &ConfigurationTests::default())
}

/// Returns the requirements of a configuration, of its state, and of the modules that runs of its test
/// files execute.
pub fn requirements_with_tests(
    configuration: &Configuration,
    state: Option<&State>,
    tests: &ConfigurationTests,
) -> Requirements {
    let mut requirements = Requirements::default();
    add_configuration(&mut requirements, configuration, "the root module");
    for (key, _, _, configuration) in tests.modules.iter(&tests.files) {
        add_configuration(&mut requirements, configuration, &key);
    }
    for address in state.into_iter().flat_map(providers_of) {
        if !requirements.providers.contains_key(&address) {
            requirements.add(address, Constraints::default(), "the state");
        }
    }
    requirements
}

/// Adds the requirements of a configuration. `root` is the name of its root module in messages.
fn add_configuration(requirements: &mut Requirements, configuration: &Configuration, root: &str) {
    for (address, requirement) in configuration.provider_requirements() {
        if requirement.origins.is_empty() {
            requirements.add(address, requirement.constraints, "the configuration");
            continue;
        }
        for (module, constraints, span) in requirement.origins {
            let origin = match (span, module.is_root()) {
                (Some(span), _) => {
                    format!("{}:{}", span.file.name(), span.start_position().line)
                }
                (None, true) => root.to_owned(),
                (None, false) => module.to_string(),
            };
            requirements.add(address.clone(), constraints, origin);
        }
    }
}

/// Returns the providers of the objects in a state.
fn providers_of(state: &State) -> BTreeSet<ProviderAddress> {
    state.resources().map(|(_, resource)| resource.provider.provider.clone()).collect()
}

/// Reports every module that requires a different Terraform version.
pub(crate) fn check_required_versions(configuration: &Configuration, diagnostics: &mut Diagnostics) {
    let Ok(ours) = TERRAFORM_VERSION.parse::<Version>() else { return };
    for node in configuration.modules() {
        for required in &node.module.required_versions {
            if required.constraints.accepts(&ours) {
                continue;
            }
            let whose = if node.path.is_root() {
                "This configuration".to_owned()
            } else {
                format!("The module {}", node.path)
            };
            diagnostics.push(
                Diagnostic::error(
                    "Unsupported Terraform Core version",
                    format!(
                        "{whose} requires Terraform {}, but this version of Wardian is compatible with \
                         Terraform {TERRAFORM_VERSION}. Use another version of Wardian, or change \
                         required_version if it is stricter than necessary.",
                        required.constraints
                    ),
                )
                .at(required.span.clone())
                .in_block("terraform"),
            );
        }
    }
}
