//! Which plugin the label of a `provisioner` block means.
//!
//! | label | plugin |
//! |---|---|
//! | `example.com/acme/notify` | `example.com/acme/provisioner-notify` |
//! | `acme/notify` | `registry.terraform.io/acme/provisioner-notify` |
//! | `notify` | `localhost/plugins/provisioner-notify`, a file in a plugin directory |
//!
//! The prefix keeps a provisioner and a provider of one name apart, in mirrors, lock
//! files and policies. A name alone belongs to nobody, least of all to the namespace that
//! a provider's name alone means: so it has an address that no registry can have.

use crate::address::{AddressError, ProviderAddress};

/// The host of plugins that are files in a directory of this machine.
pub const DIRECTORY_HOST: &str = "localhost";
/// Their namespace.
pub const DIRECTORY_NAMESPACE: &str = "plugins";

const PREFIX: &str = "provisioner-";

/// The address of the plugin that a label means.
///
/// # Errors
/// Where no plugin can have that name.
pub fn provisioner_address(label: &str) -> Result<ProviderAddress, AddressError> {
    match label.rsplit_once('/') {
        Some((owner, name)) => ProviderAddress::parse(&format!("{owner}/{PREFIX}{name}")),
        None => {
            ProviderAddress::parse_full(&format!("{DIRECTORY_HOST}/{DIRECTORY_NAMESPACE}/{PREFIX}{label}"))
        }
    }
}

/// The provisioner's own name, where an address is one's.
pub fn provisioner_name(address: &ProviderAddress) -> Option<&str> {
    address.type_name().strip_prefix(PREFIX)
}

/// The label that means a provisioner's plugin; `None` where an address is a provider's.
pub fn provisioner_label(address: &ProviderAddress) -> Option<String> {
    let name = provisioner_name(address)?;
    Some(if is_in_plugin_directory(address) {
        name.to_owned()
    } else if address.is_on_default_host() {
        format!("{}/{name}", address.namespace())
    } else {
        format!("{}/{}/{name}", address.hostname(), address.namespace())
    })
}

/// Whether an address is that of a file in a plugin directory.
pub fn is_in_plugin_directory(address: &ProviderAddress) -> bool {
    address.hostname() == DIRECTORY_HOST && address.namespace() == DIRECTORY_NAMESPACE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_addresses() {
        for (label, address) in [
            ("notify", "localhost/plugins/provisioner-notify"),
            ("acme/notify", "registry.terraform.io/acme/provisioner-notify"),
            ("example.com/acme/notify", "example.com/acme/provisioner-notify"),
        ] {
            let found = provisioner_address(label).unwrap();
            assert_eq!(found.to_string(), address);
            assert_eq!(provisioner_name(&found), Some("notify"));
            assert_eq!(provisioner_label(&found).as_deref(), Some(label));
            assert_eq!(is_in_plugin_directory(&found), label == "notify");
        }
        for label in ["", "/", "a/", "Notify", "no_tify", "a/b/c/d", "-/notify", "a b", ".."] {
            assert!(provisioner_address(label).is_err(), "{label:?}");
        }
    }
}
