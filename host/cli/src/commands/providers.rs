//! `wardian providers` and `wardian providers schema`

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wardian_address::{Constraints, ModulePath, ProviderAddress};
use wardian_config::Configuration;
use wardian_state::State;

use crate::arguments::{ProvidersArguments, ProvidersCommand};
use crate::failure::{Outcome, Status};
use crate::render::json::schemas_json;
use crate::session::Session;
use crate::state_access;

/// What each module asks for itself.
type ByModule = BTreeMap<ModulePath, BTreeMap<ProviderAddress, Constraints>>;

/// `providers`, and what is below it.
pub(crate) async fn run(session: &Session, arguments: &ProvidersArguments) -> Outcome {
    match &arguments.command {
        None => tree(session),
        Some(ProvidersCommand::Schema(_)) => schemas(session).await,
    }
}

/// Prints the schemas of all providers of the configuration and of the state.
async fn schemas(session: &Session) -> Outcome {
    let configuration = session.configuration()?;
    let look = state_access::look(session, Some(&configuration), None)?;
    let lock = session.lock_file()?;
    let plugins = session.plugins(&configuration, Some(&look.state), &lock, 1)?;
    let schemas = session.run(configuration, plugins).schemas(Some(&look.state)).await?;
    let text = schemas_json(schemas.iter().map(|(address, schema)| (address.clone(), &**schema)));
    schemas.close().await;
    session.shell.say(text);
    Ok(Status::Success)
}

/// Shows which providers are needed, module by module, and which the state needs.
fn tree(session: &Session) -> Outcome {
    let configuration = session.configuration_with_files()?;
    let look = state_access::look(session, Some(&configuration), None)?;
    let mut text = String::from("\nProviders required by configuration:\n.\n");
    branch(&by_module(&configuration), &configuration, &ModulePath::root(), "", &mut text);
    let of_state = of_state(&look.state);
    if !of_state.is_empty() {
        text.push_str("\nProviders required by state:\n\n");
        for address in of_state {
            let _ = writeln!(text, "    provider[{address}]");
        }
    }
    text.push('\n');
    session.shell.print(&text);
    Ok(Status::Success)
}

fn by_module(configuration: &Configuration) -> ByModule {
    let mut modules = ByModule::new();
    for (address, requirement) in configuration.provider_requirements() {
        for (module, constraints, _) in requirement.origins {
            let known = modules.entry(module).or_default().entry(address.clone()).or_default();
            *known = known.and(&constraints);
        }
    }
    modules
}

fn branch(
    modules: &ByModule,
    configuration: &Configuration,
    path: &ModulePath,
    indent: &str,
    text: &mut String,
) {
    let children: Vec<ModulePath> = configuration
        .module(path)
        .into_iter()
        .flat_map(|node| node.module.module_calls.keys())
        .map(|name| path.child(name.clone()))
        .collect();
    let none = BTreeMap::new();
    let providers = modules.get(path).unwrap_or(&none);
    let last = providers.len() + children.len();
    let mut position = 0;
    let mut twig = || {
        position += 1;
        if position == last { ("└── ", "    ") } else { ("├── ", "│   ") }
    };
    for (address, constraints) in providers {
        let (twig, _) = twig();
        let constraints = if constraints.is_empty() { String::new() } else { format!(" {constraints}") };
        let _ = writeln!(text, "{indent}{twig}provider[{address}]{constraints}");
    }
    for child in children {
        let (twig, below) = twig();
        let name = child.names().last().map_or("", |name| name.as_str());
        let _ = writeln!(text, "{indent}{twig}module.{name}");
        branch(modules, configuration, &child, &format!("{indent}{below}"), text);
    }
}

fn of_state(state: &State) -> Vec<ProviderAddress> {
    let mut addresses: Vec<ProviderAddress> =
        state.resources().map(|(_, resource)| resource.provider.provider.clone()).collect();
    addresses.sort();
    addresses.dedup();
    addresses
}
