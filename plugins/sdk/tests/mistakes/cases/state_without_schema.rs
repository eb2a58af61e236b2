//! The state has no derived schema.
//! at: Schema::for_type::<Server>()
//! says: `Server` has no schema
//! remedy: add `#[derive(Schema)]` to the struct, or build the schema with `Schema::new()`
#[derive(Serialize, Deserialize)]
struct Server {
    name: String,
}

fn schema() -> Schema {
    Schema::for_type::<Server>()
}
