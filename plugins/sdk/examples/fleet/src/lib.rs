//! A provider of the servers in an inventory file, with a list resource and an action.
//!
//! The file has one line for each server: its name and its zone, separated by a space.
//!
//! ```text
//! provider "fleet" {
//!   inventory = "servers.txt"
//! }
//!
//! action "fleet_restart" "web" {
//!   config { name = "web" }
//! }
//!
//! list "fleet_server" "all" {
//!   provider = fleet
//!   config { zone = "north" }
//! }
//! ```

use std::fs;
use std::io::Write as _;

use serde::{Deserialize, Serialize};
use wardian_sdk::{
    Action, ActionSteps, Attribute, Context, Diagnostics, IdentityAttribute, IdentitySchema, Import,
    ListRequest, ListResource, ListResult, ListResults, Provider, Resource, Result, Schema, Type,
};

#[derive(Debug, Deserialize)]
struct Config {
    inventory: String,
}

/// The servers in the inventory.
#[derive(Debug)]
pub struct Inventory {
    path: String,
}

/// A server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Server {
    name: String,
    zone: Option<String>,
    /// A secret that is derived from the name.
    token: Option<String>,
}

/// The identity of a server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerIdentity {
    name: String,
}

impl Inventory {
    fn servers(&self) -> Result<Vec<Server>> {
        let text = fs::read_to_string(&self.path).map_err(|error| {
            Diagnostics::error("Inventory cannot be read", format!("{}: {error}.", self.path))
        })?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(lines
            .map(|line| {
                let (name, zone) = line.split_once(' ').unwrap_or((line, "unknown"));
                Server { name: name.into(), zone: Some(zone.into()), token: Some(format!("token-of-{name}")) }
            })
            .collect())
    }

    fn server(&self, name: &str) -> Result<Server> {
        let found = self.servers()?.into_iter().find(|server| server.name == name);
        found.ok_or_else(|| {
            Diagnostics::error("No such server", format!("The inventory has no server {name:?}."))
        })
    }
}

struct ServerResource;

impl Resource<Inventory> for ServerResource {
    type State = Server;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("name").required().force_new())
            .attribute(Attribute::string("zone").computed())
            .attribute(Attribute::string("token").computed().sensitive())
    }

    fn create(&self, plan: Server, context: &mut Context<'_, Inventory>) -> Result<Server> {
        context.client().server(&plan.name)
    }

    fn read(&self, state: Server, context: &mut Context<'_, Inventory>) -> Result<Option<Server>> {
        let servers = context.client().servers()?;
        Ok(servers.into_iter().find(|server| server.name == state.name))
    }

    fn import(&self, import: &mut Import, _: &mut Context<'_, Inventory>) -> Result<()> {
        let name = match import.identity() {
            Some(identity) => identity.get::<String>("name")?,
            None => import.id()?.to_owned(),
        };
        import.set("name", &name)
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(IdentitySchema::new().attribute(IdentityAttribute::required_for_import("name", Type::String)))
    }
}

#[derive(Debug, Deserialize)]
struct ListConfig {
    zone: Option<String>,
}

struct ServerList;

impl ListResource<Inventory> for ServerList {
    type Config = ListConfig;
    type Identity = ServerIdentity;
    type State = Server;

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::string("zone").optional())
    }

    fn list(
        &self,
        request: ListRequest<ListConfig>,
        context: &mut Context<'_, Inventory>,
    ) -> Result<ListResults<ServerIdentity, Server>> {
        let (zone, include) = (request.config.zone, request.include_objects);
        let servers = context.client().servers()?;
        let found = servers.into_iter().filter(move |server| zone.is_none() || server.zone == zone);
        Ok(Box::new(found.map(move |server| {
            Ok(ListResult {
                identity: ServerIdentity { name: server.name.clone() },
                display_name: format!("Server {}", server.name),
                object: include.then_some(server),
            })
        })))
    }
}

#[derive(Debug, Deserialize)]
struct Restart {
    name: String,
    /// The file to which the restart is logged.
    log: Option<String>,
}

struct RestartAction;

impl Action<Inventory> for RestartAction {
    type Config = Restart;

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::string("name").required())
            .attribute(Attribute::string("log").optional())
    }

    fn invoke(&self, config: Restart, context: &mut Context<'_, Inventory>) -> Result<ActionSteps> {
        let server = context.client().server(&config.name)?;
        let token = server.token.unwrap_or_default();
        let stop = format!("stopping {} with {token}", server.name);
        let start = move || {
            if let Some(log) = &config.log {
                let opened = fs::OpenOptions::new().create(true).append(true).open(log);
                opened.and_then(|mut file| writeln!(file, "restarted {}", config.name)).map_err(|error| {
                    Diagnostics::error("Restart was not logged", format!("{log}: {error}."))
                })?;
            }
            Ok(format!("started {}", config.name))
        };
        Ok(Box::new(std::iter::once(Ok(stop)).chain(std::iter::once_with(start))))
    }
}

/// Returns the provider that the component exports.
pub fn provider() -> Provider<Inventory> {
    Provider::with_config(
        "fleet",
        Schema::new().attribute(Attribute::string("inventory").required()),
        |config: Config| Ok(Inventory { path: config.inventory }),
    )
    .resource("fleet_server", ServerResource)
    .list_resource("fleet_server", ServerList)
    .action("fleet_restart", RestartAction)
}

wardian_sdk::export_provider!(
    provider,
    filesystem {
        directories: ["."],
        access: ["read", "write"],
        reason: "reads the inventory, and writes the log of restarts",
    },
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_is_valid() {
        wardian_sdk::assert_valid_provider(provider());
    }
}
