//! A capability for network access names no hosts.
//! at: wardian_sdk::export_provider!
//! says: the capability `network` has no hosts
//! remedy: add `hosts: ["api.example.com"]`
//! hides: inside `
fn provider() -> Provider {
    Provider::new("cloud")
}

wardian_sdk::export_provider!(provider, network { reason: "creates servers" });
