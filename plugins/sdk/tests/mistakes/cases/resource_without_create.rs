//! The resource has no `create`.
//! at: impl Resource for Servers
//! says: missing: `create`
//! remedy: implement the missing item: `fn create(
#[derive(Serialize, Deserialize, Schema)]
struct Server {
    name: String,
}

struct Servers;

impl Resource for Servers {
    type State = Server;

    fn schema(&self) -> Schema {
        Schema::for_type::<Server>()
    }
}
