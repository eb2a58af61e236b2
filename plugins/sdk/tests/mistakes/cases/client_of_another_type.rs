//! The resource expects another client than the provider creates.
//! at: .resource("cloud_server", Servers)
//! says: `Servers` is not a resource type of a provider whose client is `Client`
//! remedy: implement `Resource<Client>`: all types of a provider have the client
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

#[derive(Deserialize, Schema)]
#[schema(provider)]
struct Config {}

struct Client;

pub fn provider() -> Provider<Client> {
    Provider::with_config("cloud", Schema::for_type::<Config>(), |_: Config| Ok(Client))
        .resource("cloud_server", Servers)
}
