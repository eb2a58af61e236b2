//! Resources that are in the state but not in the configuration.

use wardian_address::{AbsoluteResourceAddress, ProviderConfigAddress, ResourceMode};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_state::State;

use crate::context::EngineContext;
use crate::nodes::provider_block;

/// A resource in the state that is not in the configuration.
pub(super) struct Orphan {
    pub(super) address: AbsoluteResourceAddress,
    pub(super) provider: ProviderConfigAddress,
}

/// Returns all orphans.
///
/// # Errors
/// Returns an error if the provider configuration of a managed object is also missing from the
/// configuration. Another provider configuration may use another account or region, so it must not
/// be used to read the object.
pub(super) fn orphans(context: &EngineContext, state: &State) -> Result<Vec<Orphan>, Diagnostics> {
    let mut orphans = Vec::new();
    let mut problems = Diagnostics::new();
    for (address, resource) in state.resources() {
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        let node = context.configuration.module(&address.module.path());
        if node.is_some_and(|node| node.module.resources.contains_key(&key)) {
            continue;
        }
        if address.mode == ResourceMode::Managed && !is_there(context, &resource.provider) {
            for key in resource.instances.keys() {
                let instance = address.instance(key.clone());
                problems.push(not_present(&instance.to_string(), &resource.provider));
            }
        }
        orphans.push(Orphan { address: address.clone(), provider: resource.provider.clone() });
    }
    problems.into_result(orphans)
}

/// Whether a provider configuration exists. The default configuration of each provider exists in
/// the root module even without a block.
fn is_there(context: &EngineContext, provider: &ProviderConfigAddress) -> bool {
    provider.module.is_root() && provider.alias.is_none()
        || provider_block(&context.configuration, provider).is_some()
}

fn not_present(address: &str, provider: &ProviderConfigAddress) -> Diagnostic {
    let detail = format!(
        "{address} belongs to {provider}, which is no longer in the configuration, so the object cannot be \
         read or destroyed. Restore the provider block until the object is destroyed, or forget the \
         object: `wardian state rm '{address}'`."
    );
    Diagnostic::error("Provider configuration not present", detail)
}
