//! A provider of servers behind an HTTP API, and the API itself, in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use wardian_acceptance::AcceptanceTest;
use wardian_sdk::http::{self, Error, Request, Response};
use wardian_sdk::{
    Action, ActionSteps, Attribute, Context, DataSource, Deadline, Diagnostic, IdentityAttribute,
    IdentitySchema, Import, ListRequest, ListResource, ListResult, ListResults, Provider, Resource, Result,
    Schema, Type, Update, log, validate,
};

const API: &str = "https://api.cloud.example";
pub const TOKEN: &str = "token-for-tests";

pub fn provider() -> Provider<Client> {
    let schema = Schema::new().attribute(Attribute::string("token").required().sensitive());
    Provider::with_config("cloud", schema, |config: Config| Ok(Client { token: config.token }))
        .updatable_resource("cloud_server", ServerResource)
        .data_source("cloud_zone", ZoneSource)
        .list_resource("cloud_server", ServerList)
        .action("cloud_restart", Restart)
}

#[derive(Deserialize)]
struct Config {
    token: String,
}

pub struct Client {
    token: String,
}

impl Client {
    fn send(&self, request: Request) -> Result<Response> {
        log::debug(&format!("{} {}", request.method(), request.url()));
        Ok(request.header("Authorization", format!("Bearer {}", self.token)).send()?)
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Server {
    id: Option<String>,
    name: String,
    size: i64,
    zone: Option<String>,
    address: Option<String>,
    password: Option<String>,
}

struct ServerResource;

impl ServerResource {
    fn get(client: &Client, id: &str) -> Result<Option<Server>> {
        let response = client.send(http::get(format!("{API}/servers/{id}")))?;
        if response.status() == 404 {
            return Ok(None);
        }
        Ok(Some(response.error_for_status()?.json()?))
    }
}

impl Resource<Client> for ServerResource {
    type State = Server;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("id").computed().use_state_for_unknown())
            .attribute(Attribute::string("name").required().force_new().validate(validate::length(1..)))
            .attribute(Attribute::integer("size").required().validate(validate::range(1..)))
            .attribute(Attribute::string("zone").force_new())
            .attribute(Attribute::string("address").computed().use_state_for_unknown())
            .attribute(Attribute::string("password").sensitive())
    }

    fn create(&self, plan: Server, context: &mut Context<'_, Client>) -> Result<Server> {
        if plan.name == "panic" {
            unreachable!("a name that the author did not think of");
        }
        let body = json!({ "name": plan.name, "size": plan.size, "zone": plan.zone });
        let response = context.client().send(http::post(format!("{API}/servers"), "").json(&body))?;
        if response.status() == 409 {
            let detail = format!("There is already a server named {:?}.", plan.name);
            return Err(Diagnostic::error("Name in use", detail).at_attribute("name").into());
        }
        let mut server: Server = response.error_for_status()?.json()?;
        let deadline = Deadline::after(Duration::from_mins(10));
        while server.address.is_none() {
            deadline.sleep(Duration::from_secs(30), "waiting for the server's address")?;
            let id = server.id.clone().unwrap_or_default();
            server = Self::get(context.client(), &id)?
                .ok_or_else(|| Diagnostic::error("Server disappeared", "It no longer exists."))?;
        }
        context.set_identity("id", &server.id)?;
        if plan.name == "recorded" {
            context.record_state(&server)?;
            unreachable!("the rest of the operation fails");
        }
        if plan.size > 1_000 {
            context.warn("Large server", format!("A server of size {} is expensive.", plan.size));
        }
        Ok(Server { password: plan.password, ..server })
    }

    fn read(&self, state: Server, context: &mut Context<'_, Client>) -> Result<Option<Server>> {
        let Some(id) = &state.id else { return Ok(None) };
        let server = Self::get(context.client(), id)?;
        if server.is_some() {
            context.set_identity("id", id)?;
        }
        Ok(server.map(|server| Server { password: state.password, ..server }))
    }

    fn delete(&self, state: Server, context: &mut Context<'_, Client>) -> Result<()> {
        let id = state.id.unwrap_or_default();
        context.client().send(http::delete(format!("{API}/servers/{id}")))?.error_for_status()?;
        Ok(())
    }

