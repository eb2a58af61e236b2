//! `wardian providers` and `wardian providers schema`: list the required providers, and print their
//! schemas.

use std::collections::BTreeMap;

use async_trait::async_trait;
use wardian_address::{Constraints, ModulePath, ProviderAddress};
use wardian_app::state_access;
use wardian_config::Configuration;
use wardian_printable::{PrintableText, append_line, printable};
use wardian_state::State;

use crate::arguments::{ProvidersArguments, ProvidersSchemaArguments};
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Outcome, Status};
use crate::render::json::schemas_json;
use crate::shell::ViewOptions;

/// The version constraints in each module.
type ByModule = BTreeMap<ModulePath, BTreeMap<ProviderAddress, Constraints>>;

#[async_trait(?Send)]
impl CommandSpec for ProvidersArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        tree(context).await
    }
}

#[async_trait(?Send)]
impl CommandSpec for ProvidersSchemaArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        if self.json {
            return Ok(());
        }
        Err(InvalidOptions::new(
            "Option required",
            "Schemas are available only as JSON. Add the option -json.",
        ))
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        schemas(context).await
    }
}

/// Prints the schemas of all providers in the configuration and the state.
async fn schemas(context: &CommandContext) -> Outcome {
    let configuration = context.app.configuration()?;
    let look = state_access::read_unlocked(&context.app, Some(&configuration), None).await?;
    let lock = context.app.lock_file()?;
    let plugins = context.app.plugins(&configuration, Some(&look.state), &lock, 1)?;
    let schemas = context.engine_run(configuration, plugins).schemas(Some(&look.state)).await?;
    let text = schemas_json(schemas.iter().map(|(address, schema)| (address.clone(), &**schema)));
    schemas.close().await;
    context.shell.print_json(&text);
    Ok(Status::Success)
}

/// Prints the providers that each module requires, and the providers that the state requires.
async fn tree(context: &CommandContext) -> Outcome {
    let configuration = context.app.configuration_with_files()?;
    let look = state_access::read_unlocked(&context.app, Some(&configuration), None).await?;
    let mut text = PrintableText::from("\nProviders required by configuration:\n.\n");
    branch(&by_module(&configuration), &configuration, &ModulePath::root(), &"".into(), &mut text);
    let of_state = of_state(&look.state);
    if !of_state.is_empty() {
        text.push("\nProviders required by state:\n\n");
        for address in of_state {
            append_line!(text, "    provider[{address}]");
        }
    }
    text.push("\n");
    context.shell.print(text);
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
    indent: &PrintableText,
    text: &mut PrintableText,
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
        let constraints =
            if constraints.is_empty() { PrintableText::new() } else { printable!(" {constraints}") };
        append_line!(text, "{indent}{twig}provider[{address}]{constraints}");
    }
    for child in children {
        let (twig, below) = twig();
        let name = child.names().last().map_or("", |name| name.as_str());
        append_line!(text, "{indent}{twig}module.{name}");
        branch(modules, configuration, &child, &printable!("{indent}{below}"), text);
    }
}

fn of_state(state: &State) -> Vec<ProviderAddress> {
    let mut addresses: Vec<ProviderAddress> =
        state.resources().map(|(_, resource)| resource.provider.provider.clone()).collect();
    addresses.sort();
    addresses.dedup();
    addresses
}
