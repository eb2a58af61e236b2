//! The derive is on a generic struct.
//! at: struct Server<T>
//! says: `Schema` cannot be derived for a generic type, since a schema has fixed types
//! remedy: derive it for a struct with concrete field types
#[derive(Serialize, Deserialize, Schema)]
struct Server<T> {
    disk: T,
}
