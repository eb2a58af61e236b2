//! The type of a field has no schema.
//! at: disk: Disk
//! says: `Disk` cannot be the type of an attribute
//! remedy: add `#[derive(Schema)]` to the struct for a nested attribute
#[derive(Serialize, Deserialize)]
struct Disk {
    size: i64,
}

#[derive(Serialize, Deserialize, Schema)]
struct Server {
    disk: Disk,
}
