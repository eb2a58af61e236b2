//! No identifier can be parsed as the key of an import.
//! at: import.with_key
//! says: `f64` cannot be the key of an import
//! remedy: use String, i32, i64, u32, u64 or a tuple of them, or implement `ImportKey`
#[derive(Serialize, Deserialize, Schema)]
struct Server {
    name: String,
}

fn import(import: &mut Import) -> Result<()> {
    import.with_key(|number: f64| Ok(Some(Server { name: number.to_string() })))
}
