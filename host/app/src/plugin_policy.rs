//! Selects the policy of each plugin by the origin of its code.
//!
//! A component has access only to clocks and randomness unless a policy grants it more. The host's
//! own grants, which apply if no policy file contains a matching rule, are defined in
//! `wardian-policy`. The grants apply to code, not to a name: a component from a mirror, a
//! development override or `wardian serve` can also have the address `hashicorp/local`. The grants
//! apply to it only if it is identical to the embedded component.

use std::sync::Arc;

use wardian_install::package::ComponentArtifact;
use wardian_monitor::{AuditLog, Monitor, PluginIdentity};
use wardian_policy::{PluginPolicy, Policy};

use crate::catalog;

/// Returns the policy for a component. It depends on the component's code.
fn policy_for(policy: &Policy, component: &ComponentArtifact) -> PluginPolicy {
    if catalog::is_embedded_code(&component.address, component.sha256) {
        policy.for_trusted_code(&component.address)
    } else {
        policy.for_plugin(&component.address)
    }
}

pub(crate) fn monitor_for(policy: &Policy, component: &ComponentArtifact, log: &Arc<AuditLog>) -> Monitor {
    let address = &component.address;
    let identity = PluginIdentity {
        address: address.clone(),
        version: component.version.as_ref().map(ToString::to_string),
        sha256: Some(component.sha256.to_string()),
        confinement: None,
    };
    Monitor::new(policy_for(policy, component), identity, Arc::clone(log))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use wardian_address::ProviderAddress;
    use wardian_install::package::{PackageLocation, PluginOrigin};

    use super::*;

    /// Returns the number of directories that a component may access by default.
    fn directories(address: &str, origin: PluginOrigin, bytes: &[u8]) -> usize {
        let policy = Policy::new(Path::new("/srv"), [], []);
        let address = ProviderAddress::parse(address).unwrap();
        let component = ComponentArtifact::from_bytes(address, origin, bytes.to_vec()).unwrap();
        policy_for(&policy, &component).directories().len()
    }

    fn embedded(address: &str) -> Vec<u8> {
        let (address, catalog) = (ProviderAddress::parse(address).unwrap(), catalog::embedded());
        let version = catalog.versions_of(&address).max().unwrap().clone();
        catalog.find(&address, &version).unwrap().bytes.to_vec()
    }

    fn origins() -> [PluginOrigin; 4] {
        let path = PathBuf::from("terraform-provider-local.wasm");
        [
            PluginOrigin::Embedded,
            PluginOrigin::Mirror(PackageLocation::BareComponent(path.clone())),
            PluginOrigin::Installed(path.clone()),
            PluginOrigin::DevelopmentOverride(path),
        ]
    }

    #[test]
    fn only_embedded_code_receives_default_grants() {
        let own = embedded("hashicorp/local");
        let mut changed = own.clone();
        // An additional empty custom section changes the component's bytes but not its behaviour.
        changed.extend([0, 1, 0]);
        for origin in origins() {
            assert_eq!(directories("hashicorp/local", origin.clone(), &own), 1, "{origin}");
            for other in [&changed, &embedded("hashicorp/random"), &embedded("hashicorp/tfcoremock")] {
                assert_eq!(directories("hashicorp/local", origin.clone(), other), 0, "{origin}");
            }
        }
    }

    #[test]
    fn only_default_file_providers_receive_directories() {
        for one in ["hashicorp/local", "hashicorp/tfcoremock"] {
            assert_eq!(directories(one, PluginOrigin::Embedded, &embedded(one)), 1, "{one}");
        }
        let random = embedded("hashicorp/random");
        assert_eq!(directories("hashicorp/random", PluginOrigin::Embedded, &random), 0);
        let local = embedded("hashicorp/local");
        for other in ["acme/local", "acme/tfcoremock", "example.com/hashicorp/local"] {
            assert_eq!(directories(other, PluginOrigin::Embedded, &local), 0, "{other}");
        }
    }
}
