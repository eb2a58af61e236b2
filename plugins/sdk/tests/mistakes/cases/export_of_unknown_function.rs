//! The exported function does not exist.
//! at: wardian_sdk::export_provider!(provder)
//! says: cannot find function `provder`
//! remedy: a function with a similar name exists
fn provider() -> Provider {
    Provider::new("cloud")
}

wardian_sdk::export_provider!(provder);
