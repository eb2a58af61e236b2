//! A block is a string.
//! at: disk: String
//! says: cannot be the type of a block
//! remedy: use a struct with `#[derive(Schema)]` for one required block
#[derive(Serialize, Deserialize, Schema)]
struct Server {
    #[attr(block)]
    disk: String,
}
