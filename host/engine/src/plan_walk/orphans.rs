//! What the state has and the configuration does not.

use wardian_address::{AbsoluteResourceAddress, ProviderConfigAddress, ResourceMode};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_state::State;

use crate::nodes::provider_block;
use crate::run::Run;

/// A resource in the state that the configuration does not have.
pub(super) struct Orphan {
    pub(super) address: AbsoluteResourceAddress,
    pub(super) provider: ProviderConfigAddress,
}

/// All of them.
///
/// # Errors
/// Where the provider configuration that a managed object belongs to has left the
/// configuration, too. Another one may be for another account or region, so that it
/// must not be asked about the object.
pub(super) fn orphans(run: &Run, state: &State) -> Result<Vec<Orphan>, Diagnostics> {
    let mut orphans = Vec::new();
    let mut problems = Diagnostics::new();
    for (address, resource) in state.resources() {
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        let node = run.configuration.module(&address.module.path());
        if node.is_some_and(|node| node.module.resources.contains_key(&key)) {
            continue;
        }
        if address.mode == ResourceMode::Managed && !is_there(run, &resource.provider) {
            for key in resource.instances.keys() {
                let instance = address.instance(key.clone());
                problems.push(not_present(&instance.to_string(), &resource.provider));
            }
        }
        orphans.push(Orphan { address: address.clone(), provider: resource.provider.clone() });
    }
    problems.into_result(orphans)
}

/// Whether a provider configuration is there: the root module has one without a name
/// of each provider, though it may have no block.
fn is_there(run: &Run, provider: &ProviderConfigAddress) -> bool {
    provider.module.is_root() && provider.alias.is_none()
        || provider_block(&run.configuration, provider).is_some()
}

fn not_present(address: &str, provider: &ProviderConfigAddress) -> Diagnostic {
    let detail = format!(
        "{address} belongs to {provider}, which is not in the configuration any more. Nothing else can read or \
         destroy the object. Put that provider block back until the object is gone, or have the object forgotten: \
         `wardian state rm '{address}'`."
    );
    Diagnostic::error("Provider configuration not present", detail)
}
