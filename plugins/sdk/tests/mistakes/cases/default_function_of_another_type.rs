//! The function of a default returns another type.
//! at: default_with = zone
//! says: the function for a default returns `i64`, but the field has values of type
//! remedy: return `Result<
fn zone(_: &Object) -> Result<i64> {
    Ok(1)
}

#[derive(Serialize, Deserialize, Schema)]
struct Server {
    #[attr(default_with = zone)]
    zone: String,
}