    fn import(&self, import: &mut Import, context: &mut Context<'_, Client>) -> Result<()> {
        let id = match import.identity() {
            Some(identity) => identity.get::<String>("id")?,
            None => import.id()?.to_owned(),
        };
        if let Some(name) = id.strip_prefix("name=") {
            let found: Vec<Server> =
                context.client().send(http::get(format!("{API}/servers?name={name}")))?.json()?;
            let ids: Vec<String> = found.into_iter().filter_map(|server| server.id).collect();
            return match ids.as_slice() {
                [id] => {
                    let server = Self::get(context.client(), id)?;
                    server.map_or(Ok(()), |server| import.set_state(&server))
                }
                ids => Err(Diagnostic::error(
                    "Import key not unique",
                    format!("The servers {} have the name {name:?}. Import one by its id.", ids.join(", ")),
                )
                .into()),
            };
        }
        match Self::get(context.client(), &id)? {
            Some(server) => {
                context.set_identity("id", &id)?;
                import.set_state(&server)
            }
            None => Err(Diagnostic::error("Server not found", format!("There is no server {id:?}.")).into()),
        }
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(IdentitySchema::new().attribute(IdentityAttribute::required_for_import("id", Type::String)))
    }
}

impl Update<Client> for ServerResource {
    fn update(&self, prior: Server, plan: Server, context: &mut Context<'_, Client>) -> Result<Server> {
        let id = prior.id.unwrap_or_default();
        let body = json!({ "size": plan.size });
        let response = context.client().send(http::put(format!("{API}/servers/{id}"), "").json(&body))?;
        let server: Server = response.error_for_status()?.json()?;
        Ok(Server { password: plan.password, ..server })
    }
}

#[derive(Serialize, Deserialize)]
struct Zone {
    name: String,
    region: Option<String>,
}

struct ZoneSource;

impl DataSource<Client> for ZoneSource {
    type State = Zone;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("name").required())
            .attribute(Attribute::string("region").computed())
    }

    fn read(&self, config: Zone, context: &mut Context<'_, Client>) -> Result<Zone> {
        let response = context.client().send(http::get(format!("{API}/zones/{}", config.name)))?;
        Ok(response.error_for_status()?.json()?)
    }
}

#[derive(Deserialize)]
struct ListConfig {
    min_size: Option<i64>,
}

#[derive(Serialize)]
struct ServerIdentity {
    id: Option<String>,
}

struct ServerList;

impl ListResource<Client> for ServerList {
    type Config = ListConfig;
    type Identity = ServerIdentity;
    type State = Server;

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::integer("min_size").optional().validate(validate::range(1..)))
    }

    fn list(
        &self,
        request: ListRequest<ListConfig>,
        context: &mut Context<'_, Client>,
    ) -> Result<ListResults<ServerIdentity, Server>> {
        let servers: Vec<Server> = context.client().send(http::get(format!("{API}/servers?all")))?.json()?;
        let (min, include) = (request.config.min_size.unwrap_or(0), request.include_objects);
        Ok(Box::new(servers.into_iter().filter(move |server| server.size >= min).map(move |server| {
            Ok(ListResult {
                identity: ServerIdentity { id: server.id.clone() },
                display_name: format!("Server {}", server.name),
                object: include.then_some(server),
            })
        })))
    }
}

#[derive(Deserialize)]
struct RestartConfig {
    server: String,
}

struct Restart;

impl Action<Client> for Restart {
    type Config = RestartConfig;

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::string("server").required())
    }

    fn invoke(&self, config: RestartConfig, context: &mut Context<'_, Client>) -> Result<ActionSteps> {
        let client = context.shared_client();
        let calls = ["stop", "start"].into_iter().map(move |call| {
            let url = format!("{API}/servers/{}/{call}", config.server);
            let response = client.send(http::post(url, ""))?;
            if response.status() == 404 {
                let detail = format!("There is no server {:?}.", config.server);
                return Err(Diagnostic::error("Server not found", detail).at_attribute("server").into());
            }
            Ok(format!("{call} {}", config.server))
        });
        Ok(Box::new(calls))
    }
}

/// The API: servers by id.
#[derive(Clone, Default)]
pub struct FakeCloud(Arc<Mutex<Servers>>);

