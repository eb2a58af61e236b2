//! The type of a field has no counterpart in the language.
//! at: address: (String, i64)
//! says: no attribute can have this type
//! remedy: use a struct with `#[derive(Schema)]`, which names its parts
#[derive(Serialize, Deserialize, Schema)]
struct Server {
    address: (String, i64),
}
