//! A computed attribute cannot be null.
//! at: id: String
//! says: a computed attribute is unknown until the provider has set it, which this type cannot represent
//! remedy: use `Option<_>`
#[derive(Serialize, Deserialize, Schema)]
struct Server {
    #[attr(computed)]
    id: String,
}
