//! The argument of a capability is misspelt.
//! at: host: ["api.example.com"]
//! says: no field `host` on type
//! remedy: hosts
fn provider() -> Provider {
    Provider::new("cloud")
}

wardian_sdk::export_provider!(provider, network { host: ["api.example.com"], reason: "creates servers" });