#[derive(Default)]
pub struct Servers {
    pub all: BTreeMap<String, serde_json::Value>,
    created: usize,
    /// The number of reads after which a server has an address.
    pub boot_reads: usize,
    /// Whether the API returns a size that nobody configured.
    pub rounds_sizes: bool,
    /// Whether the API refuses to delete servers.
    pub is_protected: bool,
}

impl FakeCloud {
    pub fn lock(&self) -> MutexGuard<'_, Servers> {
        self.0.lock().unwrap()
    }

    /// Returns a test of the provider against this API.
    pub fn test(&self) -> AcceptanceTest {
        let cloud = self.clone();
        AcceptanceTest::new(provider).mock_http(move |request| cloud.respond(request))
    }

    #[allow(clippy::unnecessary_wraps, reason = "the type of a server")]
    pub fn respond(&self, request: &Request) -> Result<Response, Error> {
        let mut servers = self.lock();
        let authorization = request.headers().find(|(name, _)| *name == "Authorization");
        if authorization.map(|(_, value)| value) != Some(format!("Bearer {TOKEN}").as_bytes()) {
            return Ok(Response::new(401, "the token is not valid"));
        }
        let path = request.url().strip_prefix(API).unwrap_or_default();
        Ok(servers.respond(request, path))
    }
}

impl Servers {
    fn respond(&mut self, request: &Request, path: &str) -> Response {
        let body: serde_json::Value = serde_json::from_slice(request.content()).unwrap_or_default();
        if let Some(zone) = path.strip_prefix("/zones/") {
            return Response::new(
                200,
                json!({ "name": zone, "region": format!("region of {zone}") }).to_string(),
            );
        }
        if let Some(name) = path.strip_prefix("/servers?name=") {
            let found: Vec<_> = self.all.values().filter(|server| server["name"] == name).collect();
            return Response::new(200, json!(found).to_string());
        }
        if path == "/servers?all" {
            let all: Vec<_> = self.all.keys().map(|id| self.shown(id, 200)).collect();
            return Response::new(200, json!(all).to_string());
        }
        if let Some((id, "stop" | "start")) =
            path.strip_prefix("/servers/").and_then(|rest| rest.split_once('/'))
        {
            let Some(server) = self.all.get_mut(id) else { return Response::new(404, "") };
            server["calls"] = (server["calls"].as_u64().unwrap_or_default() + 1).into();
            return Response::new(204, "");
        }
        if path == "/servers" {
            if body["name"] == "taken" {
                return Response::new(409, "");
            }
            self.created += 1;
            let id = format!("srv-{}", self.created);
            let mut server = body;
            server["id"] = id.clone().into();
            server["boots"] = self.boot_reads.into();
            self.all.insert(id.clone(), server);
            return self.show(&id, 201);
        }
        let id = path.strip_prefix("/servers/").unwrap_or_default().to_owned();
        let Some(server) = self.all.get_mut(&id) else { return Response::new(404, "") };
        match request.method() {
            "PUT" => server["size"] = body["size"].clone(),
            "DELETE" if self.is_protected => return Response::new(423, "the server is protected"),
            "DELETE" => {
                self.all.remove(&id);
                return Response::new(204, "");
            }
            _ => {
                let boots = server["boots"].as_u64().unwrap_or_default();
                server["boots"] = boots.saturating_sub(1).into();
            }
        }
        self.show(&id, 200)
    }

    fn show(&self, id: &str, status: u16) -> Response {
        Response::new(status, self.shown(id, status).to_string())
    }

    fn shown(&self, id: &str, status: u16) -> serde_json::Value {
        let mut server = self.all[id].clone();
        if server["boots"] == 0 {
            server["address"] = format!("10.0.0.{}", id.trim_start_matches("srv-")).into();
        }
        if self.rounds_sizes && status == 200 {
            server["size"] = 64.into();
        }
        let members = server.as_object_mut().unwrap();
        members.remove("boots");
        members.remove("calls");
        server
    }
}

/// Returns a configuration with the provider's block.
pub fn with_provider(resources: &str) -> String {
    format!("provider \"cloud\" {{\n  token = \"{TOKEN}\"\n}}\n{resources}")
}

pub fn server(arguments: &str) -> String {
    with_provider(&format!("resource \"cloud_server\" \"web\" {{\n{arguments}\n}}\n"))
}
