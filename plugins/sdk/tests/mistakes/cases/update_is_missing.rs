//! The resource is registered as updatable, and does not implement `Update`.
//! at: updatable_resource("cloud_server", Servers)
//! says: objects of `Servers` cannot be changed in place
//! remedy: implement `Update<()>`, or register the type with `Provider::resource` and make its attributes `force_new`
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

    fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> {
        Ok(plan)
    }
}

pub fn provider() -> Provider {
    Provider::new("cloud").updatable_resource("cloud_server", Servers)
}
