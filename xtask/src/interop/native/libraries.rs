//! Name resolution and connections of providers that are linked with different C libraries, at each
//! level of confinement.

use anyhow::{Result, ensure};

use super::Row;
use super::accounts::Account;
use super::project::{Plugin, Policy, Project, Suite};
use super::table::RowResult;

/// The library with which a provider resolves names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    None,
    Glibc,
    Musl,
}

impl Library {
    /// Whether programs with this library resolve names at a level. Musl binds its socket and checks the
    /// origin of datagrams, which the supervisor of the level *filtered* does not support; a network
    /// namespace (the level *full*) does.
    fn resolves_names(self, level: &str) -> bool {
        !(self == Self::Musl && level == "filtered")
    }
}

/// The values of `native`, each of which has its own level. The name of the level is what Wardian reports:
/// with `confine`, it depends on the machine.
const SETTINGS: &[&str] = &["allow", "confine-files", "confine"];
const MESSAGES: u32 = 3;

pub(super) fn rows<'a>(
    suite: &'a Suite<'a>,
    title: &str,
    plugin: Result<Plugin, String>,
    library: Library,
) -> Vec<Row<'a>> {
    let row = |native: &'static str| -> Row<'a> {
        let plugin = plugin.clone();
        let row = move |account: &Account| match &plugin {
            Ok(plugin) => resolve_and_connect(suite, account, plugin, library, native),
            Err(reason) => Ok(RowResult::Skipped(reason.clone())),
        };
        (format!("{title}: name and address, {native}"), Box::new(row))
    };
    SETTINGS.iter().copied().map(row).collect()
}

fn resolve_and_connect(
    suite: &Suite<'_>,
    account: &Account,
    plugin: &Plugin,
    library: Library,
    native: &str,
) -> Result<RowResult> {
    let port = suite.servers.port("echo");
    let hosts = ["localhost", "127.0.0.1"].map(|host| ("tcp", host.to_owned(), port)).into();
    let policy = Policy { hosts, ..Policy::default() };
    let project = Project::create(suite, account, plugin, "libraries", native, &policy)?;
    let level = project.level()?;
    let mut seen = Vec::new();
    for (what, host) in [("address", "127.0.0.1"), ("name", "localhost")] {
        project.configure(&connection("tcp", host, port, MESSAGES, 0))?;
        let expects_connection = what == "address" || library.resolves_names(&level);
        if expects_connection {
            project.run(&["apply", "-no-color", "-input=false", "-auto-approve"])?;
            let result = exchanged(&project)?;
            ensure!(result == Some(MESSAGES.into()), "{what}: {result:?} messages were exchanged");
            seen.push(format!("{what}: connected"));
        } else {
            let output = project.fail_to_apply()?;
            ensure!(
                output.contains("lookup localhost"),
                "{what}: the error is not a name resolution error:\n{output}"
            );
            seen.push(format!("{what}: not resolved, as documented"));
        }
        if native == "confine" && expects_connection {
            let targets = project.take_records()?.targets("network", "allowed");
            let expected = format!("tcp://{host}:{port}");
            ensure!(
                targets.contains(&expected),
                "the audit log does not contain {expected}, but {targets:?}"
            );
        }
    }
    Ok(RowResult::Works(format!("level {level}; {}", seen.join(", "))))
}

/// Returns a connection that is open while the object is created.
pub(super) fn connection(protocol: &str, host: &str, port: u16, messages: u32, pause: u64) -> String {
    format!(
        "resource \"peers_connection\" \"it\" {{
  protocol = \"{protocol}\"
  host     = \"{host}\"
  port     = {port}
  messages = {messages}
  pause    = {pause}
}}
"
    )
}

/// Returns the number of messages that were exchanged according to the state.
pub(super) fn exchanged(project: &Project) -> Result<Option<u64>> {
    let state = project.program.state(&project.directory)?;
    let result = state["resources"][0]["instances"][0]["attributes"]["result"].as_str().unwrap_or("null");
    let result: serde_json::Value = serde_json::from_str(result)?;
    // A connection that gRPC opens again would be another one.
    Ok(result["exchanged"].as_u64().filter(|_| result["connections"].as_u64().is_none_or(|count| count == 1)))
}
