//! The addresses of provisioner plugins, to which the labels of `provisioner` blocks refer.
//!
//! | label | address |
//! |---|---|
//! | `example.com/acme/notify` | `example.com/acme/provisioner-notify` |
//! | `acme/notify` | `registry.terraform.io/acme/provisioner-notify` |
//! | `notify` | `localhost/plugins/provisioner-notify`, a file in a plugin directory |
//!
//! The prefix distinguishes a provisioner from a provider of the same name in mirrors, lock files
//! and policies. A bare name has no registry namespace; in particular, it is not
//! in the default namespace of providers. Therefore registries cannot serve a plugin with its
//! address.

use crate::{ProviderAddress, ProviderAddressError};

/// The host of plugins that are files in a plugin directory on this machine.
pub const DIRECTORY_HOST: &str = "localhost";
/// The namespace of plugins that are files in a plugin directory.
pub const DIRECTORY_NAMESPACE: &str = "plugins";

const PREFIX: &str = "provisioner-";

/// Returns the address of the plugin to which a label refers.
///
/// # Errors
/// Returns an error if the label contains a component that is not a valid name.
pub fn provisioner_address(label: &str) -> Result<ProviderAddress, ProviderAddressError> {
    match label.rsplit_once('/') {
        Some((owner, name)) => ProviderAddress::parse(&format!("{owner}/{PREFIX}{name}")),
        None => {
            ProviderAddress::parse_full(&format!("{DIRECTORY_HOST}/{DIRECTORY_NAMESPACE}/{PREFIX}{label}"))
        }
    }
}

/// Returns the provisioner's name; `None` for the address of a provider.
pub fn provisioner_name(address: &ProviderAddress) -> Option<&str> {
    address.type_name().strip_prefix(PREFIX)
}

/// Returns the label that refers to a provisioner plugin; `None` for the address of a provider.
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

pub fn is_in_plugin_directory(address: &ProviderAddress) -> bool {
    address.hostname() == DIRECTORY_HOST && address.namespace() == DIRECTORY_NAMESPACE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provisioner_labels_map_to_addresses() {
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
