//! A method of the provider's builder is misspelt.
//! at: .resources("cloud_server", Servers)
//! says: no method named `resources` found
//! remedy: there is a method `resource`
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
    Provider::new("cloud").resources("cloud_server", Servers)
}
