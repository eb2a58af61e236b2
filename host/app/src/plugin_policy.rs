//! The policy of each plugin, by the origin of its code.
//!
//! A component has access only to clocks and randomness unless a policy grants it more. The host's
//! own grants, which apply if no policy says otherwise, are defined in `wardian-policy`. They apply
//! to code, not to a name: anyone who can put a file into a mirror, or into a repository under
//! test, can call it `hashicorp/local`, but they do not apply to such a component. They apply to a
//! development override, since the user named its file.

use std::sync::Arc;

use wardian_address::ProviderAddress;
use wardian_install::package::{ComponentArtifact, PluginOrigin};
use wardian_monitor::{AuditLog, Monitor, PluginIdentity};
use wardian_policy::{PluginPolicy, Policy};

/// Returns the policy for a plugin, which depends on the origin of its code.
pub(crate) fn policy_for(policy: &Policy, address: &ProviderAddress, origin: &PluginOrigin) -> PluginPolicy {
    match origin {
        PluginOrigin::Embedded | PluginOrigin::DevelopmentOverride(_) => policy.for_trusted_code(address),
        PluginOrigin::Mirror(_) | PluginOrigin::Installed(_) => policy.for_plugin(address),
    }
}

/// Returns the monitor of a component.
pub(crate) fn monitor_for(policy: &Policy, component: &ComponentArtifact, log: &Arc<AuditLog>) -> Monitor {
    let address = &component.address;
    let identity = PluginIdentity {
        address: address.clone(),
        version: component.version.as_ref().map(ToString::to_string),
        sha256: Some(component.sha256.to_string()),
    };
    Monitor::new(policy_for(policy, address, &component.origin), identity, Arc::clone(log))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn directories(address: &str, origin: &PluginOrigin) -> usize {
        let policy = Policy::new(Path::new("/srv"), [], []);
        policy_for(&policy, &ProviderAddress::parse(address).unwrap(), origin).directories().len()
    }

    #[test]
    fn installed_plugin_receives_no_host_grants() {
        let installed = PluginOrigin::Installed("terraform-provider-local.wasm".into());
        assert_eq!(directories("hashicorp/local", &installed), 0);
    }

    #[test]
    fn only_default_file_providers_receive_directories() {
        for one in ["hashicorp/local", "hashicorp/tfcoremock"] {
            assert_eq!(directories(one, &PluginOrigin::Embedded), 1, "{one}");
        }
        for other in ["hashicorp/random", "acme/local", "acme/tfcoremock", "example.com/hashicorp/local"] {
            assert_eq!(directories(other, &PluginOrigin::Embedded), 0, "{other}");
        }
    }
}
