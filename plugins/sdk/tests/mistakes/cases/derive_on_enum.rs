//! The derive is on an enum.
//! at: enum Disk
//! says: `Schema` cannot be derived for an enum, since an object always has the same attributes
//! remedy: derive it for a struct with an optional field for each variant
#[derive(Serialize, Deserialize, Schema)]
enum Disk {
    Fast { size: i64 },
    Slow,
}
