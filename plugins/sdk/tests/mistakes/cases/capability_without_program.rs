//! A capability to run a program names none.
//! at: wardian_sdk::export_provider!
//! says: the capability `process` has no program
//! remedy: add `program: "git"`
//! hides: inside `
fn provider() -> Provider {
    Provider::new("cloud")
}

wardian_sdk::export_provider!(provider, process { arguments: ["clone", "..."], reason: "clones modules" });
