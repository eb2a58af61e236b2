//! The argument of a capability is neither a list nor a string.
//! at: wardian_sdk::export_provider!
//! says: the arguments of a capability are lists of strings and single strings
//! remedy: write `name: [".."]`
//! hides: no rules expected
fn provider() -> Provider {
    Provider::new("cloud")
}

wardian_sdk::export_provider!(provider, network { hosts = "api.example.com", reason: "creates servers" });
