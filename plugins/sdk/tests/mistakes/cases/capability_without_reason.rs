//! A capability has no reason.
//! at: wardian_sdk::export_provider!
//! says: the capability `network` has no reason, which users read before they approve the plugin
//! remedy: add `reason: ".."`
//! hides: json.rs
//! hides: inside `
fn provider() -> Provider {
    Provider::new("cloud")
}

wardian_sdk::export_provider!(provider, network { hosts: ["api.example.com"] });
