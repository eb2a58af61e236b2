//! The name of a capability is misspelt.
//! at: netwrk
//! says: unknown capability `netwrk`
//! remedy: use `network`, `filesystem`, `environment`, `process` or `communicator`
//! hides: no rules expected
fn provider() -> Provider {
    Provider::new("cloud")
}

wardian_sdk::export_provider!(provider, netwrk { hosts: ["api.example.com"], reason: "creates servers" });
