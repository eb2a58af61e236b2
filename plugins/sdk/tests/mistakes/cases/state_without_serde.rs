//! The state does not implement serde's traits.
//! at: type State = Server
//! says: `Server` cannot be the state of a resource
//! remedy: add `#[derive(Serialize, Deserialize)]` to the struct
#[derive(Schema)]
struct Server {
    name: String,
}

struct Servers;

impl Resource for Servers {
    type State = Server;

    fn schema(&self) -> Schema {
        Schema::for_type::<Server>()
    }

    fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> {
        Ok(plan)
    }
}
