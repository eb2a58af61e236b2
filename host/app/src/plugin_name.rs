//! Formats plugin names for messages.

use wardian_address::{ProviderAddress, Version};

/// Returns a name such as `hashicorp/random v3.7.2`.
pub fn plugin_name(address: &ProviderAddress, version: Option<&Version>) -> String {
    let address = address.for_display();
    match version {
        Some(version) => format!("{address} v{version}"),
        None => address.to_string(),
    }
}
