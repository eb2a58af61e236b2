//! The time provider: timestamps that are stored in the state, and delays.
//!
//! Its schemas are compatible with `hashicorp/time` 0.13.

mod functions;
mod import_id;
mod offset;
mod rotating;
mod sleep;
mod static_timestamp;
mod timestamp;
mod timestamp_attributes;

use wardian_sdk::Provider;

pub fn provider() -> Provider {
    Provider::new("time")
        .updatable_resource("time_offset", offset::Offset)
        .updatable_resource("time_rotating", rotating::Rotating)
        .updatable_resource("time_sleep", sleep::Sleep)
        .resource("time_static", static_timestamp::Static)
        .function(functions::duration_parse())
        .function(functions::rfc3339_parse())
        .function(functions::unix_timestamp_parse())
}

wardian_sdk::export_provider!(provider);

#[cfg(test)]
mod tests;
