//! The built-in provider. It has no version, and it is never installed or locked.

use std::path::Path;
use std::sync::Arc;

use wardian_address::ProviderAddress;
use wardian_builtin::{BuiltInProvider, OtherBackends, TYPE_NAME};
use wardian_diagnostic::Diagnostics;
use wardian_install::selection::Requirements;
use wardian_plugin::{FileGate, PluginDiagnostic, PluginDiagnostics, Provider};

use crate::encryption::RemoteStates;

/// Returns whether an address is the address of the built-in provider.
pub fn is_known(address: &ProviderAddress) -> bool {
    address.is_built_in() && address.type_name() == TYPE_NAME
}

/// Returns the provider for an address for which [`ProviderAddress::is_built_in`] returns true, and
/// for the root module in a directory. `states` checks which files with other states may be read, and
/// `backends` the backends whose states may be read; `remote_states` decrypts the states.
///
/// # Errors
/// Returns an error if no built-in provider has this address.
pub fn provider(
    address: &ProviderAddress,
    root_directory: &Path,
    states: &FileGate,
    backends: &OtherBackends,
    remote_states: &RemoteStates,
) -> Result<Arc<dyn Provider>, PluginDiagnostics> {
    if is_known(address) {
        return Ok(Arc::new(
            BuiltInProvider::new(root_directory)
                .with_gate(states.clone())
                .with_backends(backends.clone())
                .with_encryption(Arc::new(remote_states.clone())),
        ));
    }
    Err(vec![PluginDiagnostic::error("Provider not available", unknown(address))])
}

/// Checks that the configuration requires only built-in providers that exist, without versions.
pub fn check(requirements: &Requirements) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for (address, required) in requirements.providers.iter().filter(|(address, _)| address.is_built_in()) {
        if !is_known(address) {
            diagnostics.error("Invalid dependency on built-in provider", unknown(address));
            continue;
        }
        for required in required.iter().filter(|required| !required.constraints.is_empty()) {
            let detail = format!(
                "{} requires version {} of {address}, which is built into Wardian and has no separate \
                 version. Remove the version constraint.",
                required.origin, required.constraints
            );
            diagnostics.error("Invalid dependency on built-in provider", detail);
        }
    }
    diagnostics
}

fn unknown(address: &ProviderAddress) -> String {
    format!(
        "There is no built-in provider {address}. The only built-in provider is {}.",
        ProviderAddress::built_in(TYPE_NAME)
    )
}
