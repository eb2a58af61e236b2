//! Two attributes have the same name.
//! at: #[serde(rename = "name")]
//! says: two attributes have the name `name`
//! remedy: rename one of them
#[derive(Serialize, Deserialize, Schema)]
struct Server {
    name: String,
    #[serde(rename = "name")]
    title: String,
}
