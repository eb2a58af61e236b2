//! The exported function has parameters.
//! at: wardian_sdk::export_provider!(provider)
//! says: this function takes 1 argument but 0 arguments were supplied
//! says: name: &str
//! documented: export a function without parameters
fn provider(name: &str) -> Provider {
    Provider::new(name)
}

wardian_sdk::export_provider!(provider);
