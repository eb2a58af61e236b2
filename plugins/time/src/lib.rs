//! The provider `time`: moments that stay in the state, and waiting.
//!
//! Schema-compatible with `hashicorp/time` 0.13.

mod fixed;
mod functions;
mod identifier;
mod moment;
mod moment_attributes;
mod offset;
mod rotating;
mod sleep;

use wardian_sdk::Provider;

/// The provider.
pub fn provider() -> Provider {
    Provider::new("time")
        .updatable_resource("time_offset", offset::Offset)
        .updatable_resource("time_rotating", rotating::Rotating)
        .updatable_resource("time_sleep", sleep::Sleep)
        .resource("time_static", fixed::Static)
        .function(functions::duration_parse())
        .function(functions::rfc3339_parse())
        .function(functions::unix_timestamp_parse())
}

wardian_sdk::export_provider!(provider);

#[cfg(test)]
mod tests;
