//! The @@name@@ provider.

mod greeting;
mod note;

use wardian_sdk::Provider;

/// Returns the provider.
pub fn provider() -> Provider {
    Provider::new("@@name@@")
        .updatable_resource(note::TYPE, note::Note)
        .data_source(greeting::TYPE, greeting::Greeting)
}

// List the capabilities that the component needs after the provider, each with a reason:
//
//     network { hosts: ["api.example.com"], reason: "manages notes through its API" },
wardian_sdk::export_provider!(provider);

#[cfg(test)]
mod tests {
    #[test]
    fn provider_is_valid() {
        wardian_sdk::assert_valid_provider(super::provider());
    }
}
