//! The null provider: resources that do nothing themselves, for provisioners and dependencies.
//!
//! Its schemas are compatible with `hashicorp/null` 3.2.

mod data_source;
mod resource;

use wardian_sdk::{Diagnostics, Explain, Provider, Result};

pub fn provider() -> Provider {
    Provider::new("null")
        .updatable_resource("null_resource", resource::NullResource)
        .data_source("null_data_source", data_source::NullDataSource)
}

wardian_sdk::export_provider!(provider);

/// Returns a random non-negative integer in decimal.
fn random_number() -> Result<String> {
    let number = getrandom::u64().explain("Unable to get a random number")?;
    i64::try_from(number >> 1).map(|number| number.to_string()).map_err(Diagnostics::from)
}

#[cfg(test)]
mod tests;
